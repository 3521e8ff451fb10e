//! `Provisioning`: the wish for one cluster. Shape and meaning: design, section 4.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::object::{Object, resource};
use super::schema;
use super::{API_VERSION, ProvisioningStatus, Quantity};
use crate::net::MacAddress;

resource!(
    /// Marker of the kind `Provisioning`.
    ProvisioningKind, API_VERSION, "Provisioning", "provisionings"
);

/// A `Provisioning` object.
pub type Provisioning = Object<ProvisioningKind, ProvisioningSpec, ProvisioningStatus>;

/// A list of one-key maps, node name to need, as the original CRs have it. A value may be null.
pub type NodeTable = Vec<BTreeMap<String, Option<NodeNeed>>>;

/// What is wanted: at least `masters`, such as `masters: [{master-1: {cpu: 8, memory: 16Gi}}]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = schema::legacy_fields)]
pub struct ProvisioningSpec {
    /// Name of the Site; when absent, the only Site of the namespace.
    #[schemars(length(max = 253))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    /// Control plane nodes: a list, each item one node name with what its host must have, such as
    /// `- master-1: {cpu: 8, memory: 16Gi}` or `- master-1: {mac-address: "52:54:00:aa:01:02"}`. A
    /// node in both lists has both roles; without any workers, masters are workers too.
    #[serde(deserialize_with = "super::null_as_default")]
    #[schemars(schema_with = "schema::node_table", extend("minItems" = 1))]
    pub masters: NodeTable,
    /// Worker nodes, as `masters`. For a node that is in `masters` too the value may stay empty.
    #[serde(deserialize_with = "super::null_as_default")]
    #[schemars(schema_with = "schema::node_table")]
    pub workers: NodeTable,
    /// Labels that the host of every node must have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_selector: Option<LabelSelector>,
    /// Spreads the nodes over racks, rooms or whatever a label of the hosts names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_domains: Option<FailureDomains>,
    /// What is installed, and how.
    pub kubernetes: KubernetesSpec,
    /// Pod network, in the place where the original BPA operator has it; `kubernetes.podSubnet`
    /// comes first.
    #[schemars(schema_with = "schema::subnet")]
    #[serde(rename = "PodSubnet", skip_serializing_if = "Option::is_none")]
    pub legacy_pod_subnet: Option<String>,
    /// Extra playbooks of the bundle, run after the install.
    #[serde(
        rename = "KUDPlugins",
        deserialize_with = "super::null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(length(max = 64), inner(length(max = 63)), extend("nullable" = true), transform = schema::plugins)]
    pub plugins: Vec<String>,
    /// Name of the bundle (the playbooks) at the site; when absent, the only one there.
    #[schemars(length(max = 63))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bundle: Option<String>,
    /// Has Metal3 install the operating system on hosts that are `available`. When absent, only
    /// hosts with an installed system are taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub os: Option<OsSpec>,
    /// Whether a plan is carried out at once or waits for a person.
    pub approval: Approval,
    /// What happens to the cluster when this object is deleted.
    pub deletion_policy: DeletionPolicy,
    /// Where the kubeconfig of the new cluster is kept.
    pub kubeconfig: KubeconfigPlace,
    /// True: nothing new is started; what runs goes on.
    pub paused: bool,
    /// Why nothing else of this spec is known: it could not be read. Never in a manifest.
    #[serde(skip)]
    #[schemars(skip)]
    pub unreadable: Option<String>,
    /// Fields that we don't know (removed ones of the original among them): ignored with a warning.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: BTreeMap<String, serde_json::Value>,
}

