//! Sections A, C and D of the statements about the original, as far as they are about the loop.
//! `docs/legacy.md` lists them.

use std::sync::Arc;

use bpa_common::api::DeletionPolicy;

use super::super::controller::Controller;
use super::super::testing::{Bench, Ends, TestController};
use crate::planning::testing::{at, host, provisioning};
use crate::runs::RunStore;

/// A cluster that stands.
async fn installed() -> (Bench, TestController) {
    let bench = Bench::edge();
    let mut controller = bench.run().await;
    bench.work(bench.run_id("edge"), Ends::Well).await;
    bench.settle(&mut controller).await;
    assert_eq!(bench.status("edge").phase, "Ready");
    (bench, controller)
}

fn orders(bench: &Bench) -> usize {
    bench.fleet.lock().received.len()
}

#[tokio::test]
async fn statement_16_a_host_that_comes_later_is_used_at_once() {
    let bench = Bench::edge();
    bench.world.lock().snapshot.hosts.retain(|h| h.host.metadata.name != "h2");
    let mut controller = bench.run().await;
    assert!(bench.words("edge", "HostsMatched").starts_with("NoFit"), "nothing fits yet");
    bench.world.lock().snapshot.hosts.push(Arc::new(host("h2")));
    // One look, and no waiting for a back-off to run out.
    let now = *bench.now.lock().unwrap();
    controller.pass(now, [7; 16]).await;
    assert!(
        bench.words("edge", "HostsMatched").starts_with("Matched"),
        "{:#?}",
        bench.status("edge")
    );
    bench.settle(&mut controller).await;
    assert_eq!((bench.holder("h2").as_deref(), orders(&bench)), (Some("Provisioning edge"), 1));
}

#[tokio::test]
async fn statement_52_a_second_provisioning_of_one_cluster_is_refused() {
    let mut late = provisioning("late", &["h3"]);
    late.metadata.creation_timestamp = Some(at(50));
    late.metadata.labels.insert("cluster".into(), "edge".into());
    let bench = Bench::new(vec![late, provisioning("edge", &["h1"])]);
    bench.run().await;
    let words = bench.words("late", "Accepted");
    assert!(words.starts_with("ClusterNameTaken: cluster `edge` is made by Provisioning ns/edge"));
    assert_eq!((bench.holder("h3"), orders(&bench)), (None, 1));
}

#[tokio::test]
async fn statement_56_a_restart_during_an_install_loses_no_outcome() {
    let bench = Bench::edge();
    let controller = bench.run().await;
    let run = bench.run_id("edge");
    drop(controller);
    bench.work(run, Ends::Well).await;
    bench.run().await;
    assert_eq!(bench.status("edge").phase, "Ready");
    assert_eq!(bench.world.lock().kubeconfigs["edge"], "marked-kubeconfig");
    assert_eq!(orders(&bench), 1);
}

#[tokio::test]
async fn statement_57_a_restart_with_finished_clusters_does_nothing() {
    let (bench, controller) = installed().await;
    drop(controller);
    let (before, conditions) = (bench.status("edge"), bench.status("edge").conditions);
    bench.run().await;
    let after = bench.status("edge");
    assert_eq!(
        (after.phase, after.conditions, after.history),
        (before.phase, conditions, before.history)
    );
    assert_eq!(orders(&bench), 1);
}

/// The original's memory was a Job; ours is in three places, and one is enough.
#[tokio::test]
async fn statement_58_a_lost_record_of_the_run_installs_nothing_again() {
    let (bench, controller) = installed().await;
    drop(controller);
    let empty = tempfile::tempdir().unwrap();
    let runs = Arc::new(RunStore::open(empty.path()).unwrap());
    bench.fleet.reconnect();
    let mut forgetful = Controller::new(Arc::clone(&bench.world), Arc::clone(&bench.fleet), runs);
    bench.settle(&mut forgetful).await;
    assert_eq!(orders(&bench), 1);
    assert_eq!(bench.status("edge").phase, "Ready");
}

#[tokio::test]
async fn statement_59_a_label_or_a_change_without_work_does_nothing_and_an_unsafe_one_is_refused() {
    let (bench, mut controller) = installed().await;
    bench.edit("edge", |p| drop(p.metadata.labels.insert("owner".into(), "o2".into())));
    bench.annotate("edge", "note", "x");
    bench.edit("edge", |p| p.spec.deletion_policy = DeletionPolicy::Reset);
    bench.settle(&mut controller).await;
    assert!(bench.words("edge", "Accepted").starts_with("Valid"));
    assert_eq!(orders(&bench), 1);
    bench.edit("edge", |p| p.spec.masters = provisioning("edge", &["h3"]).spec.masters);
    bench.settle(&mut controller).await;
    assert!(!bench.words("edge", "Accepted").starts_with("Valid"));
    assert_eq!((bench.status("edge").phase.as_str(), orders(&bench)), ("Ready", 1));
}

