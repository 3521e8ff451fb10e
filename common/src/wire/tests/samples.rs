//! One value of each message, written by hand. The golden bytes are theirs: never change one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::net::MacAddress;
use crate::wire::v1::*;

pub const RUN: RunId = RunId([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
const MAC: MacAddress = MacAddress::new([0x52, 0x54, 0, 0xaa, 1, 2]);
const V4: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 20, 0, 11));
const V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 7));

fn object(name: &str) -> ObjectId {
    ObjectId { namespace: "metal3".into(), name: name.into(), uid: "uid-1".into() }
}

pub fn hello() -> Hello {
    Hello {
        min_version: 1,
        max_version: 1,
        site: "north".into(),
        agent_version: "0.1.0".into(),
        session: 42,
        clock_ms: 1_796_000_000_123,
        epoch_seen: 3,
        runs: vec![RunReport {
            run: RUN,
            provisioning: object("edge"),
            generation: 2,
            epoch: 3,
            state: RunState::Running,
        }],
        ssh_public_key: "ssh-ed25519 AAAA bpa".into(),
        bundles: vec![BundleReport {
            name: "kubespray".into(),
            version: "2.28".into(),
            kubernetes_versions: vec!["1.33.1".into()],
            problems: vec!["no image for pause".into()],
        }],
    }
}

pub fn welcome() -> Welcome {
    Welcome {
        version: 1,
        coordinator_version: "0.1.0".into(),
        epoch: 4,
        clock_ms: -1,
        approved: true,
        events_seen: 77,
    }
}

pub fn heartbeat() -> Heartbeat {
    Heartbeat {
        clock_ms: 5,
        host: Some(HostReport {
            hostname: "boot".into(),
            cpus: 2,
            load_percent: 150,
            memory_total: 8 << 30,
            memory_available: 1 << 30,
            disk_total: 9,
            disk_available: 8,
        }),
        approved: false,
    }
}

pub fn join_request() -> JoinRequest {
    JoinRequest {
        min_version: 1,
        max_version: 2,
        site: "north".into(),
        secret: SecretBytes(vec![7; 32]),
        csr: vec![0x30, 0x82],
        agent_version: "0.1.0".into(),
        clock_ms: 0,
    }
}

pub fn join_granted() -> JoinGranted {
    JoinGranted { certificate: vec![1, 2], ca: vec![3], not_after: 99, clock_ms: 98 }
}

pub fn join_line() -> JoinLineBody {
    JoinLineBody {
        addresses: vec!["192.0.2.7:7443".into()],
        pins: vec![[5; 32]],
        secret: SecretBytes(vec![6; 32]),
        site: "north".into(),
        issued: 1_796_000_000,
        expires: 1_796_003_600,
    }
}

pub fn entry() -> LeaseEntry {
    LeaseEntry {
        mac: MAC,
        address: V4,
        state: LeaseState::Bound,
        expires: Some(1_796_000_600),
        renewed: None,
        source: 0,
        client_id: "01525400aa0102".into(),
        hostname: "node-1".into(),
        chosen: true,
    }
}

pub fn source() -> LeaseSource {
    LeaseSource {
        kind: "kea".into(),
        path: "/var/lib/kea/kea-leases4.csv".into(),
        records: 10,
        skipped: 1,
        age_seconds: 2,
        error: "gone".into(),
    }
}

pub fn snapshot() -> LeaseSnapshot {
    LeaseSnapshot { seq: 9, sources: vec![source()], entries: vec![entry()] }
}

pub fn delta() -> LeaseDelta {
    LeaseDelta {
        seq: 10,
        sources: vec![source()],
        changed: vec![LeaseEntry { state: LeaseState::Reserved, address: V6, ..entry() }],
        removed: vec![(MAC, V4)],
    }
}

pub fn order() -> Order {
    Order {
        run: RUN,
        provisioning: object("edge"),
        generation: 2,
        epoch: 4,
        kind: OrderKind::Reset,
        cluster: ClusterPlan {
            name: "edge".into(),
            bundle: Some("kubespray".into()),
            kubernetes_version: None,
            network_plugin: Some("bridge".into()),
            pod_subnet: Some("10.244.0.0/16".into()),
            service_subnet: None,
            endpoint: Some(("10.20.0.5".into(), 6443)),
            vars_json: "{}".into(),
            plugins: vec!["ovn".into()],
        },
        nodes: vec![OrderNode {
            name: "master-1".into(),
            control_plane: true,
            worker: false,
            etcd: true,
            host: object("bmh-1"),
            mac: MAC,
            macs: vec![MAC],
            address: Some(V6),
            installation: "img-1".into(),
            serial: Some("S1".into()),
            cpu: Some(8),
            memory_bytes: Some(16 << 30),
            disk_bytes: None,
        }],
        kubeconfig_home: true,
    }
}

/// One event of every body.
pub fn events() -> Vec<Event> {
    let failure = Failure {
        step: Step::Access,
        reason: "WrongPassword".into(),
        node: Some("node-1".into()),
        message: "refused".into(),
        fix: "correct it".into(),
    };
    let check = Check {
        node: "node-1".into(),
        id: "memory".into(),
        status: CheckOutcome::Pending,
        wanted: "2 GiB".into(),
        found: "1 GiB".into(),
        fix: "add memory".into(),
    };
    let recap =
        HostRecap { node: "n".into(), ok: 1, changed: 2, failed: 3, unreachable: 4, skipped: 5 };
    let bodies = vec![
        EventBody::Accepted,
        EventBody::StepStarted { step: Step::Resolve },
        EventBody::StepEnded { step: Step::Check, end: StepEnd::Skipped, message: "m".into() },
        EventBody::Node {
            node: "n".into(),
            state: NodeState::Failed,
            address: Some(V4),
            message: String::new(),
        },
        EventBody::Check(check),
        EventBody::Phase { name: "p".into() },
        EventBody::Task { name: "t".into(), done: 3 },
        EventBody::TaskFailed {
            node: "n".into(),
            task: "t".into(),
            path: "a.yml:3".into(),
            message: "no".into(),
        },
        EventBody::Recap { hosts: vec![recap] },
        EventBody::Note { message: "again".into() },
        EventBody::Kubeconfig {
            pem: SecretBytes(vec![1, 2, 3]),
            server: "https://10.20.0.5:6443".into(),
            days_left: 364,
            kubernetes_version: "1.33.1".into(),
        },
        EventBody::Ended { outcome: Outcome::Succeeded },
        EventBody::Ended { outcome: Outcome::Failed(failure) },
        EventBody::Ended { outcome: Outcome::Cancelled { by: "ops".into() } },
    ];
    let number = |(i, body)| Event { seq: i as u64 + 1, run: RUN, at_ms: 1000 + i as i64, body };
    bodies.into_iter().enumerate().map(number).collect()
}

pub fn log_chunk() -> LogChunk {
    LogChunk { offset: 65536, plain_len: 5, deflated: vec![9, 8, 7], last: true }
}
