//! A playbook from start to verdict, under a real supervisor. `ansible-playbook` is a script here
//! that replays events which a real one has written (`testdata`); the lab runs real ones.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use bpa_agent::config::BundleConfig;
use bpa_agent::steps::kubespray::{Bundle, Played, Playing, Stage, play};
use bpa_agent::steps::{Journaled, Places, StepFailure};
use bpa_common::wire::v1::{
    ClusterPlan, EventBody, NodeState, ObjectId, Order, OrderKind, OrderNode, RunId,
};
use tokio_util::sync::CancellationToken;

/// A run's record in memory.
#[derive(Default)]
struct Record {
    bodies: Mutex<Vec<EventBody>>,
    starts: Mutex<u32>,
    followed: Mutex<u64>,
}

impl Journaled for Record {
    fn tell(&self, body: EventBody) {
        self.bodies.lock().unwrap().push(body);
    }
}

impl Stage for Record {
    fn starts(&self) -> u32 {
        *self.starts.lock().unwrap()
    }
    fn count_start(&self) -> Result<u32, StepFailure> {
        *self.followed.lock().unwrap() = 0;
        let mut starts = self.starts.lock().unwrap();
        *starts += 1;
        Ok(*starts)
    }
    fn followed(&self) -> u64 {
        *self.followed.lock().unwrap()
    }
    fn tell_followed(&self, bodies: Vec<EventBody>, line: u64) {
        self.bodies.lock().unwrap().extend(bodies);
        *self.followed.lock().unwrap() = line;
    }
}

struct Site {
    dir: tempfile::TempDir,
    places: Places,
    order: Order,
    record: Record,
    cancel: CancellationToken,
}

impl Site {
    /// `script` is what `ansible-playbook` does.
    fn new(script: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for file in ["cluster.yml", "reset.yml", "ansible.cfg"] {
            std::fs::write(dir.path().join(file), "").unwrap();
        }
        let manifest = r#"{"schema":1,"name":"lite","version":"1",
            "playbooks":{"cluster":"cluster.yml","reset":"reset.yml"}}"#;
        std::fs::write(dir.path().join("bundle.json"), manifest).unwrap();
        for file in ["ansible-playbook", "ansible-inventory"] {
            let path = dir.path().join(file);
            std::fs::write(&path, format!("#!/bin/bash\n{script}\n")).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let order = order();
        let places = Places::new(&dir.path().join("state"), &order);
        places.make().unwrap();
        Self { dir, places, order, record: Record::default(), cancel: CancellationToken::new() }
    }

    async fn play(&self) -> Result<Played, StepFailure> {
        let bundle = Bundle::inspect(&BundleConfig {
            path: self.dir.path().to_owned(),
            ansible_bin: Some(self.dir.path().to_owned()),
            vars: toml::Table::new(),
        });
        assert!(bundle.report().problems.is_empty());
        play(&Playing {
            bundle: &bundle,
            places: &self.places,
            order: &self.order,
            forks: 5,
            agent: Path::new(env!("CARGO_BIN_EXE_bpa-agent")),
            stage: &self.record,
            cancel: &self.cancel,
        })
        .await
    }

    fn told(&self) -> Vec<EventBody> {
        self.record.bodies.lock().unwrap().clone()
    }
}

fn order() -> Order {
    let node = |name: &str, at: u8| {
        let mac = format!("52:54:00:00:00:{at:02x}").parse().unwrap();
        OrderNode {
            name: name.into(),
            control_plane: at == 1,
            worker: at != 1,
            etcd: at == 1,
            host: ObjectId::default(),
            mac,
            macs: vec![mac],
            address: None,
            installation: "i".into(),
            serial: None,
            cpu: None,
            memory_bytes: None,
            disk_bytes: None,
        }
    };
    Order {
        run: RunId([7; 16]),
        provisioning: ObjectId { namespace: "d".into(), name: "edge".into(), uid: "u".into() },
        generation: 1,
        epoch: 1,
        kind: OrderKind::Install,
        cluster: ClusterPlan { name: "edge".into(), ..ClusterPlan::default() },
        nodes: vec![node("cp1", 1), node("w1", 2)],
        kubeconfig_home: true,
    }
}

