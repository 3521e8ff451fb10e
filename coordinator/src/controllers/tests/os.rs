//! `spec.os`: Metal3 installs empty hosts, and wipes again what was given back unused.

use bpa_common::api::metal3::BareMetalHost;
use bpa_common::api::{DeletionPolicy, OS_MARK, OsSpec};
use serde_json::json;

use super::super::testing::metal3::{Install, step};
use super::super::testing::{Bench, Ends, TestController};
use crate::planning::RETRY;
use crate::planning::testing::provisioning;

const URL: &str = "http://site/image";

/// One node that any host may be; h1 and h2 are empty, h3 and h4 are taken.
fn bench() -> Bench {
    let mut edge = provisioning("edge", &["h1"]);
    edge.spec.masters = vec![[("m".to_owned(), None)].into()];
    edge.spec.os =
        Some(OsSpec { image: json!({"url": URL, "checksum": "c"}), ..OsSpec::default() });
    let bench = Bench::new(vec![edge]);
    for name in ["h1", "h2"] {
        bench.edit_host(name, |record| {
            record.host.status.provisioning.state = "available".into();
            record.host.spec.online = false;
        });
    }
    for name in ["h3", "h4"] {
        bench.edit_host(name, |record| record.host.status.error_message = "broken".into());
    }
    bench
}

fn host(bench: &Bench, name: &str) -> BareMetalHost {
    let state = bench.world.lock();
    let found = state.snapshot.hosts.iter().find(|h| h.host.metadata.name == name);
    found.unwrap().host.clone()
}

/// Metal3 makes one step with a host.
fn tick(bench: &Bench, name: &str, install: Install) {
    let mut host = host(bench, name);
    if step(&mut host, install) {
        bench.edit_host(name, |record| record.host.status = host.status);
    }
}

/// The coordinator does what it can while Metal3 does nothing; waits between two looks included.
async fn calm(bench: &Bench, controller: &mut TestController) {
    for _ in 0..3 {
        assert!(bench.settle(controller).await);
        bench.wait(4);
    }
}

/// Both do what they can, until nothing moves any more.
async fn all(bench: &Bench, controller: &mut TestController, install: Install) {
    for _ in 0..12 {
        calm(bench, controller).await;
        for name in ["h1", "h2", "h3", "h4"] {
            tick(bench, name, install);
        }
    }
}

#[tokio::test]
async fn an_empty_host_is_installed_and_then_gets_its_order() {
    let bench = bench();
    let mut controller = bench.start();
    calm(&bench, &mut controller).await;
    let written = host(&bench, "h1");
    assert_eq!(written.spec.image.as_ref().unwrap().url, URL);
    assert!(written.spec.online, "without power nothing would happen");
    assert!(written.metadata.annotations.contains_key(OS_MARK));
    assert!(bench.fleet.lock().received.is_empty(), "no order before Linux is there");
    assert_eq!(bench.status("edge").nodes[0].state, "Provisioning");
    tick(&bench, "h1", Install::Delayed);
    calm(&bench, &mut controller).await;
    assert!(bench.words("edge", "HostsProvisioned").contains("waits for its turn"));
    tick(&bench, "h1", Install::Works);
    calm(&bench, &mut controller).await;
    let words = bench.words("edge", "HostsProvisioned");
    assert_eq!(words, "Provisioning: 0 of 1 hosts have Linux; h1 is in state `provisioning`");
    all(&bench, &mut controller, Install::Works).await;
    let words = bench.words("edge", "HostsProvisioned");
    assert!(words.contains("on 1 of them by Metal3 (http://site/image)"), "{words}");
    assert_eq!(bench.fleet.lock().received.len(), 1);
    assert_eq!(bench.holder("h2"), None, "one slot, one host");
}

#[tokio::test]
async fn a_host_that_keeps_failing_is_given_up_wiped_and_replaced() {
    let bench = bench();
    let mut controller = bench.start();
    for _ in 0..16 {
        calm(&bench, &mut controller).await;
        tick(&bench, "h1", Install::Fails);
        if bench.status("edge").nodes[0].host != "h1" {
            break;
        }
    }
    let words = bench.words("edge", "HostsProvisioned");
    assert!(words.starts_with("Provision"), "{words}");
    all(&bench, &mut controller, Install::Works).await;
    let status = bench.status("edge");
    assert_eq!((status.nodes[0].host.as_str(), status.failed_hosts.len()), ("h2", 1));
    assert_eq!(status.failed_hosts[0].name, "h1");
    assert!(status.failed_hosts[0].message.contains("checksum does not match"));
    let first = host(&bench, "h1");
    assert_eq!(first.spec.consumer_ref, None);
    assert_eq!((first.spec.image, first.spec.online), (None, false), "as it was found");
    assert!(!first.metadata.annotations.contains_key(OS_MARK));
    assert_eq!(bench.fleet.lock().received.len(), 1);
}

#[tokio::test]
async fn when_no_other_host_is_left_the_reason_is_told_and_a_retry_is_a_new_chance() {
    let bench = bench();
    bench.edit_host("h2", |record| record.host.status.error_message = "broken".into());
    let mut controller = bench.start();
    for _ in 0..16 {
        calm(&bench, &mut controller).await;
        tick(&bench, "h1", Install::Fails);
    }
    let words = bench.words("edge", "HostsMatched");
    assert!(words.contains("could not be installed after 3 tries"), "{words}");
    assert!(words.contains("checksum does not match"), "{words}");
    all(&bench, &mut controller, Install::Works).await;
    assert!(bench.fleet.lock().received.is_empty(), "it waits for a person");
    bench.annotate("edge", RETRY, "1");
    all(&bench, &mut controller, Install::Works).await;
    assert_eq!(bench.fleet.lock().received.len(), 1);
    assert!(bench.status("edge").failed_hosts.is_empty());
}

