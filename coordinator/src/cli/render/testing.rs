//! Objects for the golden tests of this room, and the comparison with kept files.

use bpa_common::api::metal3::{BareMetalHost, ConsumerRef, Cpu, Disk, Hardware};
use bpa_common::api::{
    CheckStatus, Condition, ConditionStatus, Conditions, HistoryEntry, LostHost, NodeStatus,
    ObjectKey, ObjectMeta, PlanStatus, Provisioning, RunStatus, Site, StepStatus,
};
use jiff::Timestamp;

use crate::cluster::HostRecord;
use crate::cluster::directory::EventRecord;

/// The moment at which all tests of this room look.
pub fn now() -> Timestamp {
    at(1000)
}

/// So many seconds after an arbitrary begin.
pub fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

fn meta(namespace: &str, name: &str) -> ObjectMeta {
    ObjectMeta {
        name: name.to_owned(),
        namespace: namespace.to_owned(),
        uid: format!("uid-{name}"),
        generation: 2,
        creation_timestamp: Some(at(0)),
        ..ObjectMeta::default()
    }
}

fn conditions(list: &[(&str, ConditionStatus, &str)]) -> Conditions {
    let one = |(kind, status, message): &(&str, ConditionStatus, &str)| Condition {
        kind: (*kind).to_owned(),
        status: *status,
        reason: "Reason".to_owned(),
        message: (*message).to_owned(),
        last_transition_time: at(700),
        observed_generation: 2,
    };
    Conditions(list.iter().map(one).collect())
}

fn node(name: &str, role: &str, n: u8, state: &str) -> NodeStatus {
    NodeStatus {
        name: name.to_owned(),
        roles: vec![role.to_owned()],
        host_namespace: "metal3".to_owned(),
        host: format!("host{n}"),
        host_uid: format!("u{n}"),
        mac: Some(bpa_common::net::MacAddress::new([0x52, 0x54, 0, 0xaa, 1, n])),
        address: Some([10, 77, 0, 50 + n].into()),
        address_source: "lease:kea".to_owned(),
        state: state.to_owned(),
        os_failures: 0,
        message: String::new(),
    }
}

fn step(name: &str, state: &str, from: i64, to: Option<i64>) -> StepStatus {
    StepStatus {
        name: name.to_owned(),
        state: state.to_owned(),
        started: Some(at(from)),
        finished: to.map(at),
    }
}

/// An install in the middle of the playbook.
pub fn installing() -> Provisioning {
    let mut p: Provisioning = Provisioning::new(meta("default", "edge"), Default::default());
    p.spec.site = Some("north".to_owned());
    let status = &mut p.status;
    status.observed_generation = 2;
    status.phase = "Installing".to_owned();
    status.site = Some("north".to_owned());
    status.plan = Some(PlanStatus {
        hash: "0123456789ab".to_owned(),
        summary: "2 nodes on 2 hosts".to_owned(),
        before: None,
    });
    status.nodes =
        vec![node("m-0", "control-plane", 1, "Installing"), node("w-0", "worker", 2, "Installing")];
    status.conditions = conditions(&[
        ("HostsMatched", ConditionStatus::True, ""),
        ("AddressesKnown", ConditionStatus::True, ""),
        ("Ready", ConditionStatus::False, "the playbook runs: 57 tasks done"),
    ]);
    status.run = Some(RunStatus {
        id: "7d4ad7a5-51f4-4a7e-9a63-3d4dd0a1c0de".to_owned(),
        kind: "Install".to_owned(),
        generation: 2,
        state: "Running".to_owned(),
        step: "Kubespray".to_owned(),
        steps: vec![
            step("Resolve", "Done", 900, Some(901)),
            step("Access", "Done", 901, Some(905)),
            step("Kubespray", "Running", 905, None),
        ],
        phase: "Install the control plane".to_owned(),
        task: "Start kubelet".to_owned(),
        tasks_done: 57,
        started: Some(at(899)),
        last_line: "TASK [Start kubelet]".to_owned(),
        ..RunStatus::default()
    });
    p
}

