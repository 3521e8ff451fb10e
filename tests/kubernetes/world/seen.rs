//! What is seen: all kinds, trimmed, and changes as they happen.

use std::sync::Arc;

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_is_seen_without_what_nobody_needs() {
    let place = place("seen-all").await;
    let snapshot = place.world.snapshot().await.unwrap();
    assert_eq!(snapshot.problems, []);
    assert_eq!((snapshot.hosts.len(), snapshot.provisionings.len()), (1, 1));
    assert_eq!((snapshot.sites.len(), snapshot.softwares.len()), (1, 1));
    let host = &snapshot.hosts[0];
    assert_eq!(host.host.metadata.labels["rack"], "a");
    assert!(host.host.metadata.annotations.is_empty(), "not the copy of kubectl apply");
    let hardware = host.hardware.as_ref().unwrap().spec.hardware.as_ref().unwrap();
    assert_eq!(
        (hardware.cpu.as_ref().unwrap().count, hardware.ram_mebibytes),
        (Some(8), Some(4096))
    );
    assert!(hardware.cpu.as_ref().unwrap().flags.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_come_by_themselves_and_what_did_not_change_is_shared() {
    let place = place("seen-changes").await;
    let before = place.edge().await;
    place.kubectl.run(&["label", "bmh", "h1", "rack=b", "--overwrite"]);
    place
        .see("the new label", |s| (s.hosts[0].host.metadata.labels["rack"] == "b").then_some(()))
        .await;
    assert!(Arc::ptr_eq(&before, &place.edge().await));
    place.kubectl.run(&["delete", "bmh,hardwaredata", "h1"]);
    place.see("no host", |s| s.hosts.is_empty().then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_namespaces_that_were_named_are_seen() {
    let place = place("seen-own").await;
    let other = shared().namespace("seen-other");
    other.apply(OBJECTS);
    other.run(&["label", "site", "north", "x=y"]);
    place.kubectl.run(&["label", "site", "north", "x=z"]);
    place.see("the own site", |s| (!s.sites[0].metadata.labels.is_empty()).then_some(())).await;
    let snapshot = place.world.snapshot().await.unwrap();
    assert_eq!(snapshot.sites.len(), 1);
    assert_eq!(snapshot.sites[0].metadata.namespace, "seen-own");
}

const OTHERS: &str = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3Machine
metadata: {name: machine, annotations: {metal3.io/BareMetalHost: metal3/h7}}
spec: {image: {url: 'http://192.0.2.1/x.img', checksum: abc}}
---
apiVersion: metal3.io/v1alpha1
kind: HostClaim
metadata: {name: claim}
spec: {poweredOn: true}
";

/// Templates as CAPM3 publishes them, in both versions.
#[tokio::test(flavor = "multi_thread")]
async fn for_whom_else_hosts_are_chosen_is_seen() {
    let place = place("seen-choosers").await;
    for (version, values) in [("v1beta1", "[ours]"), ("v1beta2", "[ours, theirs]")] {
        let selector =
            format!("{{matchExpressions: [{{key: for, operator: NotIn, values: {values}}}]}}");
        place.kubectl.apply(&format!(
            "apiVersion: infrastructure.cluster.x-k8s.io/{version}\nkind: Metal3MachineTemplate\nmetadata: {{name: {version}}}\nspec: {{template: {{spec: {{hostSelector: {selector}, image: {{url: 'http://192.0.2.1/x.img', checksum: abc}}}}}}}}\n"
        ));
    }
    let found = place.see("both", |s| (s.choosers.len() == 2).then(|| s.choosers.clone())).await;
    let words: Vec<String> =
        found.iter().map(|c| format!("{} {}: {}", c.kind, c.by.name, c.selector)).collect();
    assert_eq!(
        words,
        [
            "Metal3MachineTemplate v1beta1: for NotIn (ours)",
            "Metal3MachineTemplate v1beta2: for NotIn (ours, theirs)"
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn who_else_points_at_a_host_is_seen() {
    let place = place("seen-uses").await;
    assert_eq!(place.world.snapshot().await.unwrap().uses, []);
    place.kubectl.apply(OTHERS);
    let bound =
        serde_json::json!({"status": {"bareMetalHost": {"name": "h8", "namespace": "metal3"}}});
    place.kubectl.patch("hostclaim", "claim", "status", &bound);
    let uses = place.see("both", |s| (s.uses.len() == 2).then(|| s.uses.clone())).await;
    let mut words: Vec<String> =
        uses.iter().map(|u| format!("{} {} {}", u.kind, u.by.name, u.host)).collect();
    words.sort();
    assert_eq!(words, ["HostClaim claim metal3/h8", "Metal3Machine machine metal3/h7"]);
    assert_eq!(place.world.snapshot().await.unwrap().choosers, []);
    place.kubectl.run(&["annotate", "metal3machine", "machine", "metal3.io/BareMetalHost-"]);
    place.kubectl.run(&["delete", "hostclaim", "claim"]);
    place.see("none", |s| s.uses.is_empty().then_some(())).await;
    let choosers = place.world.snapshot().await.unwrap().choosers;
    assert_eq!(choosers.len(), 1, "it looks for another host: {choosers:?}");
}
