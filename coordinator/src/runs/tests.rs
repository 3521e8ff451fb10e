//! The store of runs: nothing is lost, doubled or readable by others, whatever is cut off when.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use bpa_common::wire::v1::{
    ClusterPlan, Event, EventBody, ObjectId, Order, OrderKind, Outcome, RunId, RunState,
    SecretBytes, Step, StepEnd,
};
use secrecy::ExposeSecret;

use super::{OrderSummary, RunStore, log_path};
use crate::sites::RunSink;

const A: RunId = RunId([0xa; 16]);
const B: RunId = RunId([0xb; 16]);

fn event(seq: u64, run: RunId, body: EventBody) -> Event {
    Event { seq, run, at_ms: 1_000 * seq as i64, body }
}

fn note(seq: u64, run: RunId) -> Event {
    event(seq, run, EventBody::Note { message: format!("note {seq}") })
}

fn order(kubeconfig_home: bool) -> Order {
    Order {
        run: A,
        provisioning: ObjectId { namespace: "ns".into(), name: "edge".into(), uid: "u".into() },
        generation: 1,
        epoch: 1,
        kind: OrderKind::Install,
        cluster: ClusterPlan { name: "edge".into(), ..ClusterPlan::default() },
        nodes: Vec::new(),
        kubeconfig_home,
    }
}

fn kubeconfig(seq: u64, run: RunId) -> Event {
    let body = EventBody::Kubeconfig {
        pem: SecretBytes(b"apiVersion: v1\n# marked-secret\n".to_vec()),
        server: "https://10.0.0.5:6443".into(),
        days_left: 365,
        kubernetes_version: "1.35.4".into(),
    };
    event(seq, run, body)
}

fn whole_run() -> Vec<Event> {
    let bodies = [
        EventBody::Accepted,
        EventBody::StepStarted { step: Step::Resolve },
        EventBody::StepEnded { step: Step::Resolve, end: StepEnd::Done, message: String::new() },
        EventBody::StepStarted { step: Step::Kubespray },
        EventBody::Task { name: "init".into(), done: 3 },
        EventBody::Ended { outcome: Outcome::Succeeded },
    ];
    bodies.into_iter().enumerate().map(|(i, body)| event(i as u64 + 1, A, body)).collect()
}

#[tokio::test]
async fn what_was_told_is_there_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let store = RunStore::open(dir.path()).unwrap();
    store.begin("north", order(true)).await.unwrap();
    store.append_events("north", whole_run()).await.unwrap();
    store.append_log("north", A, 0, b"PLAY [all]\n".to_vec()).await.unwrap();
    let facts = store.facts()[&A].clone();
    assert_eq!(facts.last_line, "PLAY [all]");
    let again = RunStore::open(dir.path()).unwrap();
    assert_eq!(again.facts()[&A].record, facts.record);
    assert_eq!(facts.record.progress.state(), Some(RunState::Succeeded));
    assert_eq!(facts.record.order, Some(OrderSummary::of(&order(true))));
    assert_eq!(again.facts()[&A].order.as_deref(), Some(&order(true)));
    assert_eq!((again.events_seen("north"), again.events_seen("south")), (6, 0));
    assert_eq!(again.log_len(A), 11);
    assert_eq!(fs::read(log_path(dir.path(), A)).unwrap(), b"PLAY [all]\n");
}

#[tokio::test]
async fn a_file_cut_at_any_byte_loses_and_doubles_nothing() {
    let whole = {
        let dir = tempfile::tempdir().unwrap();
        let store = RunStore::open(dir.path()).unwrap();
        store.append_events("north", whole_run()).await.unwrap();
        let path = log_path(dir.path(), A).with_file_name("events.jsonl");
        (fs::read(path).unwrap(), store.facts()[&A].record.clone())
    };
    for length in (0..=whole.0.len()).step_by(7) {
        let dir = tempfile::tempdir().unwrap();
        let folder = log_path(dir.path(), A).with_file_name("");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("events.jsonl"), &whole.0[..length]).unwrap();
        let store = RunStore::open(dir.path()).unwrap();
        let seen = store.events_seen("north");
        let lines = whole.0[..length].iter().filter(|b| **b == b'\n').count();
        assert_eq!(seen, lines as u64, "cut at {length}");
        // The agent sends from the next one on.
        let rest: Vec<Event> = whole_run().into_iter().filter(|e| e.seq > seen).collect();
        store.append_events("north", rest).await.unwrap();
        let again = RunStore::open(dir.path()).unwrap();
        assert_eq!(again.facts()[&A].record, whole.1, "cut at {length}");
        assert_eq!(fs::read(folder.join("events.jsonl")).unwrap(), whole.0);
    }
}

#[tokio::test]
async fn what_is_on_the_disk_is_always_a_beginning_of_what_was_told() {
    // Runs A, B, A in one batch: B can't be written, so the second stretch of A must not be either.
    let dir = tempfile::tempdir().unwrap();
    let store = RunStore::open(dir.path()).unwrap();
    let place = log_path(dir.path(), B).with_file_name("");
    fs::write(place.to_str().unwrap().trim_end_matches('/'), "in the way").unwrap();
    let batch = vec![note(1, A), note(2, B), note(3, A)];
    let error = store.append_events("north", batch.clone()).await.unwrap_err();
    assert!(error.to_string().contains("north"), "{error}");
    assert_eq!(store.events_seen("north"), 1);
    fs::remove_file(place.to_str().unwrap().trim_end_matches('/')).unwrap();
    assert_eq!(RunStore::open(dir.path()).unwrap().events_seen("north"), 1);
    store.append_events("north", batch).await.unwrap();
    let again = RunStore::open(dir.path()).unwrap();
    assert_eq!(again.events_seen("north"), 3);
    assert_eq!(again.facts()[&A].record.progress.notes.len(), 2);
    assert_eq!(again.facts()[&B].record.progress.notes.len(), 1);
}

