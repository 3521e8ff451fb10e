//! The commands as a person or a script meets them: text, JSON, exit codes.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use bpa_agent::journal::{Journal, StepEnded};
use bpa_common::wire::v1::{
    ClusterPlan, EventBody, Failure, ObjectId, Order, OrderKind, Outcome, RunId, Step, StepEnd,
};
use serde_json::Value;

struct Site {
    dir: tempfile::TempDir,
}

impl Site {
    /// A configuration with a state directory and nothing else.
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state");
        std::fs::create_dir(&state).unwrap();
        std::fs::set_permissions(&state, std::fs::Permissions::from_mode(0o700)).unwrap();
        let site = Self { dir };
        site.configure("");
        site
    }

    fn state(&self) -> std::path::PathBuf {
        self.dir.path().join("state")
    }

    fn configure(&self, more: &str) {
        let text = format!("state_dir = \"{}\"\n{more}", self.state().display());
        std::fs::write(self.dir.path().join("agent.toml"), text).unwrap();
    }

    fn agent(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_bpa-agent"))
            .args(arguments)
            .env("BPA_CONFIG", self.dir.path().join("agent.toml"))
            .env_remove("RUST_LOG")
            .output()
            .unwrap()
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let mut all = arguments.to_vec();
        all.extend(["-o", "json"]);
        serde_json::from_slice(&self.agent(&all).stdout).unwrap()
    }

    /// A journal with one failed and one running run.
    fn with_runs(&self) {
        let journal = Journal::open(&self.state()).unwrap();
        let failed = order(0x11);
        journal.accept(&failed, 1_000).unwrap();
        journal.start_step(failed.run, Step::Resolve, 2_000).unwrap();
        let failure = Failure {
            step: Step::Resolve,
            reason: "NoLease".into(),
            node: Some("w1".into()),
            message: "no address".into(),
            fix: "switch it on".into(),
        };
        let ended = StepEnded {
            step: Step::Resolve,
            end: StepEnd::Failed,
            message: failure.message.clone(),
            failure: Some(failure.clone()),
        };
        journal.end_step(failed.run, ended, 3_000).unwrap();
        journal.end_run(failed.run, Outcome::Failed(failure), 3_000).unwrap();
        let running = order(0x22);
        journal.accept(&running, 4_000).unwrap();
        let note = EventBody::Note { message: "still here".into() };
        journal.tell(running.run, 4_000, vec![note], None).unwrap();
        let log = self.state().join("runs").join(failed.run.to_string());
        std::fs::create_dir_all(&log).unwrap();
        std::fs::write(log.join("log"), "first line\nlast line\n").unwrap();
    }
}

fn order(n: u8) -> Order {
    Order {
        run: RunId([n; 16]),
        provisioning: ObjectId {
            namespace: "default".into(),
            name: format!("edge{n}"),
            uid: format!("u{n}"),
        },
        generation: 1,
        epoch: 1,
        kind: OrderKind::Install,
        cluster: ClusterPlan { name: "edge".into(), ..ClusterPlan::default() },
        nodes: Vec::new(),
        kubeconfig_home: true,
    }
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn runs_are_listed_newest_first_in_all_forms() {
    let site = Site::new();
    site.with_runs();
    let table = text(&site.agent(&["runs"]).stdout);
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].starts_with("RUN") && lines[1].starts_with("22222222"), "{table}");
    assert!(lines[2].contains("failed") && lines[2].contains("NoLease"), "{table}");
    let json = site.json(&["runs"]);
    assert_eq!(json[1]["failure"]["fix"], "switch it on");
    assert_eq!(json[0]["state"], "accepted");
    let yaml = text(&site.agent(&["runs", "-o", "yaml"]).stdout);
    assert!(yaml.contains("reason: NoLease"), "{yaml}");
}

#[test]
fn one_run_tells_its_story_and_what_to_do() {
    let site = Site::new();
    site.with_runs();
    let story = text(&site.agent(&["runs", "1111"]).stdout);
    assert!(story.contains("failed in Resolve: w1: no address (NoLease)"), "{story}");
    assert!(story.contains("to do: switch it on"), "{story}");
    let json = site.json(&["runs", "latest"]);
    assert_eq!(json["events"][1]["text"], "still here");
}

