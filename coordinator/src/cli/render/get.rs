//! Tables of objects.

use bpa_common::api::Site;
use bpa_common::api::metal3::{Inspected, readable_mac};
use jiff::Timestamp;

use super::table::Table;
use super::text::{age, age_or_dash, bytes};
use super::words;
use crate::cluster::directory::EventRecord;
use crate::cluster::{HostRecord, ObjectProblem, Snapshot};

/// The Provisionings of a snapshot.
pub fn provisionings(snapshot: &Snapshot, now: Timestamp) -> Table {
    let mut table = Table::new(&["NAMESPACE", "NAME", "PHASE", "NODES", "SITE", "AGE", "MESSAGE"]);
    for p in &snapshot.provisionings {
        let site = p.status.site.as_ref().or(p.spec.site.as_ref()).cloned().unwrap_or_default();
        table.row([
            p.metadata.namespace.clone(),
            p.metadata.name.clone(),
            words::phase(p),
            words::ready_nodes(p),
            site,
            age_or_dash(p.metadata.creation_timestamp, now),
            words::message(p),
        ]);
    }
    table
}

/// The sites of a snapshot.
pub fn sites(snapshot: &Snapshot, now: Timestamp) -> Table {
    let mut table = Table::new(&[
        "NAMESPACE",
        "NAME",
        "CONNECTED",
        "APPROVED",
        "LEASES",
        "BUNDLES",
        "LAST SEEN",
        "AGENT",
        "AGE",
    ]);
    for site in &snapshot.sites {
        table.row([
            site.metadata.namespace.clone(),
            site.metadata.name.clone(),
            yes_no(site.status.connected),
            yes_no(site.spec.approved),
            site.status.leases.count.to_string(),
            bundles(site),
            site.status.last_seen.map_or_else(|| "never".to_owned(), |seen| age(seen, now)),
            site.status.agent_version.clone(),
            age_or_dash(site.metadata.creation_timestamp, now),
        ]);
    }
    table
}

fn bundles(site: &Site) -> String {
    let one = |b: &bpa_common::api::BundleStatus| {
        let state = if b.problems.is_empty() { "" } else { " (incomplete)" };
        format!("{} {}{state}", b.name, b.version)
    };
    site.status.bundles.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn yes_no(value: bool) -> String {
    if value { "yes" } else { "no" }.to_owned()
}

/// The hosts of a snapshot.
pub fn hosts(snapshot: &Snapshot) -> Table {
    let mut table = Table::new(&[
        "NAMESPACE",
        "NAME",
        "STATE",
        "STATUS",
        "CPU",
        "MEMORY",
        "DISKS",
        "MACS",
        "USED BY",
    ]);
    for record in &snapshot.hosts {
        let (host, hardware) = (&record.host, hardware(record));
        table.row([
            host.metadata.namespace.clone(),
            host.metadata.name.clone(),
            host.status.provisioning.state.clone(),
            host.status.operational_status.clone(),
            cpus(hardware).unwrap_or_else(unknown),
            memory(hardware).unwrap_or_else(unknown),
            disks(hardware).unwrap_or_else(unknown),
            macs(record),
            used_by(record),
        ]);
    }
    table
}

fn unknown() -> String {
    "unknown".to_owned()
}

/// Inspection data as decisions read them.
pub fn hardware(record: &HostRecord) -> Inspected<'_> {
    Inspected::of(&record.host, record.hardware.as_ref())
}

pub fn cpus(hardware: Inspected<'_>) -> Option<String> {
    hardware.cpus().map(|count| count.to_string())
}

pub fn memory(hardware: Inspected<'_>) -> Option<String> {
    hardware.memory().map(bytes)
}

pub fn disks(hardware: Inspected<'_>) -> Option<String> {
    let disks = hardware.disks();
    let sizes: Vec<String> = disks.iter().filter_map(|disk| disk.size_bytes).map(bytes).collect();
    (!sizes.is_empty()).then(|| some_of(sizes))
}

/// All MACs that Metal3 shows for a host, the boot MAC first (as it is written if it is none), each
/// once.
pub fn macs(record: &HostRecord) -> String {
    let boot = record.host.spec.boot_mac_address.trim();
    let boot = readable_mac(boot).map_or_else(|| boot.to_owned(), |mac| mac.to_string());
    let mut seen = vec![boot];
    let nics = hardware(record).nics().into_iter().map(|nic| nic.mac.to_string());
    seen.extend(nics.filter(|mac| *mac != seen[0]).collect::<Vec<_>>());
    seen.retain(|mac| !mac.is_empty());
    some_of(seen)
}

/// A list that stays readable: machines may have hundreds of disks and virtual NICs.
fn some_of(list: Vec<String>) -> String {
    const MOST: usize = 8;
    match list.len().checked_sub(MOST) {
        None | Some(0) => list.join(","),
        Some(more) => format!("{} and {more} more", list[..MOST].join(",")),
    }
}

