//! The control stream: hello, welcome, heartbeats.

use serde::{Deserialize, Serialize};

use super::{ObjectId, RunId};

/// First message of an agent on its control stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Protocol versions that the agent speaks, both ends included.
    pub min_version: u16,
    pub max_version: u16,
    pub site: String,
    pub agent_version: String,
    /// Counts this agent's sessions; a number that was seen before means that its key was copied.
    pub session: u64,
    /// The agent's clock, milliseconds since 1970.
    pub clock_ms: i64,
    /// The highest coordinator epoch that the agent has accepted an order from.
    pub epoch_seen: u64,
    /// What stands at the site: every run that the journal holds, newest first, at most 256.
    pub runs: Vec<RunReport>,
    pub ssh_public_key: String,
    pub bundles: Vec<BundleReport>,
}

/// A run as the agent's journal has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunReport {
    pub run: RunId,
    pub provisioning: ObjectId,
    pub generation: u64,
    pub epoch: u64,
    pub state: RunState,
}

/// Where a run is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RunState {
    Accepted,
    Running,
    Succeeded,
    Failed,
    Cancelled,
}

impl RunState {
    /// True when nothing more will happen in this run.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled)
    }
}

/// A bundle at the site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BundleReport {
    pub name: String,
    pub version: String,
    pub kubernetes_versions: Vec<String>,
    /// What is missing or wrong; empty when complete.
    pub problems: Vec<String>,
}

/// The coordinator's answer to a `Hello` that it accepts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// The protocol version of this session.
    pub version: u16,
    pub coordinator_version: String,
    /// Grows with each restore or new state of the coordinator.
    pub epoch: u64,
    /// The coordinator's clock, milliseconds since 1970.
    pub clock_ms: i64,
    /// False while the site is in quarantine: leases yes, orders no.
    pub approved: bool,
    /// The last event sequence number that the coordinator has kept; the agent sends from the next.
    pub events_seen: u64,
}

/// The coordinator's answer to a `Hello` that it does not accept; it closes after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConnectRefused {
    /// No common protocol version; the coordinator speaks these.
    Version { min: u16, max: u16 },
    /// The certificate's site is not the one of the hello, or is not known.
    UnknownSite { message: String },
    /// The site was revoked.
    Revoked { message: String },
    /// Come back later.
    Busy { retry_after_ms: u64 },
}

/// Sent by both sides every few seconds on the control stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heartbeat {
    pub clock_ms: i64,
    /// From the agent: its host's resources.
    pub host: Option<HostReport>,
    /// From the coordinator: whether orders are allowed now.
    pub approved: bool,
}

/// The bootstrap host's resources, as sysinfo reads them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostReport {
    pub hostname: String,
    pub cpus: u32,
    /// One-minute load average times 100.
    pub load_percent: u32,
    /// Bytes.
    pub memory_total: u64,
    pub memory_available: u64,
    /// Of the file system that holds the agent's state, bytes.
    pub disk_total: u64,
    pub disk_available: u64,
}
