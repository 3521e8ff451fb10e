//! The binary as a person or a script uses it: exit codes, output, signals, privacy.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

const HOST: &str = "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {name: host1, namespace: metal3, uid: u-1}\nspec: {online: true, bootMACAddress: 52:54:00:aa:01:01}\nstatus: {operationalStatus: OK, provisioning: {state: provisioned}}\n";
const EDGE: &str = "apiVersion: bpa.akraino.org/v1alpha1\nkind: Provisioning\nmetadata: {name: edge}\nspec:\n  masters:\n  - m-0: {mac-address: 52:54:00:aa:01:01}\n";

struct Place {
    dir: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bpa-coordinator"));
        command.args(args).current_dir(self.dir.path());
        for name in ["BPA_OBJECTS", "BPA_STATE", "BPA_LISTEN", "BPA_ADVERTISE", "RUST_LOG"] {
            command.env_remove(name);
        }
        command
    }

    /// Runs a command and checks its exit code.
    fn run(&self, wanted: i32, args: &[&str]) -> String {
        let output = self.command(args).output().unwrap();
        let text = both(&output);
        assert_eq!(output.status.code(), Some(wanted), "{args:?}: {text}");
        text
    }

    fn file(&self, name: &str, text: &str) -> String {
        fs::write(self.path(name), text).unwrap();
        name.to_owned()
    }

    /// Starts `run` and waits until it serves.
    fn start(&self) -> Running {
        let mut child = self
            .command(&["run", "--listen", "127.0.0.1:0"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut seen = Vec::new();
        let running = Running(child);
        for line in lines {
            let line = line.unwrap();
            seen.push(line.clone());
            if line.starts_with("objects: ") {
                return running;
            }
        }
        panic!("it did not start: {seen:?}");
    }
}

/// A coordinator that does not outlive its test.
struct Running(Child);

impl Running {
    /// Asks it to stop; its exit code and how long that took.
    fn stop(mut self) -> (Option<i32>, Duration) {
        let begin = Instant::now();
        let pid = self.0.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        let status = self.0.wait().unwrap();
        (status.code(), begin.elapsed())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn both(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

#[test]
fn exit_codes_tell_scripts_what_happened() {
    let place = Place::new();
    place.run(2, &["frobnicate"]);
    place.run(2, &["run", "--listen", "nonsense"]);
    place.run(2, &["get", "--log", "bpa=loud"]);
    let text = place.run(1, &["get"]);
    assert!(text.contains("objects") && text.contains("--objects DIR"), "{text}");
    fs::create_dir(place.path("objects")).unwrap();
    assert!(place.run(0, &["get"]).contains("apply -f"));
    place.run(4, &["describe", "edge"]);
    place.run(4, &["logs", "edge"]);
    place.run(4, &["delete", "provisioning", "edge"]);
    place.run(2, &["get", "pods"]);
    assert!(!place.path("state").exists(), "looking makes no state");
    let (hosts, edge) = (place.file("hosts.yaml", HOST), place.file("edge.yaml", EDGE));
    let text = place.run(0, &["apply", "-f", &hosts, "-f", &edge]);
    assert!(text.contains("provisioning/edge created"), "{text}");
    assert!(place.run(0, &["apply", "-f", &edge]).contains("unchanged"));
    place.run(5, &["cancel", "edge"]);
    place.run(5, &["retry", "edge"]);
    place.run(5, &["approve", "edge", "abc"]);
    let text = place.run(3, &["watch", "edge", "--timeout", "1s"]);
    assert!(text.contains("no coordinator runs"), "{text}");
    place.run(0, &["delete", "-f", &edge]);
    place.run(4, &["get", "provisioning", "edge"]);
}

#[test]
fn results_for_programs_are_json_and_yaml_and_nothing_else() {
    let place = Place::new();
    let (hosts, edge) = (place.file("hosts.yaml", HOST), place.file("edge.yaml", EDGE));
    place.run(0, &["apply", "-f", &hosts, "-f", &edge]);
    let json = |args: &[&str]| {
        let output = place.command(args).output().unwrap();
        serde_json::from_slice::<serde_json::Value>(&output.stdout)
            .unwrap_or_else(|error| panic!("{args:?}: {error}: {}", both(&output)))
    };
    let list = json(&["get", "-o", "json"]);
    assert_eq!(
        (list["kind"].as_str(), list["items"].as_array().map(Vec::len)),
        (Some("List"), Some(2))
    );
    let one = json(&["get", "host", "host1", "-o", "json"]);
    assert_eq!(one["spec"]["bootMACAddress"], "52:54:00:aa:01:01");
    assert_eq!(json(&["describe", "edge", "-o", "json"])["metadata"]["name"], "edge");
    let plan = json(&["plan", "-f", &hosts, "-f", &edge, "-o", "json"]);
    assert_eq!((&plan["fits"], &plan["schema"]), (&true.into(), &1.into()));
    assert_eq!(json(&["apply", "-f", &edge, "-o", "json"])[0]["result"], "unchanged");
    // What is shown can be applied again.
    let yaml = place.command(&["get", "-o", "yaml"]).output().unwrap().stdout;
    let again = place.file("again.yaml", &String::from_utf8(yaml).unwrap());
    place.run(0, &["plan", "-f", &again]);
}

#[test]
fn a_coordinator_serves_is_alone_and_stops_when_told() {
    let place = Place::new();
    fs::create_dir(place.path("objects")).unwrap();
    let running = place.start();
    let text = place.run(5, &["run", "--listen", "127.0.0.1:0"]);
    assert!(text.contains(&format!("process {}", running.0.id())), "{text}");
    let text = place.run(0, &["site", "add", "north", "--ttl", "1h"]);
    assert!(text.contains("bpa-agent join -") && text.contains("bpa1."), "{text}");
    assert!(text.contains("site approve north"), "{text}");
    let text = place.run(0, &["site", "approve", "north"]);
    assert!(text.contains("is approved"), "{text}");
    assert!(place.run(0, &["site", "list"]).contains("north"));
    place.run(4, &["site", "leases", "north"]);
    place.run(4, &["site", "approve", "south"]);
    let (code, took) = running.stop();
    assert_eq!(code, Some(0));
    assert!(took < Duration::from_secs(5), "{took:?}");
    // The next one finds the directory free.
    assert_eq!(place.start().stop().0, Some(0));
}

#[test]
fn nobody_else_can_read_what_the_coordinator_keeps() {
    let place = Place::new();
    fs::create_dir(place.path("objects")).unwrap();
    let running = place.start();
    place.run(0, &["site", "add", "north"]);
    running.stop();
    let mut waiting = vec![place.path("state")];
    let mut files = 0;
    while let Some(path) = waiting.pop() {
        let metadata = fs::metadata(&path).unwrap();
        let mode = metadata.permissions().mode() & 0o777;
        if metadata.is_dir() {
            assert_eq!(mode, 0o700, "{}", path.display());
            waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            assert_eq!(mode & 0o077, 0, "{}", path.display());
            files += 1;
        }
    }
    assert!(files > 3, "the vault was not found");
}

#[test]
fn a_join_line_needs_an_address_and_is_shown_once() {
    let place = Place::new();
    fs::create_dir(place.path("objects")).unwrap();
    let text = place.run(2, &["site", "add", "north"]);
    assert!(text.contains("--advertise HOST:PORT"), "{text}");
    let output = place
        .command(&["site", "add", "north", "--advertise", "192.0.2.1:7443", "-o", "json"])
        .output()
        .unwrap();
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let line = value["line"].as_str().unwrap();
    assert!(line.starts_with("bpa1."), "{line}");
    let kept: Vec<String> = ["state", "objects"]
        .iter()
        .flat_map(|dir| Command::new("grep").args(["-rl", line]).arg(place.path(dir)).output())
        .map(|found| String::from_utf8_lossy(&found.stdout).into_owned())
        .collect();
    assert_eq!(kept.concat(), "", "the line is kept nowhere");
}

#[test]
fn the_definitions_are_printed_as_documents_or_as_one_list() {
    let place = Place::new();
    let yaml = place.run(0, &["crds"]);
    assert_eq!(yaml.matches("kind: CustomResourceDefinition\n").count(), 4);
    assert_eq!(yaml.matches("---\n").count(), 4);
    assert_eq!(place.run(0, &["crds", "-o", "yaml"]), yaml);
    let list: serde_json::Value =
        serde_json::from_str(&place.run(0, &["crds", "-o", "json"])).unwrap();
    let names: Vec<&str> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["spec"]["names"]["kind"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["Provisioning", "Site", "Software", "Cluster"]);
    assert!(fs::read_dir(place.dir.path()).unwrap().next().is_none(), "nothing is written");
}
