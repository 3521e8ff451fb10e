//! What a run does, as the status tells it.

use bpa_common::api::{CheckStatus, HistoryEntry, RunStatus, StepStatus};
use bpa_common::wire::v1::{CheckOutcome, Failure, Outcome, RunId, RunState, Step};

use super::draft::Draft;
use super::stage::Belief;
use super::words::condition;
use crate::runs::{Progress, RunFacts, StepState};

/// Most checks that are told in the status.
const MAX_CHECKS: usize = 50;
/// Most runs in the history.
const MAX_HISTORY: usize = 10;

/// Tells the run: its state, steps, nodes and conditions.
pub fn tell(draft: &mut Draft<'_>, id: RunId, belief: Belief) {
    let facts = draft.view.facts(id).cloned().unwrap_or_default();
    let progress = &facts.record.progress;
    let mut run = draft.status.run.clone().unwrap_or_default();
    fill(&mut run, &facts, belief);
    nodes(draft, progress);
    // A reset is told by the run itself: the conditions are about the cluster that stood.
    if run.kind == "Install" {
        conditions(draft, &run, progress, belief);
    }
    if let Belief::Ended(_) = belief {
        remember(draft, &run);
    }
    draft.status.run = Some(run);
}

fn fill(run: &mut RunStatus, facts: &RunFacts, belief: Belief) {
    let progress = &facts.record.progress;
    run.state = belief.word().to_owned();
    if progress.last_seq == 0 {
        return;
    }
    run.steps = progress
        .steps
        .iter()
        .map(|step| StepStatus {
            name: step.step.to_string(),
            state: format!("{:?}", step.state),
            started: Some(step.started),
            finished: step.finished,
        })
        .collect();
    let running = progress.steps.iter().rfind(|s| s.state == StepState::Running);
    let current = running.or(progress.steps.last());
    run.step = current.map(|s| s.step.to_string()).unwrap_or_default();
    run.phase.clone_from(&progress.phase);
    run.task.clone_from(&progress.task);
    run.tasks_done = progress.tasks_done;
    run.started = progress.started.or(run.started);
    run.finished = progress.finished.or(run.finished);
    run.last_line.clone_from(&facts.last_line);
    run.checks = progress
        .checks
        .iter()
        .filter(|check| check.status != CheckOutcome::Passed)
        .take(MAX_CHECKS)
        .map(|check| CheckStatus {
            node: check.node.clone(),
            id: check.id.clone(),
            status: format!("{:?}", check.status).to_lowercase(),
            wanted: check.wanted.clone(),
            found: check.found.clone(),
            fix: check.fix.clone(),
        })
        .collect();
    match &progress.outcome {
        Some(Outcome::Failed(failure)) => {
            run.reason.clone_from(&failure.reason);
            run.message = failure_words(failure, progress);
        }
        Some(Outcome::Cancelled { by }) => {
            (run.reason, run.message) = ("Cancelled".to_owned(), format!("cancelled by {by}"));
        }
        Some(Outcome::Succeeded) => (run.reason, run.message) = Default::default(),
        None => {
            run.message =
                progress.notes.last().map(|note| note.message.clone()).unwrap_or_default();
        }
    }
}

/// The failure with its node, and the first task that failed, if a task did.
fn failure_words(failure: &Failure, progress: &Progress) -> String {
    let node = failure.node.as_ref().map(|n| format!(" on {n}")).unwrap_or_default();
    let mut words = format!("{}{node}: {}", failure.step, failure.message);
    if let Some(task) = progress.failures.first()
        && failure.step == Step::Kubespray
        && !failure.message.contains(&task.task)
    {
        words
            .push_str(&format!("; task `{}` failed on {}: {}", task.task, task.node, task.message));
    }
    if !failure.fix.is_empty() {
        words.push_str(&format!("; {}", failure.fix));
    }
    words
}

fn nodes(draft: &mut Draft<'_>, progress: &Progress) {
    for node in &mut draft.status.nodes {
        if let Some(told) = progress.nodes.get(&node.name) {
            node.state = format!("{:?}", told.state);
            node.message.clone_from(&told.message);
            if told.address.is_some() && told.address != node.address {
                node.address = told.address;
            }
        }
    }
}

