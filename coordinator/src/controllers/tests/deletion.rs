//! The way back: Retain, Reset, and when neither can be done.

use bpa_common::api::DeletionPolicy;
use bpa_common::wire::v1::{OrderKind, OrderRefusal};

use super::super::testing::{Bench, Ends, TestController};
use crate::planning::testing::provisioning;
use crate::planning::{CANCEL, FORCE_DELETE, RETRY};

async fn installed(policy: DeletionPolicy) -> (Bench, TestController) {
    let mut object = provisioning("edge", &["h1", "h2"]);
    object.spec.deletion_policy = policy;
    let bench = Bench::new(vec![object]);
    let mut controller = bench.run().await;
    bench.work(bench.run_id("edge"), Ends::Well).await;
    bench.settle(&mut controller).await;
    assert_eq!(bench.status("edge").phase, "Ready");
    (bench, controller)
}

#[tokio::test]
async fn retain_frees_the_hosts_and_leaves_the_cluster() {
    let (bench, mut controller) = installed(DeletionPolicy::Retain).await;
    bench.delete("edge");
    bench.settle(&mut controller).await;
    assert!(bench.object("edge").is_none());
    assert_eq!((bench.holder("h1"), bench.holder("h2")), (None, None));
    assert_eq!(bench.fleet.lock().received.len(), 1);
}

#[tokio::test]
async fn reset_runs_at_the_site_before_the_hosts_go_free_and_they_make_a_new_cluster() {
    let (bench, mut controller) = installed(DeletionPolicy::Reset).await;
    bench.delete("edge");
    bench.settle(&mut controller).await;
    let reset = bench.fleet.lock().received[1].clone();
    assert_eq!((reset.kind, reset.nodes.len()), (OrderKind::Reset, 2));
    assert_eq!(bench.status("edge").phase, "Resetting");
    assert_eq!(bench.holder("h1").as_deref(), Some("Provisioning edge"), "not before it is done");
    bench.work(reset.run, Ends::Well).await;
    bench.settle(&mut controller).await;
    assert!(bench.object("edge").is_none());
    assert_eq!((bench.holder("h1"), bench.holder("h2")), (None, None));
    bench.world.lock().snapshot.provisionings.push(provisioning("next", &["h1", "h2"]).into());
    bench.settle(&mut controller).await;
    assert_eq!(bench.holder("h1").as_deref(), Some("Provisioning next"));
    assert_eq!(bench.fleet.lock().journal.len(), 3);
}

#[tokio::test]
async fn retain_waits_for_a_run_that_goes_and_says_so() {
    let bench = Bench::edge();
    let mut controller = bench.run().await;
    let run = bench.run_id("edge");
    bench.work(run, Ends::Not).await;
    bench.delete("edge");
    bench.settle(&mut controller).await;
    let words = bench.words("edge", "Ready");
    assert!(words.contains("is still going and deletionPolicy Retain does not stop it"), "{words}");
    assert!(bench.fleet.lock().cancels.is_empty());
    bench.annotate("edge", CANCEL, &run.to_string());
    bench.settle(&mut controller).await;
    assert_eq!(bench.fleet.lock().cancels, [run]);
    bench.work(run, Ends::Cancelled).await;
    bench.settle(&mut controller).await;
    assert!(bench.object("edge").is_none());
}

#[tokio::test]
async fn reset_stops_a_run_that_goes_and_then_resets() {
    let bench = Bench::edge();
    bench.edit("edge", |p| p.spec.deletion_policy = DeletionPolicy::Reset);
    let mut controller = bench.run().await;
    let run = bench.run_id("edge");
    bench.work(run, Ends::Not).await;
    bench.delete("edge");
    bench.settle(&mut controller).await;
    assert_eq!(bench.fleet.lock().cancels, [run]);
    assert_eq!(bench.fleet.lock().received.len(), 1, "the reset waits for the end");
    bench.work(run, Ends::Cancelled).await;
    bench.settle(&mut controller).await;
    let reset = bench.fleet.lock().received[1].clone();
    assert_eq!(reset.kind, OrderKind::Reset);
    bench.work(reset.run, Ends::Well).await;
    bench.settle(&mut controller).await;
    assert!(bench.object("edge").is_none());
}

