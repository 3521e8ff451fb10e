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

/// `spec` of a Site.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SiteSpec {
    /// Until this is true the site is in quarantine: leases yes, orders no.
    pub approved: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// `status` of a Site.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SiteStatus {
    pub connected: bool,
    /// Time of the last message, by the coordinator's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_seen: Option<Timestamp>,
    pub agent_version: String,
    /// SHA-256 of the agent's public key (SPKI), as both sides show it.
    pub fingerprint: String,
    /// The site's SSH public key, for those who want to install it by image.
    pub ssh_public_key: String,
    /// Agent's clock minus the coordinator's, milliseconds.
    pub clock_skew_ms: i64,
    pub leases: LeaseStatus,
    pub bundles: Vec<BundleStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<HostResources>,
    pub conditions: Conditions,
}

/// The lease view of a site in numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct LeaseStatus {
    pub count: u64,
    /// `kind:path` with an error behind it, if there is one.
    pub sources: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newest: Option<Timestamp>,
}

/// A bundle at the site.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct BundleStatus {
    pub name: String,
    pub version: String,
    pub kubernetes_versions: Vec<String>,
    /// What is missing or wrong; empty when complete.
    pub problems: Vec<String>,
}

/// The bootstrap host's own resources.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HostResources {
    pub hostname: String,
    pub cpus: u32,
    /// One-minute load average times 100.
    pub load_percent: u32,
    pub memory_total: u64,
    pub memory_available: u64,
    /// Of the file system that holds the agent's state, bytes.
    pub disk_total: u64,
    pub disk_available: u64,
}
