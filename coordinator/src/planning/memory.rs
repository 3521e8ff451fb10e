//! What the last effects answered. Not kept over a restart: everything in here is found out again
//! by doing the same, which is harmless.

use std::collections::BTreeMap;

use bpa_common::wire::v1::{CancelReply, OrderReply, RunId};
use jiff::Timestamp;

use crate::matching::HostId;

/// What is remembered of one provisioning.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// Another number after each change.
    pub revision: u64,
    /// The last answer to an order.
    pub order: Option<Told<OrderReply>>,
    /// The last answer to a cancel.
    pub cancel: Option<Told<CancelReply>>,
    /// The site's session in which it took a run.
    pub taken_in: Option<(RunId, u64)>,
    /// Where the kubeconfig of a run was saved.
    pub saved: Option<(RunId, String)>,
    /// The run whose addresses were told.
    pub told_addresses: Option<RunId>,
    /// Hosts that carry our mark since, and whether a second look has shown it.
    pub claims: BTreeMap<HostId, Claim>,
    /// Hosts that someone else had when we wanted to claim them: their version then, and by whom.
    pub refused: BTreeMap<HostId, (String, String)>,
    /// An effect that failed; nothing is tried before its time.
    pub trouble: Option<Trouble>,
}

/// A mark of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    pub written: Timestamp,
    pub confirmed: bool,
}

/// What became of one message to an agent.
#[derive(Clone, Debug)]
pub struct Told<T> {
    pub run: RunId,
    pub answer: Answer<T>,
    /// Not before this time again.
    pub again_at: Timestamp,
}

/// An answer, or why there is none.
#[derive(Clone, Debug)]
pub enum Answer<T> {
    Reply(T),
    Unreached(String),
}

/// An effect that failed.
#[derive(Clone, Debug)]
pub struct Trouble {
    /// In words: `claim host ns/host1`.
    pub action: String,
    pub message: String,
    pub again_at: Timestamp,
}

impl Memory {
    /// The last answer about this run, if it was about this one.
    pub fn order_answer(&self, run: RunId) -> Option<&Told<OrderReply>> {
        self.order.as_ref().filter(|told| told.run == run)
    }

    /// The last answer to the cancel of this run.
    pub fn cancel_answer(&self, run: RunId) -> Option<&Told<CancelReply>> {
        self.cancel.as_ref().filter(|told| told.run == run)
    }
}