#[tokio::test]
async fn a_reset_that_can_not_be_done_says_how_to_go_on() {
    let (bench, mut controller) = installed(DeletionPolicy::Reset).await;
    bench.fleet.cut();
    bench.delete("edge");
    bench.settle(&mut controller).await;
    let words = bench.words("edge", "Ready");
    assert!(
        words.starts_with("ResetWaits: the reset waits: site north is not connected"),
        "{words}"
    );
    assert!(words.contains(FORCE_DELETE), "{words}");
    assert_eq!(bench.holder("h1").as_deref(), Some("Provisioning edge"));
    bench.annotate("edge", FORCE_DELETE, "true");
    bench.settle(&mut controller).await;
    assert!(bench.object("edge").is_none());
    assert_eq!(bench.holder("h1"), None);
}

#[tokio::test]
async fn a_failed_reset_holds_until_a_person_asks_again() {
    let (bench, mut controller) = installed(DeletionPolicy::Reset).await;
    bench.delete("edge");
    bench.settle(&mut controller).await;
    bench.work(bench.run_id("edge"), Ends::Badly).await;
    bench.settle(&mut controller).await;
    let words = bench.words("edge", "Ready");
    assert!(words.starts_with("ResetFailed: the reset did not succeed (Failed)"), "{words}");
    bench.run().await;
    assert_eq!(bench.fleet.lock().received.len(), 2);
    bench.annotate("edge", RETRY, "1");
    let mut controller = bench.run().await;
    assert_eq!(bench.fleet.lock().received.len(), 3);
    bench.work(bench.run_id("edge"), Ends::Well).await;
    bench.settle(&mut controller).await;
    assert!(bench.object("edge").is_none());
}

#[tokio::test]
async fn a_host_that_is_not_ours_any_more_is_neither_reset_nor_released() {
    let (bench, mut controller) = installed(DeletionPolicy::Reset).await;
    let other = bpa_common::api::metal3::ConsumerRef {
        kind: "Other".into(),
        name: "x".into(),
        ..Default::default()
    };
    bench.edit_host("h2", |h| h.host.spec.consumer_ref = Some(other));
    bench.delete("edge");
    bench.settle(&mut controller).await;
    let reset = bench.fleet.lock().received[1].clone();
    assert_eq!(reset.nodes.iter().map(|n| n.name.as_str()).collect::<Vec<_>>(), ["n-h1"]);
    bench.work(reset.run, Ends::Well).await;
    bench.settle(&mut controller).await;
    assert_eq!(bench.holder("h2").as_deref(), Some("Other x"));
    assert!(bench.world.lock().foreign_touched.is_empty());
}

#[tokio::test]
async fn what_was_never_started_just_goes() {
    let mut object = provisioning("edge", &["h1"]);
    object.spec.deletion_policy = DeletionPolicy::Reset;
    let bench = Bench::new(vec![object]);
    bench.fleet.lock().view.insert("north".into(), crate::planning::testing::site_view(&[]));
    let mut controller = bench.run().await;
    assert_eq!(bench.holder("h1").as_deref(), Some("Provisioning edge"));
    bench.delete("edge");
    bench.settle(&mut controller).await;
    assert!(bench.object("edge").is_none());
    assert!(bench.fleet.lock().received.is_empty());
    assert_eq!(bench.holder("h1"), None);
}

#[tokio::test]
async fn an_order_on_its_way_is_cleared_up_before_the_hosts_go_free() {
    for reaches in [false, true] {
        let bench = Bench::edge();
        bench.fleet.lock().refuses = Some(OrderRefusal::Quarantine);
        let mut controller = bench.run().await;
        let run = bench.run_id("edge");
        if reaches {
            // It got there after all, and the answer was lost.
            let mut state = bench.fleet.lock();
            let order = state.received[0].clone();
            state.journal.push((order, bpa_common::wire::v1::RunState::Running));
        }
        bench.delete("edge");
        bench.settle(&mut controller).await;
        assert_eq!(bench.fleet.lock().cancels.first(), Some(&run));
        assert_eq!(bench.object("edge").is_none(), !reaches);
        if reaches {
            bench.work(run, Ends::Cancelled).await;
            bench.settle(&mut controller).await;
            assert!(bench.object("edge").is_none());
        }
    }
}
