//! Sites and hosts, told whole.

use bpa_common::api::Site;
use jiff::Timestamp;

use super::describe::{about, conditions};
use super::text::{age, bytes, field};
use super::{free, get};
use crate::cluster::directory::EventRecord;
use crate::cluster::{HostRecord, Snapshot};

/// Everything about a site.
pub fn site(site: &Site, events: &[EventRecord], now: Timestamp) -> String {
    let (mut out, status) = (String::new(), &site.status);
    field(&mut out, "Name", &site.metadata.key().to_string());
    told(&mut out, "Description", &site.spec.description);
    let joined = !status.fingerprint.is_empty();
    let approved = if site.spec.approved {
        "yes".to_owned()
    } else if !joined {
        "no".to_owned()
    } else {
        format!(
            "no: compare the fingerprint with what `bpa-agent join` showed, then run: bpa-coordinator site approve {}",
            site.metadata.name
        )
    };
    field(&mut out, "Approved", &approved);
    let seen = status.last_seen.map(|time| format!(", last seen {} ago", age(time, now)));
    let connected = if status.connected { "yes" } else { "no" };
    let seen = match seen {
        None if !joined => format!(
            ": no agent has joined; `bpa-coordinator site add {}` prints the line for it",
            site.metadata.name
        ),
        seen => seen.unwrap_or_default(),
    };
    field(&mut out, "Connected", &format!("{connected}{seen}"));
    if !joined {
        conditions(&mut out, &status.conditions.0, "", now);
        about(&mut out, "Site", &site.metadata.key(), events, now);
        return out;
    }
    field(&mut out, "Agent", &status.agent_version);
    field(&mut out, "Fingerprint", &status.fingerprint);
    told(&mut out, "SSH key", &status.ssh_public_key);
    field(&mut out, "Clock", &format!("{} ms from ours", status.clock_skew_ms));
    let newest = status.leases.newest.map(|time| format!(", newest {} ago", age(time, now)));
    let count = status.leases.count;
    field(&mut out, "Leases", &format!("{count}{}", newest.unwrap_or_default()));
    for source in &status.leases.sources {
        field(&mut out, "", source);
    }
    if let Some(host) = &status.host {
        let load = format!("{}.{:02}", host.load_percent / 100, host.load_percent % 100);
        field(&mut out, "Host", &format!("{}, {} CPUs, load {load}", host.hostname, host.cpus));
        let free = |available, total| format!("{} of {} free", bytes(available), bytes(total));
        field(&mut out, "Memory", &free(host.memory_available, host.memory_total));
        field(&mut out, "Disk", &free(host.disk_available, host.disk_total));
    }
    for bundle in &status.bundles {
        let versions = bundle.kubernetes_versions.join(", ");
        let text = format!("{} {}, Kubernetes {versions}", bundle.name, bundle.version);
        field(&mut out, "Bundle", &text);
        bundle.problems.iter().for_each(|problem| field(&mut out, "", &format!("! {problem}")));
    }
    conditions(&mut out, &status.conditions.0, "", now);
    about(&mut out, "Site", &site.metadata.key(), events, now);
    out
}

/// A field that says nothing is left out.
fn told(out: &mut String, name: &str, text: &str) {
    if !text.is_empty() {
        field(out, name, text);
    }
}

/// Everything about a host that we read.
pub fn host(
    record: &HostRecord,
    snapshot: &Snapshot,
    events: &[EventRecord],
    now: Timestamp,
) -> String {
    let (mut out, host) = (String::new(), &record.host);
    field(&mut out, "Name", &host.metadata.key().to_string());
    field(&mut out, "UID", &host.metadata.uid);
    let status = &host.status;
    field(&mut out, "State", &status.provisioning.state);
    field(&mut out, "Status", &status.operational_status);
    if !status.error_message.is_empty() {
        field(&mut out, "Error", &format!("{}: {}", status.error_type, status.error_message));
    }
    field(&mut out, "Online", if host.spec.online { "yes" } else { "no" });
    let used = Some(get::used_by(record)).filter(|who| !who.is_empty());
    field(&mut out, "Used by", used.as_deref().unwrap_or("nobody"));
    told(&mut out, "Free", &free::free(record, snapshot));
    field(&mut out, "MACs", &get::macs(record).replace(',', ", "));
    let hardware = get::hardware(record);
    let known = |value: Option<String>| value.unwrap_or_else(|| "unknown".to_owned());
    field(&mut out, "CPUs", &known(get::cpus(hardware)));
    field(&mut out, "Memory", &known(get::memory(hardware)));
    field(&mut out, "Disks", &known(get::disks(hardware)));
    let labels: Vec<String> =
        host.metadata.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    told(&mut out, "Labels", &labels.join("\n"));
    about(&mut out, "BareMetalHost", &host.metadata.key(), events, now);
    out
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, golden, now};
    use super::*;

    #[test]
    fn sites_and_hosts_are_told_as_kept() {
        golden("describe-site.txt", &site(&testing::site(), &[], now()));
        let mut invited = testing::site();
        invited.status = Default::default();
        let text = site(&invited, &[], now());
        assert!(text.contains("no agent has joined") && !text.contains("Clock"), "{text}");
        let record = testing::host();
        let hosts = vec![std::sync::Arc::new(record.clone())];
        let snapshot = Snapshot { hosts, ..Snapshot::default() };
        golden("describe-host.txt", &host(&record, &snapshot, &[], now()));
    }
}
