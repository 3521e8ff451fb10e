//! Machines as the probe finds them.

use std::time::Duration;

use bpa_common::wire::v1::CheckOutcome::{self, Failed, Passed, Warning};

use super::*;
use crate::steps::NodeTarget;
use crate::steps::access::testing::target;

const NEEDS: Needs = Needs { systemd: true };

fn debian() -> Facts {
    Facts::parse(include_str!("golden/debian.probe")).unwrap()
}

fn node1() -> NodeTarget {
    NodeTarget { address: "10.77.0.50".parse().unwrap(), ..target("node1", 22) }
}

fn found(target: &NodeTarget, facts: Facts, id: &str) -> Check {
    let probed = Probed { target, facts, sudo: None, sent_ms: 0, received_ms: 0, host_key: "k" };
    let checks = check(&probed, NEEDS);
    checks.into_iter().find(|c| c.id == id).unwrap()
}

fn status(facts: Facts, id: &str) -> CheckOutcome {
    found(&node1(), facts, id).status
}

/// All checks of a machine as one text, to be compared as a whole.
fn rendered(target: &NodeTarget, facts: Facts, sudo: Option<Duration>) -> String {
    let probed = Probed { target, facts, sudo, sent_ms: 0, received_ms: 0, host_key: "k" };
    let line = |c: &Check| {
        let head =
            format!("{} {} {:?}: wanted {}; found {}", c.node, c.id, c.status, c.wanted, c.found);
        if c.fix.is_empty() { head + "\n" } else { format!("{head}; {}\n", c.fix) }
    };
    check(&probed, NEEDS).iter().map(line).collect()
}

#[test]
fn a_good_machine_is_told_check_by_check() {
    let text = rendered(&node1(), debian(), Some(Duration::from_millis(80)));
    assert_eq!(text, include_str!("golden/debian.checks"));
}

#[test]
fn a_small_system_is_told_all_its_misses_at_once() {
    let facts = Facts::parse(include_str!("golden/busybox.probe")).unwrap();
    let text = rendered(&node1(), facts, Some(Duration::from_millis(12_345)));
    assert_eq!(text, include_str!("golden/busybox.checks"));
}

#[test]
fn names_that_would_break_halfway_are_refused() {
    for name in ["Node-A", "node_a", "1node", "node-", "", "all", "node.a", "etcd", &"n".repeat(64)]
    {
        let target = NodeTarget { name: name.into(), ..node1() };
        assert_eq!(found(&target, debian(), "name").status, Failed, "{name}");
    }
    assert!(found(&node1(), debian(), "name").found.contains("debian and will be renamed"));
}

#[test]
fn python_is_wanted_from_3_8() {
    for (version, wanted) in [
        (Version(3, 6, 8), Failed),
        (Version(2, 7, 18), Failed),
        (Version(3, 8, 0), Passed),
        (Version(3, 13, 1), Passed),
    ] {
        assert_eq!(status(Facts { python: Some(version), ..debian() }, "python"), wanted);
    }
    assert_eq!(status(Facts { python: None, ..debian() }, "python"), Failed);
}

#[test]
fn memory_has_a_floor_for_each_role_and_the_inspection_to_meet() {
    let memory = |mib: u64| Facts { memory_bytes: Some(mib << 20), ..debian() };
    let worker = NodeTarget { control_plane: false, ..node1() };
    assert_eq!(status(memory(1499), "memory"), Failed);
    assert_eq!(status(memory(1500), "memory"), Passed);
    assert_eq!(found(&worker, memory(1023), "memory").status, Failed);
    assert_eq!(found(&worker, memory(1024), "memory").status, Passed);
    let inspected = NodeTarget { memory_bytes: Some(8 << 30), ..node1() };
    assert_eq!(found(&inspected, memory(7800), "memory").status, Passed);
    assert_eq!(found(&inspected, memory(4096), "memory").status, Warning);
}

#[test]
fn processors_have_a_floor_and_the_inspection_to_meet() {
    let cpus = |n| Facts { cpus: Some(n), ..debian() };
    assert_eq!(status(cpus(1), "cpu"), Failed);
    let worker = NodeTarget { control_plane: false, ..node1() };
    assert_eq!(found(&worker, cpus(1), "cpu").status, Passed);
    let inspected = NodeTarget { cpu: Some(8), ..node1() };
    assert_eq!(found(&inspected, cpus(4), "cpu").status, Warning);
    assert_eq!(found(&inspected, cpus(8), "cpu").status, Passed);
}

#[test]
fn disks_warn_before_they_fail() {
    let var =
        |gib: u64| Facts { var: Some(Space { free: gib << 30, whole: 100 << 30 }), ..debian() };
    assert_eq!(status(var(2), "disk"), Failed);
    assert_eq!(status(var(5), "disk"), Warning);
    assert_eq!(status(var(10), "disk"), Passed);
    let tmp = Facts { tmp: Some(Space { free: 1 << 29, whole: 1 << 29 }), ..debian() };
    assert_eq!(status(tmp, "disk-tmp"), Warning);
}

#[test]
fn an_address_that_is_not_on_the_machine_fails() {
    let natted = NodeTarget { address: "192.0.2.7".parse().unwrap(), ..node1() };
    let check = found(&natted, debian(), "address");
    assert_eq!((check.status, check.found.as_str()), (Failed, "10.77.0.50, fe80::1"));
}

#[test]
fn systems_are_known_by_their_line() {
    let os = |id: &str, version: &str| Facts {
        os_id: Some(id.into()),
        os_version: Some(version.into()),
        ..debian()
    };
    for (id, version, wanted) in [
        ("debian", "12", Passed),
        ("debian", "1", Warning),
        ("debian", "10", Warning),
        ("ubuntu", "24.04", Passed),
        ("ubuntu", "20.04", Warning),
        ("rocky", "9.4", Passed),
        ("rhel", "8.9", Warning),
        ("opensuse-leap", "15.6", Passed),
        ("arch", "", Warning),
    ] {
        assert_eq!(status(os(id, version), "os"), wanted, "{id} {version}");
    }
}

#[test]
fn systemd_is_asked_for_only_where_the_bundle_needs_it() {
    let facts = Facts { systemd: false, init: Some("ns-init.sh".into()), ..debian() };
    assert_eq!(status(facts.clone(), "systemd"), Failed);
    let target = node1();
    let probed =
        Probed { target: &target, facts, sudo: None, sent_ms: 0, received_ms: 0, host_key: "k" };
    let checks = check(&probed, Needs { systemd: false });
    assert!(checks.iter().all(|c| c.id != "systemd"));
}
