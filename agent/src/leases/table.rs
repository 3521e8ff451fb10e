//! What all sources say at one moment, and the answer for a MAC. Immutable; a change is a new view.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use bpa_common::net::MacAddress;
use bpa_common::wire::v1 as wire;

use super::choice::{Freshness, Placement};
use super::escape::{escaped, hex};
use super::kind::{SourceKind, SourceSpec};
use super::record::{Binding, Record, SourceTable};

/// One source in a view: what it said last, and how it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceView {
    pub kind: SourceKind,
    pub path: Arc<str>,
    /// The last good reading; empty before the first.
    pub table: Arc<SourceTable>,
    /// When the file was last written, seconds since 1970.
    pub written: Option<i64>,
    /// When it was last read well; none = never.
    pub good_at: Option<i64>,
    /// Why it can't be read now.
    pub error: Option<Arc<str>>,
    /// How long a lease that has ended answers on, seconds, if its MAC has nothing better: a server
    /// that was away for a while can't have renewed it, and its client keeps the address.
    pub grace: u32,
}

impl SourceView {
    /// A source that was not read yet.
    pub fn unread(kind: SourceKind, path: &str) -> Self {
        Self {
            kind,
            path: path.into(),
            table: Arc::default(),
            written: None,
            good_at: None,
            error: Some("not read yet".into()),
            grace: 0,
        }
    }

    /// This source, not read yet.
    pub fn of(source: &SourceSpec) -> Self {
        let unread = Self::unread(source.kind, &source.path.to_string_lossy());
        Self { grace: source.grace_seconds, ..unread }
    }

    /// True for a lease that has ended and answers on.
    fn is_graced(&self, record: &Record, now: i64) -> bool {
        let end = record.ends.seconds().filter(|_| record.binding == Binding::Bound);
        end.is_some_and(|end| end <= now && now < self.silent_from(end))
    }

    /// When a lease of this source answers no more.
    fn silent_from(&self, end: i64) -> i64 {
        end.saturating_add(i64::from(self.grace))
    }
}

/// A lease in force, or a reservation, made ready to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    pub address: IpAddr,
    pub state: wire::LeaseState,
    /// Seconds since 1970; none = never, or not known.
    pub expires: Option<i64>,
    /// Seconds since 1970 of the newest transaction, where the server writes it.
    pub renewed: Option<i64>,
    /// Index into the sources of the view.
    pub source: u32,
    /// Hexadecimal, empty when the client sent none.
    pub client_id: String,
    /// Escaped, empty when the client sent none.
    pub hostname: String,
}

/// The answer for one MAC.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The address to use; none = no lease in force.
    pub address: Option<IpAddr>,
    /// True when the MAC holds more than one address.
    pub ambiguous: bool,
    /// Every lease in force of this MAC; the first is the chosen one.
    pub all: Vec<Lease>,
}

/// Where a lease's record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    mac: MacAddress,
    source: u32,
    index: u32,
    reserved: bool,
    /// It has ended, and its source gives it a grace.
    ended: bool,
    chosen: bool,
}

/// All leases at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseView {
    as_of: i64,
    sources: Vec<SourceView>,
    /// In force, sorted by MAC, the chosen one of each MAC first.
    live: Vec<Place>,
    /// In force and without a MAC, as (source, index).
    nameless: Vec<(u32, u32)>,
    next_end: Option<i64>,
}

impl LeaseView {
    /// A view of nothing.
    pub fn empty() -> Self {
        Self::evaluate(Vec::new(), 0)
    }

