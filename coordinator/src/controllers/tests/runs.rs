//! Runs that fail, get lost, are cancelled or asked for again.

use super::super::testing::{Bench, Ends};
use crate::planning::{CANCEL, RETRY};

#[tokio::test]
async fn a_failed_run_says_where_and_why_and_is_not_started_again_by_itself() {
    let bench = Bench::edge();
    let mut controller = bench.run().await;
    bench.work(bench.run_id("edge"), Ends::Badly).await;
    bench.settle(&mut controller).await;
    assert_eq!(bench.status("edge").phase, "Failed");
    let words = bench.words("edge", "Installed");
    assert!(
        words.starts_with("TaskFailed: Kubespray on n-h1: no space left; free some space"),
        "{words}"
    );
    assert!(words.contains(RETRY), "{words}");
    bench.fleet.reconnect();
    bench.wait(10_000);
    bench.run().await;
    assert_eq!(bench.fleet.lock().received.len(), 1);
    assert!(bench.world.lock().events.iter().any(|e| e.warning && e.reason == "TaskFailed"));
}

#[tokio::test]
async fn a_person_asks_again_once_and_it_runs_once_more() {
    let bench = Bench::edge();
    let mut controller = bench.run().await;
    let first = bench.run_id("edge");
    bench.work(first, Ends::Badly).await;
    bench.settle(&mut controller).await;
    bench.annotate("edge", RETRY, "after the disk was changed");
    bench.settle(&mut controller).await;
    let second = bench.run_id("edge");
    assert_ne!(first, second);
    assert_eq!(bench.status("edge").phase, "Installing");
    assert!(
        bench.status("edge").conditions.get("Installed").is_none_or(|c| c.reason == "InProgress")
    );
    bench.work(second, Ends::Badly).await;
    bench.run().await;
    assert_eq!(bench.fleet.lock().received.len(), 2, "one value asks once, also after a restart");
    let history = bench.status("edge").history;
    assert_eq!(
        history.iter().map(|h| h.run.clone()).collect::<Vec<_>>(),
        [second.to_string(), first.to_string()]
    );
}

#[tokio::test]
async fn a_changed_spec_starts_again_after_a_failure() {
    let bench = Bench::edge();
    let mut controller = bench.run().await;
    bench.work(bench.run_id("edge"), Ends::Badly).await;
    bench.settle(&mut controller).await;
    bench.edit("edge", |p| p.spec.kubernetes.version = Some("1.35.4".into()));
    bench.settle(&mut controller).await;
    let state = bench.fleet.lock();
    assert_eq!(state.received.len(), 2);
    assert_eq!(state.received[1].generation, 2);
    assert_eq!(state.received[1].cluster.kubernetes_version.as_deref(), Some("1.35.4"));
}

#[tokio::test]
async fn a_changed_spec_during_a_run_waits_for_its_end() {
    let bench = Bench::edge();
    let mut controller = bench.run().await;
    let run = bench.run_id("edge");
    bench.edit("edge", |p| p.spec.kubernetes.version = Some("1.35.4".into()));
    bench.settle(&mut controller).await;
    assert_eq!((bench.run_id("edge"), bench.fleet.lock().received.len()), (run, 1));
    bench.work(run, Ends::Badly).await;
    bench.settle(&mut controller).await;
    assert_eq!(bench.fleet.lock().received.len(), 2);
}

#[tokio::test]
async fn a_standing_cluster_is_never_installed_over() {
    let bench = Bench::edge();
    let mut controller = bench.run().await;
    bench.work(bench.run_id("edge"), Ends::Well).await;
    bench.settle(&mut controller).await;
    bench.edit("edge", |p| p.spec.workers.clear());
    bench.annotate("edge", RETRY, "please");
    bench.settle(&mut controller).await;
    assert_eq!(bench.fleet.lock().received.len(), 1);
    assert_eq!(bench.status("edge").phase, "Ready");
    assert!(bench.words("edge", "Accepted").starts_with("ChangeNotCarriedOut"));
    // A change that needs no work is none.
    bench.edit("edge", |p| {
        p.spec = crate::planning::testing::provisioning("edge", &["h1", "h2"]).spec;
        p.spec.deletion_policy = bpa_common::api::DeletionPolicy::Reset;
    });
    bench.settle(&mut controller).await;
    assert!(bench.words("edge", "Accepted").starts_with("Valid"));
}

#[tokio::test]
async fn a_run_that_the_agent_forgot_is_told_and_held() {
    let bench = Bench::edge();
    let mut controller = bench.run().await;
    bench.work(bench.run_id("edge"), Ends::Not).await;
    bench.settle(&mut controller).await;
    // The hello before the order does not name it: that means nothing.
    assert_eq!(bench.status("edge").phase, "Installing");
    bench.fleet.lock().journal.clear();
    bench.fleet.reconnect();
    bench.settle(&mut controller).await;
    let words = bench.words("edge", "Installed");
    assert!(words.starts_with("RunLost: site north took run"), "{words}");
    bench.wait(1000);
    bench.run().await;
    assert_eq!(bench.fleet.lock().received.len(), 1, "nothing is started on a guess");
    bench.annotate("edge", RETRY, "looked at it");
    bench.run().await;
    assert_eq!(bench.fleet.lock().received.len(), 2);
}

