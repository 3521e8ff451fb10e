//! The leases that sites report, kept in a file each, so that a command can show them.

use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bpa_common::net::MacAddress;
use bpa_common::wire::v1::LeaseState;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::render::table::Table;
use super::render::text::{age_or_dash, field};
use crate::cluster::{files, kind};
use crate::sites::{Fleet, LeaseView};

/// A renewal storm is written once.
const QUIET: Duration = Duration::from_millis(500);
/// Largest file that is read.
const MAX: u64 = 64 << 20;

/// The lease view of one site.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LeaseFile {
    pub received: Option<Timestamp>,
    pub sources: Vec<Source>,
    pub leases: Vec<Lease>,
}

/// Where the site reads leases.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Source {
    pub kind: String,
    pub path: String,
    pub records: u64,
    pub skipped: u64,
    pub error: String,
}

/// One lease.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Lease {
    pub mac: MacAddress,
    pub address: IpAddr,
    pub reserved: bool,
    pub expires: Option<Timestamp>,
    pub source: String,
    pub hostname: String,
    /// The address that answers for this MAC.
    pub chosen: bool,
}

impl LeaseFile {
    fn of(view: &LeaseView) -> Self {
        let sources = view.sources.iter().map(|source| Source {
            kind: source.kind.clone(),
            path: source.path.clone(),
            records: source.records,
            skipped: source.skipped,
            error: source.error.clone(),
        });
        let leases = view.by_mac.values().flatten().map(|entry| Lease {
            mac: entry.mac,
            address: entry.address,
            reserved: entry.state == LeaseState::Reserved,
            expires: entry.expires.and_then(|second| Timestamp::from_second(second).ok()),
            source: view
                .sources
                .get(entry.source as usize)
                .map_or_else(String::new, |s| s.kind.clone()),
            hostname: entry.hostname.clone(),
            chosen: entry.chosen,
        });
        Self { received: view.received, sources: sources.collect(), leases: leases.collect() }
    }

    /// The file of a site; none when it has never reported.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn read(state: &Path, site: &str) -> io::Result<Option<Self>> {
        let Some(path) = path(state, site) else { return Ok(None) };
        let Some(bytes) = files::read_limited(&path, MAX)? else { return Ok(None) };
        Ok(Some(serde_json::from_slice(&bytes)?))
    }
}

/// Only a name that is a DNS label names a file.
fn path(state: &Path, site: &str) -> Option<PathBuf> {
    kind::is_dns_label(site).then(|| state.join("leases").join(format!("{site}.json")))
}

/// Writes the lease views of all sites whenever they change, until `stop`.
pub async fn keep(fleet: Arc<impl Fleet>, state: PathBuf, stop: CancellationToken) {
    let mut changes = fleet.changes();
    loop {
        let view = fleet.view();
        let state = state.clone();
        let written = tokio::task::spawn_blocking(move || {
            for (site, view) in &view {
                if view.leases.received.is_some() {
                    write(&state, site, &LeaseFile::of(&view.leases))?;
                }
            }
            io::Result::Ok(())
        })
        .await;
        if let Ok(Err(error)) = written {
            tracing::warn!(%error, "can't keep the lease views");
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(QUIET) => {}
        }
        tokio::select! {
            () = stop.cancelled() => return,
            changed = changes.changed() => if changed.is_err() { return },
        }
    }
}

fn write(state: &Path, site: &str, file: &LeaseFile) -> io::Result<()> {
    let Some(path) = path(state, site) else { return Ok(()) };
    files::private_dir(&state.join("leases"))?;
    let bytes = serde_json::to_vec_pretty(file)?;
    if std::fs::read(&path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    files::write_private(&path, &bytes)
}

/// As people read it.
pub fn render(file: &LeaseFile, now: Timestamp) -> String {
    let mut out = String::new();
    field(&mut out, "As of", &format!("{} ago", age_or_dash(file.received, now)));
    for source in &file.sources {
        let skipped = match source.skipped {
            0 => String::new(),
            count => format!(", {count} unreadable"),
        };
        let text = format!("{} {}: {} records{skipped}", source.kind, source.path, source.records);
        field(&mut out, "Source", &text);
        if !source.error.is_empty() {
            field(&mut out, "", &format!("! {}", source.error));
        }
    }
    let mut table = Table::new(&["MAC", "ADDRESS", "ANSWERS", "ENDS", "SOURCE", "HOSTNAME"]);
    for lease in &file.leases {
        let ends = match (lease.reserved, lease.expires) {
            (true, _) => "reserved".to_owned(),
            (false, None) => "never".to_owned(),
            (false, Some(time)) if time <= now => "over".to_owned(),
            (false, Some(time)) => format!("in {}", super::render::text::age(now, time)),
        };
        table.row([
            lease.mac.to_string(),
            lease.address.to_string(),
            if lease.chosen { "yes" } else { "no" }.to_owned(),
            ends,
            lease.source.clone(),
            lease.hostname.clone(),
        ]);
    }
    out.push('\n');
    out.push_str(&table.render(""));
    out
}

#[cfg(test)]
mod tests {
    use bpa_common::wire::v1::{LeaseEntry, LeaseSource};

    use super::super::render::testing::{at, golden, now};
    use super::*;

    fn view() -> LeaseView {
        let mac = MacAddress::new([0x52, 0x54, 0, 0xaa, 1, 1]);
        let entry = |n: u8, state, expires, chosen| LeaseEntry {
            mac,
            address: [10, 77, 0, n].into(),
            state,
            expires,
            renewed: None,
            source: 0,
            client_id: String::new(),
            hostname: "host1\u{1b}[2J".to_owned(),
            chosen,
        };
        let source = LeaseSource {
            kind: "kea".to_owned(),
            path: "/var/lib/kea/leases4.csv".to_owned(),
            records: 2,
            skipped: 1,
            age_seconds: 3,
            error: "permission denied".to_owned(),
        };
        let entries = vec![
            entry(50, LeaseState::Bound, Some(at(1600).as_second()), true),
            entry(51, LeaseState::Bound, Some(at(1).as_second()), false),
            entry(52, LeaseState::Reserved, None, false),
        ];
        LeaseView {
            by_mac: [(mac, entries)].into(),
            sources: vec![source],
            received: Some(at(990)),
        }
    }

    #[test]
    fn a_lease_view_is_kept_and_shown() {
        let dir = tempfile::tempdir().unwrap();
        let file = LeaseFile::of(&view());
        write(dir.path(), "north", &file).unwrap();
        write(dir.path(), "../north", &file).unwrap();
        assert_eq!(LeaseFile::read(dir.path(), "north").unwrap(), Some(file.clone()));
        assert_eq!(LeaseFile::read(dir.path(), "south").unwrap(), None);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        golden("leases.txt", &render(&file, now()));
    }
}
