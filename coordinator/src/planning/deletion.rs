//! The way back: a Provisioning that is being deleted. The cluster stays (`Retain`) or is reset at
//! the site; then our marks, and only ours, are taken from the hosts.

use bpa_common::api::{DeletionPolicy, RunStatus};
use bpa_common::wire::v1::{Order, OrderKind, RunId, RunState};

use super::action::Action;
use super::claims;
use super::draft::Draft;
use super::stage::{Belief, belief};
use super::words::{FORCE_DELETE, OUR_FINALIZERS, RETRY, condition, run_state};
use super::{progress, sending, sites};
use crate::matching::HostId;

const KIND: &str = condition::READY;

/// Decides for a provisioning that is to go.
pub fn decide(draft: &mut Draft<'_>) {
    let metadata = &draft.view.provisioning.metadata;
    draft.status.observed_generation = metadata.generation;
    draft.status.phase = "Releasing".to_owned();
    if !metadata.finalizers.iter().any(|f| f.starts_with(OUR_FINALIZERS)) {
        return;
    }
    let forced = draft.view.annotation(FORCE_DELETE) == Some("true");
    let current = current_run(draft);
    if let Some((id, belief)) = current {
        progress::tell(draft, id, belief);
    }
    if forced || (no_run_goes(draft, current) && is_reset(draft, current)) {
        release(draft, forced);
    }
}

/// Whether what Metal3 installed for us may be taken away: nothing was begun on it, or it was reset.
pub fn may_wipe(draft: &Draft<'_>) -> bool {
    let reset = draft.view.provisioning.spec.deletion_policy == DeletionPolicy::Reset;
    let begun = was_begun(draft);
    draft.view.installs_os && (!begun || (reset && draft.view.provisioning.metadata.is_deleting()))
}

/// The run of the status and what we believe of it.
fn current_run(draft: &Draft<'_>) -> Option<(RunId, Belief)> {
    let run = draft.status.run.as_ref()?;
    let id = run.id.parse().ok()?;
    let site = draft.status.site.as_deref().unwrap_or_default();
    Some((id, belief(draft.view, site, id, run)))
}

/// Waits until no install is going any more. Deletion with `Reset` asks for its end; with `Retain`
/// it does not.
fn no_run_goes(draft: &mut Draft<'_>, current: Option<(RunId, Belief)>) -> bool {
    let is_install = draft.status.run.as_ref().is_some_and(|run| run.kind == "Install");
    let Some((id, belief)) = current.filter(|_| is_install) else { return true };
    let site = draft.status.site.clone().unwrap_or_default();
    match belief {
        Belief::Ended(_) | Belief::Lost => true,
        Belief::Unanswered => {
            if draft.view.facts(id).is_none_or(|facts| facts.order.is_none()) {
                sending::end_unbegun(draft, "Deleted", "deleted before the order was sent");
                return true;
            }
            // Perhaps the site has it: only its answer can tell.
            sending::cancel(draft, &site, id);
            let ended =
                draft.status.run.as_ref().is_some_and(|run| run.state == run_state::CANCELLED);
            if !ended {
                let message = format!(
                    "run {id} was on its way to site {site} when the Provisioning was deleted; waiting for the site to say whether it has it. {}",
                    force_words()
                );
                draft.held(KIND, "WaitingForRun", message);
            }
            ended
        }
        Belief::Going(_) => {
            let reset = draft.view.provisioning.spec.deletion_policy == DeletionPolicy::Reset;
            if reset || sending::cancel_wanted(draft, id) {
                sending::cancel(draft, &site, id);
            }
            let message = if reset {
                format!("run {id} is being cancelled; the reset begins when it has ended")
            } else {
                format!(
                    "run {id} is still going and deletionPolicy Retain does not stop it: the hosts are released when it has ended. To stop it, run `bpa-coordinator cancel {}`",
                    draft.view.provisioning.metadata.name
                )
            };
            draft.held(KIND, "WaitingForRun", message);
            false
        }
    }
}

/// Whether the hosts may be released: no reset is wanted, or it is done.
fn is_reset(draft: &mut Draft<'_>, current: Option<(RunId, Belief)>) -> bool {
    let wanted = draft.view.provisioning.spec.deletion_policy == DeletionPolicy::Reset;
    if !wanted || !was_begun(draft) {
        return true;
    }
    draft.status.phase = "Resetting".to_owned();
    let resetting = draft.status.run.as_ref().is_some_and(|run| run.kind == "Reset");
    let Some((id, belief)) = current.filter(|_| resetting) else {
        start(draft, None);
        return false;
    };
    let site = draft.status.site.clone().unwrap_or_default();
    match belief {
        Belief::Ended(RunState::Succeeded) => return true,
        Belief::Going(_) => {
            draft.held(KIND, "Resetting", format!("run {id} resets the hosts at site {site}"));
            if sending::cancel_wanted(draft, id) {
                sending::cancel(draft, &site, id);
            }
        }
        Belief::Unanswered => start(draft, Some(id)),
        Belief::Ended(_) | Belief::Lost if super::stage::wants_retry(draft.view) => {
            start(draft, None);
        }
        Belief::Ended(_) | Belief::Lost => {
            let run = draft.status.run.clone().unwrap_or_default();
            let message = format!(
                "the reset did not succeed ({}): {}; to try again: `bpa-coordinator retry {}` (annotation {RETRY}). {}",
                run.state,
                run.message,
                draft.view.provisioning.metadata.name,
                force_words()
            );
            draft.held(KIND, "ResetFailed", message);
        }
    }
    false
}