#[tokio::test]
async fn deleted_before_anything_was_begun_the_host_is_wiped_before_it_goes_free() {
    let bench = bench();
    let mut controller = bench.start();
    calm(&bench, &mut controller).await;
    tick(&bench, "h1", Install::Works);
    bench.delete("edge");
    calm(&bench, &mut controller).await;
    let leaving = host(&bench, "h1");
    assert_eq!(leaving.spec.image, None);
    assert!(leaving.spec.consumer_ref.is_some(), "ours until it is empty");
    assert!(bench.words("edge", "Ready").contains("Metal3 wipes what it had installed"));
    tick(&bench, "h1", Install::Works);
    calm(&bench, &mut controller).await;
    assert!(host(&bench, "h1").spec.consumer_ref.is_some(), "deprovisioning");
    tick(&bench, "h1", Install::Works);
    calm(&bench, &mut controller).await;
    assert_eq!(host(&bench, "h1").spec.consumer_ref, None);
    assert!(bench.object("edge").is_none(), "and then the object goes");
}

async fn installed(policy: DeletionPolicy) -> (Bench, TestController) {
    let bench = bench();
    bench.edit("edge", |p| p.spec.deletion_policy = policy);
    let mut controller = bench.start();
    all(&bench, &mut controller, Install::Works).await;
    bench.work(bench.run_id("edge"), Ends::Well).await;
    all(&bench, &mut controller, Install::Works).await;
    assert_eq!(bench.status("edge").phase, "Ready");
    bench.delete("edge");
    (bench, controller)
}

#[tokio::test]
async fn a_cluster_that_stays_keeps_its_operating_system() {
    let (bench, mut controller) = installed(DeletionPolicy::Retain).await;
    all(&bench, &mut controller, Install::Works).await;
    assert!(bench.object("edge").is_none());
    let kept = host(&bench, "h1");
    assert_eq!(kept.spec.consumer_ref, None);
    assert_eq!(kept.spec.image.unwrap().url, URL);
    assert_eq!(kept.status.provisioning.state, "provisioned");
}

#[tokio::test]
async fn after_a_reset_what_was_installed_for_it_is_wiped() {
    let (bench, mut controller) = installed(DeletionPolicy::Reset).await;
    calm(&bench, &mut controller).await;
    assert!(host(&bench, "h1").spec.image.is_some(), "the reset comes first");
    bench.work(bench.run_id("edge"), Ends::Well).await;
    all(&bench, &mut controller, Install::Works).await;
    assert!(bench.object("edge").is_none());
    let back = host(&bench, "h1");
    assert_eq!((back.spec.consumer_ref, back.spec.image), (None, None));
    assert_eq!(back.status.provisioning.state, "available");
}

#[tokio::test]
async fn a_host_that_had_its_system_is_marked_and_unmarked_and_nothing_else() {
    let bench = bench();
    for name in ["h1", "h2"] {
        bench.edit_host(name, |record| record.host.status.error_message = "broken".into());
    }
    bench.edit_host("h3", |record| record.host.status.error_message.clear());
    let before = host(&bench, "h3");
    let mut controller = bench.start();
    all(&bench, &mut controller, Install::Works).await;
    let marked = host(&bench, "h3");
    assert_eq!(marked.spec.consumer_ref.as_ref().unwrap().name, "edge");
    let mut same = marked.clone();
    same.spec.consumer_ref = None;
    same.metadata.resource_version.clone_from(&before.metadata.resource_version);
    assert_eq!((same.metadata, same.spec), (before.metadata, before.spec), "only consumerRef");
    assert_eq!(bench.fleet.lock().received.len(), 1);
}

#[tokio::test]
async fn where_nobody_installs_an_empty_host_is_none() {
    let bench = bench();
    bench.world.lock().snapshot.installs_os = false;
    bench.run().await;
    assert!(bench.words("edge", "Accepted").contains("spec.os is not carried out in a directory"));
    let words = bench.words("edge", "HostsMatched");
    assert!(words.contains("install Linux on it"), "{words}");
    assert_eq!(host(&bench, "h1").spec.image, None);
}

#[tokio::test]
async fn a_host_that_was_stolen_is_given_no_image() {
    let bench = bench();
    let mut controller = bench.start();
    let now = || *bench.now.lock().unwrap();
    // The claim, its second look; then the theft that our view does not show.
    for _ in 0..2 {
        controller.pass(now(), [7; 16]).await;
        while controller.is_acting() {
            controller.any_done(now).await;
        }
        bench.wait(4);
    }
    let thief = bpa_common::api::metal3::ConsumerRef {
        kind: "Metal3Machine".into(),
        name: "cp-1".into(),
        ..Default::default()
    };
    bench.world.steal_unseen("h1", thief);
    controller.pass(now(), [7; 16]).await;
    while controller.is_acting() {
        controller.any_done(now).await;
    }
    assert_eq!(host(&bench, "h1").spec.image, None);
    bench.world.show();
    all(&bench, &mut controller, Install::Works).await;
    assert_eq!(host(&bench, "h1").spec.image, None);
    assert_eq!(bench.status("edge").nodes[0].host, "h2");
    assert!(bench.world.lock().foreign_touched.is_empty());
}
