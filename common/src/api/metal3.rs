//! Our view of Metal3's `BareMetalHost` and `HardwareData` (group `metal3.io/v1alpha1`).
//!
//! Only the fields that a consumer needs, every one optional, unknown ones ignored: Metal3 adds
//! fields with each release. Meanings: Metal3's API reference, BareMetalHost.

use serde::{Deserialize, Serialize};

pub use super::hardware::{
    Cpu, Disk, Hardware, HardwareDataSpec, Inspected, InspectedNic, Nic, SystemVendor, readable_mac,
};
use super::object::{Object, resource};

/// `apiVersion` of Metal3's host objects.
pub const METAL3_API_VERSION: &str = "metal3.io/v1alpha1";

resource!(
    /// Marker of the kind `BareMetalHost`.
    BareMetalHostKind, METAL3_API_VERSION, "BareMetalHost", "baremetalhosts"
);
resource!(
    /// Marker of the kind `HardwareData`.
    HardwareDataKind, METAL3_API_VERSION, "HardwareData", "hardwaredata"
);

/// A `BareMetalHost` object.
pub type BareMetalHost = Object<BareMetalHostKind, BareMetalHostSpec, BareMetalHostStatus>;
/// A `HardwareData` object of the same name and namespace as its host.
pub type HardwareData = Object<HardwareDataKind, HardwareDataSpec, serde_json::Value>;

/// The part of `spec` that we read. We write `consumerRef`, and on hosts that Metal3 installs for us
/// `image`, `userData`, `networkData` and `online`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BareMetalHostSpec {
    pub online: bool,
    #[serde(rename = "bootMACAddress", skip_serializing_if = "String::is_empty")]
    pub boot_mac_address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bmc: Option<Bmc>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consumer_ref: Option<ConsumerRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<Image>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub custom_deploy: Option<serde_json::Value>,
    pub externally_provisioned: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub architecture: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_data: Option<SecretReference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_data: Option<SecretReference>,
}

/// `spec.bmc`, without its credentials.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bmc {
    pub address: String,
}

/// `spec.userData`, `spec.networkData`: a Secret by name (core `SecretReference`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SecretReference {
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
}

/// `spec.image`, as far as it says which installation is on the disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Image {
    pub url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
}

/// `spec.consumerRef`: the only mark that a host is in use (core `ObjectReference`).
///
/// Two are equal when they name the same object: the version of its API is none of its names, and
/// may be another one after an upgrade.
#[derive(Clone, Debug, Default, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConsumerRef {
    pub api_version: String,
    pub kind: String,
    pub namespace: String,
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
}

impl ConsumerRef {
    /// All that names the object.
    fn names(&self) -> [&str; 5] {
        let group = self.api_version.rsplit_once('/').map_or("", |(group, _)| group);
        [group, &self.kind, &self.namespace, &self.name, &self.uid]
    }
}

impl PartialEq for ConsumerRef {
    fn eq(&self, other: &Self) -> bool {
        self.names() == other.names()
    }
}

/// `status` as far as it says whether the host can be used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BareMetalHostStatus {
    pub operational_status: String,
    pub error_type: String,
    pub error_message: String,
    /// Tries that failed in a row; Metal3 waits longer after each.
    pub error_count: i64,
    /// Installs of the current image that failed in a row (from Metal3 0.14 on).
    pub provisioning_fail_count: i64,
    pub powered_on: bool,
    pub provisioning: ProvisioningState,
    /// Deprecated place of the hardware; HardwareData comes first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hardware: Option<Hardware>,
}

/// `status.provisioning`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProvisioningState {
    /// `provisioned`, `externally provisioned`, `available`, …; unknown values are not usable.
    pub state: String,
    #[serde(rename = "ID", skip_serializing_if = "String::is_empty")]
    pub id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<Image>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bug 15 (BMO issue 3524): a mark of an older version was taken for somebody else's.
    #[test]
    fn bug_15_a_mark_is_the_same_in_every_version_of_the_api_and_differs_in_anything_else() {
        let ours = ConsumerRef {
            api_version: "bpa.akraino.org/v1alpha1".into(),
            kind: "Provisioning".into(),
            namespace: "ns".into(),
            name: "edge".into(),
            uid: "u".into(),
        };
        let with = |change: fn(&mut ConsumerRef)| {
            let mut other = ours.clone();
            change(&mut other);
            other == ours
        };
        assert!(with(|r| r.api_version = "bpa.akraino.org/v1".into()));
        assert!(!with(|r| r.api_version = "metal3.io/v1alpha1".into()));
        assert!(!with(|r| r.api_version = "v1alpha1".into()), "the core group");
        assert!(!with(|r| r.api_version.clear()), "as CAPM3 may leave it (its issue 3516)");
        assert!(!with(|r| r.kind = "Metal3Machine".into()));
        assert!(!with(|r| r.namespace = "other".into()));
        assert!(!with(|r| r.name = "edge-2".into()));
        assert!(!with(|r| r.uid = "another of this name".into()));
    }
}
