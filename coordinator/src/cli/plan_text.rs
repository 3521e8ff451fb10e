//! PURE: a plan as a person reads it on a terminal.

use std::fmt::Write as _;

use super::render::table::Table;
use super::render::text::clean;
use crate::matching::{Explanation, IneligibleReport, PlanReport, ProvisioningPlan, in_groups};

/// Reasons against hosts are listed one by one up to here, then counted.
const LISTED: usize = 12;

/// The whole report as text.
pub fn render(report: &PlanReport) -> String {
    let mut out = String::new();
    if report.provisionings.is_empty() {
        out.push_str("No Provisioning in these files: give at least one, with its hosts.\n");
    }
    for object in &report.unreadable {
        line(&mut out, &format!("not used: {}: {}", object.place, object.message));
    }
    for (index, plan) in report.provisionings.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        provisioning(&mut out, plan);
    }
    out
}

fn provisioning(out: &mut String, plan: &ProvisioningPlan) {
    let verdict = match (plan.accepted, plan.fits) {
        (false, _) => "is refused".to_owned(),
        (true, false) => "does not fit".to_owned(),
        (true, true) => format!("fits (plan {})", plan.hash),
    };
    line(out, &format!("Provisioning {}/{} {verdict}", plan.namespace, plan.name));
    for warning in &plan.warnings {
        line(out, &format!("  warning: {warning}"));
    }
    if plan.fits {
        let rows = plan.assignments.iter().map(|a| {
            vec![
                a.slot.clone(),
                a.roles.join(","),
                format!("{}/{}", a.host.namespace, a.host.name),
                a.mac.map_or_else(|| "unknown".to_owned(), |m| m.to_string()),
                a.address.map_or_else(|| "from its lease".to_owned(), |a| a.to_string()),
            ]
        });
        table(out, &["NODE", "ROLES", "HOST", "MAC", "ADDRESS"], rows.collect());
        installs(out, plan);
    }
    plan.problems.iter().for_each(|problem| line(out, &format!("  - {problem}")));
    if let Some(explanation) = plan.explanation.as_ref().filter(|_| plan.accepted) {
        why(out, explanation);
    }
    if !plan.fits {
        not_eligible(out, plan);
    }
}

/// What is wiped and installed, if anything.
fn installs(out: &mut String, plan: &ProvisioningPlan) {
    let installed = plan.assignments.iter().filter(|a| a.os.is_some());
    let nodes: Vec<&str> = installed.clone().map(|a| a.slot.as_str()).collect();
    if let Some(image) = installed.filter_map(|a| a.os.as_deref()).next() {
        line(out, &format!("  Metal3 installs {image} on the hosts of: {}", nodes.join(", ")));
    }
}

fn why(out: &mut String, explanation: &Explanation) {
    line(out, &format!("  {}", explanation.summary));
    if !explanation.near_misses.is_empty() {
        line(out, "  Nearest hosts, and what each misses:");
        let rows = explanation.near_misses.iter().map(|m| {
            vec![
                m.slot.clone(),
                m.hosts(),
                m.requirement.clone(),
                m.wanted.clone(),
                m.found.clone(),
                m.short_by.clone().unwrap_or_else(|| "-".to_owned()),
            ]
        });
        table(out, &["NODE", "HOST", "REQUIREMENT", "WANTED", "FOUND", "SHORT BY"], rows.collect());
    }
    if !explanation.remedies.is_empty() {
        line(out, "  It would fit after any one of these (each was tried):");
        explanation.remedies.iter().for_each(|r| line(out, &format!("  - {}", r.message)));
    }
}

fn not_eligible(out: &mut String, plan: &ProvisioningPlan) {
    if plan.ineligible.is_empty() {
        return;
    }
    line(out, "  Hosts that can't be taken at all:");
    let groups = in_groups(plan.ineligible.iter().map(IneligibleReport::line));
    let rows = groups
        .iter()
        .take(LISTED)
        .map(|group| vec![group.names(), group.reason.to_owned(), group.message.to_owned()]);
    table(out, &["HOST", "REASON", "BECAUSE IT"], rows.collect());
    let mut rest = std::collections::BTreeMap::<&str, usize>::new();
    for group in groups.iter().skip(LISTED) {
        *rest.entry(&group.reason).or_default() += group.count;
    }
    for (reason, count) in rest {
        line(out, &format!("  and {count} more: {reason}"));
    }
}

fn line(out: &mut String, text: &str) {
    let _ = writeln!(out, "{}", clean(text).trim_end());
}

fn table(out: &mut String, head: &[&str], rows: Vec<Vec<String>>) {
    let mut table = Table::telling(head);
    rows.into_iter().for_each(|row| table.row(row));
    out.push_str(&table.render("  "));
}

#[cfg(test)]
mod tests {
    use bpa_common::api::metal3::{BareMetalHost, Cpu, Hardware};
    use bpa_common::api::{ObjectMeta, Provisioning};

