//! The status of a Site, from what its agent tells.

use bpa_common::api::{
    BundleStatus, Condition, ConditionStatus, HostResources, LeaseStatus, Site, SiteStatus,
};
use jiff::{SignedDuration, Timestamp};

use crate::sites::SiteView;

/// A clock this far off is told, milliseconds.
const SKEW_MS: i64 = 30_000;
/// Below this share of free disk or memory, per cent, it is told.
const LOW_PERCENT: u64 = 10;
/// Numbers that change all the time are written this often at most.
const EVERY: SignedDuration = SignedDuration::from_secs(10);

/// The status of a site. `view` is none while its agent has not connected since our start: what
/// was known stays then.
pub fn site_status(site: &Site, view: Option<&SiteView>, now: Timestamp) -> SiteStatus {
    let mut status = site.status.clone();
    status.connected = view.is_some_and(|view| view.connected);
    if let Some(view) = view {
        fill(&mut status, view);
    }
    let generation = site.metadata.generation;
    let mut say = |kind: &str, holds: bool, yes: &str, no: &str, message: String| {
        let (state, reason) =
            if holds { (ConditionStatus::True, yes) } else { (ConditionStatus::False, no) };
        status.conditions.set(kind, state, reason, message, now, generation);
    };
    let name = &site.metadata.name;
    let approved = if site.spec.approved {
        String::new()
    } else {
        format!(
            "leases are taken, orders are not given; run `bpa-coordinator site approve {name}`, or set spec.approved to true"
        )
    };
    say("Approved", site.spec.approved, "Approved", "Quarantine", approved);
    let connected = view.is_some_and(|view| view.connected);
    let message = if connected {
        String::new()
    } else {
        "the agent is not connected; start bpa-agent at the site or check the network".to_owned()
    };
    say("Connected", connected, "Connected", "NotConnected", message);
    if let Some(view) = view {
        let broken: Vec<String> = view
            .leases
            .sources
            .iter()
            .filter(|s| !s.error.is_empty())
            .map(|s| format!("{} {}: {}", s.kind, s.path, s.error))
            .collect();
        let none = view.leases.sources.is_empty();
        let message =
            if none { "the agent follows no lease source".to_owned() } else { broken.join("; ") };
        say("LeasesReadable", !none && broken.is_empty(), "Readable", "NotReadable", message);
        let skewed = view.clock_skew_ms.abs() > SKEW_MS;
        let message = if skewed {
            format!(
                "the agent's clock differs by {} s; set the time at the site (chrony or systemd-timesyncd)",
                view.clock_skew_ms / 1000
            )
        } else {
            String::new()
        };
        say("ClockInStep", !skewed, "InStep", "Skewed", message);
        let low = low_resources(view);
        say("ResourcesEnough", low.is_empty(), "Enough", "Low", low);
    }
    status
}

fn fill(status: &mut SiteStatus, view: &SiteView) {
    status.last_seen = view.last_seen.or(status.last_seen);
    status.agent_version.clone_from(&view.agent_version);
    status.fingerprint.clone_from(&view.fingerprint);
    status.ssh_public_key.clone_from(&view.ssh_public_key);
    status.clock_skew_ms = view.clock_skew_ms;
    let source = |s: &bpa_common::wire::v1::LeaseSource| {
        let error = if s.error.is_empty() { String::new() } else { format!(" ({})", s.error) };
        format!("{}:{}{error}", s.kind, s.path)
    };
    status.leases = LeaseStatus {
        count: view.leases.by_mac.values().map(|entries| entries.len() as u64).sum(),
        sources: view.leases.sources.iter().map(source).collect(),
        newest: view.leases.received,
    };
    status.bundles = view
        .bundles
        .iter()
        .map(|b| BundleStatus {
            name: b.name.clone(),
            version: b.version.clone(),
            kubernetes_versions: b.kubernetes_versions.clone(),
            problems: b.problems.clone(),
        })
        .collect();
    if let Some(host) = &view.host {
        status.host = Some(HostResources {
            hostname: host.hostname.clone(),
            cpus: host.cpus,
            load_percent: host.load_percent,
            memory_total: host.memory_total,
            memory_available: host.memory_available,
            disk_total: host.disk_total,
            disk_available: host.disk_available,
        });
    }
}

