//! The environment of ansible: nothing is inherited, everything is said.

use std::collections::BTreeMap;
use std::path::Path;

use super::super::places::Places;
use super::Bundle;

/// The callback plug-in's text.
pub const PLUGIN: &str = include_str!("bpa_events.py");
/// Its file's name in the run's directory of callbacks.
pub const CALLBACK_FILE: &str = "bpa_events.py";

/// What ansible's programs get. `events` is where the callback writes; none = no callback.
pub fn environment(
    bundle: &Bundle,
    places: &Places,
    forks: u32,
    events: Option<&Path>,
) -> BTreeMap<String, String> {
    let mut map = BTreeMap::new();
    let mut set = |name: &str, value: String| map.insert(name.to_owned(), value);
    let path = |path: &Path| path.to_string_lossy().into_owned();

    let system = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    set(
        "PATH",
        match bundle.ansible_bin() {
            Some(bin) => format!("{}:{system}", bin.display()),
            None => std::env::var("PATH").unwrap_or_else(|_| system.to_owned()),
        },
    );
    set("HOME", path(&places.home()));
    set("TMPDIR", path(&places.temporary()));
    // ansible refuses POSIX and locales that are not there.
    set("LC_ALL", "C.UTF-8".into());
    set("PYTHONUNBUFFERED", "1".into());
    set("PYTHONDONTWRITEBYTECODE", "1".into());
    set("ANSIBLE_CONFIG", path(&bundle.directory.join("ansible.cfg")));
    set("ANSIBLE_LOCAL_TEMP", path(&places.temporary()));
    set("ANSIBLE_NOCOLOR", "1".into());
    set("ANSIBLE_STDOUT_CALLBACK", "default".into());
    set("ANSIBLE_RETRY_FILES_ENABLED", "False".into());
    set("ANSIBLE_FORKS", forks.clamp(1, 100).to_string());
    set("ANSIBLE_TIMEOUT", "30".into());
    // An inventory that can't be read is otherwise a warning and exit code 0.
    set("ANSIBLE_INVENTORY_UNPARSED_FAILED", "True".into());
    set("ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED", "True".into());
    // Facts per cluster: caches shared by two clusters with a `node1` poison one another.
    set("ANSIBLE_CACHE_PLUGIN", "jsonfile".into());
    set("ANSIBLE_CACHE_PLUGIN_CONNECTION", path(&places.facts()));
    set("ANSIBLE_HOST_KEY_CHECKING", "True".into());
    set("ANSIBLE_SSH_CONTROL_PATH_DIR", path(places.control()));
    set("ANSIBLE_SSH_ARGS", ssh_arguments(&places.known_hosts()));
    if let Some(events) = events {
        set("ANSIBLE_CALLBACK_PLUGINS", path(&places.callbacks()));
        set("ANSIBLE_CALLBACKS_ENABLED", "bpa_events".into());
        set("BPA_EVENTS", path(events));
    }
    map
}

/// Only the pinned host keys, only our key, no configuration of whoever runs the agent; a dead
/// host is known in seconds instead of minutes.
fn ssh_arguments(known_hosts: &Path) -> String {
    [
        "-F none".to_owned(),
        format!("-o UserKnownHostsFile={}", known_hosts.display()),
        "-o GlobalKnownHostsFile=/dev/null".to_owned(),
        "-o StrictHostKeyChecking=yes".to_owned(),
        "-o IdentitiesOnly=yes".to_owned(),
        "-o ControlMaster=auto".to_owned(),
        "-o ControlPersist=60s".to_owned(),
        "-o ConnectTimeout=10".to_owned(),
        "-o ConnectionAttempts=3".to_owned(),
        "-o ServerAliveInterval=5".to_owned(),
        "-o ServerAliveCountMax=3".to_owned(),
    ]
    .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::BundleConfig;
    use crate::runs::testing::order;

    fn made(events: Option<&Path>) -> BTreeMap<String, String> {
        let bundle = Bundle::inspect(&BundleConfig {
            path: "/opt/bundle".into(),
            ansible_bin: Some("/opt/ansible/bin".into()),
            vars: toml::Table::new(),
        });
        environment(&bundle, &Places::new(Path::new("/s"), &order(1)), 500, events)
    }

    #[test]
    fn what_the_measurements_ask_for_is_set() {
        let map = made(Some(Path::new("/s/events")));
        assert_eq!(map["ANSIBLE_CONFIG"], "/opt/bundle/ansible.cfg");
        assert_eq!(map["ANSIBLE_INVENTORY_UNPARSED_FAILED"], "True");
        assert_eq!(map["LC_ALL"], "C.UTF-8");
        assert_eq!(map["ANSIBLE_FORKS"], "100", "bounded");
        assert_eq!(map["BPA_EVENTS"], "/s/events");
        assert!(map["PATH"].starts_with("/opt/ansible/bin:"));
        let ssh = &map["ANSIBLE_SSH_ARGS"];
        for wanted in ["StrictHostKeyChecking=yes", "ServerAliveInterval=5", "ConnectionAttempts=3"]
        {
            assert!(ssh.contains(wanted), "{ssh}");
        }
        assert!(ssh.contains("UserKnownHostsFile=/s/runs/") && !ssh.contains("/dev/null -o U"));
    }

    #[test]
    fn nothing_is_inherited_and_the_callback_is_for_playbooks_alone() {
        let map = made(None);
        assert!(!map.contains_key("BPA_EVENTS") && !map.contains_key("ANSIBLE_CALLBACKS_ENABLED"));
        assert!(!map.contains_key("CARGO") && !map.contains_key("NOTIFY_SOCKET"));
        assert!(map["HOME"].starts_with("/s/runs/"));
    }

    #[test]
    fn the_plug_in_hides_what_is_hidden_and_never_raises() {
        // Cheap guards; the lab runs it under a real ansible.
        assert!(PLUGIN.contains("_ansible_no_log") && PLUGIN.contains("O_APPEND"));
        assert!(!PLUGIN.contains("raise "));
    }
}
