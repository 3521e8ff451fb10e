//! Objects of others that point at hosts: CAPM3's machines, and claims of hosts. Never written. Pure.

use bpa_common::api::ObjectKey;
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::Value;

use super::raw::Raw;
use crate::cluster::HostUse;

/// A kind of object that may point at a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UseKind {
    Machine,
    Claim,
}

/// Where CAPM3 keeps `namespace/name` of a machine's host.
const HOST_OF_MACHINE: &str = "metal3.io/BareMetalHost";

impl UseKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Machine => "Metal3Machine",
            Self::Claim => "HostClaim",
        }
    }

    /// Its group.
    pub fn group(self) -> &'static str {
        match self {
            Self::Machine => "infrastructure.cluster.x-k8s.io",
            Self::Claim => "metal3.io",
        }
    }

    /// What it is called in the API; newer API servers serve the first version, older ones another.
    pub fn resources(self) -> Vec<ApiResource> {
        let (versions, plural): (&[&str], _) = match self {
            Self::Machine => (&["v1beta2", "v1beta1"], "metal3machines"),
            Self::Claim => (&["v1alpha1"], "hostclaims"),
        };
        let resource = |version: &&str| {
            let gvk = GroupVersionKind::gvk(self.group(), version, self.name());
            ApiResource::from_gvk_with_plural(&gvk, plural)
        };
        versions.iter().map(resource).collect()
    }

    /// The host that this object points at, if it does.
    pub fn host_of(self, raw: Raw) -> Option<HostUse> {
        let by = raw.key();
        let value = raw.into_value();
        let host = match self {
            Self::Machine => {
                let text = value["metadata"]["annotations"][HOST_OF_MACHINE].as_str()?;
                let (namespace, name) = text.split_once('/')?;
                ObjectKey::new(namespace, name)
            }
            Self::Claim => {
                let host = &value["status"]["bareMetalHost"];
                let part = |name: &str| host.get(name).and_then(Value::as_str);
                ObjectKey::new(part("namespace").unwrap_or(&by.namespace), part("name")?)
            }
        };
        let named = !host.name.is_empty() && !host.namespace.is_empty();
        named.then_some(HostUse { host, kind: self.name(), by })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn host_of(kind: UseKind, object: Value) -> Option<String> {
        let found = kind.host_of(serde_json::from_value(object).unwrap())?;
        Some(format!("{} {} -> {}", found.kind, found.by, found.host))
    }

    #[test]
    fn a_machine_names_its_host_in_an_annotation() {
        let machine = |host: Value| {
            let annotations = json!({HOST_OF_MACHINE: host});
            json!({"metadata": {"name": "m", "namespace": "n", "annotations": annotations}})
        };
        let found = host_of(UseKind::Machine, machine(json!("metal3/h1")));
        assert_eq!(found.as_deref(), Some("Metal3Machine n/m -> metal3/h1"));
        for odd in ["", "h1", "/", "metal3/", "/h1"] {
            assert_eq!(host_of(UseKind::Machine, machine(json!(odd))), None, "{odd}");
        }
        assert_eq!(host_of(UseKind::Machine, json!({"metadata": {"name": "m"}})), None);
    }

    #[test]
    fn a_claim_names_its_host_in_its_status() {
        let claim =
            |status: Value| json!({"metadata": {"name": "c", "namespace": "n"}, "status": status});
        let found = host_of(
            UseKind::Claim,
            claim(json!({"bareMetalHost": {"name": "h1", "namespace": "m"}})),
        );
        assert_eq!(found.as_deref(), Some("HostClaim n/c -> m/h1"));
        for odd in [
            json!({}),
            json!(null),
            json!({"bareMetalHost": 7}),
            json!({"bareMetalHost": {"name": 7}}),
        ] {
            assert_eq!(host_of(UseKind::Claim, claim(odd.clone())), None, "{odd}");
        }
    }
}
