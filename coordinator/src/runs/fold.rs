//! PURE: from a record and an event to the next record.
//!
//! The same events give the same record, however often they are told: one that was seen is ignored.
//! Everything that grows has a limit, because it comes from elsewhere.

use bpa_common::wire::v1::{Check, Event, EventBody, Step, StepEnd};
use jiff::Timestamp;

use super::record::{
    KubeconfigInfo, NodeRecord, Note, Progress, RunRecord, StepRecord, StepState, TaskFailure,
};

/// Longest text that is kept of one message, bytes.
const MAX_TEXT: usize = 4096;
/// Most task failures, notes and recap lines that are kept of one run.
const MAX_LINES: usize = 256;
/// Most nodes, and most checks per run.
const MAX_NODES: usize = 4096;
const MAX_CHECKS: usize = 16_384;

/// Folds one event into a record.
pub fn fold(mut record: RunRecord, event: &Event) -> RunRecord {
    let progress = &mut record.progress;
    if event.seq <= progress.last_seq {
        return record;
    }
    progress.last_seq = event.seq;
    // A run ends once; what comes after its end can't change how it ended.
    if progress.outcome.is_none() {
        apply(progress, &event.body, time_of(event.at_ms));
    }
    record
}

fn apply(progress: &mut Progress, body: &EventBody, at: Timestamp) {
    match body {
        EventBody::Accepted => {
            progress.accepted = true;
            progress.started.get_or_insert(at);
        }
        EventBody::StepStarted { step } => begin_step(progress, *step, at),
        EventBody::StepEnded { step, end, message } => end_step(progress, *step, *end, message, at),
        EventBody::Node { node, state, address, message } => {
            if progress.nodes.contains_key(node) || progress.nodes.len() < MAX_NODES {
                let known = progress.nodes.get(node).and_then(|n| n.address);
                let address = address.or(known);
                let record = NodeRecord { state: *state, address, message: clip(message) };
                progress.nodes.insert(clip(node), record);
            }
        }
        EventBody::Check(check) => keep_check(&mut progress.checks, check),
        EventBody::Phase { name } => progress.phase = clip(name),
        EventBody::Task { name, done } => {
            progress.task = clip(name);
            progress.tasks_done = progress.tasks_done.max(*done);
        }
        EventBody::TaskFailed { node, task, path, message } => push(
            &mut progress.failures,
            TaskFailure {
                at,
                node: clip(node),
                task: clip(task),
                path: clip(path),
                message: clip(message),
            },
        ),
        EventBody::Recap { hosts } => {
            progress.recap = hosts.iter().take(MAX_NODES).cloned().collect();
        }
        EventBody::Note { message } => {
            push(&mut progress.notes, Note { at, message: clip(message) });
        }
        EventBody::Kubeconfig { server, days_left, kubernetes_version, .. } => {
            progress.kubeconfig = Some(KubeconfigInfo {
                server: clip(server),
                days_left: *days_left,
                kubernetes_version: clip(kubernetes_version),
            });
        }
        EventBody::Ended { outcome } => {
            progress.outcome = Some(outcome.clone());
            progress.finished = Some(at);
        }
    }
}

/// A step that begins again (after a restart of the agent) keeps its first time.
fn begin_step(progress: &mut Progress, step: Step, at: Timestamp) {
    progress.accepted = true;
    progress.started.get_or_insert(at);
    match progress.steps.iter_mut().find(|s| s.step == step) {
        Some(old) => (old.state, old.finished) = (StepState::Running, None),
        None => progress.steps.push(StepRecord {
            step,
            state: StepState::Running,
            started: at,
            finished: None,
            message: String::new(),
        }),
    }
}

fn end_step(progress: &mut Progress, step: Step, end: StepEnd, message: &str, at: Timestamp) {
    if progress.step(step).is_none() {
        begin_step(progress, step, at);
    }
    if let Some(record) = progress.steps.iter_mut().find(|s| s.step == step) {
        record.state = match end {
            StepEnd::Done => StepState::Done,
            StepEnd::Failed => StepState::Failed,
            StepEnd::Skipped => StepState::Skipped,
        };
        record.finished = Some(at);
        record.message = clip(message);
    }
}

fn keep_check(checks: &mut Vec<Check>, check: &Check) {
    let check = Check {
        node: clip(&check.node),
        id: clip(&check.id),
        status: check.status,
        wanted: clip(&check.wanted),
        found: clip(&check.found),
        fix: clip(&check.fix),
    };
    match checks.iter().position(|c| c.node == check.node && c.id == check.id) {
        Some(old) => checks[old] = check,
        None if checks.len() < MAX_CHECKS => checks.push(check),
        None => {}
    }
}

/// Keeps the first lines and the newest one: the first failure is most often the cause.
fn push<T>(list: &mut Vec<T>, item: T) {
    if list.len() == MAX_LINES {
        list.pop();
    }
    list.push(item);
}

fn clip(text: &str) -> String {
    if text.len() <= MAX_TEXT {
        return text.to_owned();
    }
    let mut end = MAX_TEXT;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &text[..end])
}

