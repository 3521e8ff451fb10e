//! The original's custom resources, unmodified: what a real API server and then the coordinator
//! make of each. The files are the fixtures F01 to F23, S1 and S2 of the facts on the original.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

use bpa_common::api::{Provisioning, Software};
use bpa_coordinator::matching::accept;
use bpa_tests::kubernetes::{Kubectl, shared};
use bpa_tests::{binary, root};

/// What becomes of a fixture.
enum Becomes {
    /// The coordinator makes these nodes of it: name, then `c` for control plane, `w` for worker;
    /// each of the words is in a warning.
    Nodes(&'static str, &'static [&'static str]),
    /// The API server takes it, the coordinator refuses it with these words.
    RefusedByUs(&'static str),
    /// The API server refuses it with these words, already at `kubectl apply`.
    RefusedByServer(&'static str),
}

use Becomes::{Nodes, RefusedByServer, RefusedByUs};

const VIRTLET: &str = "virtlet-vm means nothing here";
const EVEN: &str = "odd number of members";
const REMOVED: &str = "was removed long ago";

const EXPECTED: [(&str, Becomes); 27] = [
    ("f01", Nodes("master-1:c master-2:c worker-1:w", &["hostfile", REMOVED, EVEN])),
    ("f02", Nodes("master-1:c worker-1:w worker-2:w", &["hostfile"])),
    ("f03", RefusedByUs("52:54:00:aa:03:01 is asked for by `master-1` and `worker-1`")),
    ("f04", Nodes("master-1:cw", &["kudInstallerPath", "dhcpLeaseFile", "multiClusterDir"])),
    ("f05", Nodes("master-1:c worker-1:w", &["kudInstallerPath", "dhcpLeaseFile"])),
    ("f06", Nodes("master-1:c master-2:c worker-1:w worker-2:w", &[EVEN, REMOVED])),
    ("f07", Nodes("master-1:cw", &[])),
    ("f07b", Nodes("master-1:cw", &[])),
    ("f08", Nodes("master-1:cw", &[])),
    ("f09", Nodes("master-1:c master-2:c worker-1:w worker-2:w", &[EVEN])),
    ("f10", Nodes("master-1:c worker-1:w", &[])),
    ("f11", Nodes("master-1:cw", &[VIRTLET])),
    ("f12", Nodes("master-1:c worker-1:w", &[VIRTLET])),
    ("f13", Nodes("master-1:cw", &[])),
    ("f14", Nodes("master-test:cw", &[])),
    ("f15", Nodes("master-0:cw", &[])),
    ("f16", Nodes("rack1-node3:c rack1-node2:w", &[])),
    ("f17", Nodes("master-1:cw", &[VIRTLET])),
    ("f18", Nodes("remote-compute:cw", &[])),
    ("f19", Nodes("master-1:c master-2:c master-3:c worker-1:w worker-2:w", &[VIRTLET])),
    ("f20", RefusedByServer("spec.master is not a field: write a list, `masters:`")),
    ("f20-review", RefusedByServer("spec.worker is not a field: write a list, `workers:`")),
    (
        "f21a",
        RefusedByServer(
            "\"<node4-if2-mac>\": spec.masters[0].master-1.mac-address in body should match '^(52:54:00:aa:01:02|",
        ),
    ),
    ("f21b", RefusedByServer("\"<node5-if2-mac>\"")),
    ("f21c", RefusedByServer("\"<node7-if2-mac>\"")),
    ("f22", Nodes("test-master:cw", &[])),
    ("f23", Nodes("master-1:c worker-1:w worker-2:w", &[])),
];

fn text(name: &str) -> String {
    let path = root().join(format!("tests/fixtures/legacy/{name}.yaml"));
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn outcome(object: &serde_json::Value) -> Result<(String, Vec<String>), String> {
    let provisioning: Provisioning =
        serde_json::from_value(object.clone()).map_err(|error| error.to_string())?;
    let accepted = accept(&provisioning).map_err(|rejection| rejection.to_string())?;
    let words: Vec<String> = accepted
        .slots
        .iter()
        .map(|slot| {
            let role = |yes, letter| if yes { letter } else { "" };
            format!("{}:{}{}", slot.name, role(slot.control_plane, "c"), role(slot.worker, "w"))
        })
        .collect();
    Ok((words.join(" "), accepted.warnings))
}

/// What client-side `kubectl apply` makes of values: a null is "not there".
fn without_nulls(value: &serde_json::Value) -> serde_json::Value {
    match value {
        serde_json::Value::Object(map) => map
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key.clone(), without_nulls(value)))
            .collect(),
        serde_json::Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

/// How a user may apply a manifest.
#[derive(Clone, Copy, PartialEq)]
enum How {
    Client,
    Server,
}

fn apply(kubectl: &Kubectl, how: How, manifest: &str) -> bpa_tests::process::Ran {
    let mut args = vec!["apply", "--validate=strict", "-f", "-"];
    if how == How::Server {
        args.push("--server-side");
    }
    kubectl.try_run(&args, manifest)
}

fn judge(kubectl: &Kubectl, how: How, name: &str, expected: &Becomes) {
    let manifest = text(name);
    let ran = apply(kubectl, how, &manifest);
    if let RefusedByServer(words) = expected {
        assert_ne!(ran.code, 0, "{name} was taken");
        assert!(ran.err.contains(words), "{name}: {}", ran.err);
        return;
    }
    assert_eq!(ran.code, 0, "{name}: {}", ran.err);
    assert!(!ran.err.to_lowercase().contains("warning"), "{name}: {}", ran.err);
    let list = kubectl.run(&["get", "provisionings", "-o", "json"]);
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    let object = list["items"].as_array().unwrap().last().unwrap();
    // Nothing that was written is lost on the way.
    let written: Manifest = serde_saphyr::from_str(&manifest).unwrap();
    for (field, value) in &written.spec {
        let kept = if how == How::Client { without_nulls(value) } else { value.clone() };
        if !kept.is_null() {
            assert_eq!(object["spec"][field], kept, "{name}: {field}");
        }
    }
    let found = outcome(object);
    told_by_plan(name, object, expected);
    match (expected, found) {
        (Nodes(nodes, warnings), Ok((found, told))) => {
            assert_eq!(&found, nodes, "{name}");
            for word in *warnings {
                assert!(told.iter().any(|line| line.contains(word)), "{name}: {word} in {told:?}");
            }
            assert!(!warnings.is_empty() || told.is_empty(), "{name}: {told:?}");
        }
        (RefusedByUs(words), Err(found)) => assert!(found.contains(words), "{name}: {found}"),
        (_, found) => panic!("{name}: {found:?}"),
    }
    kubectl.run(&["delete", "provisionings", "--all"]);
}

#[derive(serde::Deserialize)]
struct Manifest {
    spec: BTreeMap<String, serde_json::Value>,
}

/// What `bpa-coordinator plan` makes of an object as the API server has it.
fn told_by_plan(name: &str, object: &serde_json::Value, expected: &Becomes) {
    let mut command = Command::new(binary("bpa-coordinator"));
    let mut child = command
        .args(["plan", "-f", "-", "-o", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(object.to_string().as_bytes()).unwrap();
    let told = child.wait_with_output().unwrap();
    // No host is there, so nothing fits.
    assert_eq!(told.status.code(), Some(3), "{name}");
    let report: serde_json::Value = serde_json::from_slice(&told.stdout).unwrap();
    let plan = &report["provisionings"][0];
    match expected {
        RefusedByUs(words) => {
            assert!(plan["problems"].to_string().contains(words), "{name}: {plan}");
        }
        _ => assert_eq!(plan["accepted"], true, "{name}: {plan}"),
    }
}

fn each_becomes_what_it_should(kubectl: &Kubectl, how: How) {
    for (name, expected) in &EXPECTED {
        // F22 names the namespace `default`.
        if *name != "f22" {
            judge(kubectl, how, name, expected);
        }
    }
}

#[test]
fn each_legacy_provisioning_applied_by_kubectl_becomes_what_it_should() {
    each_becomes_what_it_should(&shared().namespace("legacy"), How::Client);
}

#[test]
fn each_legacy_provisioning_applied_server_side_becomes_what_it_should() {
    each_becomes_what_it_should(&shared().namespace("legacy-ssa"), How::Server);
}

#[test]
fn the_legacy_provisioning_of_the_default_namespace_becomes_what_it_should() {
    let kubectl = shared().kubectl(bpa_tests::kubernetes::User::Admin).in_namespace("default");
    let (name, expected) = EXPECTED.iter().find(|(name, _)| *name == "f22").unwrap();
    judge(&kubectl, How::Client, name, expected);
    judge(&kubectl, How::Server, name, expected);
}

#[test]
fn every_file_of_the_fixtures_is_expected_something_of() {
    let known: BTreeMap<&str, ()> =
        EXPECTED.iter().map(|(name, _)| (*name, ())).chain([("s1", ()), ("s2", ())]).collect();
    for entry in std::fs::read_dir(root().join("tests/fixtures/legacy")).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        assert!(known.contains_key(name.trim_end_matches(".yaml")), "{name}");
    }
}

/// What a server that only prunes (no strict validation) says to a first draft.
#[test]
fn a_first_draft_is_told_what_to_write_instead() {
    let kubectl = shared().namespace("draft");
    for name in ["f20", "f20-review"] {
        let ran = kubectl.try_run(&["apply", "--validate=false", "-f", "-"], &text(name));
        assert_ne!(ran.code, 0);
        assert!(ran.err.contains("at least one control plane node is needed"), "{}", ran.err);
        assert!(ran.err.contains("- NAME: {cpu: 8, memory: 16Gi}"), "{}", ran.err);
    }
}

#[test]
fn both_legacy_softwares_are_taken_as_they_are() {
    let kubectl = shared().namespace("software");
    for (name, first) in [("s1", "expect"), ("s2", "nautilus")] {
        kubectl.apply(&text(name));
        let object = kubectl.get("software", &format!("legacy-{name}"));
        let software: Software = serde_json::from_value(object).unwrap();
        assert_eq!(software.spec.master_software[0], first);
        assert_eq!(software.spec.master_software[2]["jq"]["version"], "1.5+dfsg-1ubuntu0.1");
        assert_eq!(software.spec.worker_software.len(), 4);
    }
    let table = kubectl.run(&["get", "sw"]);
    assert!(table.contains("edge-a") && table.contains("edge-b"), "{table}");
}
