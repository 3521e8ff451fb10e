//! Statements about the original that only a real API server can hold. `docs/legacy.md` lists them.

use std::collections::BTreeMap;
use std::time::Duration;

use bpa_common::api::{ObjectKey, Provisioning};
use bpa_coordinator::cluster::kubernetes::{KubernetesOptions, KubernetesWorld, crds};
use bpa_coordinator::cluster::{World, WorldError};
use bpa_tests::kubernetes::{Kubectl, User, shared};
use serde_json::json;

fn block<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Runtime::new().unwrap().block_on(future)
}

/// The world as the coordinator sees it, with its own rights.
async fn world(namespaces: &[&str]) -> KubernetesWorld {
    let options = KubernetesOptions {
        kubeconfig: Some(shared().kubeconfig(User::Coordinator)),
        namespaces: namespaces.iter().map(|name| (*name).to_owned()).collect(),
        ..KubernetesOptions::default()
    };
    let world = KubernetesWorld::connect(options).await.unwrap();
    world.ready(Duration::from_secs(60)).await.unwrap();
    world
}

fn provisioning(kubectl: &Kubectl, name: &str) -> Provisioning {
    kubectl.apply(&format!(
        "apiVersion: bpa.akraino.org/v1alpha1\nkind: Provisioning\n\
         metadata: {{name: {name}, labels: {{cluster: {name}, owner: o1}}}}\n\
         spec: {{masters: [{{m-0: {{}}}}]}}\n"
    ));
    serde_json::from_value(kubectl.get("provisioning", name)).unwrap()
}

#[test]
fn statement_06_hosts_of_other_namespaces_are_not_seen() {
    let host = "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {name: h}\n\
        spec: {online: true, bootMACAddress: \"52:54:00:aa:06:01\"}\n";
    for name in ["statement-06-ours", "statement-06-theirs"] {
        shared().namespace(name).apply(host);
    }
    let snapshot = block(async { world(&["statement-06-ours"]).await.snapshot().await.unwrap() });
    let seen: Vec<&str> =
        snapshot.hosts.iter().map(|record| record.host.metadata.namespace.as_str()).collect();
    assert_eq!(seen, ["statement-06-ours"]);
}

#[test]
fn statement_15_an_api_server_that_refuses_is_named_and_no_host_is_called_missing() {
    let text = std::fs::read_to_string(shared().kubeconfig(User::Coordinator)).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kubeconfig");
    std::fs::write(&path, text.replace("coordinator-token", "no-such-token")).unwrap();
    let found = block(async {
        let options = KubernetesOptions { kubeconfig: Some(path), ..KubernetesOptions::default() };
        let world = KubernetesWorld::connect(options).await.unwrap();
        (world.ready(Duration::from_secs(5)).await, world.snapshot().await)
    });
    let error = found.0.unwrap_err().to_string();
    assert!(error.contains("Unauthorized"), "{error}");
    assert!(found.1.is_err(), "what is not known is no empty world");
}

#[test]
fn statement_55_each_namespace_has_its_own() {
    block(async {
        let world = world(&[]).await;
        for name in ["statement-55-a", "statement-55-b"] {
            let kubectl = shared().namespace(name);
            let object = provisioning(&kubectl, "edge");
            let place = world.save_kubeconfig(&object, &format!("of {name}").into()).await.unwrap();
            assert_eq!(place, "edge-kubeconfig");
            let secret = kubectl.get("secret", &place);
            assert_eq!(secret["metadata"]["namespace"], name);
        }
    });
}

#[test]
fn statement_64_addresses_that_are_there_already_are_replaced() {
    let kubectl = shared().namespace("statement-64");
    let object = provisioning(&kubectl, "edge");
    block(async {
        let world = world(&["statement-64"]).await;
        for (name, address) in [("MASTER_old", "192.0.2.1"), ("MASTER_m-0", "192.0.2.2")] {
            let addresses = BTreeMap::from([(name.to_owned(), address.to_owned())]);
            world.save_addresses(&object, &addresses).await.unwrap();
        }
    });
    let map = kubectl.get("configmap", "edge-configmap");
    assert_eq!(map["data"], json!({"MASTER_m-0": "192.0.2.2"}));
}