#[tokio::test]
async fn statement_60_deletion_waits_for_a_run_and_then_keeps_or_resets_as_was_said() {
    for policy in [DeletionPolicy::Retain, DeletionPolicy::Reset] {
        let mut object = provisioning("edge", &["h1", "h2"]);
        object.spec.deletion_policy = policy;
        let bench = Bench::new(vec![object]);
        let mut controller = bench.run().await;
        let run = bench.run_id("edge");
        bench.work(run, Ends::Well).await;
        bench.settle(&mut controller).await;
        bench.delete("edge");
        bench.settle(&mut controller).await;
        let reset = policy == DeletionPolicy::Reset;
        assert_eq!(bench.object("edge").is_some(), reset, "held until the reset is done");
        assert_eq!(orders(&bench), if reset { 2 } else { 1 });
        if reset {
            assert_eq!(bench.holder("h1").as_deref(), Some("Provisioning edge"));
            let order = bench.fleet.lock().received[1].run;
            bench.work(order, Ends::Well).await;
            bench.settle(&mut controller).await;
        }
        assert_eq!((bench.object("edge").is_none(), bench.holder("h1")), (true, None));
    }
}

#[tokio::test]
async fn statement_61_a_failure_is_a_condition_an_event_and_no_endless_repetition() {
    let bench = Bench::edge();
    let mut controller = bench.run().await;
    bench.work(bench.run_id("edge"), Ends::Badly).await;
    bench.settle(&mut controller).await;
    bench.wait(100_000);
    bench.settle(&mut controller).await;
    let status = bench.status("edge");
    assert_eq!((status.phase.as_str(), orders(&bench)), ("Failed", 1));
    let run = status.run.unwrap();
    assert!(!run.reason.is_empty() && !run.message.is_empty(), "{run:?}");
    let told = bench.world.lock().events.iter().any(|event| event.warning);
    assert!(told, "{:?}", bench.world.lock().events);
    bench.annotate("edge", crate::planning::RETRY, "1");
    bench.settle(&mut controller).await;
    assert_eq!(orders(&bench), 2, "a person may ask again");
}

#[tokio::test]
async fn statement_62_whoever_does_not_answer_is_named() {
    let bench = Bench::edge();
    bench.fleet.lock().view.clear();
    bench.run().await;
    let status = bench.status("edge");
    let waits = status.conditions.get("Ready").unwrap();
    assert_eq!(status.phase, "Waiting");
    assert!(waits.message.contains("north"), "{}", waits.message);
    assert_eq!(orders(&bench), 0);
}

#[tokio::test]
async fn statement_63_an_object_made_anew_under_the_same_name_gets_no_old_news() {
    let bench = Bench::edge();
    let mut controller = bench.run().await;
    let old = bench.run_id("edge");
    {
        let mut state = bench.world.lock();
        let mut anew = provisioning("edge", &["h3"]);
        anew.metadata.uid = "uid-another".into();
        anew.metadata.creation_timestamp = Some(at(90));
        state.snapshot.provisionings = vec![Arc::new(anew)];
    }
    bench.work(old, Ends::Well).await;
    bench.settle(&mut controller).await;
    let status = bench.status("edge");
    assert_ne!(status.phase, "Ready");
    assert!(status.run.is_none_or(|run| run.id != old.to_string()));
    assert!(bench.world.lock().kubeconfigs.is_empty());
}

#[tokio::test]
async fn statement_83_the_pod_network_is_a_variable_of_the_order() {
    let mut object = provisioning("edge", &["h1"]);
    object.spec.legacy_pod_subnet = Some("172.21.64.0/18".into());
    let bench = Bench::new(vec![object]);
    bench.run().await;
    let order = bench.fleet.lock().received[0].clone();
    assert_eq!(order.cluster.pod_subnet.as_deref(), Some("172.21.64.0/18"));
    let mut object = provisioning("edge", &["h1"]);
    object.spec.legacy_pod_subnet = Some("10.0.0.0/8".into());
    object.spec.kubernetes.service_subnet = Some("10.96.0.0/16".into());
    let bench = Bench::new(vec![object]);
    bench.run().await;
    let words = bench.words("edge", "Accepted");
    assert!(words.contains("overlap; write two apart"), "{words}");
}

#[tokio::test]
async fn statement_89_versions_and_playbooks_are_chosen_by_the_spec() {
    let mut object = provisioning("edge", &["h1"]);
    object.spec.kubernetes.version = Some("v1.35.4".into());
    object.spec.kubernetes.network_plugin = Some("flannel".into());
    object.spec.plugins = vec!["emco".into()];
    let bench = Bench::new(vec![object]);
    bench.run().await;
    let cluster = bench.fleet.lock().received[0].cluster.clone();
    assert_eq!(cluster.kubernetes_version.as_deref(), Some("1.35.4"));
    assert_eq!(cluster.network_plugin.as_deref(), Some("flannel"));
    assert_eq!(cluster.plugins, ["emco"]);
}
