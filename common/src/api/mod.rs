//! Our custom resources (group `bpa.akraino.org/v1alpha1`) and our view of Metal3's.
//!
//! Plain serde values: no kube type, no wire type. Each object is read on its own, so a bad one
//! affects only itself.

mod condition;
mod meta;
pub mod metal3;
mod object;
mod provisioning;
mod provisioning_status;
mod quantity;
mod schema;
mod site;
mod software;

pub use condition::{Condition, ConditionStatus, Conditions};
pub use meta::{ObjectKey, ObjectMeta, OwnerReference};
pub use object::{Object, Resource};
pub use provisioning::{
    Approval, DeletionPolicy, Endpoint, FailureDomains, KubeconfigPlace, KubernetesSpec,
    LabelSelector, MacList, NodeNeed, NodeTable, OsSpec, Provisioning, ProvisioningSpec,
    SelectorOperator, SelectorRequirement, Spread,
};
pub use provisioning_status::{
    CheckStatus, HistoryEntry, LostHost, NodeStatus, PlanStatus, ProvisioningStatus, RunStatus,
    StepStatus,
};
pub use quantity::{ParseQuantityError, Quantity};
pub use site::{BundleStatus, HostResources, LeaseStatus, Site, SiteSpec, SiteStatus};
pub use software::{Cluster, ClusterSpec, Software, SoftwareSpec};

/// API group of our custom resources.
pub const GROUP: &str = "bpa.akraino.org";
/// `apiVersion` of our custom resources.
pub const API_VERSION: &str = "bpa.akraino.org/v1alpha1";