/// What one node requires of its host. Sizes are met by *at least*.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeNeed {
    /// The host with this MAC address, or one of a list of them, on any of its network cards.
    #[serde(rename = "mac-address", skip_serializing_if = "MacList::is_empty")]
    #[schemars(schema_with = "schema::mac_list")]
    pub mac_address: MacList,
    /// At least this many logical CPUs (threads).
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "whole_number")]
    #[schemars(schema_with = "schema::cpus")]
    pub cpu: Option<u32>,
    /// At least this much memory, such as 64Gi.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::quantity")]
    pub memory: Option<Quantity>,
    /// One disk of at least this size, such as 500G.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::quantity")]
    pub disk: Option<Quantity>,
    /// Labels that the host must have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_selector: Option<LabelSelector>,
    /// True: the host has SR-IOV, as its labels say; false: it has not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sriov: Option<bool>,
    /// True: the host has QuickAssist, as its labels say; false: it has not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qat: Option<bool>,
    /// Makes this entry n nodes, `NAME-0` to `NAME-(n-1)`; at most 1000.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "whole_number")]
    #[schemars(schema_with = "schema::count")]
    pub count: Option<u32>,
    /// The node's IP address. It wins over every DHCP lease, for hosts with static addresses.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::address")]
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
    /// Each label with exactly this value.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::labels")]
    pub match_labels: BTreeMap<String, String>,
    /// Further requirements; all must hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub match_expressions: Vec<SelectorRequirement>,
}

/// One `matchExpressions` item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = schema::selector)]
pub struct SelectorRequirement {
    /// The label's name.
    #[schemars(length(max = 317))]
    pub key: String,
    /// How the label's value and `values` are compared.
    pub operator: SelectorOperator,
    /// Values for In and NotIn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(max = 63)))]
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
    /// The label of the hosts that names their domain, such as `topology.example.org/rack`.
    #[schemars(length(max = 317))]
    pub label: String,
    /// Whether an uneven spread is refused or only avoided.
    #[serde(default)]
    pub spread: Spread,
}

/// How binding the spread is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Spread {
    /// An uneven spread is refused.
    Required,
    /// The spread is as even as the hosts allow.
    #[default]
    Preferred,
}

/// `spec.kubernetes`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = schema::networks)]
pub struct KubernetesSpec {
    /// Such as `1.35.4`; a leading `v` is accepted. When absent, the bundle's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16), transform = schema::version)]
    pub version: Option<String>,
    /// Such as `flannel`; when absent, the bundle's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63), transform = schema::network)]
    pub network_plugin: Option<String>,
    /// Network of the pods, such as 10.244.64.0/18.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::subnet")]
    pub pod_subnet: Option<String>,
    /// Network of the services, such as 10.96.0.0/16.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::subnet")]
    pub service_subnet: Option<String>,
    /// Address under which the new cluster's API is reached; when absent, the first master's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
    /// Further variables for the playbooks, any name and value.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::free_map")]
    pub vars: BTreeMap<String, serde_json::Value>,
}

/// Where the new cluster's API is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Endpoint {
    /// Name or IP address.
    #[schemars(length(min = 1, max = 253))]
    pub host: String,
    /// TCP port.
    #[serde(default = "default_api_port")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: u16,
}

fn default_api_port() -> u16 {
    6443
}

/// Asks Metal3 to install the OS on `available` hosts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct OsSpec {
    /// The image as a BareMetalHost has it: `url`, `checksum`, `checksumType`, `format`.
    #[schemars(schema_with = "schema::image")]
    pub image: serde_json::Value,
    /// Secret with cloud-init user data, in the host's namespace.
    #[schemars(length(max = 253))]
    pub user_data_secret: Option<String>,
    /// Secret with network data, in the host's namespace.
    #[schemars(length(max = 253))]
    pub network_data_secret: Option<String>,
}

impl OsSpec {
    /// URL of the image; empty when none is given.
    pub fn image_url(&self) -> &str {
        self.image["url"].as_str().unwrap_or_default().trim()
    }
}

/// Whether a plan waits for a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Approval {
    /// At once.
    #[default]
    Automatic,
    /// When the annotation `bpa.akraino.org/approve` has the hash of the plan.
    Manual,
}

/// What happens to the cluster when the Provisioning is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DeletionPolicy {
    /// It stays as it is.
    #[default]
    Retain,
    /// Kubernetes is removed from its hosts.
    Reset,
}

/// Where the new cluster's kubeconfig is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum KubeconfigPlace {
    /// In a Secret beside this object.
    #[default]
    Secret,
    /// Only at the site.
    Site,
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
