//! Any crash, anywhere: a run ends once, and its playbook never runs twice at a time.

use bpa_common::wire::v1::{Failure, OrderKind, Outcome, Step, StepEnd};
use proptest::prelude::*;

use super::*;

fn facts(kind: OrderKind) -> RunFacts {
    RunFacts {
        kind,
        history: Vec::new(),
        playbook: Playbook::None,
        starts: 0,
        cancel_by: None,
        failure: None,
    }
}

fn fact(step: Step, life: Life) -> StepFact {
    StepFact { step, end: Some(StepEnd::Done), life }
}

#[test]
fn an_install_takes_all_steps_in_order_and_a_reset_only_its_own() {
    for kind in [OrderKind::Install, OrderKind::Reset] {
        let mut facts = facts(kind);
        for step in plan(kind) {
            assert_eq!(next(&facts), Next::Do(*step));
            facts.history.push(fact(*step, Life::This));
        }
        assert_eq!(next(&facts), Next::End(Outcome::Succeeded));
    }
    assert_eq!(plan(OrderKind::Reset).last(), Some(&Step::Kubespray));
}

#[test]
fn a_new_process_looks_again_but_does_not_repeat_what_costs() {
    let mut facts = facts(OrderKind::Install);
    for step in [Step::Resolve, Step::Access, Step::Verify, Step::Preflight] {
        facts.history.push(fact(step, Life::Earlier));
    }
    let mut taken = Vec::new();
    while let Next::Do(step) = next(&facts) {
        taken.push(step);
        facts.history.push(fact(step, Life::This));
    }
    assert!(!taken.contains(&Step::Preflight), "{taken:?}");
    assert_eq!(taken[..3], [Step::Resolve, Step::Access, Step::Verify]);
}

#[test]
fn a_living_or_ended_playbook_is_adopted_at_once() {
    for playbook in [Playbook::Living, Playbook::Exited] {
        let facts = RunFacts { playbook, starts: 1, ..facts(OrderKind::Install) };
        assert_eq!(next(&facts), Next::Do(Step::Kubespray));
    }
}

#[test]
fn a_lost_playbook_is_run_once_more_and_no_further() {
    let mut facts = RunFacts { playbook: Playbook::Lost, starts: 1, ..facts(OrderKind::Install) };
    assert_eq!(next(&facts), Next::Do(Step::Resolve));
    facts.starts = MAX_STARTS;
    let Next::End(Outcome::Failed(failure)) = next(&facts) else { panic!("{:?}", next(&facts)) };
    assert_eq!(failure.reason, "Interrupted");
}

#[test]
fn a_cancel_stops_a_living_playbook_first() {
    let mut facts = RunFacts {
        playbook: Playbook::Living,
        cancel_by: Some("ann".into()),
        ..facts(OrderKind::Install)
    };
    assert_eq!(next(&facts), Next::Do(Step::Kubespray));
    facts.playbook = Playbook::Exited;
    assert_eq!(next(&facts), Next::End(Outcome::Cancelled { by: "ann".into() }));
}

/// What happens in one execution of a step.
#[derive(Clone, Copy, Debug)]
enum Luck {
    Well,
    Fails,
    /// The agent dies before the step has done anything.
    DiesBefore,
    /// The agent dies when the effect is there but not yet journaled.
    DiesAfter,
    /// As before, and the playbook (if one lives) goes on to its end meanwhile.
    DiesLong,
    /// The machine loses power.
    Power,
    /// Someone cancels, then it goes well.
    Cancelled,
}

fn luck() -> impl Strategy<Value = Luck> {
    prop_oneof![
        4 => Just(Luck::Well),
        1 => Just(Luck::Fails),
        2 => Just(Luck::DiesBefore),
        2 => Just(Luck::DiesAfter),
        1 => Just(Luck::DiesLong),
        1 => Just(Luck::Power),
        1 => Just(Luck::Cancelled),
    ]
}

/// The world of one run: its journal and its playbook.
struct World {
    facts: RunFacts,
    ends: u32,
}

impl World {
    fn restart(&mut self) {
        self.facts.history.iter_mut().for_each(|fact| fact.life = Life::Earlier);
    }

    /// The effect of a step; true when it came to its end.
    fn effect(&mut self, step: Step, ends: bool) {
        if step != Step::Kubespray {
            return;
        }
        if matches!(self.facts.playbook, Playbook::None | Playbook::Lost) {
            let verified = |f: &StepFact| f.step == Step::Verify && f.life == Life::This;
            assert!(self.facts.history.iter().any(verified), "started on a guess");
            self.facts.starts += 1;
            self.facts.playbook = Playbook::Living;
        }
        if ends {
            self.facts.playbook = Playbook::Exited;
        }
    }

    fn execute(&mut self, step: Step, luck: Luck) {
        let at = self.facts.history.len();
        self.facts.history.push(StepFact { step, end: None, life: Life::This });
        match luck {
            Luck::DiesBefore => return self.restart(),
            Luck::DiesAfter => {
                self.effect(step, false);
                return self.restart();
            }
            Luck::DiesLong => {
                self.effect(step, true);
                return self.restart();
            }
            Luck::Power => {
                self.effect(step, false);
                if self.facts.playbook == Playbook::Living {
                    self.facts.playbook = Playbook::Lost;
                }
                return self.restart();
            }
            Luck::Cancelled => self.facts.cancel_by = Some("ann".into()),
            Luck::Well | Luck::Fails => {}
        }
        self.effect(step, true);
        let failed = matches!(luck, Luck::Fails);
        self.facts.history[at].end = Some(if failed { StepEnd::Failed } else { StepEnd::Done });
        if failed {
            self.facts.failure = Some(Failure {
                step,
                reason: "X".into(),
                node: None,
                message: String::new(),
                fix: String::new(),
            });
        }
    }
}

proptest! {
    #[test]
    fn every_run_ends_once_with_the_truth(
        lucks in proptest::collection::vec(luck(), 0..60),
        reset in any::<bool>(),
    ) {
        let kind = if reset { OrderKind::Reset } else { OrderKind::Install };
        let mut world = World { facts: facts(kind), ends: 0 };
        let mut lucks = lucks.into_iter().chain(std::iter::repeat(Luck::Well));
        let outcome = loop {
            match next(&world.facts) {
                Next::End(outcome) => {
                    world.ends += 1;
                    break outcome;
                }
                Next::Do(step) => {
                    let Some(luck) = lucks.next() else { unreachable!() };
                    world.execute(step, luck);
                }
            }
            prop_assert!(world.facts.history.len() < 200, "does not end");
        };
        prop_assert_eq!(world.ends, 1);
        prop_assert!(world.facts.starts <= MAX_STARTS);
        prop_assert!(world.facts.playbook != Playbook::Living, "left alone");
        if outcome == Outcome::Succeeded {
            for step in plan(kind) {
                let done = |f: &StepFact| f.step == *step && f.end == Some(StepEnd::Done);
                prop_assert!(world.facts.history.iter().any(done), "{step} was not done");
            }
        }
    }
}