/// True when a site may have begun to install.
fn was_begun(draft: &Draft<'_>) -> bool {
    let began = |kind: &str, state: &str, reason: &str| {
        kind == "Reset"
            || state != run_state::SENT
                && !matches!(reason, "OrderInvalid" | "CancelledBeforeStart" | "Deleted")
    };
    let run = draft.status.run.as_ref();
    run.is_some_and(|run| began(&run.kind, &run.state, &run.reason))
        || draft.status.history.iter().any(|old| Some(&old.run) != run.map(|run| &run.id))
}

/// Sends the reset order: the last install order with the hosts that are still ours.
fn start(draft: &mut Draft<'_>, sent: Option<RunId>) {
    let view = draft.view;
    let kept = sent.and_then(|id| view.facts(id)?.order.as_deref().cloned());
    let order = kept
        .map(|order| Order { epoch: view.epoch, ..order })
        .or_else(|| make(draft, sent.unwrap_or(view.fresh_run)));
    let Some(order) = order else {
        let message = format!(
            "the order of the install is not kept here any more, so no reset can be made from it; run reset.yml at the site. {}",
            force_words()
        );
        draft.held(KIND, "ResetImpossible", message);
        return;
    };
    if order.nodes.is_empty() {
        let message =
            format!("none of the hosts is ours any more, so none is reset. {}", force_words());
        draft.held(KIND, "ResetImpossible", message);
        return;
    }
    let name = draft.status.site.clone().unwrap_or_default();
    let namespace = &view.provisioning.metadata.namespace;
    let site =
        view.sites.iter().find(|s| s.metadata.name == name && s.metadata.namespace == *namespace);
    let reachable = match site {
        Some(site) => sites::can_take_order(draft, site, None).is_ok(),
        None => false,
    };
    if !reachable {
        let why = draft.status.conditions.get(condition::ORDER_ACCEPTED);
        let why = match (site, why) {
            (Some(_), Some(why)) => why.message.clone(),
            _ => format!("Site {name} was removed"),
        };
        draft.held(KIND, "ResetWaits", format!("the reset waits: {why}. {}", force_words()));
        return;
    }
    if sent.is_none() {
        draft.status.run = Some(RunStatus {
            id: order.run.to_string(),
            kind: "Reset".to_owned(),
            generation: order.generation,
            state: run_state::SENT.to_owned(),
            ..RunStatus::default()
        });
        if let Some(value) = view.annotation(RETRY) {
            draft.status.handled_retry = value.to_owned();
        }
    }
    draft.held(KIND, "Resetting", format!("run {} resets the hosts at site {name}", order.run));
    sending::send(draft, &name, order);
}

/// The reset order, from the newest install order that is kept.
fn make(draft: &Draft<'_>, run: RunId) -> Option<Order> {
    let view = draft.view;
    let status = &view.provisioning.status;
    let current = status.run.iter().map(|run| &run.id);
    let ids = current.chain(status.history.iter().map(|entry| &entry.run));
    let mut kept = ids.filter_map(|id| view.facts(id.parse().ok()?)?.order.as_deref());
    let install = kept.find(|order| order.kind == OrderKind::Install)?;
    let ours = |id: &bpa_common::wire::v1::ObjectId| {
        view.is_ours(&HostId {
            namespace: id.namespace.clone(),
            name: id.name.clone(),
            uid: id.uid.clone(),
        })
    };
    Some(Order {
        run,
        generation: view.provisioning.metadata.generation,
        epoch: view.epoch,
        kind: OrderKind::Reset,
        nodes: install.nodes.iter().filter(|node| ours(&node.host)).cloned().collect(),
        ..install.clone()
    })
}

/// Takes our mark from all hosts that carry it, then lets the object go.
fn release(draft: &mut Draft<'_>, forced: bool) {
    let view = draft.view;
    draft.status.phase = "Releasing".to_owned();
    let ours = view.our_hosts();
    if !draft.may_act() {
        let trouble = view.memory.trouble.as_ref();
        let message =
            trouble.map(|t| format!("can't {}: {}", t.action, t.message)).unwrap_or_default();
        draft.held(KIND, "Releasing", message);
        return;
    }
    let missing = claims::not_ours(view, &draft.status.nodes);
    let mut message = match ours.len() {
        1 => "1 host is being released".to_owned(),
        count => format!("{count} hosts are being released"),
    };
    if !missing.is_empty() {
        message.push_str(&format!("; left alone: {}", missing.join("; ")));
    }
    let none = ours.is_empty();
    let wipe = !forced && may_wipe(draft);
    let hosts = if none { claims::perhaps_ours(view) } else { ours };
    let given = hosts.into_iter().filter_map(|host| claims::give_back(draft, host, wipe));
    let waits: Vec<String> = given.collect();
    if !waits.is_empty() {
        message.push_str(&format!(
            "; Metal3 wipes what it had installed: {}. {}",
            waits.join("; "),
            force_words()
        ));
    }
    if none {
        draft.actions.push(Action::DropFinalizer);
    }
    draft.held(KIND, "Releasing", message);
}

fn force_words() -> String {
    format!(
        "To let the Provisioning go as it is, set the annotation {FORCE_DELETE}: \"true\"; the hosts keep what is on them"
    )
}
