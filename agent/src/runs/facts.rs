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
