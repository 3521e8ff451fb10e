//! Which step of a run comes next.
//!
//! A run continues after a crash from what the journal and the supervisor's files say. What was
//! done is not done again, with one exception: as long as no playbook is there to be adopted, the
//! cheap looks at the world (addresses, access, identity, inventory) are taken again, because the
//! world may have changed while the agent was away.

use bpa_common::wire::v1::{Failure, OrderKind, Outcome, Step, StepEnd};

/// How often a playbook is started for one run: once, and once more when it was interrupted.
pub const MAX_STARTS: u32 = 2;

/// Whether a step was executed by this process or by one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    This,
    Earlier,
}

/// One execution of a step, as the journal has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepFact {
    pub step: Step,
    /// None = it has not ended: the agent died in it.
    pub end: Option<StepEnd>,
    pub life: Life,
}

/// What the supervisor's files say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Playbook {
    /// None was started, or its start was not recorded by anyone: it does not run.
    None,
    /// It runs: its supervisor holds the lock.
    Living,
    /// It has ended, and its exit status is there.
    Exited,
    /// It was started, does not run, and left no exit status (power loss, kill).
    Lost,
}

/// All that decides about the next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFacts {
    pub kind: OrderKind,
    pub history: Vec<StepFact>,
    pub playbook: Playbook,
    /// How often a playbook was started for this run.
    pub starts: u32,
    pub cancel_by: Option<String>,
    pub failure: Option<Failure>,
}

/// What to do now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    Do(Step),
    End(Outcome),
}

/// The steps of a kind of order.
pub fn plan(kind: OrderKind) -> &'static [Step] {
    match kind {
        OrderKind::Install => &Step::ALL,
        OrderKind::Reset => {
            &[Step::Resolve, Step::Access, Step::Verify, Step::Inventory, Step::Kubespray]
        }
    }
}

/// Decides. Called before each step, and after a restart.
pub fn next(facts: &RunFacts) -> Next {
    if let Some(failure) = &facts.failure {
        return Next::End(Outcome::Failed(failure.clone()));
    }
    if let Some(by) = &facts.cancel_by {
        return match facts.playbook {
            // The step stops it and reads what it left.
            Playbook::Living => Next::Do(Step::Kubespray),
            _ => Next::End(Outcome::Cancelled { by: by.clone() }),
        };
    }
    let played = done(facts, Step::Kubespray, false);
    if !played && matches!(facts.playbook, Playbook::Living | Playbook::Exited) {
        return Next::Do(Step::Kubespray);
    }
    if !played && facts.playbook == Playbook::Lost && facts.starts >= MAX_STARTS {
        return Next::End(Outcome::Failed(interrupted(facts.starts)));
    }
    for step in plan(facts.kind) {
        let again = !played && looks_again(*step);
        let behind = played && *step < Step::Kubespray;
        if !behind && !done(facts, *step, again) {
            return Next::Do(*step);
        }
    }
    Next::End(Outcome::Succeeded)
}

/// The steps that a new process takes again before it starts a playbook.
fn looks_again(step: Step) -> bool {
    matches!(step, Step::Resolve | Step::Access | Step::Verify | Step::Inventory)
}

fn done(facts: &RunFacts, step: Step, in_this_life: bool) -> bool {
    facts.history.iter().any(|fact| {
        fact.step == step
            && matches!(fact.end, Some(StepEnd::Done | StepEnd::Skipped))
            && (fact.life == Life::This || !in_this_life)
    })
}

fn interrupted(starts: u32) -> Failure {
    Failure {
        step: Step::Kubespray,
        reason: "Interrupted".to_owned(),
        node: None,
        message: format!("the playbook was killed {starts} times from outside before it ended"),
        fix: "find out what kills processes on the bootstrap host (memory? reboots?), then \
              change the Provisioning or apply it again to start a new run"
            .to_owned(),
    }
}
