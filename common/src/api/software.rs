//! `Software` and `Cluster`: read and kept; the work on them is day-2 work.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::object::{Object, resource};
use super::{API_VERSION, schema};

resource!(
    /// Marker of the kind `Software`.
    SoftwareKind, API_VERSION, "Software", "softwares"
);
resource!(
    /// Marker of the kind `Cluster`.
    ClusterKind, API_VERSION, "Cluster", "clusters"
);

/// A `Software` object.
pub type Software = Object<SoftwareKind, SoftwareSpec, serde_json::Value>;
/// A `Cluster` object.
pub type Cluster = Object<ClusterKind, ClusterSpec, serde_json::Value>;

/// `spec` of a Software: items are a name, or a map of name to `{version}`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SoftwareSpec {
    #[schemars(schema_with = "schema::any_list")]
    pub master_software: Vec<serde_json::Value>,
    #[schemars(schema_with = "schema::any_list")]
    pub worker_software: Vec<serde_json::Value>,
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: BTreeMap<String, serde_json::Value>,
}

/// `spec` of a Cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterSpec {
    pub cluster_name: String,
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: BTreeMap<String, serde_json::Value>,
}
