//! The text of `hosts.ini`.

use std::fmt::Write as _;
use std::net::IpAddr;
use std::path::Path;

use secrecy::SecretString;

/// One host of the inventory.
#[derive(Clone, Debug)]
pub struct InventoryNode {
    pub name: String,
    pub address: IpAddr,
    pub port: u16,
    pub user: String,
    pub control_plane: bool,
    pub worker: bool,
    pub etcd: bool,
    /// The password that sudo wants there.
    pub become_password: Option<SecretString>,
}

/// A value that can't stand in an inventory.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum InventoryError {
    #[error("`{found}` can't be a {what} in an inventory: only {allowed} are allowed")]
    Value { what: &'static str, found: String, allowed: &'static str },
    #[error("{a} and {b} have the same address {address}")]
    SameAddress { a: String, b: String, address: IpAddr },
}

/// Renders the inventory: the hosts with their connection, then the groups in kubespray's names.
/// The order of the nodes is kept: the first control plane is the one that does the work.
///
/// # Errors
/// When a value holds anything that could be more than itself, or two nodes share an address.
pub fn hosts_ini(nodes: &[InventoryNode], key: &Path) -> Result<String, InventoryError> {
    let key = key.to_string_lossy();
    let key = plain("path", &key, "letters, digits, `/`, `.`, `_` and `-`", |b| {
        b.is_ascii_alphanumeric() || b"/._-".contains(&b)
    })?;
    let mut text = String::from("# Written by bpa-agent; a change here is lost.\n[all]\n");
    let mut members = 0;
    for (at, node) in nodes.iter().enumerate() {
        if let Some(twin) = nodes[..at].iter().find(|other| other.address == node.address) {
            let (a, b) = (twin.name.clone(), node.name.clone());
            return Err(InventoryError::SameAddress { a, b, address: node.address });
        }
        let name = plain("node name", &node.name, "lower-case letters, digits and `-`", |b| {
            b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'
        })?;
        let user = plain("account", &node.user, "letters, digits, `_`, `.` and `-`", |b| {
            b.is_ascii_alphanumeric() || b"_.-".contains(&b)
        })?;
        let _ = write!(
            text,
            "{name} ansible_host={address} ip={address} ansible_port={port} ansible_user={user} \
             ansible_ssh_private_key_file={key}",
            address = node.address,
            port = node.port,
        );
        if node.etcd {
            members += 1;
            let _ = write!(text, " etcd_member_name=etcd{members}");
        }
        text.push('\n');
    }
    group(&mut text, "kube_control_plane", nodes, |n| n.control_plane);
    group(&mut text, "etcd", nodes, |n| n.etcd);
    group(&mut text, "kube_node", nodes, |n| n.worker);
    text.push_str("\n[k8s_cluster:children]\nkube_control_plane\nkube_node\n");
    Ok(text)
}

fn group(
    text: &mut String,
    name: &str,
    nodes: &[InventoryNode],
    member: impl Fn(&InventoryNode) -> bool,
) {
    let _ = writeln!(text, "\n[{name}]");
    for node in nodes.iter().filter(|n| member(n)) {
        let _ = writeln!(text, "{}", node.name);
    }
}

fn plain<'a>(
    what: &'static str,
    value: &'a str,
    allowed: &'static str,
    may: impl Fn(u8) -> bool,
) -> Result<&'a str, InventoryError> {
    if !value.is_empty() && !value.starts_with('-') && value.bytes().all(may) {
        return Ok(value);
    }
    Err(InventoryError::Value { what, found: value.escape_debug().to_string(), allowed })
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    pub(in crate::steps::inventory) fn node(name: &str, last: u8, master: bool) -> InventoryNode {
        InventoryNode {
            name: name.into(),
            address: IpAddr::from([10, 77, 0, last]),
            port: 22,
            user: "root".into(),
            control_plane: master,
            worker: !master,
            etcd: master,
            become_password: None,
        }
    }

    #[test]
    fn three_nodes_as_kubespray_wants_them() {
        let mut nodes = vec![node("cp1", 50, true), node("w1", 51, false), node("w2", 52, false)];
        nodes[1].user = "ops".into();
        nodes[2].address = "fd00::52".parse().unwrap();
        nodes[2].port = 2222;
        let text = hosts_ini(&nodes, Path::new("/var/lib/bpa-agent/ssh/site_ed25519")).unwrap();
        assert_eq!(text, include_str!("testdata/three-nodes.ini"));
    }

    #[test]
    fn one_node_in_all_roles() {
        let mut only = node("edge", 50, true);
        only.worker = true;
        let text = hosts_ini(&[only], Path::new("/k")).unwrap();
        assert_eq!(text, include_str!("testdata/one-node.ini"));
    }

    #[test]
    fn two_names_for_one_address_are_refused() {
        let nodes = [node("a", 50, true), node("b", 50, false)];
        let error = hosts_ini(&nodes, Path::new("/k")).unwrap_err().to_string();
        assert!(error.contains("a and b") && error.contains("10.77.0.50"), "{error}");
    }

    proptest! {
        /// Whatever comes in, a line has exactly its own words.
        #[test]
        fn nothing_from_outside_adds_a_word_or_a_template(
            name in "\\PC{0,20}", user in "\\PC{0,20}", key in "\\PC{0,20}",
        ) {
            let mut only = node("x", 1, true);
            only.name = name;
            only.user = user;
            if let Ok(text) = hosts_ini(&[only], Path::new(&key)) {
                let line = text.lines().nth(2).unwrap();
                prop_assert_eq!(line.split(' ').count(), 7, "{}", line);
                prop_assert!(!text.contains("{{") && !text.contains('#') || text.starts_with("# W"));
                prop_assert_eq!(text.lines().count(), 15);
            }
        }
    }
}