fn low_resources(view: &SiteView) -> String {
    let Some(host) = &view.host else { return String::new() };
    let low = |what: &str, free: u64, all: u64| {
        (all > 0 && free.saturating_mul(100) / all < LOW_PERCENT).then(|| {
            format!("{what}: {} of {} MiB free on {}", free >> 20, all >> 20, host.hostname)
        })
    };
    let words: Vec<String> = [
        low("memory", host.memory_available, host.memory_total),
        low("disk", host.disk_available, host.disk_total),
    ]
    .into_iter()
    .flatten()
    .collect();
    words.join("; ")
}

/// Whether a status differs enough to be written: numbers that change with each heartbeat wait
/// until ten seconds have gone by.
pub fn worth_writing(old: &SiteStatus, new: &SiteStatus) -> bool {
    if old == new {
        return false;
    }
    let calm = |status: &SiteStatus| SiteStatus {
        last_seen: None,
        clock_skew_ms: 0,
        host: None,
        leases: LeaseStatus { newest: None, ..status.leases.clone() },
        conditions: bpa_common::api::Conditions(
            status
                .conditions
                .0
                .iter()
                .map(|c| Condition { message: String::new(), ..c.clone() })
                .collect(),
        ),
        ..status.clone()
    };
    if calm(old) != calm(new) {
        return true;
    }
    match (old.last_seen, new.last_seen) {
        (Some(old), Some(new)) => new.duration_since(old) >= EVERY,
        (old, new) => old != new,
    }
}

#[cfg(test)]
mod tests {
    use bpa_common::api::ObjectMeta;
    use bpa_common::wire::v1::HostReport;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn site() -> Site {
        let metadata = ObjectMeta { name: "north".into(), ..ObjectMeta::default() };
        Site::new(metadata, Default::default())
    }

    fn view(second: i64) -> SiteView {
        SiteView {
            connected: true,
            last_seen: Some(at(second)),
            host: Some(HostReport {
                memory_total: 100 << 20,
                memory_available: 50 << 20,
                disk_total: 100 << 20,
                disk_available: 5 << 20,
                ..HostReport::default()
            }),
            clock_skew_ms: -40_000,
            ..SiteView::default()
        }
    }

    #[test]
    fn what_is_wrong_at_a_site_is_said_with_what_to_do() {
        let status = site_status(&site(), Some(&view(1)), at(2));
        let message = |kind: &str| status.conditions.get(kind).unwrap().message.clone();
        assert!(status.conditions.is_true("Connected"));
        assert!(message("Approved").contains("site approve north"));
        assert!(message("ClockInStep").contains("-40 s"));
        assert!(message("ResourcesEnough").contains("disk: 5 of 100 MiB"));
        assert!(message("LeasesReadable").contains("no lease source"));
    }

    #[test]
    fn an_agent_that_is_away_leaves_what_was_known() {
        let mut site = site();
        site.status = site_status(&site, Some(&view(1)), at(2));
        let status = site_status(&site, None, at(3));
        assert!(!status.connected && status.host.is_some());
        assert_eq!(status.last_seen, Some(at(1)));
        assert_eq!(status.conditions.get("Connected").unwrap().reason, "NotConnected");
    }

    #[test]
    fn heartbeats_are_written_every_ten_seconds_and_changes_at_once() {
        let old = site_status(&site(), Some(&view(100)), at(100));
        let mut beat = view(104);
        beat.clock_skew_ms = -40_100;
        let later = |view: &SiteView| site_status(&site(), Some(view), at(100));
        assert!(!worth_writing(&old, &later(&beat)));
        beat.last_seen = Some(at(110));
        assert!(worth_writing(&old, &later(&beat)));
        let gone = SiteView { connected: false, ..view(100) };
        assert!(worth_writing(&old, &later(&gone)));
    }
}
