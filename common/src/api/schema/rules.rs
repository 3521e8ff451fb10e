//! Rules and limits of whole objects: what a schema alone can't refuse, in words.

use schemars::Schema;
use serde_json::{Value, json};

use super::{field_rule, new_rule, rule};

const DNS_LABEL: &str = "self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')";

fn property(schema: &mut Schema, name: &str, value: Value) {
    let properties = schema.ensure_object().entry("properties").or_insert(json!({}));
    if let Value::Object(properties) = properties {
        properties.insert(name.to_owned(), value);
    }
}

/// Fields of the original: removed ones are taken and ignored, since kubectl refuses what a schema
/// does not know; those of a first draft, which would silently mean nothing, are refused.
pub fn legacy_fields(schema: &mut Schema) {
    for name in ["hostfile", "kudInstallerPath", "dhcpLeaseFile", "multiClusterDir"] {
        let value = json!({
            "type": "string",
            "nullable": true,
            "maxLength": 4096,
            "description": "Ignored. A path of the original BPA operator; taken so that its CRs are accepted as they are. You may delete it.",
        });
        property(schema, name, value);
    }
    let draft = |instead: &str| format!("Refused. A field of a first draft; write `{instead}`.");
    for (name, list) in [("master", "masters"), ("worker", "workers")] {
        let instead = format!("{list}: [{{{name}-0: {{cpu: 10, memory: 4Gi}}}}]");
        let value = json!({
            "type": "object",
            "nullable": true,
            // Of known shape, so that an object that is stored with it can be told so: an API server
            // lets a broken rule pass only where it sees that nothing has changed.
            "maxProperties": 64,
            "additionalProperties": {"x-kubernetes-int-or-string": true},
            "description": draft(&instead),
        });
        property(schema, name, value);
        let message = format!(
            "spec.{name} is not a field: write a list, `{list}:`, each item `- NAME: {{cpu: 10, memory: 4Gi}}`; several alike with `count: N`"
        );
        field_rule(schema, &format!(".{name}"), &format!("!has(self.{name})"), &message);
    }
    let value = json!({
        "x-kubernetes-int-or-string": true,
        "nullable": true,
        "description": draft("count: N` in an item of masters or workers, `- worker: {count: 2}"),
    });
    property(schema, "replicas", value);
    field_rule(
        schema,
        ".replicas",
        "!has(self.replicas)",
        "spec.replicas is not a field: write `count: N` in an item of masters or workers, `- worker: {count: 2}`",
    );
    // Only when it is made: a rule that looks at a stored `masters` of another type would fail on each
    // write, also of the status that says so.
    new_rule(
        schema,
        ".masters",
        "oldSelf.hasValue() || has(self.masters)",
        "at least one control plane node is needed: write `masters:` as a list, each item `- NAME: {cpu: 8, memory: 16Gi}`",
    );
}

/// Pod and service network must not overlap.
pub fn networks(schema: &mut Schema) {
    rule(
        schema,
        "!has(self.podSubnet) || !has(self.serviceSubnet) || !isCIDR(self.podSubnet) || !isCIDR(self.serviceSubnet) || (!cidr(self.podSubnet).containsCIDR(self.serviceSubnet) && !cidr(self.serviceSubnet).containsCIDR(self.podSubnet))",
        "podSubnet and serviceSubnet overlap; choose two networks apart, such as 10.244.0.0/16 and 10.96.0.0/16",
    );
}

/// A Kubernetes version.
pub fn version(schema: &mut Schema) {
    rule(
        schema,
        "self.matches('^v?[0-9]{1,4}[.][0-9]{1,4}[.][0-9]{1,4}$')",
        "wanted a version such as 1.35.4",
    );
}

/// The name of a network plugin.
pub fn network(schema: &mut Schema) {
    rule(schema, DNS_LABEL, "wanted the name of a network plugin, such as flannel or calico");
}

/// Names of playbooks.
pub fn plugins(schema: &mut Schema) {
    if let Some(items) =
        schema.get_mut("items").and_then(|items| <&mut Schema>::try_from(items).ok())
    {
        rule(
            items,
            DNS_LABEL,
            "wanted the name of a plugin: lower-case letters, digits and dashes, such as emco",
        );
    }
}

/// One requirement of a label selector.
pub fn selector(schema: &mut Schema) {
    rule(
        schema,
        "self.operator in ['In', 'NotIn'] ? has(self.values) && self.values.size() > 0 : !has(self.values) || self.values.size() == 0",
        "operators In and NotIn want `values: [...]`; Exists and DoesNotExist want none",
    );
}

/// A part of a Cluster: a name or a whole spec.
pub fn cluster_part(schema: &mut Schema) {
    rule(
        schema,
        "has(self.name) != has(self.spec)",
        "wanted either `name:` of an object in this namespace, or `spec:` with what that object would have",
    );
}

/// The name of a cluster.
pub fn cluster_name(schema: &mut Schema) {
    rule(
        schema,
        DNS_LABEL,
        "wanted a cluster name: 1 to 63 lower-case letters, digits and dashes, such as edge-a",
    );
}

/// A Cluster has something to sum up.
pub fn cluster_spec(schema: &mut Schema) {
    new_rule(
        schema,
        ".provisioning",
        "oldSelf.hasValue() || has(self.provisioning) || has(self.software)",
        "wanted `provisioning:`, `software:` or both, each `{name: OBJECT}` or `{spec: {...}}`",
    );
}
