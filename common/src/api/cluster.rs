//! `Cluster`: a Provisioning and Software under one name, summed up. Read and kept; the work on it
//! is day-2 work.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::object::{Object, resource};
use super::schema;
use super::{API_VERSION, Conditions, ProvisioningSpec, SoftwareSpec};

resource!(
    /// Marker of the kind `Cluster`.
    ClusterKind, API_VERSION, "Cluster", "clusters"
);

/// A `Cluster` object.
pub type Cluster = Object<ClusterKind, ClusterSpec, ClusterStatus>;

/// The parts: a Provisioning, Software, or both.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = schema::cluster_spec)]
pub struct ClusterSpec {
    /// Name of the cluster; when absent, this object's name.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 63), transform = schema::cluster_name)]
    pub cluster_name: String,
    /// The Provisioning that makes it: by name, or its whole spec.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provisioning: Option<ProvisioningPart>,
    /// The Software on it: by name, or whole specs.
    #[serde(deserialize_with = "super::null_as_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub software: Vec<SoftwarePart>,
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: BTreeMap<String, serde_json::Value>,
}

/// A Provisioning of a Cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(transform = schema::cluster_part)]
pub struct ProvisioningPart {
    /// Name of a Provisioning in this namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub name: Option<String>,
    /// What the Provisioning would have as its spec.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<Box<ProvisioningSpec>>,
}

/// A Software of a Cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(transform = schema::cluster_part)]
pub struct SoftwarePart {
    /// Name of a Software in this namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub name: Option<String>,
    /// What the Software would have as its spec.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<SoftwareSpec>,
}

/// Both parts in one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterStatus {
    /// The generation of the spec that this status is about.
    pub observed_generation: u64,
    /// The phase of its Provisioning.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub phase: String,
    /// Nodes that are installed, of all: `2/3`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ready_nodes: String,
    /// `Ready` sums up the others.
    pub conditions: Conditions,
}