#[test]
fn statement_65_the_kubeconfig_is_a_secret_of_its_provisioning() {
    let kubectl = shared().namespace("statement-65");
    let object = provisioning(&kubectl, "edge");
    block(async {
        let world = world(&["statement-65"]).await;
        for text in ["first", "second"] {
            world.save_kubeconfig(&object, &text.to_owned().into()).await.unwrap();
        }
    });
    let secret = kubectl.get("secret", "edge-kubeconfig");
    let owner = &secret["metadata"]["ownerReferences"][0];
    assert_eq!(
        (&owner["kind"], &owner["uid"]),
        (&json!("Provisioning"), &json!(object.metadata.uid))
    );
    assert_eq!(secret["data"]["value"], "c2Vjb25k", "the second, in place of the first");
}

#[test]
fn statement_84_what_is_gone_is_told_from_what_can_not_be_asked() {
    let key = ObjectKey::new("default", "no-such-provisioning");
    let gone = block(async { world(&[]).await.set_finalizer(&key, true).await });
    assert!(matches!(gone, Err(WorldError::NotFound { .. })), "{gone:?}");
    let other = ObjectKey::new("no-such-namespace", "edge");
    let found = block(async { world(&[]).await.set_finalizer(&other, true).await });
    assert!(found.is_err(), "{found:?}");
}

#[test]
fn statement_85_kubectl_shows_cluster_phase_ready_nodes_and_age() {
    let kubectl = shared().namespace("statement-85");
    provisioning(&kubectl, "edge");
    let message = "waiting for a lease of 52:54:00:aa:85:01";
    let status = json!({"status": {"phase": "Waiting", "readyNodes": "1/3", "site": "north",
        "kubernetesVersion": "1.35.4", "observedGeneration": 1,
        "run": {"id": "r", "kind": "Install", "generation": 1, "state": "Running",
            "step": "Resolve", "steps": [], "phase": "", "task": "", "tasksDone": 0,
            "lastLine": "", "checks": []},
        "conditions": [{"type": "Ready", "status": "False", "reason": "WaitingForLease",
            "message": message, "lastTransitionTime": "2026-12-01T00:00:00Z"}]}});
    kubectl.patch("provisioning", "edge", "status", &status);
    let table = kubectl.run(&["get", "provisionings"]);
    let row: Vec<&str> = table.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(row[..6], ["edge", "edge", "north", "Waiting", "1/3", "1.35.4"], "{table}");
    assert!(row.len() == 7 && row[6].ends_with('s'), "the age: {table}");
    let wide = kubectl.run(&["get", "bpa", "-o", "wide"]);
    assert!(wide.contains(message) && wide.contains("WaitingForLease"), "{wide}");
    let told = kubectl.run(&["describe", "provisioning", "edge"]);
    assert!(told.contains(message), "{told}");
    // A user's apply does not touch what the coordinator wrote.
    provisioning(&kubectl, "edge");
    assert_eq!(kubectl.get("provisioning", "edge")["status"]["phase"], "Waiting");
}

#[test]
fn statement_86_the_coordinator_may_do_what_it_needs_and_no_more() {
    let kubectl = shared().kubectl(User::Coordinator);
    let may = |verb: &str, what: &str| {
        let ran = kubectl.try_run(&["auth", "can-i", verb, what, "-n", "default"], "");
        ran.out.trim() == "yes"
    };
    for (verb, what) in [
        ("watch", "baremetalhosts.metal3.io"),
        ("patch", "baremetalhosts.metal3.io"),
        ("get", "secrets"),
        ("patch", "provisionings.bpa.akraino.org/status"),
    ] {
        assert!(may(verb, what), "{verb} {what}");
    }
    for (verb, what) in [
        ("*", "*"),
        ("list", "secrets"),
        ("watch", "secrets"),
        ("delete", "secrets"),
        ("get", "pods"),
        ("create", "pods"),
        ("delete", "baremetalhosts.metal3.io"),
        ("delete", "provisionings.bpa.akraino.org"),
        ("patch", "hardwaredata.metal3.io"),
        ("create", "clusterrolebindings.rbac.authorization.k8s.io"),
    ] {
        assert!(!may(verb, what), "{verb} {what}");
    }
}

#[test]
fn statement_90_the_definitions_are_of_the_version_that_servers_take_and_structural() {
    let kubectl = shared().kubectl(User::Admin);
    for crd in crds() {
        let name = crd.metadata.name.unwrap();
        let found = kubectl.get("customresourcedefinition", &name);
        assert_eq!(found["apiVersion"], "apiextensions.k8s.io/v1");
        let conditions = found["status"]["conditions"].as_array().unwrap();
        let is = |kind: &str| conditions.iter().any(|c| c["type"] == kind && c["status"] == "True");
        assert!(is("Established") && is("NamesAccepted"), "{name}: {conditions:?}");
        assert!(!is("NonStructuralSchema"), "{name}: {conditions:?}");
    }
}
