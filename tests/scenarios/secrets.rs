//! P1: no SSH, BMC or host credential ever reaches the coordinator, nor any log, event, status,
//! process argument or file that others can read.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use bpa_tests::management::World;
use bpa_tests::process::run;
use bpa_tests::site::{Options, Site};

bpa_tests::in_both_worlds!(credentials_stay_at_the_site_and_private,);

const MARK: &str = "MARKED-pa55-4f1c9";

/// Every file below `dir` that holds one of the secrets.
fn holding(dir: &Path, secrets: &[String], found: &mut Vec<(String, u32)>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        let Ok(meta) = fs::symlink_metadata(&path) else { continue };
        if meta.is_dir() {
            holding(&path, secrets, found);
        } else if meta.is_file() {
            let bytes = fs::read(&path).unwrap_or_default();
            let holds = |s: &String| bytes.windows(s.len()).any(|w| w == s.as_bytes());
            if secrets.iter().any(holds) {
                found.push((path.display().to_string(), meta.permissions().mode() & 0o777));
            }
        }
    }
}

/// The user's own private key, by which the agent gets into one host. Gives a line of it.
fn plant_key(site: &Site, host: &str) -> String {
    let path = site.dir.join("planted-key");
    let text = path.display().to_string();
    run(Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f", &text])).ok();
    let public = fs::read_to_string(path.with_extension("pub")).unwrap();
    let user = &site.lab.get(host).user;
    let install = format!(
        "umask 077; mkdir -p ~{user}/.ssh; echo '{}' >> ~{user}/.ssh/authorized_keys; chown -R {user}: ~{user}/.ssh",
        public.trim()
    );
    site.lab.exec(host, &["sh", "-c", &install]).ok();
    let credentials = site.dir.join("credentials.toml");
    let entry = format!(
        "\n[[host]]\nname = \"{host}\"\nuser = \"{user}\"\nkey = \"{text}\"\nsudo_password = \"{}\"\n",
        site.lab.get(host).sudo_password.clone().unwrap()
    );
    let all = fs::read_to_string(&credentials).unwrap() + &entry;
    fs::write(&credentials, all).unwrap();
    fs::read_to_string(&path).unwrap().lines().nth(2).unwrap().to_owned()
}

fn credentials_stay_at_the_site_and_private(world: World) {
    let lab = ["--hosts", "2", "--kind", "ns", "--server", "kea", "--sudo", "--password", MARK];
    let site = Site::up("secret", &Options { lab: &lab, world, ..Options::default() });
    let mut secrets = vec![MARK.to_owned()];
    secrets.extend(site.lab.get("host1").sudo_password.clone());
    secrets.push(plant_key(&site, "host1"));
    site.provision(
        "edge-a",
        "{masters: [{m-1: {}}], workers: [{w-1: {}}], kubernetes: {vars: {lite_pause_seconds: 3}}}",
    );
    site.wait_step("edge-a", "Kubespray", 120);
    let mut seen_running = false;
    for _ in 0..20 {
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).into_owned();
            seen_running |= line.contains("ansible-playbook");
            let guilty =
                line.contains(MARK) && !line.contains("lab") && !line.contains("scenarios");
            assert!(!guilty, "a secret in the arguments of a process: {line:?}");
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert!(seen_running, "the arguments were looked at while ansible ran");
    site.wait_phase("edge-a", &["Ready"], 240);

    // The agent's own private key is a secret too: its second line is unlike any other text.
    let mut keys = Vec::new();
    holding(&site.dir.join("agent"), &["OPENSSH PRIVATE KEY".to_owned()], &mut keys);
    assert!(!keys.is_empty(), "the site has a key");
    for (path, mode) in &keys {
        assert_eq!(*mode, 0o600, "{path}");
        let text = fs::read_to_string(path).unwrap();
        secrets.extend(text.lines().nth(2).map(str::to_owned));
    }
    for place in ["objects", "state"] {
        let mut found = Vec::new();
        holding(&site.dir.join(place), &secrets, &mut found);
        assert!(found.is_empty(), "secrets on the coordinator's side: {found:?}");
    }
    let kept = site.management.everything();
    assert!(kept.contains("edge-a") || world == World::Directory, "it was looked at");
    assert!(!secrets.iter().any(|secret| kept.contains(secret.as_str())), "secrets in the API");
    let mut found = Vec::new();
    holding(&site.dir, &secrets, &mut found);
    for (path, mode) in found {
        assert_eq!(mode & 0o077, 0, "{path} holds a secret and others may read it");
        assert!(
            !path.ends_with(".log") && !path.ends_with("/log"),
            "{path} is a log with a secret"
        );
    }
    for text in [
        site.describe("edge-a"),
        site.ctl(&["logs", "edge-a"]).out,
        site.agentctl(&["runs"]).text(),
    ] {
        assert!(secrets.iter().all(|s| !text.contains(s.as_str())), "{text}");
    }
}
