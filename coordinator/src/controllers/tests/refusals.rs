//! Answers of an agent that does not take an order, and hosts that others take.

use bpa_common::api::metal3::ConsumerRef;
use bpa_common::api::{HostUse, NeighbourKind};
use bpa_common::wire::v1::{OrderRefusal, RunId};

use super::super::testing::{Bench, Ends};
use crate::planning::RETRY;
use crate::planning::testing::provisioning;

fn foreign() -> ConsumerRef {
    ConsumerRef {
        api_version: "infrastructure.cluster.x-k8s.io/v1beta1".into(),
        kind: "Metal3Machine".into(),
        namespace: "ns".into(),
        name: "other".into(),
        uid: String::new(),
    }
}

#[tokio::test]
async fn each_refusal_has_words_and_is_not_taken_for_a_success() {
    let cases = [
        (
            OrderRefusal::OldEpoch { seen: 9 },
            "OldEpoch: site north has taken orders of coordinator epoch 9",
        ),
        (
            OrderRefusal::OldGeneration { done: 7 },
            "OldGeneration: site north has done generation 7",
        ),
        (
            OrderRefusal::Busy { run: RunId([3; 16]) },
            "SiteBusy: site north is still at work on run 0303",
        ),
        (OrderRefusal::Quarantine, "SiteNotApproved: the agent of site north takes no orders"),
    ];
    for (refusal, wanted) in cases {
        let bench = Bench::edge();
        bench.fleet.lock().refuses = Some(refusal);
        let mut controller = bench.run().await;
        let words = bench.words("edge", "OrderAccepted");
        assert!(words.starts_with(wanted), "{words}");
        assert_eq!(bench.status("edge").phase, "Waiting");
        let run = bench.run_id("edge");
        // The reason goes away: the same run goes out again.
        bench.fleet.lock().refuses = None;
        bench.wait(400);
        bench.settle(&mut controller).await;
        assert_eq!(bench.fleet.lock().journal[0].0.run, run);
        assert_eq!(bench.status("edge").phase, "Installing");
    }
}

#[tokio::test]
async fn an_order_that_can_not_be_carried_out_fails_and_waits_for_a_person() {
    let bench = Bench::edge();
    let invalid =
        OrderRefusal::Invalid { message: "no such plugin".into(), fix: "name another".into() };
    bench.fleet.lock().refuses = Some(invalid);
    let mut controller = bench.run().await;
    let words = bench.words("edge", "OrderAccepted");
    assert!(words.contains("can't carry out the order: no such plugin; name another"), "{words}");
    assert_eq!(bench.status("edge").phase, "Failed");
    bench.wait(1000);
    bench.settle(&mut controller).await;
    assert_eq!(bench.fleet.lock().received.len(), 1, "not tried again by itself");
    bench.fleet.lock().refuses = None;
    bench.annotate("edge", RETRY, "1");
    bench.settle(&mut controller).await;
    assert_eq!(bench.fleet.lock().journal.len(), 1);
    assert_ne!(bench.fleet.lock().received[0].run, bench.run_id("edge"));
}

#[tokio::test]
async fn a_refused_order_gives_way_to_a_changed_spec() {
    let bench = Bench::edge();
    bench.fleet.lock().refuses = Some(OrderRefusal::OldGeneration { done: 1 });
    let mut controller = bench.run().await;
    let refused = bench.run_id("edge");
    bench.edit("edge", |p| p.spec.kubernetes.version = Some("1.35.4".into()));
    bench.fleet.lock().refuses = None;
    bench.settle(&mut controller).await;
    let state = bench.fleet.lock();
    assert_eq!((state.journal.len(), state.journal[0].0.generation), (1, 2));
    assert_ne!(state.journal[0].0.run, refused);
}

#[tokio::test]
async fn a_stale_coordinator_starts_nothing() {
    let bench = Bench::new(vec![provisioning("edge", &["h1"]), provisioning("other", &["h2"])]);
    let mut controller = bench.run().await;
    for name in ["edge", "other"] {
        bench.work(bench.run_id(name), Ends::Well).await;
    }
    bench.settle(&mut controller).await;
    // A newer coordinator has given orders since; then the state of this one is put back.
    bench.fleet.lock().journal[1].0.epoch = 5;
    bench.edit("edge", |p| {
        p.status = Default::default();
        p.metadata.uid = "uid-again".into();
    });
    bench.edit_host("h1", |h| h.host.spec.consumer_ref = None);
    bench.run().await;
    let words = bench.words("edge", "OrderAccepted");
    assert!(words.contains("coordinator epoch 5, and this coordinator has epoch 1"), "{words}");
    assert_eq!(bench.fleet.lock().journal.len(), 2);
}

#[tokio::test]
async fn a_run_that_stands_at_the_site_is_taken_over_and_not_repeated() {
    let bench = Bench::edge();
    let mut controller = bench.run().await;
    bench.work(bench.run_id("edge"), Ends::Well).await;
    bench.settle(&mut controller).await;
    // The coordinator's memory is lost; the site's is not.
    bench.edit("edge", |p| p.status = Default::default());
    bench.fleet.reconnect();
    bench.run().await;
    assert_eq!(bench.fleet.lock().received.len(), 1);
    let status = bench.status("edge");
    assert!(status.conditions.is_true("Installed"), "{status:#?}");
    assert_eq!(
        (status.run.unwrap().state.as_str(), status.phase.as_str()),
        ("Succeeded", "Waiting")
    );
    assert!(bench.words("edge", "KubeconfigSaved").starts_with("NotKept"));
}

