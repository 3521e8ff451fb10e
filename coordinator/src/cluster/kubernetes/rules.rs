//! What a schema by itself can't say about a Provisioning: limits, and rules that tell what to
//! write instead. What they let through is checked again, in full, by `matching::accept`.

use serde_json::{Value, json};

/// As many nodes as `matching::accept` takes.
const MOST_NODES: u32 = 1000;

/// Fields that the original had once; they are taken and ignored with a warning.
const REMOVED: [&str; 4] = ["hostfile", "kudInstallerPath", "dhcpLeaseFile", "multiClusterDir"];

const NETWORK: &str = "self.matches('^ *[0-9a-fA-F:.]+/[0-9]{1,3} *$')";

/// Adds limits and rules to the schema of `spec`.
pub fn provisioning(spec: &mut Value) {
    let fields = &mut spec["properties"];
    for field in REMOVED {
        fields[field] = json!({
            "type": "string",
            "nullable": true,
            "maxLength": 4096,
            "description": "Was removed long ago and is ignored.",
        });
    }
    for field in ["masters", "workers"] {
        node_table(&mut fields[field]);
    }
    for (field, length) in [("site", 253), ("bundle", 253)] {
        fields[field]["maxLength"] = json!(length);
    }
    plugins(&mut fields["KUDPlugins"]);
    network(&mut fields["PodSubnet"], "PodSubnet");
    let kubernetes = &mut fields["kubernetes"]["properties"];
    network(&mut kubernetes["podSubnet"], "podSubnet");
    network(&mut kubernetes["serviceSubnet"], "serviceSubnet");
    kubernetes["version"]["maxLength"] = json!(32);
    rule(
        &mut kubernetes["version"],
        "self.matches('^v?[0-9]+[.][0-9]+[.][0-9]+$')",
        "wanted a Kubernetes version such as 1.35.4",
    );
    kubernetes["networkPlugin"]["maxLength"] = json!(63);
    let port = &mut kubernetes["endpoint"]["properties"]["port"];
    port["minimum"] = json!(1);
    port["maximum"] = json!(65535);
    let domains = &mut fields["failureDomains"]["properties"]["label"];
    domains["minLength"] = json!(1);
    domains["maxLength"] = json!(317);
    selector(&mut fields["hostSelector"]);
    rule(
        spec,
        "has(self.masters) && size(self.masters) > 0",
        "spec.masters is empty: at least one control plane node is needed; write `masters:` and `workers:` as lists, each item `- NAME: {cpu: 10, memory: 4Gi}` or `- NAME: {mac-address: \"52:54:00:aa:01:02\"}`",
    );
}

fn rule(schema: &mut Value, rule: &str, message: &str) {
    let rules = &mut schema["x-kubernetes-validations"];
    if rules.is_null() {
        *rules = json!([]);
    }
    if let Some(rules) = rules.as_array_mut() {
        rules.push(json!({ "rule": rule, "message": message }));
    }
}

/// A list of one-key maps, node name to need.
fn node_table(table: &mut Value) {
    table["maxItems"] = json!(MOST_NODES);
    table["nullable"] = json!(true);
    let item = &mut table["items"];
    // None is let through: `kubectl apply` sends `- NAME:` with no value as an empty map.
    item["maxProperties"] = json!(1);
    let need = &mut item["additionalProperties"];
    need["nullable"] = json!(true);
    selector(&mut need["properties"]["hostSelector"]);
    need["properties"]["address"]["maxLength"] = json!(64);
}

fn selector(selector: &mut Value) {
    let labels = &mut selector["properties"]["matchLabels"];
    labels["maxProperties"] = json!(100);
    let expressions = &mut selector["properties"]["matchExpressions"];
    expressions["maxItems"] = json!(100);
    expressions["items"]["properties"]["values"]["maxItems"] = json!(1000);
}

fn plugins(plugins: &mut Value) {
    plugins["maxItems"] = json!(100);
    plugins["nullable"] = json!(true);
    plugins["items"]["maxLength"] = json!(63);
    rule(
        &mut plugins["items"],
        "self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
        "wanted the name of a playbook of the bundle: lower-case letters, digits and dashes",
    );
}

fn network(field: &mut Value, name: &str) {
    field["maxLength"] = json!(64);
    rule(field, NETWORK, &format!("{name}: wanted a network such as 10.244.64.0/18"));
}
