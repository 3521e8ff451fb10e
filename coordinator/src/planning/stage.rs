//! Where a provisioning is: before a run, in one, or after one that stands.

use bpa_common::api::{Provisioning, ProvisioningSpec, RunStatus};
use bpa_common::wire::v1::{OrderReply, RunId, RunReport, RunState};
use sha2::{Digest, Sha256};

use super::memory::Answer;
use super::view::View;
use super::words::{RETRY, run_state};

/// What we believe of a run, after all sources were heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Belief {
    /// Its id is chosen; no agent has said that it has it.
    Unanswered,
    /// The agent has it.
    Going(RunState),
    /// The agent had it and does not know it any more.
    Lost,
    /// It has ended.
    Ended(RunState),
}

impl Belief {
    /// The word for `status.run.state`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Unanswered => run_state::SENT,
            Self::Going(RunState::Accepted) => run_state::ACCEPTED,
            Self::Going(_) => run_state::RUNNING,
            Self::Lost => run_state::LOST,
            Self::Ended(RunState::Succeeded) => run_state::SUCCEEDED,
            Self::Ended(RunState::Cancelled) => run_state::CANCELLED,
            Self::Ended(_) => run_state::FAILED,
        }
    }
}

/// Hears all sources about the run of a status. What has ended stays ended; events come first,
/// then what the agent says that stands, then its answers, then what we wrote.
pub fn belief(view: &View<'_>, site: &str, id: RunId, status: &RunStatus) -> Belief {
    if let Some(ended) = ended_word(&status.state) {
        return Belief::Ended(ended);
    }
    let told = view.facts(id).and_then(|facts| facts.record.progress.state());
    if let Some(state) = told.filter(|state| state.is_final()) {
        return Belief::Ended(state);
    }
    let standing = view.standing(site, id);
    if let Some(Some(report)) = standing {
        return if report.state.is_final() {
            Belief::Ended(report.state)
        } else {
            Belief::Going(told.unwrap_or(report.state))
        };
    }
    let answered = match view.memory.order_answer(id).map(|told| &told.answer) {
        Some(Answer::Reply(OrderReply::Accepted { .. })) => Some(RunState::Accepted),
        Some(Answer::Reply(OrderReply::Known { state, .. })) => Some(*state),
        _ => None,
    };
    if let Some(state) = answered.filter(|state| state.is_final()) {
        return Belief::Ended(state);
    }
    let written = match status.state.as_str() {
        run_state::ACCEPTED => Some(RunState::Accepted),
        run_state::RUNNING => Some(RunState::Running),
        _ => None,
    };
    if status.state == run_state::LOST {
        return Belief::Lost;
    }
    match told.or(answered).or(written) {
        None => Belief::Unanswered,
        Some(_) if standing == Some(None) && hello_is_newer(view, site, id) => Belief::Lost,
        Some(state) => Belief::Going(state),
    }
}

/// Whether the site's last hello came after it took this run: only then does its silence count.
fn hello_is_newer(view: &View<'_>, site: &str, id: RunId) -> bool {
    let session = view.fleet.get(site).map_or(0, |view| view.session);
    match view.memory.taken_in {
        Some((run, taken)) if run == id => session > taken,
        // Taken before our start: every hello is newer.
        _ => session > 0,
    }
}

fn ended_word(word: &str) -> Option<RunState> {
    Some(match word {
        run_state::SUCCEEDED => RunState::Succeeded,
        run_state::FAILED => RunState::Failed,
        run_state::CANCELLED => RunState::Cancelled,
        _ => return None,
    })
}

/// Where a provisioning is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// No run, or another attempt is asked for. The id is one that was chosen and never left this
    /// house.
    Preparing(Option<RunId>),
    /// A run that has not ended.
    InRun(RunId, Belief),
    /// A run that ended and stands: nothing is started by itself.
    After(RunId, RunState),
    /// The site tells of a run of ours that we don't know: our state is older than what was done.
    Found(RunReport),
}

/// Finds the stage.
pub fn stage(view: &View<'_>) -> Stage {
    let status = &view.provisioning.status;
    let Some((run, id)) =
        status.run.as_ref().and_then(|run| Some((run, run.id.parse::<RunId>().ok()?)))
    else {
        return found(view).map_or(Stage::Preparing(None), Stage::Found);
    };
    let belief = belief(view, status.site.as_deref().unwrap_or_default(), id, run);
    let asked = wants_retry(view);
    let changed = run.generation != view.provisioning.metadata.generation;
    match belief {
        Belief::Ended(RunState::Succeeded) => Stage::After(id, RunState::Succeeded),
        Belief::Ended(_) if asked || changed => {
            found(view).map_or(Stage::Preparing(None), Stage::Found)
        }
        Belief::Ended(state) => Stage::After(id, state),
        Belief::Lost if asked => found(view).map_or(Stage::Preparing(None), Stage::Found),
        // The order is kept before the first sending: without that it never left this house.
        Belief::Unanswered if view.facts(id).is_none_or(|facts| facts.order.is_none()) => {
            Stage::Preparing(Some(id).filter(|_| !changed))
        }
        // The agent has said that it did not take it: the changed spec may go in its place.
        Belief::Unanswered if changed && is_refused(view, id) => Stage::Preparing(None),
        other => Stage::InRun(id, other),
    }
}

fn is_refused(view: &View<'_>, id: RunId) -> bool {
    let answer = view.memory.order_answer(id).map(|told| &told.answer);
    matches!(answer, Some(Answer::Reply(OrderReply::Refused(_))))
}

