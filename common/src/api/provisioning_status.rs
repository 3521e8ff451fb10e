//! `status` of a Provisioning: the whole story of a cluster, for people and programs.

use std::net::IpAddr;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Conditions;
use crate::net::MacAddress;

/// `status` of a Provisioning.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ProvisioningStatus {
    pub observed_generation: u64,
    /// One word for the whole: `Pending`, `Waiting`, `Installing`, `Ready`, `Failed`, `Cancelled`,
    /// `Resetting`, `Releasing`, `Paused`, `Invalid`.
    pub phase: String,
    pub conditions: Conditions,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    pub nodes: Vec<NodeStatus>,
    /// Nodes that are ready of all, as `2/3`; empty while no host is chosen.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ready_nodes: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunStatus>,
    /// Where the kubeconfig is: a Secret's name, or a file's path in the embedded world.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubeconfig_secret: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes_version: Option<String>,
    /// The last value of the annotation `bpa.akraino.org/retry` that was acted on.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub handled_retry: String,
    /// Hosts that were ours and are not any more; never taken back by ourselves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost_hosts: Vec<LostHost>,
    /// The last ten runs, newest first.
    pub history: Vec<HistoryEntry>,
}

/// The assignment in force.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PlanStatus {
    /// Names this plan for an approval.
    pub hash: String,
    pub summary: String,
}

/// A host that was claimed and whose `consumerRef` someone else has changed since.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct LostHost {
    pub namespace: String,
    pub name: String,
    pub uid: String,
}

/// One node of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeStatus {
    pub name: String,
    /// `control-plane`, `worker`.
    pub roles: Vec<String>,
    pub host_namespace: String,
    pub host: String,
    pub host_uid: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mac: Option<MacAddress>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// `spec`, `lease:<source>` or `hardware`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub address_source: String,
    /// `Selected`, `Claimed`, `Lost`, `WaitingForLease`, `Resolved`, `Connecting`, `AccessReady`, `Verified`, `Checked`,
    /// `Installing`, `Installed`, `Failed`.
    pub state: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// The run that is in progress, or the last one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RunStatus {
    pub id: String,
    /// `Install` or `Reset`.
    pub kind: String,
    pub generation: u64,
    /// What the order asked for, in one hash: tells a change that matters from one that doesn't.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// `Sent`, `Accepted`, `Running`, `Succeeded`, `Failed`, `Cancelled`, `Lost`.
    pub state: String,
    pub step: String,
    pub steps: Vec<StepStatus>,
    /// Name of the play in progress, the phase of the install.
    pub phase: String,
    pub task: String,
    pub tasks_done: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished: Option<Timestamp>,
    pub last_line: String,
    /// CamelCase reason of a failure.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What happened, where, and what to do.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    pub checks: Vec<CheckStatus>,
}

/// One step of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct StepStatus {
    pub name: String,
    /// `Running`, `Done`, `Failed`, `Skipped`.
    pub state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished: Option<Timestamp>,
}

/// One preflight check that did not pass (passed ones are only counted in the message).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CheckStatus {
    pub node: String,
    pub id: String,
    /// `passed`, `warning`, `pending`, `failed`.
    pub status: String,
    pub wanted: String,
    pub found: String,
    pub fix: String,
}

/// A run that has ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HistoryEntry {
    pub run: String,
    pub kind: String,
    pub generation: u64,
    pub outcome: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished: Option<Timestamp>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}
