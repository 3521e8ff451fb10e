//! Asks ansible what it understood, before anything is done with it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::process::Command;

use super::InventoryNode;

/// It takes about a second; a machine under load takes longer.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs `ansible-inventory --list` and compares its answer with what was meant.
///
/// # Errors
/// What ansible said, or what differs.
pub async fn read_back(
    program: &Path,
    hosts_ini: &Path,
    environment: &BTreeMap<String, String>,
    nodes: &[InventoryNode],
) -> Result<(), String> {
    let mut command = Command::new(program);
    command
        .arg("-i")
        .arg(hosts_ini)
        .arg("--list")
        .env_clear()
        .envs(environment)
        .current_dir(hosts_ini.parent().unwrap_or(Path::new("/")))
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = tokio::time::timeout(LIMIT, command.output())
        .await
        .map_err(|_| format!("{} did not end within {} s", program.display(), LIMIT.as_secs()))?
        .map_err(|e| format!("can't run {}: {e}", program.display()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let line = said.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or("it said nothing");
        return Err(format!("{} failed ({}): {line}", program.display(), output.status));
    }
    let list: Value = serde_json::from_slice(&output.stdout)
        .map_err(|e| format!("{} wrote no JSON: {e}", program.display()))?;
    compare(&list, nodes)
}

/// Hosts, groups, order and addresses, as ansible has them against what was meant.
///
/// # Errors
/// The first difference, with what was wanted and found.
pub fn compare(list: &Value, nodes: &[InventoryNode]) -> Result<(), String> {
    let hostvars = list.pointer("/_meta/hostvars").and_then(Value::as_object);
    let hostvars = hostvars.ok_or("there are no hosts in it")?;
    let mut found: Vec<&str> = hostvars.keys().map(String::as_str).collect();
    let mut wanted: Vec<&str> = nodes.iter().map(|n| n.name.as_str()).collect();
    found.sort_unstable();
    wanted.sort_unstable();
    if found != wanted {
        return Err(format!("hosts: wanted {wanted:?}, found {found:?}"));
    }
    for node in nodes {
        let address = node.address.to_string();
        for name in ["ansible_host", "ip"] {
            let found = hostvars[&node.name].get(name).and_then(Value::as_str).unwrap_or("nothing");
            if found != address {
                return Err(format!("{}: {name}: wanted {address}, found {found}", node.name));
            }
        }
    }
    group(list, "kube_control_plane", nodes, |n| n.control_plane)?;
    group(list, "etcd", nodes, |n| n.etcd)?;
    group(list, "kube_node", nodes, |n| n.worker)?;
    let children = strings(list.pointer("/k8s_cluster/children"));
    // A group that has no hosts is left out.
    let full = ["kube_control_plane", "kube_node"].into_iter().filter(|g| list.get(g).is_some());
    if !full.clone().all(|g| children.contains(&g)) {
        return Err(format!(
            "k8s_cluster: wanted {:?}, found {children:?}",
            full.collect::<Vec<_>>()
        ));
    }
    Ok(())
}

fn group(
    list: &Value,
    name: &str,
    nodes: &[InventoryNode],
    member: impl Fn(&InventoryNode) -> bool,
) -> Result<(), String> {
    let wanted: Vec<&str> = nodes.iter().filter(|n| member(n)).map(|n| n.name.as_str()).collect();
    let found = strings(list.get(name).and_then(|group| group.get("hosts")));
    if wanted == found {
        return Ok(());
    }
    Err(format!("group {name}: wanted {wanted:?} in this order, found {found:?}"))
}

fn strings(value: Option<&Value>) -> Vec<&str> {
    value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::hosts::tests::node;
    use super::*;

    fn list() -> Value {
        json!({
            "_meta": {"hostvars": {
                "cp1": {"ansible_host": "10.77.0.50", "ip": "10.77.0.50"},
                "w1": {"ansible_host": "10.77.0.51", "ip": "10.77.0.51"},
                "w2": {"ansible_host": "10.77.0.52", "ip": "10.77.0.52"},
            }},
            "kube_control_plane": {"hosts": ["cp1"]},
            "etcd": {"hosts": ["cp1"]},
            "kube_node": {"hosts": ["w1", "w2"]},
            "k8s_cluster": {"children": ["kube_control_plane", "kube_node"]},
        })
    }

    fn nodes() -> Vec<InventoryNode> {
        vec![node("cp1", 50, true), node("w1", 51, false), node("w2", 52, false)]
    }

    #[test]
    fn what_was_meant_passes() {
        compare(&list(), &nodes()).unwrap();
    }

    #[test]
    fn each_difference_is_named() {
        let differs = |change: &dyn Fn(&mut Value)| {
            let mut list = list();
            change(&mut list);
            compare(&list, &nodes()).unwrap_err()
        };
        let lost = differs(&|l| {
            l["_meta"]["hostvars"].as_object_mut().unwrap().remove("w2");
        });
        assert!(lost.contains("w2"), "{lost}");
        let order = differs(&|l| l["kube_node"]["hosts"] = json!(["w2", "w1"]));
        assert!(order.contains("in this order"), "{order}");
        let address = differs(&|l| l["_meta"]["hostvars"]["w1"]["ip"] = json!("10.0.0.1"));
        assert!(address.contains("w1: ip"), "{address}");
        let children = differs(&|l| l["k8s_cluster"]["children"] = json!(["kube_node"]));
        assert!(children.contains("k8s_cluster"), "{children}");
        assert!(compare(&json!({}), &nodes()).unwrap_err().contains("no hosts"));
    }
}
