//! Whether an order makes sense here: names, values, counts, the bundle.
//!
//! An inventory value is a template that runs on this machine, so nothing that looks like one is
//! taken from outside: strings with `{{`, `{%` or `{#` are refused, wherever they are. Neither are
//! variables that decide how hosts are reached, or where secrets are written.

use std::collections::BTreeSet;

use bpa_common::wire::v1::{BundleReport, ClusterPlan, Order, OrderKind};
use serde_json::Value;

use super::names;

/// What is wrong with an order, and what would mend it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    pub message: String,
    pub fix: String,
}

fn wrong<T>(message: impl Into<String>, fix: impl Into<String>) -> Result<T, Invalid> {
    Err(Invalid { message: message.into(), fix: fix.into() })
}

/// Variables that the agent sets itself.
const OURS: [&str; 6] = [
    "artifacts_dir",
    "credentials_dir",
    "kubeconfig_localhost",
    "reset_confirmation",
    "skip_confirmation",
    "ignore_assert_errors",
];

/// The most that the variables of an order may take, bytes.
const MAX_VARS: usize = 256 * 1024;

pub(super) fn check(order: &Order, bundles: &[BundleReport]) -> Result<(), Invalid> {
    nodes(order)?;
    let bundle = bundle(&order.cluster, bundles)?;
    cluster(&order.cluster, bundle, order.kind)?;
    vars(&order.cluster.vars_json)
}

fn nodes(order: &Order) -> Result<(), Invalid> {
    let mut seen = BTreeSet::new();
    for node in &order.nodes {
        if let Some(why) = names::why_not_a_node(&node.name) {
            let fix = "rename the node in the Provisioning";
            return wrong(format!("the node name `{}` {why}", node.name.escape_debug()), fix);
        }
        if !(node.control_plane || node.worker || node.etcd) {
            return wrong(format!("the node `{}` has no role", node.name), "give it a role");
        }
        let marks = [
            format!("name {}", node.name),
            format!("host {}/{}", node.host.namespace, node.host.name),
            format!("MAC {}", node.mac),
            node.address.map_or_else(|| format!("node {}", node.name), |a| format!("address {a}")),
        ];
        if let Some(twice) = marks.into_iter().find(|mark| !seen.insert(mark.clone())) {
            return wrong(format!("two nodes have the {twice}"), "give each node its own");
        }
    }
    if !order.nodes.iter().any(|n| n.control_plane) {
        return wrong("no node is a control plane", "name one under `masters`");
    }
    let etcd = order.nodes.iter().filter(|n| n.etcd).count();
    if order.kind == OrderKind::Install && etcd % 2 == 0 {
        let fix = format!("use {} or {} of them", etcd.saturating_sub(1).max(1), etcd + 1);
        return wrong(format!("{etcd} nodes hold etcd; it must be an odd number"), fix);
    }
    Ok(())
}

fn bundle<'a>(
    cluster: &ClusterPlan,
    bundles: &'a [BundleReport],
) -> Result<&'a BundleReport, Invalid> {
    let here = || bundles.iter().map(|b| b.name.as_str()).collect::<Vec<_>>().join(", ");
    let found = match (&cluster.bundle, bundles) {
        (_, []) => return wrong("this site has no bundle", "add a [[bundle]] to its agent.toml"),
        (None, [only]) => only,
        (None, _) => {
            return wrong(
                "the site has several bundles and the order names none",
                format!("name one of {} as `spec.bundle`", here()),
            );
        }
        (Some(name), _) => match bundles.iter().find(|b| b.name == *name) {
            Some(bundle) => bundle,
            None => {
                let message = format!("the site has no bundle `{}`", name.escape_debug());
                return wrong(message, format!("it has: {}", here()));
            }
        },
    };
    match found.problems.first() {
        None => Ok(found),
        Some(problem) => wrong(
            format!("the bundle `{}` is not complete: {problem}", found.name),
            "mend it at the site; `bpa-agent doctor` checks it",
        ),
    }
}

fn cluster(plan: &ClusterPlan, bundle: &BundleReport, kind: OrderKind) -> Result<(), Invalid> {
    if !names::is_domain(&plan.name) {
        let message = format!("the cluster name `{}` is no DNS name", plan.name.escape_debug());
        return wrong(message, "use lower-case letters, digits, `-` and `.`");
    }
    if let Some(version) = &plan.kubernetes_version {
        let there = &bundle.kubernetes_versions;
        let known = there.is_empty() || there.contains(version) || kind == OrderKind::Reset;
        if !names::is_version(version) || !known {
            let message = format!("Kubernetes `{}` can't be installed", version.escape_debug());
            return wrong(
                message,
                format!("the bundle `{}` has {}", bundle.name, there.join(", ")),
            );
        }
    }
    for plugin in plan.network_plugin.iter().chain(&plan.plugins) {
        if !names::is_word(plugin) {
            let message = format!("`{}` is no plug-in name", plugin.escape_debug());
            return wrong(message, "use letters, digits, `-` and `_`");
        }
    }
    for subnet in plan.pod_subnet.iter().chain(&plan.service_subnet) {
        if subnet.parse::<ipnet::IpNet>().is_err() {
            let message = format!("`{}` is no subnet", subnet.escape_debug());
            return wrong(message, "write it like 10.244.0.0/16");
        }
    }
    if let Some((host, port)) = &plan.endpoint {
        let v6 = host.bytes().all(|b| b.is_ascii_hexdigit() || b == b':') && host.contains(':');
        if *port == 0 || !(names::is_domain(host) || v6) {
            let message = format!("the endpoint `{}:{port}` is no address", host.escape_debug());
            return wrong(message, "give a DNS name or an address, and a port");
        }
    }
    Ok(())
}

