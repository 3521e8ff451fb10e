//! What every step gets and gives.

use std::net::IpAddr;

use bpa_common::net::MacAddress;
use bpa_common::wire::v1::{EventBody, Failure, Step};

/// One machine that a step works on: the order's node with its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeTarget {
    /// Inventory name.
    pub name: String,
    /// Metal3 host name, for credentials and messages.
    pub host: String,
    pub address: IpAddr,
    /// SSH port, 22 unless configured.
    pub port: u16,
    /// One of these must be on the machine.
    pub macs: Vec<MacAddress>,
    pub serial: Option<String>,
    /// Host uid and OS installation: host keys are pinned per pair.
    pub host_uid: String,
    pub installation: String,
    pub control_plane: bool,
    pub cpu: Option<u32>,
    pub memory_bytes: Option<u64>,
    pub disk_bytes: Option<u64>,
}

/// Why a step did not succeed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}; {fix}", node.as_deref().map(|n| format!("{n}: ")).unwrap_or_default())]
pub struct StepFailure {
    /// CamelCase: `WrongPassword`, `HostKeyChanged`, `NotTheMachine`, …
    pub reason: &'static str,
    pub node: Option<String>,
    pub message: String,
    pub fix: String,
}

impl StepFailure {
    /// As it goes into the run's last event.
    pub fn into_failure(self, step: Step) -> Failure {
        Failure {
            step,
            reason: self.reason.to_owned(),
            node: self.node,
            message: self.message,
            fix: self.fix,
        }
    }
}

/// Where a step tells what happens: kept in the journal before it returns.
pub trait Journaled: Send + Sync {
    /// Appends an event of this run.
    fn tell(&self, body: EventBody);
}