    use super::*;
    use crate::matching::plan_all;

    fn host(name: &str, n: u8, cpu: Option<u32>, gib: u64) -> BareMetalHost {
        let metadata = ObjectMeta {
            name: name.into(),
            namespace: "metal3".into(),
            uid: format!("u{n}"),
            ..Default::default()
        };
        let mut host = BareMetalHost::new(metadata, Default::default());
        host.spec.online = true;
        host.spec.boot_mac_address = format!("52:54:00:00:00:{n:02x}");
        host.status.operational_status = "OK".into();
        host.status.provisioning.state = "provisioned".into();
        host.status.hardware = Some(Hardware {
            cpu: Some(Cpu { count: cpu, ..Default::default() }),
            ram_mebibytes: Some(gib * 1024),
            ..Default::default()
        });
        host
    }

    fn provisioning(name: &str, spec: &str) -> Provisioning {
        let text = format!(
            "{{\"metadata\": {{\"name\": \"{name}\", \"namespace\": \"default\"}}, \"spec\": {spec}}}"
        );
        serde_json::from_str(&text).unwrap()
    }

    /// The text is part of what users see: changed on purpose only, then `BLESS=1` rewrites it.
    #[test]
    fn the_text_is_as_kept() {
        let mut busy = host("host4", 4, Some(32), 64);
        busy.status.provisioning.state = "inspecting".into();
        let hosts = [
            host("host1", 1, Some(8), 16),
            host("host2", 2, Some(16), 62),
            host("host3", 3, None, 8),
            busy,
        ];
        let hosts: Vec<_> = hosts.iter().map(|h| (h, None)).collect();
        let all = [
            provisioning(
                "a-fits",
                r#"{"masters": [{"m": {"mac-address": "52:54:00:00:00:01"}}], "workers": [{"w": {"cpu": 10, "memory": "32Gi"}}]}"#,
            ),
            provisioning(
                "b-too-large",
                r#"{"masters": [{"m": {"cpu": 4}}], "workers": [{"w": {"cpu": 12, "memory": "64Gi", "count": 2}}]}"#,
            ),
            provisioning(
                "c-no-such-mac",
                r#"{"masters": [{"m": {"mac-address": "52:54:00:00:00:99"}}]}"#,
            ),
            provisioning("d-refused", r#"{"masters": [{"Node_A": {}}], "PodSubnet": "ten"}"#),
        ];
        let mut text = String::new();
        for one in &all {
            text.push_str(&render(&plan_all(std::slice::from_ref(one), &hosts)));
            text.push('\n');
        }
        text.push_str(&render(&plan_all(&all[..2], &hosts)));
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/plan.txt");
        if std::env::var_os("BLESS").is_some() {
            std::fs::create_dir_all(concat!(env!("CARGO_MANIFEST_DIR"), "/testdata")).unwrap();
            std::fs::write(path, &text).unwrap();
        }
        assert_eq!(text, std::fs::read_to_string(path).unwrap());
    }

    /// Three thousand hosts are told in groups: what a person reads fits on a screen.
    #[test]
    fn thousands_of_hosts_are_told_on_one_screen() {
        let hosts: Vec<BareMetalHost> = (0..3000u32)
            .map(|n| {
                let size = 1 + n % 5;
                let mut host =
                    host(&format!("host-{n:04}"), 0, Some(8 * size), u64::from(size) * 16);
                host.spec.boot_mac_address = format!("52:54:00:00:{:02x}:{:02x}", n / 256, n % 256);
                host.metadata.uid = format!("u{n}");
                let rack = format!("r{}", n % 7);
                host.metadata.labels.insert("rack".into(), rack);
                if n % 3 == 0 {
                    host.status.provisioning.state = "inspecting".into();
                }
                if n % 10 == 1 {
                    host.metadata
                        .annotations
                        .insert("baremetalhost.metal3.io/paused".into(), "x".into());
                }
                host
            })
            .collect();
        let hosts: Vec<_> = hosts.iter().map(|h| (h, None)).collect();
        let wish = provisioning(
            "edge",
            r#"{"masters": [{"m": {"cpu": 8, "memory": "16Gi", "count": 3}}],
                "workers": [{"big": {"cpu": 40, "memory": "96Gi", "count": 40}},
                            {"wide": {"cpu": 40, "count": 500}}]}"#,
        );
        let text = render(&plan_all(&[wish], &hosts));
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/plan-3000.txt");
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(path, &text).unwrap();
        }
        assert!(text.lines().count() < 45, "{text}");
        assert_eq!(text, std::fs::read_to_string(path).unwrap());
    }

    #[test]
    fn bytes_from_outside_do_not_reach_the_terminal_raw() {
        let mut out = String::new();
        line(&mut out, "a\u{1b}[31mb\r");
        assert_eq!(out, "a\\u{1b}[31mb\\u{d}\n");
    }
}
