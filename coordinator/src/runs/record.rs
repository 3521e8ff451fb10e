//! What is known of one run: plain values, the same on disk and in memory.

use std::collections::BTreeMap;
use std::net::IpAddr;

use bpa_common::wire::v1::{
    Check, HostRecap, NodeState, ObjectId, Order, OrderKind, Outcome, RunState, Step,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// One run: what was ordered and what became of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunRecord {
    pub site: String,
    /// None when an agent tells of a run that this coordinator did not order.
    pub order: Option<OrderSummary>,
    pub progress: Progress,
}

/// The order in brief.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderSummary {
    pub provisioning: ObjectId,
    pub generation: u64,
    pub kind: OrderKind,
    pub cluster: String,
    pub nodes: Vec<String>,
    /// False when the kubeconfig must stay at the site: its bytes are not kept then.
    pub kubeconfig_home: bool,
}

impl OrderSummary {
    /// The brief form of an order.
    pub fn of(order: &Order) -> Self {
        Self {
            provisioning: order.provisioning.clone(),
            generation: order.generation,
            kind: order.kind,
            cluster: order.cluster.name.clone(),
            nodes: order.nodes.iter().map(|n| n.name.clone()).collect(),
            kubeconfig_home: order.kubeconfig_home,
        }
    }
}

/// The fold of all events of a run. Times are the agent's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    /// Sequence number of the last event in here.
    pub last_seq: u64,
    /// The agent has the order in its journal.
    pub accepted: bool,
    pub started: Option<Timestamp>,
    pub finished: Option<Timestamp>,
    /// In the order in which they first began.
    pub steps: Vec<StepRecord>,
    pub nodes: BTreeMap<String, NodeRecord>,
    /// Name of the play in progress.
    pub phase: String,
    pub task: String,
    pub tasks_done: u64,
    pub failures: Vec<TaskFailure>,
    /// The newest result of each check on each node.
    pub checks: Vec<Check>,
    pub recap: Vec<HostRecap>,
    pub notes: Vec<Note>,
    /// Set once the agent has sent the kubeconfig.
    pub kubeconfig: Option<KubeconfigInfo>,
    /// Set once, by the first `Ended`.
    pub outcome: Option<Outcome>,
}

impl Progress {
    /// Where the run is in its life, as far as its events tell; none = no event yet.
    pub fn state(&self) -> Option<RunState> {
        match &self.outcome {
            Some(Outcome::Succeeded) => Some(RunState::Succeeded),
            Some(Outcome::Failed(_)) => Some(RunState::Failed),
            Some(Outcome::Cancelled { .. }) => Some(RunState::Cancelled),
            None if !self.steps.is_empty() => Some(RunState::Running),
            None => self.accepted.then_some(RunState::Accepted),
        }
    }

    /// This step, if it has begun.
    pub fn step(&self, step: Step) -> Option<&StepRecord> {
        self.steps.iter().find(|s| s.step == step)
    }
}

/// One step of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRecord {
    pub step: Step,
    pub state: StepState,
    pub started: Timestamp,
    pub finished: Option<Timestamp>,
    pub message: String,
}

/// Where a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StepState {
    Running,
    Done,
    Failed,
    Skipped,
}

/// Where one node is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeRecord {
    pub state: NodeState,
    pub address: Option<IpAddr>,
    pub message: String,
}

/// A task of the playbook that failed on a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskFailure {
    pub at: Timestamp,
    pub node: String,
    pub task: String,
    pub path: String,
    pub message: String,
}

/// Something that the agent wanted people to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    pub at: Timestamp,
    pub message: String,
}

/// What is told about a kubeconfig besides its secret bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KubeconfigInfo {
    pub server: String,
    pub days_left: u32,
    pub kubernetes_version: String,
}
