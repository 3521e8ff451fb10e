//! How the API server calls our kinds.

use bpa_common::api::Resource as _;
use bpa_common::api::metal3::{BareMetalHostKind, HardwareDataKind};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};

use super::raw::Raw;
use crate::cluster::kind::Kind;

/// Group, version, kind and plural of a kind.
pub fn api_resource(kind: Kind) -> ApiResource {
    let version = kind.api_version().rsplit('/').next().unwrap_or_default();
    let gvk = GroupVersionKind::gvk(kind.group(), version, kind.name());
    ApiResource::from_gvk_with_plural(&gvk, plural(kind))
}

/// The name in paths and in RBAC rules.
pub fn plural(kind: Kind) -> &'static str {
    match kind {
        Kind::Host => BareMetalHostKind::PLURAL,
        Kind::Hardware => HardwareDataKind::PLURAL,
        Kind::Site => "sites",
        Kind::Provisioning => "provisionings",
        Kind::Software => "softwares",
        Kind::Cluster => "clusters",
    }
}

/// All objects of a resource, of one namespace or of all.
pub fn all(client: &Client, resource: &ApiResource, namespace: Option<&str>) -> Api<Raw> {
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, resource),
        None => Api::all_with(client.clone(), resource),
    }
}

/// All objects of a kind, of one namespace or of all.
pub fn objects(client: &Client, kind: Kind, namespace: Option<&str>) -> Api<Raw> {
    all(client, &api_resource(kind), namespace)
}

/// The objects of a kind beside this one.
pub fn beside(client: &Client, kind: Kind, namespace: &str) -> Api<Raw> {
    objects(client, kind, Some(namespace))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_the_names_of_their_definitions() {
        let host = api_resource(Kind::Host);
        assert_eq!((host.group.as_str(), host.version.as_str()), ("metal3.io", "v1alpha1"));
        assert_eq!((host.kind.as_str(), host.plural.as_str()), ("BareMetalHost", "baremetalhosts"));
        let p = api_resource(Kind::Provisioning);
        assert_eq!(p.api_version, "bpa.akraino.org/v1alpha1");
        assert_eq!(p.plural, "provisionings");
        assert_eq!(plural(Kind::Hardware), "hardwaredata");
    }
}
