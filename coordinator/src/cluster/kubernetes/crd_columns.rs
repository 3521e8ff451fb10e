//! What `kubectl get` shows of each kind.

use serde_json::{Value, json};

use crate::cluster::kind::Kind;

/// The printer columns of a kind; NAME stands before them.
pub fn columns(kind: Kind) -> Value {
    let columns: &[(&str, &str, &str, &str)] = match kind {
        Kind::Provisioning => &[
            ("Cluster", "string", ".metadata.labels.cluster", "Label `cluster`"),
            ("Site", "string", ".status.site", "Where it is installed"),
            ("Phase", "string", ".status.phase", "One word for the whole"),
            ("Ready", "string", ".status.readyNodes", "Nodes installed, of all"),
            ("Version", "string", ".status.kubernetesVersion", "Kubernetes version"),
            AGE,
            (STEP, "string", ".status.run.step", "Step of the run"),
            (REASON, "string", READY_REASON, "Why it is ready, or not"),
            (WIDE, "string", READY_MESSAGE, "What it waits for, or what went wrong"),
        ],
        Kind::Site => &[
            ("Approved", "boolean", ".spec.approved", "Whether it gets orders"),
            ("Connected", "boolean", ".status.connected", "Whether its agent is connected now"),
            ("Leases", "integer", ".status.leases.count", "Hosts with a DHCP lease"),
            ("Agent", "string", ".status.agentVersion", "Version of its agent"),
            ("Seen", "date", ".status.lastSeen", "Time since its last message"),
            AGE,
            (WIDE, "string", ".spec.description", "For people"),
        ],
        Kind::Software => &[
            ("Cluster", "string", ".metadata.labels.cluster", "Label `cluster`"),
            ("Ready", "string", READY, "Whether all packages are installed"),
            AGE,
            (WIDE, "string", READY_MESSAGE, "What it waits for, or what went wrong"),
        ],
        _ => &[
            ("Phase", "string", ".status.phase", "Phase of its Provisioning"),
            ("Nodes", "string", ".status.readyNodes", "Nodes installed, of all"),
            ("Ready", "string", READY, "Whether all of it is ready"),
            AGE,
            (WIDE, "string", READY_MESSAGE, "What it waits for, or what went wrong"),
        ],
    };
    let column = |(name, kind, path, description): &(&str, &str, &str, &str)| {
        let mut column = json!({
            "name": name, "type": kind, "jsonPath": path, "description": description,
        });
        if [STEP, REASON, WIDE].contains(name) {
            // Only with `-o wide`: they are long.
            column["priority"] = json!(1);
        }
        column
    };
    columns.iter().map(column).collect()
}

const AGE: (&str, &str, &str, &str) =
    ("Age", "date", ".metadata.creationTimestamp", "Time since it was created");
const STEP: &str = "Step";
const REASON: &str = "Reason";
const WIDE: &str = "Message";
const READY_REASON: &str = r#".status.conditions[?(@.type=="Ready")].reason"#;
const READY: &str = r#".status.conditions[?(@.type=="Ready")].status"#;
const READY_MESSAGE: &str = r#".status.conditions[?(@.type=="Ready")].message"#;
