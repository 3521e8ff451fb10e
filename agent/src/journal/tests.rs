//! What the journal promises, tried on real files.

use std::os::unix::fs::PermissionsExt;

use bpa_common::wire::v1::{
    ClusterPlan, EventBody, Failure, ObjectId, Order, OrderKind, Outcome, RunId, RunState,
    SecretBytes, Step, StepEnd,
};

use super::*;

impl Journal {
    /// The file may have so many pages: at the limit SQLite answers as on a full disk.
    pub(crate) fn limit_pages(&self, pages: i64) {
        let set = move |c: &mut Connection| {
            let sql = format!("PRAGMA max_page_count = {pages}");
            c.query_row(&sql, [], |row| row.get::<_, i64>(0)).unwrap();
        };
        self.writer.as_ref().unwrap().run(set).unwrap();
    }
}

fn order(n: u8) -> Order {
    Order {
        run: RunId([n; 16]),
        provisioning: ObjectId { namespace: "a".into(), name: "edge".into(), uid: "u1".into() },
        generation: 3,
        epoch: u64::from(n),
        kind: OrderKind::Install,
        cluster: ClusterPlan { name: "edge".into(), ..ClusterPlan::default() },
        nodes: Vec::new(),
        kubeconfig_home: true,
    }
}

fn failed(step: Step) -> Failure {
    Failure {
        step,
        reason: "TaskFailed".into(),
        node: None,
        message: "it broke".into(),
        fix: "mend it".into(),
    }
}

fn note(text: &str) -> EventBody {
    EventBody::Note { message: text.into() }
}

#[test]
fn a_run_is_accepted_once_and_ends_once() {
    let dir = tempfile::tempdir().unwrap();
    let journal = Journal::open(dir.path()).unwrap();
    let run = order(7).run;
    journal.accept(&order(7), 10).unwrap();
    journal.accept(&order(7), 11).unwrap();
    journal.start_step(run, Step::Resolve, 12).unwrap();
    assert_eq!(journal.run(run).unwrap().unwrap().state, RunState::Running);
    assert!(journal.end_run(run, Outcome::Succeeded, 13).unwrap());
    assert!(!journal.end_run(run, Outcome::Failed(failed(Step::Check)), 14).unwrap());

    let bodies: Vec<EventBody> =
        journal.events_of(run).unwrap().into_iter().map(|e| e.body).collect();
    assert_eq!(
        bodies,
        [
            EventBody::Accepted,
            EventBody::StepStarted { step: Step::Resolve },
            EventBody::Ended { outcome: Outcome::Succeeded },
        ]
    );
    let stored = journal.run(run).unwrap().unwrap();
    assert_eq!((stored.state, stored.ended_ms), (RunState::Succeeded, Some(13)));
    assert_eq!(stored.order, order(7));
}

#[test]
fn what_was_committed_is_there_after_a_restart_and_numbers_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let first = {
        let journal = Journal::open(dir.path()).unwrap();
        journal.accept(&order(7), 1).unwrap();
        journal.tell(order(7).run, 2, vec![note("a"), note("b")], None).unwrap();
        assert_eq!(journal.next_session().unwrap(), 1);
        journal.acknowledge(3).unwrap();
        *journal.newest_event().borrow()
    };
    assert_eq!(first, 3);
    let journal = Journal::open(dir.path()).unwrap();
    assert_eq!(*journal.newest_event().borrow(), 3);
    assert_eq!(journal.next_session().unwrap(), 2);
    assert_eq!(journal.epoch_seen().unwrap(), 7);
    journal.tell(order(7).run, 3, vec![note("c")], None).unwrap();
    assert_eq!(journal.events_after(3, 10).unwrap()[0].seq, 4);
}

#[test]
fn a_young_journal_numbers_behind_what_the_coordinator_keeps_of_this_site() {
    let dir = tempfile::tempdir().unwrap();
    let journal = Journal::open(dir.path()).unwrap();
    journal.acknowledge(10_000).unwrap();
    journal.accept(&order(7), 1).unwrap();
    journal.tell(order(7).run, 2, vec![note("a")], None).unwrap();
    let seqs: Vec<u64> = journal.events_after(0, 10).unwrap().iter().map(|e| e.seq).collect();
    assert_eq!(seqs, [10_001, 10_002]);
    journal.acknowledge(4).unwrap();
    journal.tell(order(7).run, 3, vec![note("b")], None).unwrap();
    assert_eq!(journal.events_after(10_002, 10).unwrap()[0].seq, 10_003, "never back");
    drop(journal);
    assert_eq!(*Journal::open(dir.path()).unwrap().newest_event().borrow(), 10_003);
}