#[tokio::test]
async fn a_link_that_is_cut_in_a_run_changes_nothing_but_what_is_known() {
    let bench = Bench::edge();
    let mut controller = bench.run().await;
    let run = bench.run_id("edge");
    bench.work(run, Ends::Not).await;
    bench.fleet.cut();
    bench.settle(&mut controller).await;
    assert_eq!(bench.status("edge").phase, "Installing");
    bench.fleet.reconnect();
    bench.work(run, Ends::Well).await;
    bench.settle(&mut controller).await;
    assert_eq!(
        (bench.status("edge").phase.as_str(), bench.fleet.lock().received.len()),
        ("Ready", 1)
    );
}

#[tokio::test]
async fn cancel_goes_to_the_site_until_the_run_has_ended() {
    let bench = Bench::edge();
    let mut controller = bench.run().await;
    let run = bench.run_id("edge");
    bench.work(run, Ends::Not).await;
    bench.annotate("edge", CANCEL, &run.to_string());
    bench.settle(&mut controller).await;
    assert_eq!(bench.fleet.lock().cancels, [run]);
    assert!(bench.status("edge").run.unwrap().message.contains("the site is stopping the run"));
    bench.wait(60);
    bench.settle(&mut controller).await;
    assert_eq!(bench.fleet.lock().cancels, [run, run]);
    bench.work(run, Ends::Cancelled).await;
    bench.settle(&mut controller).await;
    assert_eq!(bench.status("edge").phase, "Cancelled");
    bench.wait(60);
    bench.run().await;
    assert_eq!(bench.fleet.lock().cancels.len(), 2);
    assert_eq!(bench.fleet.lock().received.len(), 1);
}

#[tokio::test]
async fn cancel_of_an_order_that_never_arrived_ends_it() {
    let bench = Bench::edge();
    bench.fleet.lock().refuses = Some(bpa_common::wire::v1::OrderRefusal::Quarantine);
    let mut controller = bench.run().await;
    let run = bench.run_id("edge");
    bench.annotate("edge", CANCEL, &run.to_string());
    bench.settle(&mut controller).await;
    assert_eq!(bench.status("edge").phase, "Cancelled");
    bench.fleet.lock().refuses = None;
    bench.wait(1000);
    bench.run().await;
    assert!(bench.fleet.lock().journal.is_empty());
}

#[tokio::test]
async fn cancel_of_another_run_is_nothing() {
    let bench = Bench::edge();
    bench.annotate("edge", CANCEL, "00000000-0000-4000-8000-000000000000");
    bench.run().await;
    assert!(bench.fleet.lock().cancels.is_empty());
    assert_eq!(bench.fleet.lock().journal.len(), 1);
}

/// Provisionings come and go for weeks: what was learned of their runs does not pile up.
#[tokio::test]
async fn runs_of_provisionings_that_are_gone_are_forgotten_after_a_week() {
    let bench = Bench::edge();
    let mut controller = bench.run().await;
    for round in 0..5 {
        bench.work(bench.run_id("edge"), Ends::Badly).await;
        bench.settle(&mut controller).await;
        bench.annotate("edge", crate::planning::RETRY, &round.to_string());
        bench.settle(&mut controller).await;
    }
    bench.work(bench.run_id("edge"), Ends::Well).await;
    bench.settle(&mut controller).await;
    assert_eq!(bench.runs.facts().len(), 6);
    bench.wait(30 * 24 * 3600);
    bench.settle(&mut controller).await;
    assert_eq!(bench.runs.facts().len(), 6, "a status names them");
    bench.delete("edge");
    bench.settle(&mut controller).await;
    for _ in 0..2 {
        bench.wait(3600);
        bench.settle(&mut controller).await;
    }
    let mut left = bench.runs.facts().len();
    for _ in 0..100 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        left = bench.runs.facts().len();
        if left == 1 {
            break;
        }
    }
    assert_eq!(left, 1, "the last that the site has told of");
}

/// A cluster that stands costs nothing until something about it changes.
#[tokio::test]
async fn a_standing_cluster_is_looked_at_again_when_something_about_it_changes() {
    let bench = Bench::edge();
    let mut controller = bench.run().await;
    bench.work(bench.run_id("edge"), Ends::Well).await;
    bench.settle(&mut controller).await;
    bench.settle(&mut controller).await;
    assert_eq!(controller.quiet(), 1);
    bench.edit_host("h1", |record| record.host.spec.consumer_ref = None);
    bench.settle(&mut controller).await;
    assert!(bench.words("edge", "HostsClaimed").starts_with("ClaimLost"));
    assert_eq!(controller.quiet(), 0, "a lost host is watched");
}
