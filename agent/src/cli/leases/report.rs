//! The result as scripts read it; documented in `docs/leases.md`. Names from clients are escaped.

use std::collections::BTreeMap;

use bpa_common::net::MacAddress;
use bpa_common::wire::v1::LeaseState;
use serde::Serialize;

use crate::leases::{Answer, Lease, LeaseView, SourceView, why};

/// A change of meaning is a new number.
const SCHEMA: u32 = 1;

/// Everything.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    pub schema: u32,
    /// RFC 3339, UTC.
    pub as_of: String,
    pub sources: Vec<Source>,
    pub answers: BTreeMap<String, MacAnswer>,
    /// Leases in force of clients that have no MAC (InfiniBand, DUID only).
    pub without_mac: Vec<LeaseLine>,
}

/// One source and its health.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    pub kind: &'static str,
    pub path: String,
    pub records: u64,
    /// The first of the records that can't be read.
    pub skipped: Vec<Skipped>,
    pub skipped_count: u64,
    /// Line of a record at the end that is not complete yet.
    pub unfinished_line: Option<u64>,
    /// IPv6 leases, which name no MAC.
    pub set_aside: u64,
    /// Newest transaction with a client, where the server writes it.
    pub newest: Option<String>,
    /// When the file was last written.
    pub written: Option<String>,
    pub error: Option<String>,
}

/// A record that can't be read.
#[derive(Debug, Serialize)]
pub struct Skipped {
    pub line: u64,
    pub reason: &'static str,
}

/// What a MAC has.
#[derive(Debug, Serialize)]
pub struct MacAnswer {
    pub address: Option<String>,
    pub ambiguous: bool,
    /// In force, the chosen one first.
    pub all: Vec<LeaseLine>,
    /// Why this answer.
    pub why: String,
}

/// One lease in force.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LeaseLine {
    pub address: String,
    /// RFC 3339, UTC; null = never, or not known.
    pub expires: Option<String>,
    /// `bound` or `reserved`.
    pub state: &'static str,
    /// `KIND:PATH`.
    pub source: String,
    pub client_id: Option<String>,
    pub hostname: Option<String>,
    /// When the client was last heard, where the server writes it.
    pub renewed: Option<String>,
}

impl Report {
    /// All MACs of a view, or only these.
    pub fn new(view: &LeaseView, macs: &[MacAddress]) -> Self {
        let only = macs.to_vec();
        let macs = if only.is_empty() { view.macs() } else { only };
        let answers = macs.into_iter().map(|mac| (mac.to_string(), answer(view, mac))).collect();
        Self {
            schema: SCHEMA,
            as_of: time(view.as_of()),
            sources: view.sources().iter().map(source).collect(),
            answers,
            without_mac: view.without_mac().iter().map(|lease| line(view, lease)).collect(),
        }
    }
}

fn answer(view: &LeaseView, mac: MacAddress) -> MacAnswer {
    let Answer { address, ambiguous, all } = view.answer(mac);
    MacAnswer {
        address: address.map(|a| a.to_string()),
        ambiguous,
        all: all.iter().map(|lease| line(view, lease)).collect(),
        why: why(view, mac),
    }
}

fn line(view: &LeaseView, lease: &Lease) -> LeaseLine {
    let some = |text: &String| Some(text.clone()).filter(|t| !t.is_empty());
    LeaseLine {
        address: lease.address.to_string(),
        expires: lease.expires.map(time),
        state: match lease.state {
            LeaseState::Bound => "bound",
            LeaseState::Reserved => "reserved",
        },
        source: view.source_name(lease.source),
        client_id: some(&lease.client_id),
        hostname: some(&lease.hostname),
        renewed: lease.renewed.map(time),
    }
}

fn source(view: &SourceView) -> Source {
    let table = &view.table;
    Source {
        kind: view.kind.name(),
        path: view.path.to_string(),
        records: table.count,
        skipped: table.skips.iter().map(|s| Skipped { line: s.line, reason: s.reason }).collect(),
        skipped_count: table.skipped,
        unfinished_line: table.unfinished,
        set_aside: table.set_aside,
        newest: table.newest().map(time),
        written: view.written.map(time),
        error: view.error.as_deref().map(str::to_owned),
    }
}

/// Seconds since 1970 as RFC 3339 in UTC; what no calendar holds, as the number.
fn time(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds).map_or_else(|_| seconds.to_string(), |t| t.to_string())
}