#[test]
fn an_epoch_never_goes_back() {
    let dir = tempfile::tempdir().unwrap();
    let journal = Journal::open(dir.path()).unwrap();
    journal.accept(&order(9), 1).unwrap();
    journal.accept(&order(4), 1).unwrap();
    assert_eq!(journal.epoch_seen().unwrap(), 9);
}

#[test]
fn events_are_kept_until_acknowledged_and_secrets_go_then() {
    let dir = tempfile::tempdir().unwrap();
    let journal = Journal::open(dir.path()).unwrap();
    let run = order(1).run;
    let secret = EventBody::Kubeconfig {
        pem: SecretBytes(b"VERY-SECRET-BYTES".to_vec()),
        server: "https://10.0.0.1:6443".into(),
        days_left: 364,
        kubernetes_version: "1.35.4".into(),
    };
    journal.tell(run, 1, vec![note("before"), secret.clone(), note("after")], None).unwrap();
    journal.acknowledge(1).unwrap();
    assert_eq!(journal.events_after(0, 10).unwrap().len(), 3, "the secret is not acknowledged");
    assert_eq!(journal.events_after(1, 1).unwrap()[0].body, secret);
    journal.acknowledge(3).unwrap();
    let left: Vec<u64> = journal.events_after(0, 10).unwrap().into_iter().map(|e| e.seq).collect();
    assert_eq!(left, [1, 3]);
    // SecretBytes are JSON numbers in the file: look for the first few of them.
    for name in [FILE_NAME.to_owned(), format!("{FILE_NAME}-wal")] {
        let text =
            String::from_utf8_lossy(&std::fs::read(dir.path().join(&name)).unwrap()).into_owned();
        assert!(!text.contains("86,69,82,89,45"), "{name} still holds the secret");
    }
}

#[test]
fn old_acknowledged_events_go_and_no_others() {
    let dir = tempfile::tempdir().unwrap();
    let journal = Journal::open(dir.path()).unwrap();
    let run = order(1).run;
    journal.tell(run, 1, (0..5200).map(|n| note(&n.to_string())).collect(), None).unwrap();
    journal.acknowledge(5100).unwrap();
    let left = journal.events_after(0, 10_000).unwrap();
    assert_eq!((left.first().unwrap().seq, left.len()), (101, 5100));
}

#[test]
fn steps_and_the_failure_are_kept_together() {
    let dir = tempfile::tempdir().unwrap();
    let journal = Journal::open(dir.path()).unwrap();
    let run = order(1).run;
    journal.accept(&order(1), 1).unwrap();
    journal.start_step(run, Step::Access, 2).unwrap();
    let ended = StepEnded {
        step: Step::Access,
        end: StepEnd::Failed,
        message: "it broke".into(),
        failure: Some(failed(Step::Access)),
    };
    journal.end_step(run, ended, 3).unwrap();
    let row = &journal.steps(run).unwrap()[0];
    assert_eq!((row.end, row.ended_ms), (Some(StepEnd::Failed), Some(3)));
    assert_eq!(journal.run(run).unwrap().unwrap().failure, Some(failed(Step::Access)));
}

#[test]
fn starts_are_counted_and_the_first_canceller_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let journal = Journal::open(dir.path()).unwrap();
    let run = order(1).run;
    journal.accept(&order(1), 1).unwrap();
    assert_eq!(journal.count_start(run).unwrap(), 1);
    assert_eq!(journal.count_start(run).unwrap(), 2);
    journal.request_cancel(run, "ann").unwrap();
    journal.request_cancel(run, "bob").unwrap();
    assert_eq!(journal.run(run).unwrap().unwrap().cancel_by.as_deref(), Some("ann"));
}

#[test]
fn the_file_is_private_and_a_reader_sees_it_while_the_agent_works() {
    let dir = tempfile::tempdir().unwrap();
    let journal = Journal::open(dir.path()).unwrap();
    journal.accept(&order(1), 1).unwrap();
    for entry in std::fs::read_dir(dir.path()).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{:?}", entry.file_name());
    }
    let reader = Journal::open_read_only(dir.path()).unwrap();
    assert_eq!(reader.runs(10).unwrap().len(), 1);
    assert!(matches!(reader.next_session(), Err(JournalError::Stopped)));
}

#[test]
fn a_journal_of_a_newer_agent_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    drop(Journal::open(dir.path()).unwrap());
    let raw = Connection::open(dir.path().join(FILE_NAME)).unwrap();
    raw.pragma_update(None, "user_version", 99).unwrap();
    drop(raw);
    let error = Journal::open(dir.path()).err().unwrap();
    assert!(matches!(error, JournalError::Newer { found: 99, .. }), "{error}");
}

