//! Our custom resources (group `bpa.akraino.org/v1alpha1`) and our view of Metal3's.
//!
//! Plain serde values: no kube type, no wire type. Each object is read on its own, so a bad one
//! affects only itself.

mod cluster;
mod condition;
mod hardware;
mod meta;
pub mod metal3;
mod neighbours;
mod object;
mod os_mark;
mod provisioning;
mod provisioning_status;
mod quantity;
pub mod schema;
mod site;
mod software;

pub use cluster::{Cluster, ClusterSpec, ClusterStatus, ProvisioningPart, SoftwarePart};
pub use condition::{Condition, ConditionStatus, Conditions};
pub use meta::{ObjectKey, ObjectMeta, OwnerReference};
pub use neighbours::{HostChooser, HostSelector, HostSelectorTerm, HostUse, NeighbourKind};
pub use object::{Object, Resource};
pub use os_mark::{OS_MARK, OsMark};
pub use provisioning::{
    Approval, DeletionPolicy, Endpoint, FailureDomains, KubeconfigPlace, KubernetesSpec,
    LabelSelector, MacList, NodeNeed, NodeTable, OsSpec, Provisioning, ProvisioningSpec,
    SelectorOperator, SelectorRequirement, Spread,
};
pub use provisioning_status::{
    CheckStatus, FailedHost, HistoryEntry, LostHost, NodeStatus, PlanBefore, PlanStatus,
    ProvisioningStatus, RunStatus, StepStatus,
};
pub use quantity::{ParseQuantityError, Quantity};
pub use site::{BundleStatus, HostResources, LeaseStatus, Site, SiteSpec, SiteStatus};
pub use software::{PackageStatus, Software, SoftwareSpec, SoftwareStatus};

/// API group of our custom resources.
pub const GROUP: &str = "bpa.akraino.org";
/// `apiVersion` of our custom resources.
pub const API_VERSION: &str = "bpa.akraino.org/v1alpha1";

/// Nothing is the same as null, as the API server has it.
fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: serde::Deserialize<'de> + Default,
{
    Ok(<Option<T> as serde::Deserialize>::deserialize(deserializer)?.unwrap_or_default())
}