/// A run of this provisioning that stands at a site and is in no memory of ours. Failed ones don't
/// count: another attempt is right then.
fn found(view: &View<'_>) -> Option<RunReport> {
    let status = &view.provisioning.status;
    let known = |report: &RunReport| {
        let id = report.run.to_string();
        status.run.as_ref().is_some_and(|run| run.id == id)
            || status.history.iter().any(|entry| entry.run == id)
    };
    let connected = view.fleet.values().filter(|site| site.connected);
    let ours = connected
        .flat_map(|site| &site.standing)
        .filter(|report| report.provisioning.uid == view.provisioning.metadata.uid);
    ours.filter(|report| !matches!(report.state, RunState::Failed | RunState::Cancelled))
        .find(|report| !known(report))
        .cloned()
}

/// A retry that was asked for and not acted on yet.
pub fn wants_retry(view: &View<'_>) -> bool {
    view.annotation(RETRY).is_some_and(|value| value != view.provisioning.status.handled_retry)
}

/// One hash over what matters for a cluster: tells a change of the spec that needs work from one
/// that does not (approval, deletion policy, pause).
pub fn digest(provisioning: &Provisioning, cluster: &str) -> String {
    let spec = ProvisioningSpec {
        approval: Default::default(),
        deletion_policy: Default::default(),
        kubeconfig: Default::default(),
        paused: false,
        unknown: Default::default(),
        ..provisioning.spec.clone()
    };
    // A spec came from a manifest, so it can be written as one.
    let text = serde_json::to_string(&spec).unwrap_or_default();
    let hash = Sha256::digest(format!("{cluster}\n{text}"));
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use bpa_common::wire::v1::{ObjectId, Outcome};

    use super::*;
    use crate::planning::memory::{Memory, Told};
    use crate::planning::testing::{at, provisioning, site_view};
    use crate::runs::{Progress, RunFacts, RunRecord};

    const RUN: RunId = RunId([7; 16]);

    /// What each source says of the run; None = nothing.
    #[derive(Clone, Default)]
    struct Says {
        written: &'static str,
        events: Option<Progress>,
        standing: Option<RunState>,
        answer: Option<OrderReply>,
        session: u64,
        taken_in: Option<u64>,
    }

    fn hears(says: Says) -> Belief {
        let mut site = site_view(&[]);
        site.session = says.session;
        site.standing.extend(says.standing.map(|state| RunReport {
            run: RUN,
            provisioning: ObjectId::default(),
            generation: 1,
            epoch: 1,
            state,
        }));
        let fleet = BTreeMap::from([("north".to_owned(), Arc::new(site))]);
        let facts = says.events.map(|progress| {
            let record = Arc::new(RunRecord { progress, ..RunRecord::default() });
            (RUN, RunFacts { record, ..RunFacts::default() })
        });
        let memory = Memory {
            order: says.answer.map(|reply| Told {
                run: RUN,
                answer: Answer::Reply(reply),
                again_at: at(0),
            }),
            taken_in: says.taken_in.map(|session| (RUN, session)),
            ..Memory::default()
        };
        let object = provisioning("edge", &["h1"]);
        let view = View {
            now: at(1),
            epoch: 1,
            provisioning: &object,
            plan: Default::default(),
            clash: None,
            hosts: &crate::planning::HostIndex::default(),
            installs_os: true,
            sites: &[],
            fleet: &fleet,
            runs: &facts.into_iter().collect(),
            memory: &memory,
            fresh_run: RunId([0; 16]),
        };
        let status = RunStatus { state: says.written.to_owned(), ..RunStatus::default() };
        belief(&view, "north", RUN, &status)
    }

    #[test]
    fn what_has_ended_stays_ended_whoever_says_else() {
        let says = Says {
            written: "Succeeded",
            standing: Some(RunState::Running),
            answer: Some(OrderReply::Refused(bpa_common::wire::v1::OrderRefusal::Quarantine)),
            ..Says::default()
        };
        assert_eq!(hears(says), Belief::Ended(RunState::Succeeded));
        let told = Progress { outcome: Some(Outcome::Succeeded), ..Progress::default() };
        let says = Says { written: "Running", events: Some(told), ..Says::default() };
        assert_eq!(hears(says), Belief::Ended(RunState::Succeeded));
    }

    #[test]
    fn what_the_agent_says_that_stands_wins_over_our_belief() {
        let says = |written, standing| Says { written, standing, ..Says::default() };
        assert_eq!(hears(says("Sent", Some(RunState::Running))), Belief::Going(RunState::Running));
        let ended = hears(says("Running", Some(RunState::Failed)));
        assert_eq!(ended, Belief::Ended(RunState::Failed));
        assert_eq!(hears(says("Sent", None)), Belief::Unanswered);
        let back = hears(says("Lost", Some(RunState::Running)));
        assert_eq!(back, Belief::Going(RunState::Running), "it was there after all");
    }

    #[test]
    fn only_a_hello_after_the_acceptance_can_show_that_a_run_is_gone() {
        let says =
            |session, taken_in| Says { written: "Accepted", session, taken_in, ..Says::default() };
        assert_eq!(hears(says(4, Some(4))), Belief::Going(RunState::Accepted));
        assert_eq!(hears(says(5, Some(4))), Belief::Lost);
        assert_eq!(hears(says(5, None)), Belief::Lost, "taken before our start");
    }

    #[test]
    fn a_change_that_needs_no_work_has_the_same_digest() {
        let object = provisioning("edge", &["h1"]);
        let mut calm = object.clone();
        calm.spec.paused = true;
        calm.spec.deletion_policy = bpa_common::api::DeletionPolicy::Reset;
        assert_eq!(digest(&object, "edge"), digest(&calm, "edge"));
        calm.spec.kubernetes.version = Some("1.35.4".into());
        assert_ne!(digest(&object, "edge"), digest(&calm, "edge"));
        assert_ne!(digest(&object, "edge"), digest(&object, "other"));
    }
}
