//! What names may look like: they end up in inventories, certificates and host names.

/// Names that mean something else in an inventory.
const RESERVED: [&str; 12] = [
    "all",
    "ungrouped",
    "localhost",
    "etcd",
    "kube-master",
    "kube-node",
    "kube-control-plane",
    "k8s-cluster",
    "calico-rr",
    "bastion",
    "no",
    "yes",
];

/// A name as it can be shown in a message: on one line, and not longer than that.
pub fn shown(name: &str) -> String {
    const MOST: usize = 64;
    let start: String = name.chars().take(MOST).collect();
    let dots = if name.chars().nth(MOST).is_some() { "..." } else { "" };
    format!("{}{dots}", start.escape_debug())
}

/// A DNS-1123 label that starts with a letter and means nothing else.
pub fn check_node_name(name: &str) -> Result<(), String> {
    if !is_label(name) || !name.starts_with(|c: char| c.is_ascii_lowercase()) {
        let hint = suggestion(name);
        return Err(format!(
            "node name `{}` can't be a host name: wanted 1 to 63 lower-case letters, digits and dashes, starting with a letter{hint}",
            shown(name)
        ));
    }
    if RESERVED.contains(&name) {
        return Err(format!(
            "node name `{name}` has another meaning in an inventory; choose another, such as `node-{name}`"
        ));
    }
    Ok(())
}

/// A name that is near what was written, if there is an obvious one.
fn suggestion(name: &str) -> String {
    let near: String = name
        .to_ascii_lowercase()
        .chars()
        .map(|c| if matches!(c, '_' | ' ' | '.') { '-' } else { c })
        .collect();
    if near != name && is_label(&near) && near.starts_with(|c: char| c.is_ascii_lowercase()) {
        format!("; for example `{near}`")
    } else {
        String::new()
    }
}

/// A cluster's name is a directory and part of object names.
pub fn check_cluster_name(name: &str) -> Result<(), String> {
    if is_label(name) {
        return Ok(());
    }
    Err(format!(
        "cluster name `{}` (label `cluster`, else metadata.name) can't name objects and directories: wanted 1 to 63 lower-case letters, digits and dashes, such as edge-a; set the label `cluster`",
        shown(name)
    ))
}

/// A plugin names a playbook file of the bundle.
pub fn check_plugin(name: &str) -> Result<(), String> {
    if is_label(name) {
        return Ok(());
    }
    Err(format!(
        "spec.KUDPlugins: `{}` is not a plugin name: wanted 1 to 63 lower-case letters, digits and dashes, such as emco",
        shown(name)
    ))
}

/// `1.35.4`, without the leading `v`.
pub fn check_version(version: &str) -> Result<(), String> {
    let mut parts = version.split('.');
    let number = |part: Option<&str>| {
        part.is_some_and(|p| !p.is_empty() && p.len() < 5 && p.bytes().all(|b| b.is_ascii_digit()))
    };
    if number(parts.next())
        && number(parts.next())
        && number(parts.next())
        && parts.next().is_none()
    {
        return Ok(());
    }
    Err(format!("spec.kubernetes.version is `{}`: wanted a version such as 1.35.4", shown(version)))
}

/// RFC 1123 label.
fn is_label(name: &str) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    !name.is_empty()
        && name.len() <= 63
        && name.bytes().all(inner)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_would_break_an_inventory_are_refused_with_a_better_one() {
        for good in ["master-1", "rack1-node3", "w0"] {
            assert_eq!(check_node_name(good), Ok(()));
        }
        for bad in
            ["", "1node", "Node", "a b", "a\nb", "[all]", "a=b", "-a", "a-", "localhost", "etcd"]
        {
            assert!(check_node_name(bad).is_err(), "{bad:?}");
        }
        assert!(check_node_name(&"a".repeat(64)).is_err());
        assert!(check_node_name("Node_A").unwrap_err().contains("`node-a`"));
    }

    #[test]
    fn versions_are_three_numbers() {
        assert_eq!(check_version("1.35.4"), Ok(()));
        for bad in ["1.35", "1.35.4.1", "latest", "1.35.x", "1..4", ""] {
            assert!(check_version(bad).is_err(), "{bad}");
        }
    }
}
