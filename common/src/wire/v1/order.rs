//! Work orders: what the coordinator asks of an agent. One stream per order.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::{ObjectId, RunId, RunState};
use crate::net::MacAddress;

/// One order: one kind, one provisioning, one generation, one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    pub run: RunId,
    pub provisioning: ObjectId,
    pub generation: u64,
    /// The coordinator's epoch; the agent refuses an older one than it has seen.
    pub epoch: u64,
    pub kind: OrderKind,
    pub cluster: ClusterPlan,
    /// Control plane first, in the order of the inventory.
    pub nodes: Vec<OrderNode>,
    /// Whether the kubeconfig is sent home or stays at the site.
    pub kubeconfig_home: bool,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OrderKind {
    Install,
    Reset,
}

/// What the cluster is to be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterPlan {
    pub name: String,
    /// Bundle at the site; none = the only one.
    pub bundle: Option<String>,
    /// Without a leading `v`; none = the bundle's default.
    pub kubernetes_version: Option<String>,
    pub network_plugin: Option<String>,
    pub pod_subnet: Option<String>,
    pub service_subnet: Option<String>,
    pub endpoint: Option<(String, u16)>,
    /// Further variables, a JSON object as text.
    pub vars_json: String,
    /// Extra playbooks, run after the install.
    pub plugins: Vec<String>,
}

/// One node and the machine that it is to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderNode {
    /// DNS-1123 label, unique in the order.
    pub name: String,
    pub control_plane: bool,
    pub worker: bool,
    pub etcd: bool,
    pub host: ObjectId,
    /// The MAC whose lease gives the address.
    pub mac: MacAddress,
    /// Every MAC that the host is known to have: one of them must be on the machine.
    pub macs: Vec<MacAddress>,
    /// An address that wins over the lease.
    pub address: Option<IpAddr>,
    /// Identifies the OS installation: a new one may have new host keys.
    pub installation: String,
    /// As the hardware inspection found them; none = unknown.
    pub serial: Option<String>,
    pub cpu: Option<u32>,
    pub memory_bytes: Option<u64>,
    pub disk_bytes: Option<u64>,
}

/// The agent's answer on the order's stream, given after the order is in its journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OrderReply {
    Accepted {
        run: RunId,
    },
    /// This very run is known already; its state.
    Known {
        run: RunId,
        state: RunState,
    },
    Refused(OrderRefusal),
}

/// Why an order is not taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OrderRefusal {
    /// The agent has taken orders of a newer epoch: this coordinator's state is old.
    OldEpoch { seen: u64 },
    /// The agent has done a newer generation of this provisioning.
    OldGeneration { done: u64 },
    /// Another run of this provisioning, or one with the same hosts, is not finished.
    Busy { run: RunId },
    /// The order can't be carried out here (unknown bundle, bad name, …).
    Invalid { message: String, fix: String },
    /// The site is not approved.
    Quarantine,
}

/// Asks to stop a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelOrder {
    pub run: RunId,
    pub epoch: u64,
}

/// The answer to a cancel; the end of the run is told by its events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CancelReply {
    Stopping,
    AlreadyEnded(RunState),
    UnknownRun,
}