#[tokio::test]
async fn a_lost_reply_sends_the_same_run_again_and_it_runs_once() {
    let bench = Bench::edge();
    bench.fleet.lock().lose_replies = 3;
    let mut controller = bench.run().await;
    assert!(
        bench
            .words("edge", "OrderAccepted")
            .contains("did not answer within 10 s; it is sent again")
    );
    for _ in 0..4 {
        bench.wait(20);
        bench.settle(&mut controller).await;
    }
    let state = bench.fleet.lock();
    assert_eq!((state.received.len(), state.journal.len()), (4, 1));
    assert!(state.received.iter().all(|order| *order == state.received[0]));
    drop(state);
    assert!(bench.words("edge", "OrderAccepted").starts_with("Accepted"));
}

#[tokio::test]
async fn a_host_that_someone_takes_first_is_not_taken_back() {
    let bench = Bench::edge();
    bench.edit("edge", |p| {
        // Any host will do.
        let need = p.spec.workers[0].values_mut().next().unwrap();
        *need = None;
    });
    bench.world.lock().thief = Some(foreign());
    bench
        .fleet
        .lock()
        .view
        .insert("north".into(), crate::planning::testing::site_view(&[1, 2, 3, 4]));
    bench.run().await;
    assert_eq!(bench.holder("h1").as_deref(), Some("Metal3Machine other"));
    let words = bench.words("edge", "HostsMatched");
    assert!(words.contains("h1 is held by Metal3Machine ns/other"), "{words}");
    assert!(bench.fleet.lock().received.is_empty());
    assert_eq!(bench.world.lock().foreign_touched, Vec::<String>::new());
    // What was claimed besides goes free again only when the plan changes; nothing is doubled.
    bench.edit_host("h1", |h| h.host.spec.consumer_ref = None);
    bench.run().await;
    assert_eq!(bench.fleet.lock().journal.len(), 1);
}

/// CAPM3 writes its mark on the host of its annotation at any time (its issue 3516).
#[tokio::test]
async fn a_host_that_an_object_of_others_points_at_is_not_taken_until_it_does_not() {
    let bench = Bench::edge();
    let host = bench.world.lock().snapshot.hosts[0].host.metadata.key();
    let name = host.name.clone();
    let used = HostUse {
        host,
        kind: NeighbourKind::Machine,
        by: bpa_common::api::ObjectKey::new("capi", "worker-0"),
    };
    bench.world.lock().snapshot.uses.push(used);
    let mut controller = bench.run().await;
    let words = bench.words("edge", "HostsMatched");
    assert!(
        words.contains(&format!("{name} is the host of Metal3Machine capi/worker-0")),
        "{words}"
    );
    assert_eq!(bench.holder(&name), None);
    bench.world.lock().snapshot.uses.clear();
    bench.settle(&mut controller).await;
    assert_eq!(bench.holder(&name).as_deref(), Some("Provisioning edge"));
}

#[tokio::test]
async fn a_lost_claim_is_never_written_back() {
    let bench = Bench::edge();
    bench.fleet.lock().view.insert("north".into(), crate::planning::testing::site_view(&[1]));
    let mut controller = bench.run().await;
    assert_eq!(bench.holder("h2").as_deref(), Some("Provisioning edge"));
    // Someone clears our mark.
    bench.edit_host("h2", |h| h.host.spec.consumer_ref = None);
    bench.settle(&mut controller).await;
    assert_eq!(bench.holder("h2"), None);
    let words = bench.words("edge", "HostsMatched");
    assert!(words.contains("h2 was ours and is not taken back by itself"), "{words}");
    assert_eq!(bench.status("edge").lost_hosts[0].name, "h2");
    bench.run().await;
    assert_eq!(bench.holder("h2"), None, "nor after a restart");
    // A person gives it back.
    let ours = crate::matching::consumer_of(&bench.object("edge").unwrap());
    bench.edit_host("h2", |h| h.host.spec.consumer_ref = Some(ours));
    bench.fleet.lock().view.insert("north".into(), crate::planning::testing::site_view(&[1, 2]));
    bench.run().await;
    assert_eq!(bench.fleet.lock().journal.len(), 1);
}

#[tokio::test]
async fn ownership_is_looked_at_again_before_the_order_is_repeated() {
    let bench = Bench::edge();
    bench.fleet.lock().refuses = Some(OrderRefusal::Quarantine);
    let mut controller = bench.run().await;
    bench.edit_host("h2", |h| h.host.spec.consumer_ref = Some(foreign()));
    bench.fleet.lock().refuses = None;
    bench.wait(1000);
    bench.settle(&mut controller).await;
    assert!(bench.fleet.lock().journal.is_empty());
    let words = bench.words("edge", "HostsClaimed");
    assert!(
        words.starts_with("ClaimLost: h2 of node n-h2 is held by Metal3Machine ns/other"),
        "{words}"
    );
}

#[tokio::test]
async fn a_world_that_can_not_be_written_is_tried_again_and_told() {
    let bench = Bench::edge();
    bench.world.lock().broken = Some("the disk is full".into());
    let mut controller = bench.start();
    for _ in 0..5 {
        let now = *bench.now.lock().unwrap();
        let next = controller.pass(now, [1; 16]).await;
        assert!(next.is_some_and(|next| next > now), "it looks again");
        bench.wait(1);
    }
    assert!(bench.fleet.lock().received.is_empty());
    bench.world.lock().broken = None;
    bench.wait(100);
    bench.settle(&mut controller).await;
    assert_eq!(bench.fleet.lock().journal.len(), 1);
}
