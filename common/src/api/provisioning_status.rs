//! `status` of a Provisioning: the whole story of a cluster, for people and programs.

use std::net::IpAddr;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Conditions;
use crate::net::MacAddress;

/// How far it is; the coordinator writes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ProvisioningStatus {
    /// The generation of the spec that this status is about.
    pub observed_generation: u64,
    /// One word for the whole: `Pending`, `Waiting`, `Installing`, `Ready`, `Failed`, `Cancelled`,
    /// `Resetting`, `Releasing`, `Paused`, `Invalid`.
    pub phase: String,
    /// Nodes that are installed, of all: `2/3`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ready_nodes: String,
    /// The story, each part with its reason.
    pub conditions: Conditions,
    /// Which plan is in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanStatus>,
    /// The Site that does the work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    /// The nodes and their hosts.
    pub nodes: Vec<NodeStatus>,
    /// The run that is in progress, or the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunStatus>,
    /// Where the kubeconfig is: a Secret's name, or a file's path in the embedded world.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubeconfig_secret: Option<String>,
    /// The version that was installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes_version: Option<String>,
    /// The last value of the annotation `bpa.akraino.org/retry` that was acted on.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub handled_retry: String,
    /// Hosts that were ours and are not any more; never taken back by ourselves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost_hosts: Vec<LostHost>,
    /// Hosts that Metal3 could not install; not chosen again before the spec changes or a retry is
    /// asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed_hosts: Vec<FailedHost>,
    /// The last ten runs, newest first.
    pub history: Vec<HistoryEntry>,
}

/// The assignment in force.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PlanStatus {
    /// Names this plan for an approval.
    pub hash: String,
    /// Which host takes which role, in a few words.
    pub summary: String,
    /// The plan before, and what has changed since, so that an approval of that one can be answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<PlanBefore>,
}

/// A plan that the world has overtaken.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PlanBefore {
    /// Names the plan that was.
    pub hash: String,
    /// Which node got which other host, and why.
    pub changes: String,
}

/// A host that was claimed and whose `consumerRef` someone else has changed since.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct LostHost {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
}

/// A host on which Metal3 failed to install the operating system, again and again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct FailedHost {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// The generation of the spec for which it failed.
    pub generation: u64,
    /// The last error that Metal3 gave.
    pub message: String,
}

/// One node of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeStatus {
    /// The node's name in the new cluster.
    pub name: String,
    /// `control-plane`, `worker`.
    pub roles: Vec<String>,
    /// Namespace of its BareMetalHost.
    pub host_namespace: String,
    /// Name of its BareMetalHost.
    pub host: String,
    /// Uid of its BareMetalHost.
    pub host_uid: String,
    /// The MAC address that its lease is looked up by.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub mac: Option<MacAddress>,
    /// Its IP address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// `spec`, `lease:<source>` or `hardware`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub address_source: String,
    /// `Selected`, `Claimed`, `Lost`, `Provisioning`, `ProvisioningFailed`, `WaitingForLease`, `Resolved`, `Connecting`, `AccessReady`, `Verified`, `Checked`,
    /// `Installing`, `Installed`, `Failed`.
    pub state: String,
    /// How often Metal3 has failed to install the operating system on its host.
    #[serde(skip_serializing_if = "is_zero")]
    pub os_failures: u32,
    /// What it waits for, or what went wrong.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The run that is in progress, or the last one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RunStatus {
    /// Names this run, for `bpa-coordinator logs --run`.
    pub id: String,
    /// `Install` or `Reset`.
    pub kind: String,
    /// The generation of the spec that it carries out.
    pub generation: u64,
    /// What the order asked for, in one hash: tells a change that matters from one that doesn't.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// `Sent`, `Accepted`, `Running`, `Succeeded`, `Failed`, `Cancelled`, `Lost`.
    pub state: String,
    /// The step in progress, or the last one.
    pub step: String,
    /// All steps so far.
    pub steps: Vec<StepStatus>,
    /// Name of the play in progress, the phase of the install.
    pub phase: String,
    /// The task in progress.
    pub task: String,
    /// How many tasks are done.
    pub tasks_done: u64,
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<Timestamp>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished: Option<Timestamp>,
    /// The last line of the log.
    pub last_line: String,
    /// CamelCase reason of a failure.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What happened, where, and what to do.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Preflight checks that did not pass.
    pub checks: Vec<CheckStatus>,
}

/// One step of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct StepStatus {
    /// `Resolve`, `Access`, `Verify`, `Preflight`, `Inventory`, `Kubespray`, `Collect` or `Check`.
    pub name: String,
    /// `Running`, `Done`, `Failed`, `Skipped`.
    pub state: String,
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<Timestamp>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished: Option<Timestamp>,
}

/// One preflight check that did not pass (passed ones are only counted in the message).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CheckStatus {
    /// The node that was looked at.
    pub node: String,
    /// Names the check.
    pub id: String,
    /// `passed`, `warning`, `pending`, `failed`.
    pub status: String,
    /// What the install needs.
    pub wanted: String,
    /// What is there.
    pub found: String,
    /// What to do.
    pub fix: String,
}

/// A run that has ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HistoryEntry {
    /// Names the run.
    pub run: String,
    /// `Install` or `Reset`.
    pub kind: String,
    /// The generation of the spec that it carried out.
    pub generation: u64,
    /// `Succeeded`, `Failed`, `Cancelled` or `Lost`.
    pub outcome: String,
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<Timestamp>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished: Option<Timestamp>,
    /// What went wrong.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}
