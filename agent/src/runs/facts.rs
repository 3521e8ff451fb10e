//! Gathers the facts that decide about the next step.

use std::path::Path;

use crate::journal::{StepRow, StoredRun};
use crate::orders::{Life, Playbook, RunFacts, StepFact};
use crate::supervisor::{Attempt, SupervisorError, Trace};

/// The facts of a run: from its journal rows (the first `earlier` of which are of processes before
/// this one) and from what its supervisors left in the run's directory.
pub(super) fn facts(
    stored: &StoredRun,
    rows: &[StepRow],
    earlier: usize,
    run_dir: &Path,
) -> Result<RunFacts, SupervisorError> {
    let history = rows.iter().enumerate().map(|(at, row)| StepFact {
        step: row.step,
        end: row.end,
        life: if at < earlier { Life::Earlier } else { Life::This },
    });
    let playbook = match Attempt::newest(run_dir, stored.starts) {
        None => Playbook::None,
        Some((_, attempt)) => match attempt.trace()? {
            Trace::None => Playbook::None,
            Trace::Living => Playbook::Living,
            Trace::Exited(_) => Playbook::Exited,
            Trace::Lost => Playbook::Lost,
        },
    };
    // One that was counted but never begun (the agent died in between) did nothing.
    let begun = (1..=stored.starts).filter(|n| Attempt::new(run_dir, *n).was_begun()).count();
    Ok(RunFacts {
        kind: stored.order.kind,
        history: history.collect(),
        playbook,
        starts: u32::try_from(begun).unwrap_or(u32::MAX),
        cancel_by: stored.cancel_by.clone(),
        failure: stored.failure.clone(),
    })
}

#[cfg(test)]
mod tests {
    use bpa_common::wire::v1::{RunState, Step, StepEnd};

    use super::super::testing::order;
    use super::*;

    fn stored(starts: u32) -> StoredRun {
        StoredRun {
            order: order(1),
            state: RunState::Running,
            cancel_by: None,
            failure: None,
            starts,
            followed: 0,
            accepted_ms: 1,
            ended_ms: None,
        }
    }

    fn row(step: Step, end: Option<StepEnd>) -> StepRow {
        StepRow { step, started_ms: 1, ended_ms: None, end, message: String::new() }
    }

    /// An attempt's directory with these files.
    fn attempt(run_dir: &Path, number: u32, files: &[(&str, &str)]) {
        let dir = run_dir.join(format!("attempt-{number}"));
        std::fs::create_dir_all(&dir).unwrap();
        for (name, text) in files {
            std::fs::write(dir.join(name), text).unwrap();
        }
    }

    const EXIT: &str = r#"{"code":0,"signal":null,"error":null,"cancelled":false}"#;

    #[test]
    fn rows_of_an_earlier_process_are_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let rows = [row(Step::Resolve, Some(StepEnd::Done)), row(Step::Access, None)];
        let facts = facts(&stored(0), &rows, 1, dir.path()).unwrap();
        let lives: Vec<Life> = facts.history.iter().map(|f| f.life).collect();
        assert_eq!(lives, [Life::Earlier, Life::This]);
        assert_eq!((facts.playbook, facts.starts), (Playbook::None, 0));
    }

    #[test]
    fn an_attempt_that_was_counted_but_never_begun_does_not_count() {
        let dir = tempfile::tempdir().unwrap();
        let now = |starts| {
            let facts = facts(&stored(starts), &[], 0, dir.path()).unwrap();
            (facts.playbook, facts.starts)
        };
        assert_eq!(now(1), (Playbook::None, 0), "the agent died before it made the directory");
        attempt(dir.path(), 1, &[("job.json", "{}")]);
        assert_eq!(now(1), (Playbook::None, 0), "or before it started the supervisor");
        attempt(dir.path(), 1, &[("supervisor.json", "{}")]);
        assert_eq!(now(1), (Playbook::Lost, 1));
        attempt(dir.path(), 2, &[("job.json", "{}"), ("supervisor.json", "{}")]);
        assert_eq!(now(2), (Playbook::Lost, 2));
        attempt(dir.path(), 2, &[("exit.json", EXIT)]);
        assert_eq!(now(2), (Playbook::Exited, 2));
    }

    #[test]
    fn a_held_lock_means_that_it_lives() {
        let dir = tempfile::tempdir().unwrap();
        attempt(dir.path(), 1, &[("job.json", "{}"), ("supervisor.json", "{}")]);
        let lock = std::fs::File::create(dir.path().join("lock")).unwrap();
        let operation = rustix::fs::FlockOperation::NonBlockingLockExclusive;
        rustix::fs::flock(&lock, operation).unwrap();
        let facts = facts(&stored(1), &[], 0, dir.path()).unwrap();
        assert_eq!(facts.playbook, Playbook::Living);
    }
}
