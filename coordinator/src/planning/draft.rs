//! A decision in the making.

use bpa_common::api::{ConditionStatus, ProvisioningStatus};
use jiff::Timestamp;

use super::action::{Action, Decision};
use super::view::View;
use super::words::{condition, node_state};

/// A decision in the making: starts from the status that stands.
pub struct Draft<'a> {
    pub view: &'a View<'a>,
    pub status: ProvisioningStatus,
    pub actions: Vec<Action>,
    recheck: Option<Timestamp>,
}

/// A way that can't be gone on now; the condition that says why is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held;

impl<'a> Draft<'a> {
    /// Starts from the status that stands.
    pub fn new(view: &'a View<'a>) -> Self {
        let status = view.provisioning.status.clone();
        Self { view, status, actions: Vec::new(), recheck: None }
    }

    /// Sets a condition.
    pub fn set(
        &mut self,
        kind: &str,
        status: ConditionStatus,
        reason: &str,
        message: impl Into<String>,
    ) {
        let generation = self.view.provisioning.metadata.generation;
        self.status.conditions.set(kind, status, reason, message, self.view.now, generation);
    }

    /// The condition holds.
    pub fn yes(&mut self, kind: &str, reason: &str, message: impl Into<String>) {
        self.set(kind, ConditionStatus::True, reason, message);
    }

    /// The condition does not hold, and nothing after it can go on.
    pub fn held(&mut self, kind: &str, reason: &str, message: impl Into<String>) -> Held {
        self.set(kind, ConditionStatus::False, reason, message);
        Held
    }

    /// It is not known yet whether the condition holds.
    pub fn open(&mut self, kind: &str, reason: &str, message: impl Into<String>) {
        self.set(kind, ConditionStatus::Unknown, reason, message);
    }

    /// Looks again at this time, or earlier.
    pub fn look_again_at(&mut self, time: Timestamp) {
        self.recheck = Some(self.recheck.map_or(time, |old| old.min(time)));
    }

    /// True when effects may be tried now; else looks again when they may.
    pub fn may_act(&mut self) -> bool {
        match self.view.memory.trouble.as_ref().filter(|t| t.again_at > self.view.now) {
            Some(trouble) => {
                self.look_again_at(trouble.again_at);
                false
            }
            None => true,
        }
    }

    /// `2/3`; before hosts are chosen, of the nodes that are asked for.
    fn ready_nodes(&self) -> String {
        let nodes = &self.status.nodes;
        let asked = self.view.plan.accepted.as_ref().map_or(0, |accepted| accepted.slots.len());
        let all = if nodes.is_empty() { asked } else { nodes.len() };
        let ready = nodes.iter().filter(|node| node.state == node_state::INSTALLED).count();
        if all == 0 { String::new() } else { format!("{ready}/{all}") }
    }

    /// The decision: conditions in the order of the way, each with the time at which it really
    /// turned (on the way here one may have been set twice).
    pub fn done(mut self) -> Decision {
        let old = &self.view.provisioning.status.conditions;
        self.status.ready_nodes = self.ready_nodes();
        let list = &mut self.status.conditions.0;
        for condition in list.iter_mut() {
            if let Some(before) = old.get(&condition.kind)
                && before.status == condition.status
            {
                condition.last_transition_time = before.last_transition_time;
            }
        }
        list.sort_by_key(|c| condition::WAY.iter().position(|kind| *kind == c.kind).unwrap_or(99));
        Decision { status: self.status, actions: self.actions, recheck: self.recheck }
    }
}