/// Who has a host.
pub fn used_by(record: &HostRecord) -> String {
    let who = record.host.spec.consumer_ref.as_ref();
    who.map(|c| format!("{} {}/{}", c.kind, c.namespace, c.name)).unwrap_or_default()
}

/// Other kinds: only their names.
pub fn named<'a>(
    keys: impl Iterator<Item = &'a bpa_common::api::ObjectMeta>,
    now: Timestamp,
) -> Table {
    let mut table = Table::new(&["NAMESPACE", "NAME", "AGE"]);
    for meta in keys {
        let age = age_or_dash(meta.creation_timestamp, now);
        table.row([meta.namespace.as_str(), meta.name.as_str(), age.as_str()]);
    }
    table
}

/// Events, the newest last.
pub fn events<'a>(events: impl Iterator<Item = &'a EventRecord>, now: Timestamp) -> Table {
    let mut table = Table::new(&["LAST SEEN", "TYPE", "REASON", "OBJECT", "COUNT", "MESSAGE"]);
    for event in events {
        table.row([
            age_or_dash(Some(event.last), now),
            kind_of_event(event).to_owned(),
            event.reason.clone(),
            format!("{} {}", event.kind, event.key),
            event.count.to_string(),
            event.message.clone(),
        ]);
    }
    table
}

pub fn kind_of_event(event: &EventRecord) -> &'static str {
    if event.warning { "Warning" } else { "Normal" }
}

/// Objects that can't be used, as a warning below a table.
pub fn problems(problems: &[ObjectProblem]) -> String {
    let mut out = String::new();
    for problem in problems {
        let object = problem.key.as_ref().map(|key| format!(" ({} {key})", problem.kind));
        let place = format!("{}{}", problem.place, object.unwrap_or_default());
        out.push_str(&format!(
            "can't be used: {}: {}\n",
            super::text::clean(&place),
            super::text::clean(&problem.message)
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, golden, now};
    use super::*;

    #[test]
    fn tables_are_as_kept() {
        let mut second = testing::host();
        second.host.metadata.name = "host2".to_owned();
        second.host.status.hardware = None;
        second.host.spec.consumer_ref = None;
        let snapshot = Snapshot {
            provisionings: [testing::installing(), testing::failed(), testing::ready()]
                .map(Into::into)
                .into(),
            hosts: [testing::host(), second].map(Into::into).into(),
            sites: vec![testing::site()],
            ..Snapshot::default()
        };
        let mut text = provisionings(&snapshot, now()).render("");
        text.push_str(&hosts(&snapshot).render(""));
        text.push_str(&sites(&snapshot, now()).render(""));
        text.push_str(&events(testing::events().iter(), now()).render(""));
        golden("get.txt", &text);
    }

    /// As decisions read it: section by section, each disk once, lists that stay readable.
    #[test]
    fn hardware_is_shown_as_it_counts() {
        use bpa_common::api::metal3::{Cpu, Disk, Hardware, HardwareData, Nic};
        let mut record = testing::host();
        let disk =
            |n: u64| Disk { size_bytes: Some(n << 30), wwn: n.to_string(), ..Disk::default() };
        let nic = |n: u8| Nic { mac: format!("02:00:00:00:00:{n:02x}"), ..Nic::default() };
        let mut data = HardwareData::new(Default::default(), Default::default());
        data.spec.hardware = Some(Hardware {
            cpu: Some(Cpu { count: Some(32), ..Cpu::default() }),
            storage: (1..=10).chain(1..=10).map(disk).collect(),
            nics: (1..=200).map(nic).collect(),
            ..Hardware::default()
        });
        record.hardware = Some(data);
        let found = hardware(&record);
        assert_eq!(cpus(found).as_deref(), Some("32"));
        assert_eq!(memory(found).as_deref(), Some("16Gi"), "from the other place");
        let shown = disks(found).unwrap();
        assert!(shown.starts_with("1Gi,2Gi,") && shown.ends_with(",8Gi and 2 more"), "{shown}");
        let shown = macs(&record);
        assert!(shown.starts_with("52:54:00:aa:01:01,02:00:00:00:00:01,"), "{shown}");
        assert!(shown.ends_with(" and 193 more"), "{shown}");
        record.host.spec.boot_mac_address = "NONE of them".to_owned();
        assert!(macs(&record).starts_with("NONE of them,02:"), "as it is written");
    }

    #[test]
    fn a_problem_is_named_with_its_place_and_object() {
        let problem = ObjectProblem {
            place: "a.yaml, document 2".to_owned(),
            kind: "Site".to_owned(),
            key: Some(bpa_common::api::ObjectKey::new("default", "north")),
            message: "bad\u{1b}".to_owned(),
        };
        assert_eq!(
            problems(&[problem]),
            "can't be used: a.yaml, document 2 (Site default/north): bad\\u{1b}\n"
        );
    }
}
