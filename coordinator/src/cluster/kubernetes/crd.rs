//! The CustomResourceDefinitions of our four kinds, made of the Rust types that read them.

use bpa_common::api::{
    ClusterSpec, ClusterStatus, ProvisioningSpec, ProvisioningStatus, SiteSpec, SiteStatus,
    SoftwareSpec, SoftwareStatus,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};

use super::crd_columns::columns;
use super::crd_schema::{Part, schema};
use crate::cluster::kind::Kind;

/// The CustomResourceDefinitions of Provisioning, Site, Software and Cluster, in that order.
pub fn crds() -> Vec<CustomResourceDefinition> {
    let read = |kind| {
        let value = definition(kind);
        // Made of constants: a test reads every one, and a real API server takes them.
        serde_json::from_value(value).expect("our own definition is one")
    };
    [Kind::Provisioning, Kind::Site, Kind::Software, Kind::Cluster].map(read).into()
}

/// One definition as `deploy/crds` and `bpa-coordinator crds` have it.
///
/// # Errors
/// None that can be seen: every definition has a form in YAML.
pub fn crd_yaml(crd: &CustomResourceDefinition) -> Result<String, serde_saphyr::ser::Error> {
    // Through a JSON value, as the other output of the command is.
    let value = serde_json::to_value(crd).unwrap_or_default();
    serde_saphyr::to_string(&value)
}

fn definition(kind: Kind) -> Value {
    let (group, version) = kind.api_version().split_once('/').unwrap_or_default();
    let (plural, singular) = (kind.aliases()[0], kind.aliases()[1]);
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {
                "kind": kind.name(),
                "listKind": format!("{}List", kind.name()),
                "plural": plural,
                "singular": singular,
                "shortNames": short_names(kind),
                // `kubectl get bpa-all`
                "categories": ["bpa-all"],
            },
            "versions": [{
                "name": version,
                "served": true,
                "storage": true,
                "subresources": {"status": {}},
                "additionalPrinterColumns": columns(kind),
                "schema": {"openAPIV3Schema": object(kind)},
            }],
        },
    })
}

fn short_names(kind: Kind) -> Vec<&'static str> {
    match kind {
        Kind::Provisioning => vec!["bpa"],
        Kind::Software => vec!["sw"],
        // Cluster API has a kind of that name too.
        Kind::Cluster => vec!["bpacluster"],
        Kind::Site => vec!["site"],
        Kind::Host | Kind::Hardware => Vec::new(),
    }
}

/// The schema of a whole object.
fn object(kind: Kind) -> Value {
    let (description, spec, status) = match kind {
        Kind::Provisioning => (
            "The wish for one Kubernetes cluster on hosts of one site. BPA finds a host for each node, has kubespray install it from the site, and tells the whole story in the status.",
            schema::<ProvisioningSpec>(Part::Spec),
            schema::<ProvisioningStatus>(Part::Status),
        ),
        Kind::Site => (
            "A place with one bootstrap host, on which bpa-agent runs. `bpa-coordinator site add NAME` makes the line with which the agent joins.",
            schema::<SiteSpec>(Part::Spec),
            schema::<SiteStatus>(Part::Status),
        ),
        Kind::Software => (
            "Packages on the nodes of a cluster. Read and kept; not carried out yet.",
            schema::<SoftwareSpec>(Part::Spec),
            schema::<SoftwareStatus>(Part::Status),
        ),
        _ => (
            "A Provisioning and Software under one name, with one status for both. Read and kept; not carried out yet: apply a Provisioning.",
            schema::<ClusterSpec>(Part::Spec),
            schema::<ClusterStatus>(Part::Status),
        ),
    };
    let mut object = json!({
        "type": "object",
        "description": description,
        "properties": {"spec": spec, "status": status},
    });
    match kind {
        Kind::Site | Kind::Software => object["properties"]["spec"]["default"] = json!({}),
        // Not `required`: an object that was stored without one must be told so in its status.
        _ => {
            object["x-kubernetes-validations"] = json!([{
                "rule": "oldSelf.hasValue() || has(self.spec)",
                "message": format!("wanted `spec:` with what the {kind} is to be; `kubectl explain {}.spec` shows the fields", kind.aliases()[1]),
                "fieldPath": ".spec",
                "optionalOldSelf": true,
            }]);
        }
    }
    object
}

#[cfg(test)]
#[path = "crd_tests.rs"]
mod tests;