    /// What the sources say at `now`, seconds since 1970.
    pub fn evaluate(sources: Vec<SourceView>, now: i64) -> Self {
        let placements: Vec<Placement> = sources.iter().map(|s| placement(s, now)).collect();
        let (mut live, mut nameless) = (Vec::new(), Vec::new());
        let mut next_end: Option<i64> = None;
        for (source, index) in in_force(&sources, &placements) {
            let record = &sources[source].table.records[index];
            let ended = !record.is_live(now);
            if ended && !sources[source].is_graced(record, now) {
                continue;
            }
            if let Some(end) = record.ends.seconds() {
                let end = if ended { sources[source].silent_from(end) } else { end };
                next_end = Some(next_end.map_or(end, |e| e.min(end)));
            }
            match record.mac {
                Some(mac) => live.push(Place { ended, ..place(mac, source, index, false) }),
                None => nameless.push((source as u32, index as u32)),
            }
        }
        for (source, view) in sources.iter().enumerate() {
            for (index, record) in view.table.reservations.iter().enumerate() {
                if let Some(mac) = record.mac {
                    live.push(place(mac, source, index, true));
                }
            }
        }
        let mut view = Self { as_of: now, sources, live, nameless, next_end };
        view.arrange(&placements);
        view
    }

    /// Sorts, drops what is said twice, and chooses.
    fn arrange(&mut self, placements: &[Placement]) {
        let mut live = std::mem::take(&mut self.live);
        live.sort_by_cached_key(|place| {
            let record = self.record(*place);
            let newest = placements[place.source as usize].freshness(record);
            let v6 = record.address.is_ipv6();
            let doubt = (v6, place.ended, place.reserved);
            (place.mac, doubt, std::cmp::Reverse(newest), record.address, place.source)
        });
        let mut kept: Vec<Place> = Vec::with_capacity(live.len());
        let mut group = 0;
        for mut place in live {
            if kept.get(group).is_none_or(|first| first.mac != place.mac) {
                group = kept.len();
                place.chosen = true;
                kept.push(place);
                continue;
            }
            let address = self.record(place).address;
            let of_mac = &kept[group..];
            // The MAC of an IPv6 client is a guess from its DUID: not wanted where IPv4 tells.
            let guess = address.is_ipv6() && self.record(of_mac[0]).address.is_ipv4();
            // One that has ended says nothing where another is in force.
            let late = place.ended && !of_mac[0].ended;
            if !guess && !late && !of_mac.iter().any(|p| self.record(*p).address == address) {
                kept.push(place);
            }
        }
        self.live = kept;
    }

    fn record(&self, place: Place) -> &Record {
        let table = &self.sources[place.source as usize].table;
        let of = if place.reserved { &table.reservations } else { &table.records };
        &of[place.index as usize]
    }

    fn lease(&self, source: u32, record: &Record) -> Lease {
        Lease {
            address: record.address,
            state: if record.binding == Binding::Reserved {
                wire::LeaseState::Reserved
            } else {
                wire::LeaseState::Bound
            },
            expires: record.ends.seconds(),
            renewed: record.renewed,
            source,
            client_id: hex(&record.client_id),
            hostname: escaped(&record.hostname),
        }
    }

    fn of(&self, place: Place) -> Lease {
        self.lease(place.source, self.record(place))
    }

    /// Leases in force of clients without a MAC, such as InfiniBand's: the client-id is all they are
    /// known by.
    pub fn without_mac(&self) -> Vec<Lease> {
        let record = |s: u32, i: u32| &self.sources[s as usize].table.records[i as usize];
        let mut all: Vec<Lease> =
            self.nameless.iter().map(|(s, i)| self.lease(*s, record(*s, *i))).collect();
        all.sort_by_key(|lease| lease.address);
        all
    }

    /// `KIND:PATH` of a source, by its index.
    pub fn source_name(&self, source: u32) -> String {
        let name = |s: &SourceView| format!("{}:{}", s.kind, s.path);
        self.sources.get(source as usize).map(name).unwrap_or_default()
    }

    /// Which address has this MAC?
    pub fn answer(&self, mac: MacAddress) -> Answer {
        let from = self.live.partition_point(|p| p.mac < mac);
        let all: Vec<Lease> =
            self.live[from..].iter().take_while(|p| p.mac == mac).map(|p| self.of(*p)).collect();
        Answer { address: all.first().map(|l| l.address), ambiguous: all.len() > 1, all }
    }

