//! `Software`: packages on the nodes of a cluster. Read and kept; the work on it is day-2 work.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::object::{Object, resource};
use super::schema;
use super::{API_VERSION, Conditions};

resource!(
    /// Marker of the kind `Software`.
    SoftwareKind, API_VERSION, "Software", "softwares"
);

/// A `Software` object.
pub type Software = Object<SoftwareKind, SoftwareSpec, SoftwareStatus>;

/// Which packages: an item is a name, or a map of name to `{version}`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SoftwareSpec {
    /// Name of the cluster; when absent, the label `cluster` of this object.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub cluster: Option<String>,
    /// Packages for control plane nodes: `- NAME`, or `- NAME: {version: "1.2"}`.
    #[serde(deserialize_with = "super::null_as_default")]
    #[schemars(schema_with = "schema::packages")]
    pub master_software: Vec<serde_json::Value>,
    /// Packages for workers, in the same form. A node in both roles gets both lists.
    #[serde(deserialize_with = "super::null_as_default")]
    #[schemars(schema_with = "schema::packages")]
    pub worker_software: Vec<serde_json::Value>,
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: BTreeMap<String, serde_json::Value>,
}

/// What is installed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SoftwareStatus {
    /// The generation of the spec that this status is about.
    pub observed_generation: u64,
    /// What holds and what does not.
    pub conditions: Conditions,
    /// Each package on each node.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<PackageStatus>,
}

/// One package on one node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PackageStatus {
    /// The node's name.
    pub name: String,
    /// The package's name.
    pub package: String,
    /// The version that is wanted; empty for the newest.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub wanted: String,
    /// The version that is installed; empty for none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub installed: String,
    /// What went wrong.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}
