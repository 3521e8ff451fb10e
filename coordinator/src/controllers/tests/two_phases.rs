//! A claim counts after a second look; what others wrote in between is left alone.

use bpa_common::api::metal3::ConsumerRef;

use super::super::testing::Bench;
use crate::planning::testing::provisioning;

fn machine(name: &str) -> ConsumerRef {
    ConsumerRef {
        api_version: "infrastructure.cluster.x-k8s.io/v1beta1".into(),
        kind: "Metal3Machine".into(),
        namespace: "ns".into(),
        name: name.into(),
        ..ConsumerRef::default()
    }
}

/// A provisioning of one node that any host may be.
fn anywhere() -> Bench {
    let mut edge = provisioning("edge", &["h1"]);
    edge.spec.masters = vec![[("m".to_owned(), None)].into()];
    Bench::new(vec![edge])
}

/// One pass and what follows from it.
async fn step(bench: &Bench, controller: &mut super::super::testing::TestController) {
    let now = *bench.now.lock().unwrap();
    controller.pass(now, [7; 16]).await;
    while controller.is_acting() {
        controller.any_done(|| now).await;
    }
}

#[tokio::test]
async fn a_mark_that_is_written_over_between_the_looks_is_lost_and_another_host_is_chosen() {
    let bench = anywhere();
    let mut controller = bench.start();
    step(&bench, &mut controller).await;
    assert_eq!(bench.holder("h1").as_deref(), Some("Provisioning edge"), "phase one");
    assert_eq!(bench.status("edge").nodes[0].state, "Selected", "it does not count yet");
    // Cluster API's provider patches without looking; our uid survives in the merged reference.
    let uid = bench.object("edge").unwrap().metadata.uid;
    bench.edit_host("h1", |record| {
        record.host.spec.consumer_ref = Some(ConsumerRef { uid, ..machine("cp-1") });
    });
    bench.wait(1);
    bench.settle(&mut controller).await;
    assert_eq!(bench.holder("h1").as_deref(), Some("Metal3Machine cp-1"), "never written back");
    assert_eq!(bench.holder("h2").as_deref(), Some("Provisioning edge"));
    assert_eq!(bench.status("edge").nodes[0].host, "h2");
    assert_eq!(bench.fleet.lock().received.len(), 1, "one order, for the host that is ours");
    assert_eq!(bench.fleet.lock().received[0].nodes[0].host.name, "h2");
    assert!(bench.world.lock().foreign_touched.is_empty());
}

#[tokio::test]
async fn no_order_goes_out_for_a_host_that_was_lost_a_moment_before() {
    let bench = anywhere();
    let mut controller = bench.start();
    step(&bench, &mut controller).await;
    bench.wait(1);
    step(&bench, &mut controller).await;
    // Phase two is done; the order would go next. Only a live look can see this.
    bench.world.steal_unseen("h1", machine("cp-1"));
    bench.wait(1);
    step(&bench, &mut controller).await;
    assert!(bench.fleet.lock().received.is_empty());
    bench.world.show();
    bench.settle(&mut controller).await;
    let orders = bench.fleet.lock().received.clone();
    assert_eq!(orders.len(), 1);
    assert_eq!(orders[0].nodes[0].host.name, "h2");
    assert_eq!(bench.holder("h1").as_deref(), Some("Metal3Machine cp-1"));
}

#[tokio::test]
async fn after_a_restart_a_claim_is_looked_at_again_before_it_counts() {
    let bench = anywhere();
    let mut controller = bench.start();
    step(&bench, &mut controller).await;
    drop(controller);
    bench.run().await;
    assert_eq!(bench.status("edge").nodes[0].host, "h1", "the same host, once");
    assert_eq!(bench.fleet.lock().received.len(), 1);
    assert_eq!(bench.holder("h2"), None);
}