fn vars(json: &str) -> Result<(), Invalid> {
    if json.trim().is_empty() {
        return Ok(());
    }
    if json.len() > MAX_VARS {
        return wrong(format!("the variables take {} bytes", json.len()), "256 KiB are allowed");
    }
    let Ok(Value::Object(map)) = serde_json::from_str(json) else {
        return wrong("the variables are no JSON object", "write `vars` as a map");
    };
    for (name, value) in &map {
        if !names::is_variable(name) {
            let message = format!("`{}` is no variable name", name.escape_debug());
            return wrong(message, "use letters, digits and `_`");
        }
        if OURS.contains(&name.as_str()) || name.starts_with("ansible_") {
            let message = format!("the variable `{name}` is set by the agent");
            return wrong(message, "remove it from `vars`");
        }
        if has_template(value) {
            let message = format!("the variable `{name}` holds a template");
            return wrong(message, "write the value itself: `{{`, `{%` and `{#` are refused");
        }
    }
    Ok(())
}

fn has_template(value: &Value) -> bool {
    match value {
        Value::String(text) => is_template(text),
        Value::Array(list) => list.iter().any(has_template),
        Value::Object(map) => map.iter().any(|(key, v)| is_template(key) || has_template(v)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// True when ansible would run this text as a template.
pub fn is_template(text: &str) -> bool {
    ["{{", "{%", "{#"].iter().any(|mark| text.contains(mark))
}

#[cfg(test)]
mod tests {
    use super::super::admit::tests::{bundles, order};
    use super::*;

    fn refused(change: impl FnOnce(&mut Order)) -> String {
        let mut order = order(1, "u", 1, 1);
        change(&mut order);
        let wrong = check(&order, &bundles()).unwrap_err();
        format!("{} | {}", wrong.message, wrong.fix)
    }

    #[test]
    fn a_sound_order_passes() {
        let mut order = order(1, "u", 1, 1);
        order.cluster.kubernetes_version = Some("1.35.4".into());
        order.cluster.pod_subnet = Some("10.244.0.0/16".into());
        order.cluster.endpoint = Some(("fd00::1".into(), 6443));
        order.cluster.vars_json =
            r#"{"kube_proxy_mode":"iptables","n":{"a":[1,true,null]}}"#.into();
        check(&order, &bundles()).unwrap();
    }

    #[test]
    fn each_wrong_value_is_named() {
        assert!(refused(|o| o.nodes[0].name = "Node-A".into()).contains("Node-A"));
        assert!(
            refused(|o| o.nodes[1].name = "cp1".into()).contains("two nodes have the name cp1")
        );
        assert!(refused(|o| o.nodes[1].mac = o.nodes[0].mac).contains("MAC"));
        assert!(refused(|o| o.nodes[1].etcd = true).contains("odd"));
        assert!(refused(|o| o.nodes[0].control_plane = false).contains("control plane"));
        assert!(
            refused(|o| o.cluster.kubernetes_version = Some("1.99.0".into())).contains("1.35.4")
        );
        assert!(refused(|o| o.cluster.bundle = Some("other".into())).contains("kubeadm"));
        assert!(refused(|o| o.cluster.network_plugin = Some("a;b".into())).contains("plug-in"));
        assert!(refused(|o| o.cluster.pod_subnet = Some("10.0".into())).contains("subnet"));
        assert!(refused(|o| o.cluster.endpoint = Some(("a b".into(), 1))).contains("endpoint"));
        assert!(refused(|o| o.cluster.name = "Über".into()).contains("cluster name"));
        assert!(refused(|o| o.nodes.clear()).contains("control plane"));
    }

    #[test]
    fn what_would_run_on_this_machine_is_refused() {
        for vars in [
            r#"{"a":"{{ lookup('pipe','id') }}"}"#,
            r#"{"a":["x",{"b":"{% if %}"}]}"#,
            r#"{"a":"\u007b\u007b 1 }}"}"#,
            r#"{"a":{"{{k}}":1}}"#,
        ] {
            assert!(refused(|o| o.cluster.vars_json = vars.into()).contains("template"), "{vars}");
        }
        for vars in [r#"{"ansible_connection":"local"}"#, r#"{"artifacts_dir":"/etc"}"#] {
            assert!(refused(|o| o.cluster.vars_json = vars.into()).contains("agent"), "{vars}");
        }
        assert!(refused(|o| o.cluster.vars_json = "[1]".into()).contains("object"));
        assert!(refused(|o| o.cluster.vars_json = r#"{"a-b":1}"#.into()).contains("a-b"));
    }

    #[test]
    fn a_bundle_that_is_not_complete_is_not_used() {
        let mut bundles = bundles();
        bundles[0].problems.push("cluster.yml is missing".into());
        let wrong = check(&order(1, "u", 1, 1), &bundles).unwrap_err();
        assert!(wrong.message.contains("cluster.yml"));
        assert!(check(&order(1, "u", 1, 1), &[]).unwrap_err().message.contains("no bundle"));
    }
}
