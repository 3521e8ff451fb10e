//! Events of a run. Kept in the agent's journal until acknowledged; shown once.

use serde::{Deserialize, Serialize};

use super::RunId;

/// One thing that happened in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Grows by one with each event of this agent, over all runs, for ever.
    pub seq: u64,
    pub run: RunId,
    /// The agent's clock, milliseconds since 1970.
    pub at_ms: i64,
    pub body: EventBody,
}

/// The steps of a run, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Step {
    /// MAC to address, from the leases.
    Resolve,
    /// Get SSH access: credentials, host key pin, our public key.
    Access,
    /// Is this machine the machine?
    Verify,
    /// What would make the playbook fail later.
    Preflight,
    /// `hosts.ini` and variables, read back with ansible-inventory.
    Inventory,
    /// The playbook, under the supervisor.
    Kubespray,
    /// The kubeconfig and other artifacts.
    Collect,
    /// Does the new cluster answer?
    Check,
}

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StepEnd {
    Done,
    Failed,
    Skipped,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    Succeeded,
    Failed(Failure),
    Cancelled { by: String },
}

/// What went wrong, where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub step: Step,
    /// CamelCase, for programs: `WrongPassword`, `HostKeyChanged`, `TaskFailed`, …
    pub reason: String,
    /// The node concerned; none = the whole run.
    pub node: Option<String>,
    pub message: String,
    pub fix: String,
}

/// Where one node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NodeState {
    WaitingForLease,
    Resolved,
    Connecting,
    AccessReady,
    Verified,
    Checked,
    Installing,
    Installed,
    Failed,
}

/// How a check came out; *pending* is apart from *failed*.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CheckOutcome {
    Passed,
    Warning,
    Pending,
    Failed,
}

/// One preflight check on one node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    pub node: String,
    /// Stable name, e.g. `memory`, `python`, `sudo`.
    pub id: String,
    pub status: CheckOutcome,
    pub wanted: String,
    pub found: String,
    pub fix: String,
}

/// A host's line in the playbook's recap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostRecap {
    pub node: String,
    pub ok: u32,
    pub changed: u32,
    pub failed: u32,
    pub unreachable: u32,
    pub skipped: u32,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventBody {
    /// The order is in the journal.
    Accepted,
    StepStarted {
        step: Step,
    },
    StepEnded {
        step: Step,
        end: StepEnd,
        message: String,
    },
    Node {
        node: String,
        state: NodeState,
        address: Option<std::net::IpAddr>,
        message: String,
    },
    Check(Check),
    /// A play of the playbook began: the phase of the install.
    Phase {
        name: String,
    },
    /// A task began. `done` counts tasks so far.
    Task {
        name: String,
        done: u64,
    },
    /// A task failed on a node (ignored failures are not told).
    TaskFailed {
        node: String,
        task: String,
        path: String,
        message: String,
    },
    Recap {
        hosts: Vec<HostRecap>,
    },
    /// The agent was restarted, or had to try again: said so that nobody wonders.
    Note {
        message: String,
    },
    /// The new cluster's admin kubeconfig (a secret: never logged).
    Kubeconfig {
        pem: SecretBytes,
        server: String,
        days_left: u32,
        kubernetes_version: String,
    },
    /// The last event of a run, exactly one.
    Ended {
        outcome: Outcome,
    },
}

/// Bytes that must not be printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretBytes(pub Vec<u8>);

impl std::fmt::Debug for SecretBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SecretBytes({} bytes)", self.0.len())
    }
}

impl Step {
    /// All steps of an install, in order.
    pub const ALL: [Self; 8] = [
        Self::Resolve,
        Self::Access,
        Self::Verify,
        Self::Preflight,
        Self::Inventory,
        Self::Kubespray,
        Self::Collect,
        Self::Check,
    ];
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(self, f)
    }
}
