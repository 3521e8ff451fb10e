//! Our commands on a Kubernetes world, as a person uses them.

use std::process::Command;

use bpa_tests::binary;
use bpa_tests::process::{Ran, run};
use serde_json::{Value, json};

use super::*;

fn command(namespace: &str, args: &[&str]) -> Ran {
    let mut command = Command::new(binary("bpa-coordinator"));
    command.args(["--kubernetes", "--namespace", namespace, "--system-namespace", namespace]);
    command.arg("--kubeconfig").arg(shared().kubeconfig(User::Other)).args(args);
    run(&mut command)
}

fn ok(namespace: &str, args: &[&str]) -> String {
    let ran = command(namespace, args);
    assert_eq!(ran.code, 0, "{args:?}: {}", ran.err);
    ran.out
}

#[test]
fn objects_are_applied_shown_and_deleted() {
    let kubectl = shared().namespace("cli-objects");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("objects.yaml");
    std::fs::write(&file, OBJECTS).unwrap();
    let file = file.to_str().unwrap();
    assert_eq!(ok("cli-objects", &["apply", "-f", file]).matches("created").count(), 5);
    assert_eq!(ok("cli-objects", &["apply", "-f", file]).matches("unchanged").count(), 5);
    std::fs::write(file, OBJECTS.replace("approved: true", "approved: false")).unwrap();
    assert!(ok("cli-objects", &["apply", "-f", file]).contains("site/north configured"));
    let table = ok("cli-objects", &["get"]);
    assert!(["edge", "north", "h1"].iter().all(|name| table.contains(name)), "{table}");
    let json: Value =
        serde_json::from_str(&ok("cli-objects", &["get", "site", "north", "-o", "json"])).unwrap();
    assert_eq!((&json["kind"], &json["spec"]["approved"]), (&json!("Site"), &json!(false)));
    assert!(ok("cli-objects", &["describe", "edge"]).contains("cli-objects/edge"));
    assert!(ok("cli-objects", &["describe", "host", "h1"]).contains("52:54:00:aa:01:01"));
    ok("cli-objects", &["site", "approve", "north"]);
    assert_eq!(kubectl.get("site", "north")["spec"]["approved"], true);
    ok("cli-objects", &["delete", "provisioning", "edge"]);
    assert_eq!(kubectl.get("bpa", "edge"), Value::Null);
    let gone = command("cli-objects", &["delete", "provisioning", "edge"]);
    assert_eq!(gone.code, 4, "{}", gone.err);
}

#[test]
fn what_another_has_set_is_not_taken_over() {
    let kubectl = shared().namespace("cli-conflict");
    kubectl.apply(OBJECTS);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("site.yaml");
    let site = "apiVersion: bpa.akraino.org/v1alpha1\nkind: Site\nmetadata: {name: north}\nspec: {approved: false}\n";
    std::fs::write(&file, site).unwrap();
    let ran = command("cli-conflict", &["apply", "-f", file.to_str().unwrap()]);
    assert_eq!(ran.code, 5, "{}", ran.err);
    assert!(ran.err.contains("spec.approved") && ran.err.contains("kubectl"), "{}", ran.err);
    assert_eq!(kubectl.get("site", "north")["spec"]["approved"], true);
}

#[test]
fn a_persons_word_is_an_annotation_on_the_object() {
    let kubectl = shared().namespace("cli-word");
    kubectl.apply(OBJECTS);
    let status = |status: Value| kubectl.patch("bpa", "edge", "status", &json!({"status": status}));
    let annotation = |name: &str| {
        let name = format!("bpa.akraino.org/{name}");
        kubectl.get("bpa", "edge")["metadata"]["annotations"][&name].clone()
    };
    status(json!({"plan": {"hash": "abc", "summary": "one node"}}));
    assert_eq!(command("cli-word", &["approve", "edge", "other"]).code, 5);
    ok("cli-word", &["approve", "edge", "abc"]);
    assert_eq!(annotation("approve"), "abc");
    status(json!({"run": {"id": "r-1", "state": "Running"}}));
    ok("cli-word", &["cancel", "edge"]);
    assert_eq!(annotation("cancel"), "r-1");
    assert_eq!(command("cli-word", &["retry", "edge"]).code, 5, "it still runs");
    status(json!({"run": {"id": "r-1", "state": "Failed"}}));
    ok("cli-word", &["retry", "edge"]);
    assert!(annotation("retry").is_string());
    let run = "01234567-89ab-4def-8123-456789abcdef";
    status(json!({"run": {"id": run, "state": "Failed"}}));
    let logs = command("cli-word", &["logs", "edge"]);
    assert_eq!(logs.code, 4);
    assert!(logs.err.contains("kubectl -n bpa-system exec"), "{}", logs.err);
}

#[test]
fn watch_follows_until_the_end() {
    let kubectl = shared().namespace("cli-watch");
    kubectl.apply(OBJECTS);
    let later = kubectl.clone();
    let ending = std::thread::spawn(move || {
        let condition = |status: &str| {
            json!([{"type": "Ready", "status": status, "reason": "Installed", "message": "",
                "lastTransitionTime": "2026-12-01T00:00:00Z"}])
        };
        for (phase, holds) in [("Installing", "False"), ("Ready", "True")] {
            let status = json!({"status": {"phase": phase, "observedGeneration": 1, "conditions": condition(holds)}});
            later.patch("bpa", "edge", "status", &status);
        }
    });
    let out = ok("cli-watch", &["watch", "edge", "--timeout", "60s"]);
    ending.join().unwrap();
    assert!(out.contains("Ready"), "{out}");
}

#[test]
fn a_site_is_added_from_anywhere() {
    let kubectl = shared().namespace("cli-site");
    let ran = command("cli-site", &["site", "add", "north"]);
    assert_eq!(ran.code, 2, "nobody has said where agents reach us: {}", ran.err);
    let line = ok("cli-site", &["site", "add", "north", "--advertise", "192.0.2.1:7443"]);
    assert!(line.starts_with("bpa1."), "{line}");
    assert_ne!(kubectl.get("site", "north")["spec"]["approved"], true);
    let secret = kubectl.get("secret", "bpa-coordinator-identity");
    let mut entries: Vec<&String> = secret["data"].as_object().unwrap().keys().collect();
    entries.sort();
    assert_eq!(entries, ["ca..authority.pem", "sites..north..invitation"]);
}
