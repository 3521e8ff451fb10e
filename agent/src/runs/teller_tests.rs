//! What is told is kept, in order, also over a full disk.

use bpa_common::wire::v1::{Failure, Step, StepEnd};

use super::super::testing::order;
use super::*;

struct Told {
    dir: tempfile::TempDir,
    journal: Arc<Journal>,
    teller: Teller,
    run: RunId,
}

impl Told {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let journal = Arc::new(Journal::open(dir.path()).unwrap());
        let order = order(1);
        journal.accept(&order, 1).unwrap();
        let teller = Teller::new(Arc::clone(&journal), order.run, dir.path().join("log"));
        Self { dir, journal, teller, run: order.run }
    }

    fn notes(&self) -> Vec<String> {
        let events = self.journal.events_of(self.run).unwrap();
        let note = |body| match body {
            EventBody::Note { message } => Some(message.chars().take(5).collect()),
            _ => None,
        };
        events.into_iter().filter_map(|e| note(e.body)).collect()
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("log")).unwrap()
    }
}

fn note(text: &str) -> EventBody {
    EventBody::Note { message: text.into() }
}

#[test]
fn events_go_to_the_journal_and_their_story_to_the_log() {
    let told = Told::new();
    told.teller.tell(note("first"));
    told.teller.tell_followed(vec![EventBody::Phase { name: "Bootstrap".into() }], 7);
    told.teller.tell(EventBody::Node {
        node: "cp1".into(),
        state: bpa_common::wire::v1::NodeState::Failed,
        address: Some("10.77.0.50".parse().unwrap()),
        message: "two\nlines".into(),
    });
    assert_eq!(told.notes(), ["first"]);
    assert_eq!(told.teller.followed(), 7);
    let log = told.log();
    assert!(log.contains("bpa: cp1: Failed 10.77.0.50 two lines\n"), "{log}");
    assert!(!log.contains("Bootstrap"), "ansible's own output shows it: {log}");
}

#[tokio::test]
async fn a_full_disk_delays_events_and_loses_none() {
    let told = Told::new();
    told.journal.limit_pages(1);
    told.teller.tell(note(&format!("one  {}", "x".repeat(30_000))));
    told.teller.tell_followed(vec![note("two  ")], 9);
    assert!(told.notes().is_empty());
    let settled = tokio::time::timeout(Duration::from_millis(50), told.teller.settle()).await;
    assert!(settled.is_err(), "it waits for room");
    told.journal.limit_pages(1_000_000);
    told.teller.settle().await;
    assert_eq!(told.notes(), ["one  ", "two  "]);
    assert_eq!(told.teller.followed(), 9);
}

#[test]
fn when_too_much_waits_tasks_go_first() {
    let told = Told::new();
    told.journal.limit_pages(1);
    let task = |n: u64| EventBody::Task { name: format!("task {n} {}", "x".repeat(100)), done: n };
    told.teller.tell_followed((0..MOST_WAITING as u64).map(task).collect(), 1);
    told.teller.tell(note("kept "));
    told.journal.limit_pages(1_000_000);
    told.teller.tell(note("after"));
    assert_eq!(told.notes(), ["kept ", "after"]);
}

#[test]
fn the_end_of_a_run_is_one_line_with_what_to_do() {
    let told = Told::new();
    let failure = Failure {
        step: Step::Access,
        reason: "WrongPassword".into(),
        node: Some("w1".into()),
        message: "the password was refused".into(),
        fix: "mend the credentials".into(),
    };
    let ended = EventBody::StepEnded {
        step: Step::Access,
        end: StepEnd::Failed,
        message: failure.message.clone(),
    };
    told.teller.log_lines(&[ended, EventBody::Ended { outcome: Outcome::Failed(failure) }]);
    let log = told.log();
    assert!(log.contains("step Access: Failed the password was refused"), "{log}");
    let line = "the run failed in Access: w1: the password was refused (WrongPassword); mend the";
    assert!(log.contains(line), "{log}");
}
