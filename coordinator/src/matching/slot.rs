//! A slot: one node that a provisioning asks for.

use bpa_common::api::{LabelSelector, NodeNeed, Quantity};
use bpa_common::net::MacAddress;

/// What a slot requires of its host. Equal needs form one group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Need {
    /// Any NIC of the host has one of these; empty = any host.
    pub macs: Vec<MacAddress>,
    /// Logical CPUs, at least.
    pub cpu: Option<u32>,
    /// At least.
    pub memory: Option<Quantity>,
    /// One disk of at least this size.
    pub disk: Option<Quantity>,
    /// All must hold for the host's labels.
    pub selectors: Vec<LabelSelector>,
    /// Wanted (or not) as told by host labels.
    pub sriov: Option<bool>,
    pub qat: Option<bool>,
}

/// One node that a provisioning asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The node's name: a DNS-1123 label, unique in its provisioning.
    pub name: String,
    pub control_plane: bool,
    pub worker: bool,
    pub need: Need,
    /// An address that wins over every lease.
    pub address: Option<std::net::IpAddr>,
}

impl Slot {
    /// The roles as they are shown.
    pub fn roles(&self) -> Vec<String> {
        let mut roles = Vec::new();
        if self.control_plane {
            roles.push("control-plane".to_owned());
        }
        if self.worker {
            roles.push("worker".to_owned());
        }
        roles
    }
}

impl Need {
    /// The need of one entry of a spec; `shared` must hold for every slot.
    pub fn from_entry(entry: &NodeNeed, shared: Option<&LabelSelector>) -> Self {
        let mut macs = entry.mac_address.0.clone();
        macs.sort();
        macs.dedup();
        Self {
            macs,
            cpu: entry.cpu,
            memory: entry.memory.clone(),
            disk: entry.disk.clone(),
            selectors: shared.into_iter().chain(&entry.host_selector).cloned().collect(),
            sriov: entry.sriov,
            qat: entry.qat,
        }
    }

    /// Both needs at once: a node in both roles must meet the larger of each size.
    /// None when they name different machines or contradict each other.
    pub fn both(mut self, other: Self) -> Option<Self> {
        self.macs = match (self.macs.is_empty(), other.macs.is_empty()) {
            (true, _) => other.macs,
            (_, true) => self.macs,
            _ if self.macs == other.macs => self.macs,
            _ => return None,
        };
        self.cpu = self.cpu.max(other.cpu);
        self.memory = larger(self.memory, other.memory);
        self.disk = larger(self.disk, other.disk);
        for selector in other.selectors {
            if !self.selectors.contains(&selector) {
                self.selectors.push(selector);
            }
        }
        self.sriov = agreed(self.sriov, other.sriov)?;
        self.qat = agreed(self.qat, other.qat)?;
        Some(self)
    }
}

fn larger(a: Option<Quantity>, b: Option<Quantity>) -> Option<Quantity> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.bytes() > a.bytes() { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// Outer None: the two contradict each other.
fn agreed(a: Option<bool>, b: Option<bool>) -> Option<Option<bool>> {
    match (a, b) {
        (Some(a), Some(b)) if a != b => None,
        (a, b) => Some(a.or(b)),
    }
}