/// The agent's clock may be anything; a time that can't be is the start of the epoch.
fn time_of(at_ms: i64) -> Timestamp {
    Timestamp::from_millisecond(at_ms).unwrap_or(Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use bpa_common::wire::v1::{
        CheckOutcome, Failure, NodeState, Outcome, RunId, RunState, SecretBytes,
    };
    use proptest::prelude::*;

    use super::*;

    fn event(seq: u64, body: EventBody) -> Event {
        Event { seq, run: RunId([7; 16]), at_ms: seq as i64 * 1000, body }
    }

    fn folded(bodies: impl IntoIterator<Item = EventBody>) -> Progress {
        let mut record = RunRecord::default();
        for (index, body) in bodies.into_iter().enumerate() {
            record = fold(record, &event(index as u64 + 1, body));
        }
        record.progress
    }

    fn check(id: &str, status: CheckOutcome) -> EventBody {
        let text = String::new();
        let (wanted, found, fix) = (text.clone(), text.clone(), text);
        EventBody::Check(Check { node: "m".into(), id: id.into(), status, wanted, found, fix })
    }

    #[test]
    fn a_whole_run_tells_steps_nodes_and_its_end() {
        let progress = folded([
            EventBody::Accepted,
            EventBody::StepStarted { step: Step::Resolve },
            EventBody::Node {
                node: "master-1".into(),
                state: NodeState::Resolved,
                address: Some("10.0.0.5".parse().unwrap()),
                message: String::new(),
            },
            EventBody::StepEnded { step: Step::Resolve, end: StepEnd::Done, message: "1".into() },
            EventBody::Node {
                node: "master-1".into(),
                state: NodeState::AccessReady,
                address: None,
                message: "key installed".into(),
            },
            EventBody::Phase { name: "Install".into() },
            EventBody::Task { name: "kubeadm init".into(), done: 12 },
            EventBody::Kubeconfig {
                pem: SecretBytes(b"secret".to_vec()),
                server: "https://10.0.0.5:6443".into(),
                days_left: 364,
                kubernetes_version: "1.35.4".into(),
            },
            EventBody::Ended { outcome: Outcome::Succeeded },
        ]);
        let resolve = progress.step(Step::Resolve).unwrap();
        assert_eq!(
            (resolve.state, resolve.started.as_second(), resolve.message.as_str()),
            (StepState::Done, 2, "1")
        );
        let node = &progress.nodes["master-1"];
        assert_eq!(node.state, NodeState::AccessReady);
        assert_eq!(node.address, Some("10.0.0.5".parse().unwrap()), "an address is kept");
        assert_eq!((progress.phase.as_str(), progress.tasks_done), ("Install", 12));
        assert_eq!(progress.state(), Some(RunState::Succeeded));
        assert_eq!(progress.finished.map(Timestamp::as_second), Some(9));
        assert!(!format!("{progress:?}").contains("secret"));
    }

    #[test]
    fn the_first_end_stands() {
        let failure = Failure {
            step: Step::Access,
            reason: "WrongPassword".into(),
            node: Some("m".into()),
            message: String::new(),
            fix: String::new(),
        };
        let progress = folded([
            EventBody::Ended { outcome: Outcome::Failed(failure.clone()) },
            EventBody::Ended { outcome: Outcome::Succeeded },
            EventBody::Phase { name: "late".into() },
        ]);
        assert_eq!(progress.outcome, Some(Outcome::Failed(failure)));
        assert_eq!((progress.phase.as_str(), progress.last_seq), ("", 3));
    }

    #[test]
    fn a_step_that_begins_again_keeps_its_first_time_and_is_running() {
        let progress = folded([
            EventBody::StepStarted { step: Step::Access },
            EventBody::StepEnded { step: Step::Access, end: StepEnd::Failed, message: "x".into() },
            EventBody::StepStarted { step: Step::Access },
        ]);
        let step = progress.step(Step::Access).unwrap();
        assert_eq!((step.state, step.started.as_second()), (StepState::Running, 1));
        assert_eq!(progress.steps.len(), 1);
    }

    #[test]
    fn a_check_that_is_repeated_replaces_its_old_result() {
        let progress = folded([
            check("swap", CheckOutcome::Pending),
            check("python", CheckOutcome::Passed),
            check("swap", CheckOutcome::Passed),
        ]);
        assert_eq!(progress.checks.len(), 2);
        assert!(progress.checks.iter().all(|c| c.status == CheckOutcome::Passed));
    }

    #[test]
    fn what_grows_is_bounded_and_the_first_failures_stay() {
        let failed = |n: usize| EventBody::TaskFailed {
            node: format!("n{n}"),
            task: "t".into(),
            path: String::new(),
            message: "é".repeat(MAX_TEXT),
        };
        let progress = folded((0..MAX_LINES + 10).map(failed));
        assert_eq!(progress.failures.len(), MAX_LINES);
        assert_eq!(progress.failures[0].node, "n0");
        assert_eq!(progress.failures[MAX_LINES - 1].node, format!("n{}", MAX_LINES + 9));
        assert!(progress.failures[0].message.len() <= MAX_TEXT + '…'.len_utf8());
    }

    fn any_body() -> impl Strategy<Value = EventBody> {
        prop_oneof![
            Just(EventBody::Accepted),
            Just(EventBody::StepStarted { step: Step::Access }),
            (".{0,20}").prop_map(|name| EventBody::Phase { name }),
            (".{0,20}", any::<u64>()).prop_map(|(name, done)| EventBody::Task { name, done }),
            (".{0,20}").prop_map(|message| EventBody::Note { message }),
            Just(EventBody::Ended { outcome: Outcome::Succeeded }),
        ]
    }

    proptest! {
        #[test]
        fn telling_events_again_changes_nothing(
            bodies in prop::collection::vec((any_body(), any::<i64>()), 0..20),
            again in 0usize..20,
        ) {
            let events: Vec<Event> = bodies
                .into_iter()
                .enumerate()
                .map(|(i, (body, at_ms))| Event { seq: i as u64 + 1, run: RunId([1; 16]), at_ms, body })
                .collect();
            let once = events.iter().fold(RunRecord::default(), fold);
            let repeated = events
                .iter()
                .flat_map(|e| events[..again.min(events.len())].iter().take(e.seq as usize).chain([e]))
                .fold(RunRecord::default(), fold);
            prop_assert_eq!(once, repeated);
        }
    }
}
