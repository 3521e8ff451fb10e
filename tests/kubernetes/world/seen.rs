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