/// An install that failed for a wrong password.
pub fn failed() -> Provisioning {
    let mut p = installing();
    let status = &mut p.status;
    status.phase = "Failed".to_owned();
    status.nodes[1].state = "Failed".to_owned();
    status.nodes[1].message = "the host refused the password of user root\u{1b}[31m".to_owned();
    status.conditions = conditions(&[
        ("HostsMatched", ConditionStatus::True, ""),
        ("AccessReady", ConditionStatus::False, "the agent can't log in to w-0"),
    ]);
    if let Some(run) = &mut status.run {
        run.state = "Failed".to_owned();
        run.step = "Access".to_owned();
        run.steps.truncate(2);
        run.steps[1].state = "Failed".to_owned();
        run.finished = Some(at(905));
        run.reason = "WrongPassword".to_owned();
        run.message = "w-0 (10.77.0.52): wrong password for user root\nput the right one into the site's credentials file".to_owned();
        run.checks = vec![CheckStatus {
            node: "m-0".to_owned(),
            id: "memory".to_owned(),
            status: "failed".to_owned(),
            wanted: "at least 2Gi".to_owned(),
            found: "1.5Gi".to_owned(),
            fix: "choose a larger host".to_owned(),
        }];
    }
    status.lost_hosts = vec![LostHost {
        namespace: "metal3".to_owned(),
        name: "host9".to_owned(),
        uid: "u9".to_owned(),
    }];
    status.history = vec![HistoryEntry {
        run: "7d4ad7a5-51f4-4a7e-9a63-3d4dd0a1c0de".to_owned(),
        kind: "Install".to_owned(),
        generation: 2,
        outcome: "Failed".to_owned(),
        started: Some(at(899)),
        finished: Some(at(905)),
        message: "wrong password".to_owned(),
    }];
    p
}

/// A cluster that stands.
pub fn ready() -> Provisioning {
    let mut p = installing();
    let status = &mut p.status;
    status.phase = "Ready".to_owned();
    status.nodes.iter_mut().for_each(|node| node.state = "Installed".to_owned());
    status.conditions = conditions(&[("Ready", ConditionStatus::True, "the cluster answers")]);
    status.kubeconfig_secret = Some("/var/lib/bpa/kubeconfigs/default.edge.yaml".to_owned());
    status.kubernetes_version = Some("1.35.4".to_owned());
    if let Some(run) = &mut status.run {
        run.state = "Succeeded".to_owned();
        run.finished = Some(at(960));
        run.steps[2].state = "Done".to_owned();
        run.steps[2].finished = Some(at(960));
    }
    p
}

/// A host with known hardware, taken by `edge`.
pub fn host() -> HostRecord {
    let mut host: BareMetalHost = BareMetalHost::new(meta("metal3", "host1"), Default::default());
    host.spec.online = true;
    host.spec.boot_mac_address = "52:54:00:AA:01:01".to_owned();
    host.spec.consumer_ref = Some(ConsumerRef {
        kind: "Provisioning".to_owned(),
        namespace: "default".to_owned(),
        name: "edge".to_owned(),
        ..ConsumerRef::default()
    });
    host.status.operational_status = "OK".to_owned();
    host.status.provisioning.state = "provisioned".to_owned();
    host.status.hardware = Some(Hardware {
        cpu: Some(Cpu { count: Some(8), ..Cpu::default() }),
        ram_mebibytes: Some(16 * 1024),
        storage: vec![
            Disk { size_bytes: Some(100 << 30), ..Disk::default() },
            Disk { size_bytes: Some(500 << 30), ..Disk::default() },
        ],
        ..Hardware::default()
    });
    HostRecord { host, hardware: None }
}

/// A site that is connected and waits for approval.
pub fn site() -> Site {
    let mut site: Site = Site::new(meta("default", "north"), Default::default());
    site.status.connected = true;
    site.status.last_seen = Some(at(997));
    site.status.agent_version = "0.1.0".to_owned();
    site.status.fingerprint = "SHA256:abcdef".to_owned();
    site.status.leases.count = 3;
    site.status.leases.sources = vec!["kea:/var/lib/kea/leases4.csv".to_owned()];
    site.status.host = Some(bpa_common::api::HostResources {
        hostname: "boot".to_owned(),
        cpus: 2,
        load_percent: 42,
        memory_total: 4 << 30,
        memory_available: 3 << 30,
        disk_total: 40 << 30,
        disk_available: 30 << 30,
    });
    site.status.bundles = vec![bpa_common::api::BundleStatus {
        name: "kubeadm".to_owned(),
        version: "1.0.0".to_owned(),
        kubernetes_versions: vec!["1.35.4".to_owned()],
        problems: Vec::new(),
    }];
    site
}

/// Two events about `edge`, one about something else.
pub fn events() -> Vec<EventRecord> {
    let one = |name: &str, warning, count, message: &str| EventRecord {
        first: at(800),
        last: at(940),
        count,
        kind: "Provisioning".to_owned(),
        key: ObjectKey::new("default", name),
        warning,
        reason: if warning { "RunFailed" } else { "OrderSent" }.to_owned(),
        message: message.to_owned(),
    };
    vec![
        one("edge", false, 1, "order sent to north"),
        one("other", false, 1, "not about edge"),
        one("edge", true, 3, "w-0: wrong password"),
    ]
}

/// Compares with a kept file. What users see changes on purpose only: `BLESS=1` rewrites it.
pub fn golden(name: &str, text: &str) {
    let path = format!("{}/testdata/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, kept, "{path} differs; BLESS=1 rewrites it");
}
