//! The CustomResourceDefinitions of our four kinds, made from the Rust types.
//!
//! `deploy/crds` holds what comes out here; a test compares them.

use bpa_common::api::{
    ClusterSpec, GROUP, ProvisioningSpec, ProvisioningStatus, SiteSpec, SiteStatus, SoftwareSpec,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_core::schema::{OptionalEnum, OptionalIntOrString, StructuralSchemaRewriter};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use schemars::transform::AddNullable;
use serde_json::{Value, json};

use super::rules;

/// A printer column of `kubectl get`.
struct Column {
    name: &'static str,
    kind: &'static str,
    path: &'static str,
    /// Shown with `-o wide` only.
    wide: bool,
    description: &'static str,
}

const fn column(name: &'static str, path: &'static str, description: &'static str) -> Column {
    Column { name, kind: "string", path, wide: false, description }
}

const AGE: Column = Column {
    name: "Age",
    kind: "date",
    path: ".metadata.creationTimestamp",
    wide: false,
    description: "Time since the object was made",
};

/// All that differs between our kinds.
struct Definition {
    kind: &'static str,
    plural: &'static str,
    singular: &'static str,
    short: &'static [&'static str],
    description: &'static str,
    spec: Value,
    status: Value,
    columns: Vec<Column>,
}

/// The definitions of Provisioning, Site, Software and Cluster, in this order.
pub fn crds() -> Vec<CustomResourceDefinition> {
    [provisioning(), site(), software(), cluster()].into_iter().map(definition).collect()
}

fn provisioning() -> Definition {
    let mut spec = schema_of::<ProvisioningSpec>();
    rules::provisioning(&mut spec);
    let mut status = schema_of::<ProvisioningStatus>();
    conditions(&mut status);
    let wide = |name, path, description| Column { wide: true, ..column(name, path, description) };
    Definition {
        kind: "Provisioning",
        plural: "provisionings",
        singular: "provisioning",
        short: &["bpa"],
        description: "The wish for one Kubernetes cluster on hosts of one site.",
        spec,
        status,
        columns: vec![
            column("Cluster", ".metadata.labels.cluster", "Name of the cluster"),
            column("Site", ".status.site", "Where the hosts are"),
            column("Phase", ".status.phase", "One word for the whole"),
            column("Ready", ".status.readyNodes", "Nodes that are ready, of all"),
            column("Version", ".status.kubernetesVersion", "Kubernetes version that runs"),
            wide("Step", ".status.run.step", "Step of the run in progress"),
            wide(
                "Reason",
                ".status.conditions[?(@.type==\"Ready\")].reason",
                "Why it is ready, or not",
            ),
            wide(
                "Message",
                ".status.conditions[?(@.type==\"Ready\")].message",
                "What is to be done",
            ),
            AGE,
        ],
    }
}

fn site() -> Definition {
    let mut status = schema_of::<SiteStatus>();
    conditions(&mut status);
    let boolean =
        |name, path, description| Column { kind: "boolean", ..column(name, path, description) };
    Definition {
        kind: "Site",
        plural: "sites",
        singular: "site",
        short: &["site"],
        description: "A place with one bootstrap host and its agent.",
        spec: schema_of::<SiteSpec>(),
        status,
        columns: vec![
            boolean("Approved", ".spec.approved", "Whether it may get orders"),
            boolean("Connected", ".status.connected", "Whether its agent is connected"),
            Column {
                kind: "date",
                ..column("Last-Seen", ".status.lastSeen", "Time since its last message")
            },
            Column {
                kind: "integer",
                ..column("Leases", ".status.leases.count", "Leases that its agent sees")
            },
            column("Agent", ".status.agentVersion", "Version of its agent"),
            AGE,
        ],
    }
}

fn software() -> Definition {
    Definition {
        kind: "Software",
        plural: "softwares",
        singular: "software",
        short: &["sw"],
        description: "Packages that the nodes of a cluster must have.",
        spec: schema_of::<SoftwareSpec>(),
        status: json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true }),
        columns: vec![
            column("Cluster", ".metadata.labels.cluster", "The cluster that it is for"),
            AGE,
        ],
    }
}

fn cluster() -> Definition {
    let mut spec = schema_of::<ClusterSpec>();
    // References and embedded specs are read by day-2 work; nothing of them may get lost till then.
    spec["x-kubernetes-preserve-unknown-fields"] = json!(true);
    Definition {
        kind: "Cluster",
        plural: "clusters",
        singular: "cluster",
        short: &[],
        description: "One cluster: its Provisioning and its Software together.",
        spec,
        status: json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true }),
        columns: vec![column("Cluster", ".spec.clusterName", "Name of the cluster"), AGE],
    }
}

fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::openapi3().with(|s| {
        s.inline_subschemas = true;
        s.meta_schema = None;
    });
    let schema = settings
        .with_transform(AddNullable::default())
        .with_transform(StructuralSchemaRewriter)
        .with_transform(OptionalEnum)
        .with_transform(OptionalIntOrString)
        .into_generator()
        .into_root_schema_for::<T>();
    let mut value = schema.to_value();
    tidy(&mut value);
    value
}

/// Drops what an API server does not know: titles, number formats other than its own, and the
/// formats of addresses, which are read by us.
fn tidy(schema: &mut Value) {
    const KNOWN: [&str; 6] = ["int32", "int64", "float", "double", "date-time", "byte"];
    match schema {
        Value::Object(map) => {
            if map.get("title").is_some_and(Value::is_string) {
                map.remove("title");
            }
            let format = map.get("format").and_then(Value::as_str);
            match format {
                Some(format) if KNOWN.contains(&format) => {}
                Some(format) if format.starts_with("uint") => {
                    map.insert("format".into(), "int64".into());
                }
                Some(_) => drop(map.remove("format")),
                None => {}
            }
            map.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}

/// Conditions are a map by their type, so that writers of different ones do not collide.
fn conditions(status: &mut Value) {
    let list = &mut status["properties"]["conditions"];
    list["x-kubernetes-list-type"] = json!("map");
    list["x-kubernetes-list-map-keys"] = json!(["type"]);
}

fn definition(d: Definition) -> CustomResourceDefinition {
    let columns: Vec<Value> = d
        .columns
        .iter()
        .map(|c| {
            let mut column = json!({
                "name": c.name, "type": c.kind, "jsonPath": c.path, "description": c.description,
            });
            if c.wide {
                column["priority"] = json!(1);
            }
            column
        })
        .collect();
    let value = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{}.{GROUP}", d.plural) },
        "spec": {
            "group": GROUP,
            "names": {
                "kind": d.kind,
                "listKind": format!("{}List", d.kind),
                "plural": d.plural,
                "singular": d.singular,
                "shortNames": d.short,
            },
            "scope": "Namespaced",
            "versions": [{
                "name": "v1alpha1",
                "served": true,
                "storage": true,
                "subresources": { "status": {} },
                "additionalPrinterColumns": columns,
                "schema": { "openAPIV3Schema": {
                    "type": "object",
                    "description": d.description,
                    "required": ["spec"],
                    "properties": {
                        "apiVersion": { "type": "string" },
                        "kind": { "type": "string" },
                        "metadata": { "type": "object" },
                        "spec": d.spec,
                        "status": d.status,
                    },
                }},
            }],
        },
    });
    // The value is written here, in the shape of the type.
    #[expect(clippy::expect_used, reason = "the shape is fixed above, and tested")]
    serde_json::from_value(value).expect("a definition has the shape of a definition")
}
