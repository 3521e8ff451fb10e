//! What the derived schemas can't say by themselves: values of two types, limits, fields of the
//! original, and rules in CEL whose messages say what to write.
//!
//! The result is a JSON schema; the coordinator makes a Kubernetes schema of it. The API server
//! estimates the cost of a rule from the largest object that the limits allow, and takes none that
//! could be dear: a rule below a list of nodes must not read a text of unbounded length.

mod rules;
mod values;

pub use rules::{
    cluster_name, cluster_part, cluster_spec, legacy_fields, network, networks, plugins, selector,
    version,
};
pub use values::{
    address, count, cpus, free_map, image, labels, mac_list, node_table, packages, quantity, subnet,
};

use schemars::Schema;
use serde_json::{Value, json};

/// Most items of `masters` or `workers`; more nodes than one kubespray run handles.
pub const MOST_NODES: usize = 1000;

/// Adds a rule in CEL; `message` is what a person reads when it does not hold.
fn rule(schema: &mut Schema, rule: &str, message: &str) {
    push_rule(schema, json!({"rule": rule, "message": message}));
}

/// A rule about one field of the object.
fn field_rule(schema: &mut Schema, field: &str, rule: &str, message: &str) {
    push_rule(schema, json!({"rule": rule, "message": message, "fieldPath": field}));
}

/// A rule that may ask whether there was an object before, as `oldSelf.hasValue()`.
fn new_rule(schema: &mut Schema, field: &str, rule: &str, message: &str) {
    push_rule(
        schema,
        json!({"rule": rule, "message": message, "fieldPath": field, "optionalOldSelf": true}),
    );
}

fn push_rule(schema: &mut Schema, rule: Value) {
    let rules = schema.ensure_object().entry("x-kubernetes-validations").or_insert(json!([]));
    if let Value::Array(rules) = rules {
        rules.push(rule);
    }
}
