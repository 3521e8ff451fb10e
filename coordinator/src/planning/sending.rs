//! Sending an order until the agent has answered, and telling what it answered.

use bpa_common::wire::v1::{CancelReply, Order, OrderRefusal, OrderReply, RunId, RunState};

use super::action::Action;
use super::draft::Draft;
use super::memory::Answer;
use super::words::{CANCEL, condition, run_state};

const KIND: &str = condition::ORDER_ACCEPTED;

/// Sends an order (again), unless the last answer says to wait.
pub fn send(draft: &mut Draft<'_>, site: &str, order: Order) {
    let run = order.run;
    let told = draft.view.memory.order_answer(run).cloned();
    match told.as_ref().map(|told| &told.answer) {
        None => draft.open(KIND, "Sent", format!("run {run} goes to site {site}")),
        Some(Answer::Unreached(message)) => {
            let message =
                format!("run {run} has not reached site {site}: {message}; it is sent again");
            draft.held(KIND, "SiteNotReached", message);
        }
        Some(Answer::Reply(OrderReply::Refused(refusal))) => refused(draft, site, &order, refusal),
        Some(Answer::Reply(_)) => {}
    }
    if draft.status.run.as_ref().is_some_and(|r| r.state == run_state::FAILED) {
        return;
    }
    match told.filter(|told| told.again_at > draft.view.now) {
        Some(told) => draft.look_again_at(told.again_at),
        None if draft.may_act() => {
            let site = site.to_owned();
            draft.actions.push(Action::SendOrder { site, order: Box::new(order) });
        }
        None => {}
    }
}

/// Each refusal in words, with what follows from it.
fn refused(draft: &mut Draft<'_>, site: &str, order: &Order, refusal: &OrderRefusal) {
    let (reason, message) = match refusal {
        OrderRefusal::OldEpoch { seen } => (
            "OldEpoch",
            format!(
                "site {site} has taken orders of coordinator epoch {seen}, and this coordinator has epoch {}: its state is older than what was done there (a restored backup, or a second coordinator); nothing was started. Stop the other coordinator, or raise the epoch of this one as the docs on restoring say",
                order.epoch
            ),
        ),
        OrderRefusal::OldGeneration { done } => (
            "OldGeneration",
            format!(
                "site {site} has done generation {done} of this Provisioning, and generation {} is wanted: this coordinator's state is older than what was done; nothing was started. Restore the newer state, or change the spec so that its generation passes {done}",
                order.generation
            ),
        ),
        OrderRefusal::Busy { run } => (
            "SiteBusy",
            format!(
                "site {site} is still at work on run {run} of this Provisioning or of the same hosts; the order waits until that ends"
            ),
        ),
        OrderRefusal::Quarantine => (
            "SiteNotApproved",
            format!(
                "the agent of site {site} takes no orders before it is approved; run `bpa-coordinator site approve {site}`"
            ),
        ),
        OrderRefusal::Invalid { message, fix } => {
            let message = format!("site {site} can't carry out the order: {message}; {fix}");
            if let Some(run) = &mut draft.status.run {
                run.state = run_state::FAILED.to_owned();
                run.finished = Some(draft.view.now);
                run.reason = "OrderInvalid".to_owned();
                run.message.clone_from(&message);
            }
            ("OrderInvalid", message)
        }
    };
    draft.held(KIND, reason, message);
}

/// The run whose end a person asks for, if it is this one.
pub fn cancel_wanted(draft: &Draft<'_>, run: RunId) -> bool {
    draft.view.annotation(CANCEL).and_then(|text| text.parse::<RunId>().ok()) == Some(run)
}

/// Asks the agent to stop a run, until the run has ended.
pub fn cancel(draft: &mut Draft<'_>, site: &str, run: RunId) {
    let told = draft.view.memory.cancel_answer(run).cloned();
    let answer = told.as_ref().map(|told| &told.answer);
    if let Some(Answer::Reply(CancelReply::UnknownRun)) = answer
        && draft.status.run.as_ref().is_some_and(|r| r.state == run_state::SENT)
    {
        end_unbegun(draft, "CancelledBeforeStart", "the run was cancelled before the site had it");
        return;
    }
    if let Some(status) = &mut draft.status.run {
        status.message = match answer {
            Some(Answer::Reply(CancelReply::Stopping)) => {
                "cancel was asked for; the site is stopping the run".to_owned()
            }
            Some(Answer::Reply(CancelReply::AlreadyEnded(state))) => {
                format!("cancel was asked for, but the run had ended ({state:?})")
            }
            Some(Answer::Reply(CancelReply::UnknownRun)) => {
                "cancel was asked for, but the site does not know this run".to_owned()
            }
            Some(Answer::Unreached(message)) => {
                format!("cancel was asked for and is tried again: {message}")
            }
            None => "cancel was asked for".to_owned(),
        };
    }
    match told.filter(|told| told.again_at > draft.view.now) {
        Some(told) => draft.look_again_at(told.again_at),
        None if draft.may_act() => {
            draft.actions.push(Action::Cancel { site: site.to_owned(), run });
        }
        None => {}
    }
}

/// Ends a run that no agent has.
pub fn end_unbegun(draft: &mut Draft<'_>, reason: &str, message: &str) {
    let now = draft.view.now;
    if let Some(run) = &mut draft.status.run {
        run.state = super::stage::Belief::Ended(RunState::Cancelled).word().to_owned();
        run.finished = Some(now);
        run.reason = reason.to_owned();
        run.message = message.to_owned();
    }
    draft.held(KIND, reason, message);
}
