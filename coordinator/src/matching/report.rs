//! The answer of `bpa-coordinator plan`: the same with or without a cluster, agent or state.
//!
//! Documented in `docs/plan.md`; programs rely on it, so a change of meaning is a new schema number.

use std::collections::BTreeMap;
use std::net::IpAddr;

use bpa_common::net::MacAddress;
use serde::Serialize;

use super::explain::Explanation;

/// The version of the JSON.
pub const PLAN_SCHEMA: u32 = 1;

/// Plans of all provisionings that were asked about, in the order in which they were decided.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanReport {
    pub schema: u32,
    /// True when every provisioning is accepted and fits.
    pub fits: bool,
    pub provisionings: Vec<ProvisioningPlan>,
    /// Objects in the files that can't be used; each affects only itself.
    pub unreadable: Vec<Unreadable>,
}

/// An object that can't be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unreadable {
    /// File, document, item.
    pub place: String,
    pub message: String,
}

/// The plan of one provisioning.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProvisioningPlan {
    pub namespace: String,
    pub name: String,
    /// False when the spec itself is refused; `explanation.summary` says why.
    pub accepted: bool,
    pub fits: bool,
    /// Names this very assignment, for an approval. Empty when it does not fit.
    pub hash: String,
    /// What is wrong with the spec; empty when accepted.
    pub problems: Vec<String>,
    pub warnings: Vec<String>,
    pub assignments: Vec<AssignmentReport>,
    pub ineligible: Vec<IneligibleReport>,
    pub explanation: Option<Explanation>,
}

/// One slot and its host.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AssignmentReport {
    pub slot: String,
    pub roles: Vec<String>,
    pub host: HostReport,
    /// The MAC whose lease gives the address; none when Metal3 knows no MAC of the host.
    pub mac: Option<MacAddress>,
    /// From the spec; leases are known only to a running coordinator.
    pub address: Option<IpAddr>,
    /// URL of the image that Metal3 installs on the host; none: its system is used as it is.
    pub os: Option<String>,
}

/// A host by its full name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostReport {
    pub namespace: String,
    pub name: String,
    pub uid: String,
}

/// A host that can't be taken, one line per reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IneligibleReport {
    pub host: String,
    pub reason: String,
    pub message: String,
}

impl IneligibleReport {
    /// Host, reason, message, for [`in_groups`].
    pub fn line(&self) -> (&str, &str, &str) {
        (&self.host, &self.reason, &self.message)
    }
}

/// A change that was proved to make it fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Remedy {
    /// `lower` or `add`.
    pub action: String,
    pub requirement: String,
    pub slots: Vec<String>,
    pub value: String,
    pub message: String,
}

/// Hosts that can't be taken for one and the same reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IneligibleGroup {
    /// The first few by name.
    pub hosts: Vec<String>,
    /// All of them by number.
    pub count: usize,
    pub reason: String,
    pub message: String,
}

/// Most hosts of a group that are kept by name.
const NAMED: usize = 3;

impl IneligibleGroup {
    /// The hosts as they are told: a few by name, many by number.
    pub fn names(&self) -> String {
        let names = self.hosts.join(", ");
        match self.count - self.hosts.len() {
            0 => names,
            more => format!("{names} and {more} more"),
        }
    }
}

/// Puts together what is said alike of several hosts, the most common first. Each line is a host, a
/// reason and a message.
pub fn in_groups<'a, H: std::fmt::Display>(
    lines: impl IntoIterator<Item = (H, &'a str, &'a str)>,
) -> Vec<IneligibleGroup> {
    let mut places: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut groups: Vec<IneligibleGroup> = Vec::new();
    for (host, reason, message) in lines {
        let place = *places.entry((reason, message)).or_insert(groups.len());
        if place == groups.len() {
            let (reason, message) = (reason.to_owned(), message.to_owned());
            groups.push(IneligibleGroup { hosts: Vec::new(), count: 0, reason, message });
        }
        let group = &mut groups[place];
        group.count += 1;
        if group.hosts.len() < NAMED {
            group.hosts.push(host.to_string());
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.count));
    groups
}