#[test]
fn a_full_disk_is_told_and_nothing_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let journal = Journal::open(dir.path()).unwrap();
    journal.accept(&order(1), 1).unwrap();
    let run = order(1).run;
    journal.limit_pages(1);
    let long = vec![note(&"x".repeat(20_000))];
    let error = journal.tell(run, 2, long.clone(), None).unwrap_err();
    assert!(matches!(error, JournalError::Full), "{error}");
    assert_eq!(journal.events_of(run).unwrap().len(), 1, "what was kept before is there");
    journal.limit_pages(1_000_000);
    journal.tell(run, 3, long, None).unwrap();
    assert_eq!(journal.events_of(run).unwrap().len(), 2);
}

#[test]
fn logs_are_offered_until_the_coordinator_has_them() {
    let dir = tempfile::tempdir().unwrap();
    let journal = Journal::open(dir.path()).unwrap();
    journal.accept(&order(1), 1).unwrap();
    journal.accept(&order(2), 1).unwrap();
    assert_eq!(journal.runs_with_log().unwrap(), [order(1).run, order(2).run]);
    journal.log_done(order(1).run).unwrap();
    assert_eq!(journal.runs_with_log().unwrap(), [order(2).run]);
    let newest_first: Vec<RunId> = journal.runs(10).unwrap().iter().map(|r| r.order.run).collect();
    assert_eq!(newest_first, [order(2).run, order(1).run]);
}

/// One thing that may happen to a journal.
#[derive(Clone, Debug)]
enum Deed {
    Accept(u8),
    Tell(u8, u8),
    Acknowledge(u64),
    Cancel(u8),
    End(u8),
    /// The process dies and another one opens the file.
    Restart,
}

fn deed() -> impl proptest::strategy::Strategy<Value = Deed> {
    use proptest::prelude::*;
    prop_oneof![
        (1u8..4).prop_map(Deed::Accept),
        (1u8..4, 1u8..5).prop_map(|(run, count)| Deed::Tell(run, count)),
        (0u64..40).prop_map(Deed::Acknowledge),
        (1u8..4).prop_map(Deed::Cancel),
        (1u8..4).prop_map(Deed::End),
        Just(Deed::Restart),
    ]
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(24))]
    /// Whatever happens in whatever order: numbers grow by one and are never used again, a run has
    /// one beginning and at most one end, and a restart changes nothing.
    #[test]
    fn the_record_is_gapless_and_each_run_ends_once(
        deeds in proptest::collection::vec(deed(), 0..30),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(dir.path()).unwrap();
        for deed in deeds {
            match deed {
                Deed::Accept(n) => journal.accept(&order(n), 1).unwrap(),
                Deed::Tell(n, count) => {
                    let bodies = (0..count).map(|i| note(&i.to_string())).collect();
                    journal.tell(order(n).run, 1, bodies, None).unwrap();
                }
                Deed::Acknowledge(seq) => {
                    let newest = *journal.newest_event().borrow();
                    journal.acknowledge(seq.min(newest)).unwrap();
                }
                Deed::Cancel(n) => journal.request_cancel(order(n).run, "ann").unwrap(),
                Deed::End(n) => {
                    journal.end_run(order(n).run, Outcome::Succeeded, 2).unwrap();
                }
                Deed::Restart => {
                    let before = (journal.runs(9).unwrap(), journal.events_after(0, 999).unwrap());
                    drop(journal);
                    journal = Journal::open(dir.path()).unwrap();
                    let after = (journal.runs(9).unwrap(), journal.events_after(0, 999).unwrap());
                    proptest::prop_assert_eq!(before, after);
                }
            }
        }
        let events = journal.events_after(0, 999).unwrap();
        let numbers: Vec<u64> = events.iter().map(|e| e.seq).collect();
        let wanted: Vec<u64> = (1..=numbers.len() as u64).collect();
        proptest::prop_assert_eq!(numbers, wanted);
        for run in journal.runs(9).unwrap() {
            let of_run = |wanted: fn(&EventBody) -> bool| {
                events.iter().filter(|e| e.run == run.order.run && wanted(&e.body)).count()
            };
            proptest::prop_assert_eq!(of_run(|b| *b == EventBody::Accepted), 1);
            let ends = of_run(|b| matches!(b, EventBody::Ended { .. }));
            proptest::prop_assert_eq!(ends, usize::from(run.state.is_final()));
        }
    }
}
