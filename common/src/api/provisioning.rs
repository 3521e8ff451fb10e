//! `Provisioning`: the wish for one cluster. Shape and meaning: design, section 4.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::object::{Object, resource};
use super::{API_VERSION, ProvisioningStatus, Quantity, schema};
use crate::net::MacAddress;

resource!(
    /// Marker of the kind `Provisioning`.
    ProvisioningKind, API_VERSION, "Provisioning", "provisionings"
);

/// A `Provisioning` object.
pub type Provisioning = Object<ProvisioningKind, ProvisioningSpec, ProvisioningStatus>;

/// A list of one-key maps, node name to need, as the original CRs have it. A value may be null.
pub type NodeTable = Vec<BTreeMap<String, Option<NodeNeed>>>;

/// `spec` of a Provisioning.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ProvisioningSpec {
    /// Name of the Site; when absent, the only Site of the namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    #[serde(deserialize_with = "null_as_default")]
    pub masters: NodeTable,
    #[serde(deserialize_with = "null_as_default")]
    pub workers: NodeTable,
    /// Must hold for the host of every slot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_selector: Option<LabelSelector>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_domains: Option<FailureDomains>,
    pub kubernetes: KubernetesSpec,
    /// Pod network, in the place where the original CRs have it.
    #[serde(rename = "PodSubnet", skip_serializing_if = "Option::is_none")]
    pub legacy_pod_subnet: Option<String>,
    /// Extra playbooks of the bundle, run after the install.
    #[serde(
        rename = "KUDPlugins",
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub plugins: Vec<String>,
    /// Name of the bundle at the site; when absent, the only one there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bundle: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub os: Option<OsSpec>,
    pub approval: Approval,
    pub deletion_policy: DeletionPolicy,
    pub kubeconfig: KubeconfigPlace,
    pub paused: bool,
    /// Fields that we don't know (removed ones of the original among them): ignored with a warning.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: BTreeMap<String, serde_json::Value>,
}

/// What one slot requires of its host. Sizes are met by *at least*.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeNeed {
    /// Any NIC of the host has one of these.
    #[serde(rename = "mac-address", skip_serializing_if = "MacList::is_empty")]
    pub mac_address: MacList,
    /// Logical CPUs (threads).
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "whole_number")]
    #[schemars(schema_with = "schema::whole_number")]
    pub cpu: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Quantity>,
    /// One disk of at least this size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk: Option<Quantity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_selector: Option<LabelSelector>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sriov: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qat: Option<bool>,
    /// Makes this entry n slots `name-0` to `name-(n-1)`.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "whole_number")]
    #[schemars(schema_with = "schema::whole_number")]
    pub count: Option<u32>,
    /// An address that wins over every lease (Metal3 issue CAPM3#3286: static addresses).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<std::net::IpAddr>,
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: BTreeMap<String, serde_json::Value>,
}

/// One MAC or a list of them ("any NIC of the host").
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct MacList(pub Vec<MacAddress>);

impl MacList {
    /// True when no MAC is asked for.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// `metav1.LabelSelector`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct LabelSelector {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<SelectorRequirement>,
}

/// One `matchExpressions` item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SelectorRequirement {
    pub key: String,
    pub operator: SelectorOperator,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

/// Operators of `metav1.LabelSelectorRequirement`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SelectorOperator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
}

/// Spread of the slots over the values of a host label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailureDomains {
    pub label: String,
    #[serde(default)]
    pub spread: Spread,
}

/// How binding the spread is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Spread {
    Required,
    #[default]
    Preferred,
}

/// `spec.kubernetes`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct KubernetesSpec {
    /// `1.35.4`; a leading `v` is accepted. When absent, the bundle's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_plugin: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_subnet: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_subnet: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
    /// Further variables for the playbooks.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::any_fields")]
    pub vars: BTreeMap<String, serde_json::Value>,
}

/// Where the new cluster's API is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Endpoint {
    pub host: String,
    #[serde(default = "default_api_port")]
    pub port: u16,
}

fn default_api_port() -> u16 {
    6443
}

/// Asks Metal3 to install the OS on `available` hosts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct OsSpec {
    /// As `spec.image` of a BareMetalHost: `url`, `checksum`, `checksumType`, `format`.
    #[schemars(schema_with = "schema::any_fields")]
    pub image: serde_json::Value,
    pub user_data_secret: Option<String>,
    pub network_data_secret: Option<String>,
}

/// Whether a plan waits for a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Approval {
    #[default]
    Automatic,
    Manual,
}

/// What happens to the cluster when the Provisioning is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DeletionPolicy {
    #[default]
    Retain,
    Reset,
}

/// Where the new cluster's kubeconfig is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum KubeconfigPlace {
    #[default]
    Secret,
    Site,
}

fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// A whole number, also when written as a string of digits (legacy section 2.5).
fn whole_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Number {
        Int(u32),
        Text(String),
        Other(serde_json::Value),
    }
    let problem = |found: &dyn std::fmt::Display| {
        de::Error::custom(format!("wanted a whole number from 0 to {}, found {found}", u32::MAX))
    };
    match Option::<Number>::deserialize(deserializer)? {
        None => Ok(None),
        Some(Number::Int(n)) => Ok(Some(n)),
        Some(Number::Text(text)) => {
            text.trim().parse().map(Some).map_err(|_| problem(&format!("`{text}`")))
        }
        Some(Number::Other(other)) => Err(problem(&other)),
    }
}

struct MacListVisitor;

impl<'de> Visitor<'de> for MacListVisitor {
    type Value = MacList;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a MAC address such as \"52:54:00:aa:01:02\", or a list of them")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<MacList, E> {
        text.trim().parse().map(|mac| MacList(vec![mac])).map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, found: i64) -> Result<MacList, E> {
        Err(E::custom(format!(
            "mac-address is the number {found}: a YAML 1.1 reader took the digits of a MAC for a base-60 number; put the MAC in quotes"
        )))
    }

    fn visit_u64<E: de::Error>(self, found: u64) -> Result<MacList, E> {
        self.visit_i64(found as i64)
    }

    fn visit_unit<E: de::Error>(self) -> Result<MacList, E> {
        Ok(MacList::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<MacList, A::Error> {
        /// More ports than any server has.
        const MAX: usize = 64;
        let mut list = Vec::new();
        while let Some(text) = seq.next_element::<String>()? {
            if list.len() == MAX {
                return Err(de::Error::custom("more than 64 MAC addresses for one node"));
            }
            list.push(text.trim().parse().map_err(de::Error::custom)?);
        }
        Ok(MacList(list))
    }
}

impl<'de> Deserialize<'de> for MacList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(MacListVisitor)
    }
}