fn recorded(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/testdata").join(name)
}

/// Replays a recording.
fn replay(name: &str, exit: i32) -> String {
    format!("echo PLAY; cat {} >> \"$BPA_EVENTS\"; exit {exit}", recorded(name).display())
}

fn counts(told: &[EventBody]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for body in told {
        let name = match body {
            EventBody::Phase { .. } => "phase",
            EventBody::Recap { .. } => "recap",
            EventBody::TaskFailed { .. } => "failed",
            EventBody::Node { state: NodeState::Installed, .. } => "installed",
            _ => continue,
        };
        *counts.entry(name).or_default() += 1;
    }
    counts
}

#[tokio::test]
async fn a_recorded_install_is_a_success_with_its_phases_told() {
    let site = Site::new(&replay("lite-install.jsonl", 0));
    assert_eq!(site.play().await.unwrap(), Played::Success);
    let told = site.told();
    let counts = counts(&told);
    assert_eq!((counts["phase"], counts["recap"], counts["installed"]), (7, 1, 2), "{told:?}");
    let log = std::fs::read_to_string(site.places.log()).unwrap();
    assert!(log.contains("PLAY"));
}

#[tokio::test]
async fn a_recorded_failure_names_task_host_and_file() {
    let site = Site::new(&replay("lite-failed.jsonl", 2));
    let failure = site.play().await.unwrap_err();
    assert_eq!((failure.reason, failure.node.as_deref()), ("TaskFailed", Some("w1")));
    assert!(failure.message.contains("/bundle/roles/prepare/tasks/main.yml:18"), "{failure}");
    assert_eq!(counts(&site.told())["failed"], 1);
}

#[tokio::test]
async fn exit_code_0_with_nothing_done_is_a_failure() {
    let site = Site::new("echo 'skipping: no hosts matched'; exit 0");
    assert_eq!(site.play().await.unwrap_err().reason, "NothingDone");
}

#[tokio::test]
async fn an_error_before_the_first_event_is_told_from_the_log() {
    let site = Site::new("echo \"ERROR! the role 'x' was not found\" >&2; exit 4");
    let failure = site.play().await.unwrap_err();
    assert_eq!(failure.reason, "PlaybookError");
    assert!(failure.message.contains("the role 'x' was not found"), "{failure}");
}

#[tokio::test]
async fn a_new_process_adopts_the_playbook_and_tells_nothing_twice() {
    let half = format!(
        "head -n 30 {0} >> \"$BPA_EVENTS\"; sleep 1.5; tail -n +31 {0} >> \"$BPA_EVENTS\"",
        recorded("lite-install.jsonl").display()
    );
    let site = Site::new(&half);
    // The agent dies: its task is gone between two events.
    let died = tokio::time::timeout(std::time::Duration::from_millis(900), site.play()).await;
    assert!(died.is_err(), "the playbook takes longer");
    let before = counts(&site.told());
    assert!(before["phase"] > 0 && !before.contains_key("recap"), "{before:?}");
    assert_eq!(site.play().await.unwrap(), Played::Success);
    let counts = counts(&site.told());
    assert_eq!((counts["phase"], counts["recap"]), (7, 1), "each phase once");
    assert_eq!(site.record.starts(), 1, "it was not started again");
    let adopted = site.told().iter().any(
        |b| matches!(b, EventBody::Note { message } if message.contains("while the agent was away")),
    );
    assert!(adopted);
}

#[tokio::test]
async fn a_cancel_stops_it_and_is_no_failure() {
    let site = Site::new("trap 'exit 99' INT; echo up; sleep 60 & wait");
    let cancel = site.cancel.clone();
    let later = async move {
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        cancel.cancel();
    };
    let (played, ()) = tokio::join!(site.play(), later);
    assert_eq!(played.unwrap(), Played::Cancelled);
}
