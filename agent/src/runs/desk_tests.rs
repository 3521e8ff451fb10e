//! Orders, cancels and logs over a real journal; the hosts never get a lease here.

use std::time::Duration;

use bpa_common::wire::v1::{EventBody, Outcome, Step};

use super::super::testing::{feed, order};
use super::*;
use crate::config::{BundleConfig, RunsConfig};
use crate::credentials::CredentialSource;
use crate::journal::Journal;
use crate::leases::LeaseView;
use crate::steps::access::{AccessContext, Pins, SiteKey};

struct Site {
    dir: tempfile::TempDir,
    feed: (watch::Sender<Arc<LeaseView>>, crate::leases::LeaseFeed),
}

impl Site {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let bundle = dir.path().join("bundle");
        std::fs::create_dir(&bundle).unwrap();
        for file in ["cluster.yml", "reset.yml", "ansible.cfg"] {
            std::fs::write(bundle.join(file), "").unwrap();
        }
        for file in ["ansible-playbook", "ansible-inventory"] {
            std::fs::copy("/bin/true", bundle.join(file)).unwrap();
        }
        let text = r#"{"schema":1,"name":"lite","version":"1",
            "playbooks":{"cluster":"cluster.yml","reset":"reset.yml"}}"#;
        std::fs::write(bundle.join("bundle.json"), text).unwrap();
        Self { dir, feed: feed(&[]) }
    }

    fn agent(&self, lease_wait_seconds: u64) -> Arc<Runs> {
        let state_dir = self.dir.path().to_owned();
        let bundle = self.dir.path().join("bundle");
        let runs = Runs::resume(Shop {
            journal: Arc::new(Journal::open(&state_dir).unwrap()),
            access: AccessContext {
                site_key: Arc::new(SiteKey::load_or_create(&state_dir, "north").unwrap()),
                credentials: CredentialSource::new(None),
                pins: Pins::new(&state_dir),
                ssh_wait: Duration::from_secs(1),
            },
            leases: self.feed.1.clone(),
            bundles: vec![BundleConfig {
                ansible_bin: Some(bundle.clone()),
                path: bundle,
                vars: toml::Table::new(),
            }],
            turns: crate::runs::Turns::new(RunsConfig::default().at_once),
            config: RunsConfig { lease_wait_seconds, ..RunsConfig::default() },
            agent: "/nowhere/bpa-agent".into(),
            state_dir,
        })
        .unwrap();
        runs.set_approved(true);
        runs
    }
}

async fn ended(runs: &Runs, run: RunId) -> Vec<EventBody> {
    let mut newest = runs.newest_event();
    loop {
        let bodies: Vec<EventBody> = runs
            .events_after(0, 1000)
            .into_iter()
            .filter(|e| e.run == run)
            .map(|e| e.body)
            .collect();
        if matches!(bodies.last(), Some(EventBody::Ended { .. })) {
            return bodies;
        }
        let waited = tokio::time::timeout(Duration::from_secs(20), newest.changed()).await;
        waited.expect("the run ends").unwrap();
    }
}

fn outcome(bodies: &[EventBody]) -> Outcome {
    let ends: Vec<&Outcome> = bodies
        .iter()
        .filter_map(|b| match b {
            EventBody::Ended { outcome } => Some(outcome),
            _ => None,
        })
        .collect();
    assert_eq!(ends.len(), 1, "exactly one end");
    ends[0].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_without_a_lease_fails_with_the_reason_and_its_log_ends() {
    let site = Site::new();
    let runs = site.agent(0);
    let order = order(1);
    assert_eq!(runs.take_order(order.clone()).await, OrderReply::Accepted { run: order.run });
    let bodies = ended(&runs, order.run).await;
    let Outcome::Failed(failure) = outcome(&bodies) else { panic!("{bodies:?}") };
    assert_eq!((failure.step, failure.reason.as_str()), (Step::Resolve, "NoLease"));
    let known = OrderReply::Known { run: order.run, state: RunState::Failed };
    assert_eq!(runs.take_order(order.clone()).await, known);
    let piece = runs.read_log(order.run, 0, 100_000);
    let text = String::from_utf8(piece.bytes).unwrap();
    assert!(piece.last && text.contains("the run failed in Resolve"), "{text}");
    assert_eq!(runs.runs_with_log(), [order.run]);
    runs.log_done(order.run);
    assert!(runs.runs_with_log().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiting_run_is_cancelled_once_and_another_can_follow() {
    let site = Site::new();
    let runs = site.agent(600);
    let first = order(1);
    runs.take_order(first.clone()).await;
    let mut second = first.clone();
    second.run = RunId([9; 16]);
    let busy = OrderReply::Refused(OrderRefusal::Busy { run: first.run });
    assert_eq!(runs.take_order(second.clone()).await, busy);
    let cancel = CancelOrder { run: first.run, epoch: 1 };
    assert_eq!(runs.cancel(cancel.clone()).await, CancelReply::Stopping);
    let bodies = ended(&runs, first.run).await;
    assert!(matches!(outcome(&bodies), Outcome::Cancelled { .. }));
    assert_eq!(runs.cancel(cancel).await, CancelReply::AlreadyEnded(RunState::Cancelled));
    let accepted = OrderReply::Accepted { run: second.run };
    assert_eq!(runs.take_order(second).await, accepted);
    let unknown = CancelOrder { run: RunId([77; 16]), epoch: 1 };
    assert_eq!(runs.cancel(unknown).await, CancelReply::UnknownRun);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_goes_on_in_the_next_process_and_says_so() {
    let site = Site::new();
    let order = order(1);
    {
        let runs = site.agent(600);
        runs.take_order(order.clone()).await;
        let mut newest = runs.newest_event();
        while *newest.borrow_and_update() < 3 {
            newest.changed().await.unwrap();
        }
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    let runs = site.agent(0);
    let bodies = ended(&runs, order.run).await;
    assert!(matches!(outcome(&bodies), Outcome::Failed(_)));
    assert!(
        bodies
            .iter()
            .any(|b| matches!(b, EventBody::Note { message } if message.contains("restarted")))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn quarantine_and_an_old_epoch_are_refused() {
    let site = Site::new();
    let runs = site.agent(0);
    runs.set_approved(false);
    let refused = OrderReply::Refused(OrderRefusal::Quarantine);
    assert_eq!(runs.take_order(order(1)).await, refused);
    runs.set_approved(true);
    let mut newer = order(1);
    newer.epoch = 7;
    runs.take_order(newer.clone()).await;
    ended(&runs, newer.run).await;
    let refused = OrderReply::Refused(OrderRefusal::OldEpoch { seen: 7 });
    assert_eq!(runs.take_order(order(2)).await, refused);
    assert_eq!(runs.epoch_seen(), 7);
}