#[tokio::test]
async fn a_kubeconfig_waits_in_its_own_private_file_until_it_is_saved() {
    let dir = tempfile::tempdir().unwrap();
    let store = RunStore::open(dir.path()).unwrap();
    store.begin("north", order(true)).await.unwrap();
    store.append_events("north", vec![kubeconfig(1, A)]).await.unwrap();
    assert!(store.facts()[&A].has_kubeconfig);
    let again = RunStore::open(dir.path()).unwrap();
    assert!(again.facts()[&A].has_kubeconfig);
    let secret = again.kubeconfig(A).await.unwrap().unwrap();
    assert!(secret.expose_secret().contains("marked-secret"));
    for item in fs::read_dir(log_path(dir.path(), A).with_file_name("")).unwrap() {
        let path = item.unwrap().path();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "{path:?}");
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.contains("marked-secret"), path.ends_with("kubeconfig"), "{path:?}");
    }
    again.forget_kubeconfig(A).await.unwrap();
    again.forget_kubeconfig(A).await.unwrap();
    assert!(!again.facts()[&A].has_kubeconfig);
    assert!(again.kubeconfig(A).await.unwrap().is_none());
    assert_eq!(mode(&dir.path().join("runs")), 0o700);
    assert_eq!(mode(&log_path(dir.path(), A).with_file_name("")), 0o700);
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn a_kubeconfig_that_must_stay_at_the_site_is_not_kept() {
    let dir = tempfile::tempdir().unwrap();
    let store = RunStore::open(dir.path()).unwrap();
    store.begin("north", order(false)).await.unwrap();
    store.append_events("north", vec![kubeconfig(1, A)]).await.unwrap();
    assert!(!store.facts()[&A].has_kubeconfig);
    assert!(store.facts()[&A].record.progress.kubeconfig.is_some());
}

#[tokio::test]
async fn a_site_cannot_tell_about_the_run_of_another() {
    let dir = tempfile::tempdir().unwrap();
    let store = RunStore::open(dir.path()).unwrap();
    store.begin("north", order(true)).await.unwrap();
    let ended = event(1, A, EventBody::Ended { outcome: Outcome::Succeeded });
    store.append_events("south", vec![ended]).await.unwrap();
    assert_eq!(store.facts()[&A].record.progress.state(), None);
    assert_eq!(store.events_seen("south"), 1, "acknowledged, so that it does not block the rest");
    let error = store.append_log("south", A, 0, b"x".to_vec()).await.unwrap_err();
    assert!(error.to_string().contains("not of this site"), "{error}");
}

#[tokio::test]
async fn a_site_cannot_fill_the_disk_with_runs_that_nobody_ordered() {
    let dir = tempfile::tempdir().unwrap();
    let store = RunStore::open(dir.path()).unwrap();
    let run = |n: u64| RunId(uuid::Uuid::from_u128(u128::from(n)).into_bytes());
    let events: Vec<Event> = (1..=300).map(|n| note(n, run(n))).collect();
    store.append_events("north", events).await.unwrap();
    assert_eq!((store.facts().len(), store.events_seen("north")), (256, 300));
}

#[tokio::test]
async fn changes_are_told_and_beginning_twice_is_beginning_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = RunStore::open(dir.path()).unwrap();
    let changes = store.changes();
    store.begin("north", order(true)).await.unwrap();
    assert!(changes.has_changed().unwrap());
    store.append_events("north", whole_run()).await.unwrap();
    let other = Order { generation: 2, ..order(true) };
    assert_eq!(store.begin("north", other).await.unwrap().generation, 1, "the first one stands");
    assert_eq!(store.facts()[&A].record.progress.state(), Some(RunState::Succeeded));
}

#[tokio::test]
async fn a_removed_run_is_gone_for_good_and_a_removal_that_was_cut_short_is_finished() {
    let dir = tempfile::tempdir().unwrap();
    let store = RunStore::open(dir.path()).unwrap();
    store.begin("north", order(true)).await.unwrap();
    store.append_events("north", whole_run()).await.unwrap();
    store.append_events("north", vec![note(7, B)]).await.unwrap();
    store.remove(A).await.unwrap();
    store.remove(A).await.unwrap();
    assert!(!log_path(dir.path(), A).parent().unwrap().exists());
    let cut_short = dir.path().join("runs").join(format!("gone-{A}"));
    fs::create_dir_all(cut_short.join("left")).unwrap();
    let again = RunStore::open(dir.path()).unwrap();
    assert!(!cut_short.exists());
    assert_eq!(again.facts().into_keys().collect::<Vec<_>>(), [B]);
    assert_eq!(again.events_seen("north"), 7, "what the site has told is known still");

    // A word that comes late is taken, so that the agent need not say it for ever.
    again.append_events("north", vec![note(8, A)]).await.unwrap();
    assert_eq!(again.events_seen("north"), 8);
}
