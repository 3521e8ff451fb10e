//! Nothing of a status is dropped or changed on its way through the API server's schema.

use std::time::Duration;

use bpa_common::api::{
    BundleStatus, CheckStatus, ConditionStatus, FailedHost, HistoryEntry, HostResources,
    LeaseStatus, LostHost, NodeStatus, ObjectKey, PlanBefore, PlanStatus, ProvisioningStatus,
    RunStatus, SiteStatus, StepStatus,
};
use bpa_coordinator::cluster::World;
use bpa_coordinator::cluster::kubernetes::{KubernetesOptions, KubernetesWorld};
use bpa_tests::kubernetes::{User, shared};
use jiff::Timestamp;
use serde_json::Value;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_796_078_000 + second).unwrap()
}

fn run() -> RunStatus {
    let step = StepStatus {
        name: "Resolve".into(),
        state: "Done".into(),
        started: Some(at(1)),
        finished: Some(at(2)),
    };
    let check = CheckStatus {
        node: "m-0".into(),
        id: "python".into(),
        status: "failed".into(),
        wanted: "3.8".into(),
        found: "2.7".into(),
        fix: "install python3".into(),
    };
    RunStatus {
        id: "0b0c0d0e-0000-4000-8000-000000000000".into(),
        kind: "Install".into(),
        generation: u64::from(u32::MAX) + 7,
        digest: "abc".into(),
        state: "Failed".into(),
        step: "Preflight".into(),
        steps: vec![step],
        phase: "play".into(),
        task: "task".into(),
        tasks_done: 812,
        started: Some(at(1)),
        finished: Some(at(9)),
        last_line: "the last".into(),
        reason: "PreflightFailed".into(),
        message: "what happened".into(),
        checks: vec![check],
    }
}

fn provisioning_status() -> ProvisioningStatus {
    let node = NodeStatus {
        name: "m-0".into(),
        roles: vec!["control-plane".into(), "worker".into()],
        host_namespace: "metal3".into(),
        host: "h1".into(),
        host_uid: "u-1".into(),
        mac: Some("52:54:00:aa:01:02".parse().unwrap()),
        address: Some("2001:db8::10".parse().unwrap()),
        address_source: "lease:kea".into(),
        state: "Installed".into(),
        os_failures: 2,
        message: "well".into(),
    };
    let history = HistoryEntry {
        run: "r".into(),
        kind: "Install".into(),
        generation: 1,
        outcome: "Failed".into(),
        started: Some(at(1)),
        finished: Some(at(9)),
        message: "why".into(),
    };
    let mut status = ProvisioningStatus {
        observed_generation: 1,
        phase: "Failed".into(),
        ready_nodes: "1/1".into(),
        plan: Some(PlanStatus {
            hash: "0123".into(),
            summary: "m-0 = h1".into(),
            before: Some(PlanBefore { hash: "4567".into(), changes: "m-0 was h2".into() }),
        }),
        site: Some("north".into()),
        nodes: vec![node],
        run: Some(run()),
        kubeconfig_secret: Some("edge-kubeconfig".into()),
        kubernetes_version: Some("1.35.4".into()),
        handled_retry: "1".into(),
        lost_hosts: vec![LostHost { namespace: "n".into(), name: "h".into(), uid: "u".into() }],
        failed_hosts: vec![FailedHost {
            namespace: "n".into(),
            name: "h".into(),
            uid: "u".into(),
            generation: 3,
            message: "no power".into(),
        }],
        history: vec![history],
        ..ProvisioningStatus::default()
    };
    for kind in ["Accepted", "Ready"] {
        status.conditions.set(kind, ConditionStatus::True, "Well", "words", at(3), 1);
    }
    status
}

fn site_status() -> SiteStatus {
    let mut status = SiteStatus {
        connected: true,
        last_seen: Some(at(5)),
        agent_version: "0.1.0".into(),
        fingerprint: "SHA256:abc".into(),
        ssh_public_key: "ssh-ed25519 AAAA".into(),
        clock_skew_ms: -1500,
        leases: LeaseStatus { count: 3, sources: vec!["kea:/l".into()], newest: Some(at(4)) },
        bundles: vec![BundleStatus {
            name: "full".into(),
            version: "1".into(),
            kubernetes_versions: vec!["1.35.4".into()],
            problems: vec!["none".into()],
        }],
        host: Some(HostResources {
            hostname: "boot".into(),
            cpus: 8,
            load_percent: 250,
            memory_total: 1 << 40,
            memory_available: 1 << 39,
            disk_total: 1 << 50,
            disk_available: 1 << 49,
        }),
        ..SiteStatus::default()
    };
    status.conditions.set("Connected", ConditionStatus::False, "Gone", "words", at(3), 1);
    status
}

/// No field of these values may be left at nothing, or this test would not see it dropped.
fn is_full(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty() && items.iter().all(is_full),
        Value::Object(fields) => !fields.is_empty() && fields.values().all(is_full),
        Value::Bool(_) | Value::Number(_) => true,
    }
}

#[test]
fn a_full_status_comes_back_as_it_was_written() {
    let kubectl = shared().namespace("whole-status");
    kubectl.apply(
        "apiVersion: bpa.akraino.org/v1alpha1\nkind: Provisioning\nmetadata: {name: edge}\n\
         spec: {masters: [{m: {}}]}\n---\n\
         apiVersion: bpa.akraino.org/v1alpha1\nkind: Site\nmetadata: {name: north}\n",
    );
    let uid = kubectl.get("provisioning", "edge")["metadata"]["uid"].as_str().unwrap().to_owned();
    let (provisioning, site) = (provisioning_status(), site_status());
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let options = KubernetesOptions {
            kubeconfig: Some(shared().kubeconfig(User::Coordinator)),
            namespaces: vec!["whole-status".into()],
            ..KubernetesOptions::default()
        };
        let world = KubernetesWorld::connect(options).await.unwrap();
        world.ready(Duration::from_secs(60)).await.unwrap();
        let key = |name| ObjectKey::new("whole-status", name);
        world.write_provisioning_status(&key("edge"), &uid, &provisioning).await.unwrap();
        world.write_site_status(&key("north"), &site).await.unwrap();
    });
    let same = |kind: &str, name: &str, wrote: Value| {
        assert!(is_full(&wrote), "{wrote:#}");
        assert_eq!(kubectl.get(kind, name)["status"], wrote, "{kind}");
    };
    same("provisioning", "edge", serde_json::to_value(&provisioning).unwrap());
    same("site", "north", serde_json::to_value(&site).unwrap());
}