#[test]
fn what_is_not_there_has_exit_code_4_and_says_where_to_look() {
    let site = Site::new();
    let none = site.agent(&["runs"]);
    assert_eq!(code(&none), 4, "no journal yet");
    assert!(text(&none.stderr).contains("no agent has worked"));
    site.with_runs();
    let unknown = site.agent(&["logs", "ffff"]);
    assert_eq!(code(&unknown), 4);
    assert!(text(&unknown.stderr).contains("bpa-agent runs"));
    assert_eq!(code(&site.agent(&["keys", "forget", "host9"])), 4);
}

#[test]
fn the_log_of_an_ended_run_is_printed_to_its_end_also_when_followed() {
    let site = Site::new();
    site.with_runs();
    let output = site.agent(&["logs", "-f", "1111"]);
    assert_eq!((code(&output), text(&output.stdout).as_str()), (0, "first line\nlast line\n"));
}

#[test]
fn an_agent_that_has_not_joined_says_how() {
    let site = Site::new();
    let output = site.agent(&["run"]);
    assert_eq!(code(&output), 1);
    assert!(text(&output.stderr).contains("bpa-agent join"), "{}", text(&output.stderr));
}

#[test]
fn a_second_agent_in_one_state_directory_is_refused() {
    let site = Site::new();
    let lock = std::fs::File::create(site.state().join("agent.lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
    let output = site.agent(&["run"]);
    assert_eq!(code(&output), 5);
    assert!(text(&output.stderr).contains("at work"));
}

#[test]
fn a_line_that_is_no_join_line_is_refused_and_not_repeated() {
    let site = Site::new();
    let output = site.agent(&["join", "bpa1.PLANTED-SECRET"]);
    assert_eq!(code(&output), 1);
    assert!(!text(&output.stderr).contains("PLANTED-SECRET"), "{}", text(&output.stderr));
}

#[test]
fn the_doctor_finds_what_is_missing_and_says_what_to_do() {
    let site = Site::new();
    let credentials = site.dir.path().join("credentials.toml");
    std::fs::write(&credentials, "[default]\npassword = \"PLANTED\"\n").unwrap();
    std::fs::set_permissions(&credentials, std::fs::Permissions::from_mode(0o644)).unwrap();
    site.configure(&format!(
        "credentials = \"{}\"\n[[lease]]\nkind = \"kea\"\npath = \"/nowhere/leases.csv\"\n\
         [[bundle]]\npath = \"/nowhere/bundle\"\n",
        credentials.display()
    ));
    let output = site.agent(&["doctor"]);
    assert_eq!(code(&output), 3);
    let table = text(&output.stdout);
    assert!(table.contains("to do:") && !table.contains("PLANTED"), "{table}");
    let json = site.json(&["doctor"]);
    let status = |id: &str| {
        let all = json.as_array().unwrap();
        all.iter().find(|f| f["id"] == id).map(|f| f["status"].as_str().unwrap().to_owned())
    };
    for id in ["credentials", "leases", "bundle", "link"] {
        assert_eq!(status(id).as_deref(), Some("failed"), "{id}: {json}");
    }
    for id in ["config", "state", "clock"] {
        assert_eq!(status(id).as_deref(), Some("ok"), "{id}: {json}");
    }
}

#[test]
fn a_configuration_with_a_typo_is_named_before_anything_is_done() {
    let site = Site::new();
    site.configure("credentails = \"/x\"\n");
    for command in ["run", "runs", "doctor", "keys"] {
        let output = site.agent(&[command]);
        let said = text(&output.stderr) + &text(&output.stdout);
        assert!(code(&output) != 0 && said.contains("credentails"), "{command}: {said}");
    }
    assert_eq!(code(&site.agent(&["rnu"])), 2, "clap's own");
}

#[test]
fn the_state_directory_of_the_command_line_wins() {
    let site = Site::new();
    site.with_runs();
    let elsewhere = tempfile::tempdir().unwrap();
    let path: &Path = elsewhere.path();
    let output = site.agent(&["--state-dir", path.to_str().unwrap(), "runs"]);
    assert_eq!(code(&output), 4, "nothing there");
}
