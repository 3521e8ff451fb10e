//! `Site`: a place with one bootstrap host and its agent.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::object::{Object, resource};
use super::{API_VERSION, Conditions};

resource!(
    /// Marker of the kind `Site`.
    SiteKind, API_VERSION, "Site", "sites"
);

/// A `Site` object.
pub type Site = Object<SiteKind, SiteSpec, SiteStatus>;

/// What a person says of the site.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SiteSpec {
    /// Until this is true the site is in quarantine: its leases are seen, it gets no orders.
    pub approved: bool,
    /// For people.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 4096))]
    pub description: String,
}

/// What its agent tells; the coordinator writes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SiteStatus {
    /// Whether its agent is connected now.
    pub connected: bool,
    /// Time of the last message, by the coordinator's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_seen: Option<Timestamp>,
    /// The version of its agent.
    pub agent_version: String,
    /// SHA-256 of the agent's public key (SPKI), as both sides show it.
    pub fingerprint: String,
    /// The site's SSH public key, for those who want to install it by image.
    pub ssh_public_key: String,
    /// Agent's clock minus the coordinator's, milliseconds.
    pub clock_skew_ms: i64,
    /// The DHCP leases of the site, in numbers.
    pub leases: LeaseStatus,
    /// The bundles (playbooks and what they need) at the site.
    pub bundles: Vec<BundleStatus>,
    /// The bootstrap host's own resources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<HostResources>,
    /// What is well and what is not.
    pub conditions: Conditions,
}

/// The lease view of a site in numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct LeaseStatus {
    /// How many hosts have one.
    pub count: u64,
    /// `kind:path` with an error behind it, if there is one.
    pub sources: Vec<String>,
    /// When the newest one began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newest: Option<Timestamp>,
}

/// A bundle at the site.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct BundleStatus {
    /// Its name, as `spec.bundle` of a Provisioning has it.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The Kubernetes versions that it can install.
    pub kubernetes_versions: Vec<String>,
    /// What is missing or wrong; empty when complete.
    pub problems: Vec<String>,
}

/// The bootstrap host's own resources.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HostResources {
    /// Its host name.
    pub hostname: String,
    /// Logical CPUs.
    pub cpus: u32,
    /// One-minute load average times 100.
    pub load_percent: u32,
    /// Bytes.
    pub memory_total: u64,
    /// Bytes.
    pub memory_available: u64,
    /// Of the file system that holds the agent's state, bytes.
    pub disk_total: u64,
    /// Of the same file system, bytes.
    pub disk_available: u64,
}
