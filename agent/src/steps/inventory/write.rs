//! Puts the inventory's files in place, each 0600, each whole or not at all.

use std::io;
use std::path::Path;

use secrecy::ExposeSecret;
use serde_json::{Map, Value, json};

use super::super::places::Places;
use super::{InventoryNode, Layers};
use crate::private;

/// All that is written.
#[derive(Debug)]
pub struct Inventory<'a> {
    pub hosts_ini: String,
    pub nodes: &'a [InventoryNode],
    pub layers: Layers,
    pub known_hosts: String,
}

/// Writes the inventory of a run, in place of an earlier one.
///
/// # Errors
/// When a file can't be written.
pub fn write(inventory: &Inventory<'_>, places: &Places) -> io::Result<()> {
    // A layer or a host of an earlier writing must not stay.
    for dir in [places.group_vars(), places.host_vars(), places.become_dir()] {
        match std::fs::remove_dir_all(&dir) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => private::make_dir(&dir)?,
        }
    }
    let layers = &inventory.layers;
    json_file(&places.group_vars().join("10-site.json"), &layers.site)?;
    json_file(&places.group_vars().join("20-order.json"), &layers.order)?;
    json_file(&places.group_vars().join("30-plan.json"), &layers.plan)?;
    json_file(&places.extra_vars(), &layers.insist)?;
    for node in inventory.nodes {
        if let Some(password) = &node.become_password {
            let file = places.become_dir().join(&node.name);
            private::write(&file, password.expose_secret().as_bytes())?;
            let mut vars = Map::new();
            vars.insert("ansible_become_password".to_owned(), lookup(&file));
            json_file(&places.host_vars().join(format!("{}.json", node.name)), &vars)?;
        }
    }
    private::write(&places.known_hosts(), inventory.known_hosts.as_bytes())?;
    // Last: whoever finds it finds the rest.
    private::write(&places.hosts_ini(), inventory.hosts_ini.as_bytes())
}

/// The one template that we write: ansible reads the password from its file when it is needed, so
/// it is in no variable that could be shown.
fn lookup(file: &Path) -> Value {
    json!(format!("{{{{ lookup('ansible.builtin.file', '{}') }}}}", file.display()))
}

fn json_file(path: &Path, map: &Map<String, Value>) -> io::Result<()> {
    let mut text = serde_json::to_vec_pretty(map).map_err(io::Error::other)?;
    text.push(b'\n');
    private::write(path, &text)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use bpa_common::wire::v1::OrderKind;

    use super::super::hosts::tests::node;
    use super::super::{hosts_ini, layers};
    use super::*;
    use crate::runs::testing::order;

    fn files(dir: &Path) -> Vec<(String, u32)> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(dir).unwrap().flatten() {
            let path = entry.path();
            let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
            if path.is_dir() {
                assert_eq!(mode, 0o700, "{}", path.display());
                found.extend(files(&path));
            } else {
                found.push((path.file_name().unwrap().to_string_lossy().into_owned(), mode));
            }
        }
        found.sort();
        found
    }

    #[test]
    fn all_files_are_private_and_passwords_are_in_their_own_alone() {
        let dir = tempfile::tempdir().unwrap();
        let order = order(1);
        let places = Places::new(dir.path(), &order);
        places.make().unwrap();
        let mut nodes = vec![node("cp1", 50, true), node("w1", 51, false)];
        nodes[1].become_password = Some("PLANTED-secret".to_owned().into());
        let inventory = Inventory {
            hosts_ini: hosts_ini(&nodes, Path::new("/k")).unwrap(),
            nodes: &nodes,
            layers: layers(&toml::Table::new(), &order.cluster, OrderKind::Install, &places)
                .unwrap(),
            known_hosts: "10.77.0.50 ssh-ed25519 AAAA\n".into(),
        };
        write(&inventory, &places).unwrap();
        write(&inventory, &places).unwrap();
        let names: Vec<String> = files(places.run())
            .into_iter()
            .map(|(name, mode)| {
                assert_eq!(mode, 0o600, "{name}");
                name
            })
            .collect();
        assert_eq!(
            names,
            [
                "10-site.json",
                "20-order.json",
                "30-plan.json",
                "extra_vars.json",
                "hosts.ini",
                "known_hosts",
                "w1",
                "w1.json"
            ]
        );
        let vars = std::fs::read_to_string(places.host_vars().join("w1.json")).unwrap();
        assert!(vars.contains("lookup('ansible.builtin.file'") && !vars.contains("PLANTED"));
        assert!(!format!("{inventory:?}").contains("PLANTED"));
    }
}