    /// Seconds since 1970 at which this view was made.
    pub fn as_of(&self) -> i64 {
        self.as_of
    }

    /// The sources with their tables, in the order of the configuration.
    pub fn sources(&self) -> &[SourceView] {
        &self.sources
    }

    /// When the next lease ends, seconds since 1970: from then on this view is not true any more.
    pub fn next_end(&self) -> Option<i64> {
        self.next_end
    }

    /// Every MAC that a source names, with or without a lease in force, sorted.
    pub fn macs(&self) -> Vec<MacAddress> {
        let tables = self.sources.iter().map(|s| &s.table);
        let mut macs: Vec<MacAddress> = tables
            .flat_map(|t| t.records.iter().chain(&t.reservations))
            .filter_map(|r| r.mac)
            .collect();
        macs.sort_unstable();
        macs.dedup();
        macs
    }

    /// Records of this MAC that are not in force, per source; shown to explain a missing answer.
    pub fn ended(&self, mac: MacAddress) -> Vec<(u32, &Record)> {
        let mut found = Vec::new();
        for (source, view) in (0u32..).zip(&self.sources) {
            let dead = |r: &&Record| r.mac == Some(mac) && !r.is_live(self.as_of);
            found.extend(view.table.records.iter().filter(dead).map(|r| (source, r)));
        }
        found
    }

    /// Health of the sources, for the coordinator.
    pub fn wire_sources(&self) -> Vec<wire::LeaseSource> {
        let source = |view: &SourceView| wire::LeaseSource {
            kind: view.kind.name().to_owned(),
            path: view.path.to_string(),
            records: view.table.count,
            skipped: view.table.skipped,
            age_seconds: view.good_at.map_or(0, |at| self.as_of.saturating_sub(at).max(0) as u64),
            error: view.error.as_deref().unwrap_or_default().to_owned(),
        };
        self.sources.iter().map(source).collect()
    }

    /// All leases in force and reservations, for the coordinator.
    pub fn wire_entries(&self) -> Vec<wire::LeaseEntry> {
        let entry = |place: &Place| {
            let lease = self.of(*place);
            wire::LeaseEntry {
                mac: place.mac,
                address: lease.address,
                state: lease.state,
                expires: lease.expires,
                renewed: lease.renewed,
                source: lease.source,
                client_id: lease.client_id,
                hostname: lease.hostname,
                chosen: place.chosen,
            }
        };
        self.live.iter().map(entry).collect()
    }
}

fn place(mac: MacAddress, source: usize, index: usize, reserved: bool) -> Place {
    Place { mac, source: source as u32, index: index as u32, reserved, ended: false, chosen: false }
}

fn placement(source: &SourceView, now: i64) -> Placement {
    let written = source.written.unwrap_or(now).min(now);
    Placement { now, written, latest_end: source.table.latest_end() }
}

/// Per address the record in force over all sources, as (source, index). Two servers of a failover
/// pair write the same address; the newer record is the true one.
fn in_force(sources: &[SourceView], placements: &[Placement]) -> Vec<(usize, usize)> {
    let all = sources
        .iter()
        .enumerate()
        .flat_map(|(s, view)| (0..view.table.records.len()).map(move |index| (s, index)));
    if sources.len() < 2 {
        return all.collect();
    }
    let mut newest: HashMap<IpAddr, (Freshness, usize, usize)> = HashMap::new();
    for (source, index) in all {
        let record = &sources[source].table.records[index];
        let freshness = placements[source].freshness(record);
        let known = newest.entry(record.address).or_insert((freshness, source, index));
        if freshness > known.0 {
            *known = (freshness, source, index);
        }
    }
    newest.into_values().map(|(_, source, index)| (source, index)).collect()
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