fn conditions(draft: &mut Draft<'_>, run: &RunStatus, progress: &Progress, belief: Belief) {
    if belief != Belief::Unanswered && progress.last_seq > 0 || matches!(belief, Belief::Going(_)) {
        let message = format!("run {} is at the site", run.id);
        draft.yes(condition::ORDER_ACCEPTED, "Accepted", message);
    }
    step_condition(
        draft,
        progress,
        condition::ACCESS_READY,
        &[Step::Resolve, Step::Access, Step::Verify],
    );
    step_condition(draft, progress, condition::PREFLIGHT_PASSED, &[Step::Preflight]);
    match belief {
        Belief::Ended(RunState::Succeeded) => {
            let message = format!("run {} has made the cluster", run.id);
            draft.yes(condition::INSTALLED, "Installed", message);
            if let Some(info) = &progress.kubeconfig {
                draft.status.kubernetes_version = Some(info.kubernetes_version.clone());
            }
        }
        Belief::Ended(state) => {
            let reason =
                if run.reason.is_empty() { format!("{state:?}") } else { run.reason.clone() };
            let message = format!(
                "{}; to try again, change the spec or run `bpa-coordinator retry {}` (a new value of the annotation {})",
                if run.message.is_empty() {
                    "the run has ended without success"
                } else {
                    &run.message
                },
                draft.view.provisioning.metadata.name,
                super::words::RETRY
            );
            draft.held(condition::INSTALLED, &reason, message);
        }
        Belief::Lost => {
            let message = format!(
                "site {} took run {} and does not know it any more (its journal was replaced?); nothing is started on a guess: look at the hosts, then install again with `bpa-coordinator retry {}` (annotation {})",
                draft.status.site.as_deref().unwrap_or("?"),
                run.id,
                draft.view.provisioning.metadata.name,
                super::words::RETRY
            );
            draft.held(condition::INSTALLED, "RunLost", message);
        }
        Belief::Going(_) => {
            let step = if run.step.is_empty() { "to begin" } else { &run.step };
            draft.open(condition::INSTALLED, "InProgress", format!("at step {step}"));
        }
        Belief::Unanswered => {}
    }
}

/// A condition that holds when the last of these steps is done, and not when one of them failed.
fn step_condition(draft: &mut Draft<'_>, progress: &Progress, kind: &str, steps: &[Step]) {
    let records: Vec<_> = steps.iter().filter_map(|step| progress.step(*step)).collect();
    let failed = records.iter().find(|record| record.state == StepState::Failed);
    let last = records.iter().find(|record| Some(&record.step) == steps.last());
    if let Some(failed) = failed {
        let failure = match &progress.outcome {
            Some(Outcome::Failed(failure)) if steps.contains(&failure.step) => Some(failure),
            _ => None,
        };
        let reason = failure.map_or("StepFailed", |f| f.reason.as_str()).to_owned();
        let message =
            failure.map_or_else(|| failed.message.clone(), |f| failure_words(f, progress));
        draft.held(kind, &reason, message);
    } else if let Some(last) = last.filter(|r| r.state != StepState::Running) {
        draft.yes(kind, &format!("{:?}", last.state), last.message.clone());
    } else if let Some(record) = records.last() {
        draft.open(kind, "InProgress", format!("at step {}", record.step));
    }
}

/// Puts a run that has ended into the history, newest first, once.
pub fn remember(draft: &mut Draft<'_>, run: &RunStatus) {
    let entry = HistoryEntry {
        run: run.id.clone(),
        kind: run.kind.clone(),
        generation: run.generation,
        outcome: run.state.clone(),
        started: run.started,
        finished: run.finished,
        message: run.message.clone(),
    };
    let history = &mut draft.status.history;
    match history.iter_mut().find(|old| old.run == entry.run) {
        Some(old) => *old = entry,
        None => history.insert(0, entry),
    }
    history.truncate(MAX_HISTORY);
}
