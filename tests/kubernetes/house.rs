//! A coordinator as a process, with hosts, a site and a namespace of its own, for stories about what
//! its API server and its neighbours do.

use std::path::PathBuf;

use bpa_tests::kubernetes::{ControlPlane, Coordinator, Kubectl, User};
use bpa_tests::wait::until;
use serde_json::{Value, json};

/// State of a host that has Linux, not by Metal3.
pub const INSTALLED: &str = "externally provisioned";
/// State of an empty host.
pub const EMPTY: &str = "available";

const OBJECTS: &str = "apiVersion: bpa.akraino.org/v1alpha1
kind: Site
metadata: {name: north}
spec: {approved: true}
";

/// A coordinator in a namespace of its own.
pub struct House {
    pub kubectl: Kubectl,
    pub coordinator: Coordinator,
    pub dir: tempfile::TempDir,
    pub namespace: String,
    pub kubeconfig: PathBuf,
}

impl House {
    /// Objects are there, the coordinator leads. It asks the server by this kubeconfig.
    pub fn up(plane: &ControlPlane, namespace: &str, kubeconfig: PathBuf) -> Self {
        Self::with(plane, namespace, kubeconfig, INSTALLED)
    }

    /// The same with hosts in this state.
    pub fn with(
        plane: &ControlPlane,
        namespace: &str,
        kubeconfig: PathBuf,
        hosts: &'static str,
    ) -> Self {
        let kubectl = plane.namespace(namespace);
        own_rights(plane, &kubectl, namespace);
        kubectl.apply(OBJECTS);
        make_hosts(&kubectl, hosts);
        let dir = tempfile::tempdir().unwrap();
        let coordinator = start(&kubeconfig, namespace, dir.path());
        let namespace = namespace.to_owned();
        let house = Self { kubectl, coordinator, dir, namespace, kubeconfig };
        house.coordinator.wait_ready();
        house
    }

    /// Asks for a cluster of `hosts` nodes.
    pub fn wish(&self, name: &str, hosts: usize) {
        let spec = json!({"masters": [{"m": {"count": hosts}}]});
        self.kubectl.apply(&wish(name, &spec).to_string());
    }

    /// Waits until a condition of a Provisioning has this reason. Returns its message.
    pub fn reason(&self, name: &str, kind: &str, reason: &str) -> String {
        until(&format!("{name} {kind}={reason}"), 90, || {
            let status = self.kubectl.get("bpa", name)["status"].clone();
            let found = status["conditions"].as_array().into_iter().flatten();
            let mut found = found.filter(|c| c["type"] == kind && c["reason"] == reason);
            let message =
                found.next().map(|c| c["message"].as_str().unwrap_or_default().to_owned());
            message.ok_or_else(|| status.to_string())
        })
    }

    /// Waits until the hosts are marked for it and it waits for its site: all writes went well.
    pub fn claimed(&self, name: &str) {
        self.reason(name, "AddressesKnown", "SiteNotConnected");
    }

    /// Who has a host.
    pub fn holder(&self, host: &str) -> Value {
        self.kubectl.get("bmh", host)["spec"]["consumerRef"]["name"].clone()
    }

    /// Deletes a Provisioning and waits until it is gone; its hosts must be free then.
    pub fn delete(&self, name: &str) {
        self.kubectl.run(&["delete", "bpa", name, "--wait=false"]);
        self.gone(name);
        let text = self.kubectl.run(&["get", "bmh", "-o", "json"]);
        let hosts: Value = serde_json::from_str(&text).unwrap();
        let mut marks =
            hosts["items"].as_array().unwrap().iter().map(|h| &h["spec"]["consumerRef"]);
        assert!(marks.all(|mark| mark["name"] != name), "the hosts are free: {text}");
    }

    /// Waits until a Provisioning is gone.
    pub fn gone(&self, name: &str) {
        until(&format!("{name} to be gone"), 90, || match self.kubectl.get("bpa", name) {
            Value::Null => Ok(()),
            still => Err(still["status"].to_string()),
        });
    }
}

pub fn wish(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "bpa.akraino.org/v1alpha1", "kind": "Provisioning",
        "metadata": {"name": name}, "spec": spec})
}

pub fn start(kubeconfig: &std::path::Path, namespace: &str, dir: &std::path::Path) -> Coordinator {
    let more = ["--namespace", namespace, "--system-namespace", namespace];
    Coordinator::start(kubeconfig, &more, dir)
}

/// The rights of `deploy/rbac.yaml` in a system namespace of its own.
fn own_rights(plane: &ControlPlane, kubectl: &Kubectl, namespace: &str) {
    let admin = plane.kubectl(User::Admin).in_namespace("bpa-system");
    for kind in ["role", "rolebinding"] {
        let mut object = admin.get(kind, "bpa-coordinator");
        object["metadata"] = json!({"name": "bpa-coordinator", "namespace": namespace});
        kubectl.apply(&object.to_string());
    }
}

/// Both hosts in this state.
pub fn make_hosts(kubectl: &Kubectl, state: &str) {
    for (host, mac) in [("h1", "52:54:00:aa:01:01"), ("h2", "52:54:00:aa:01:02")] {
        make_host(kubectl, host, mac, state);
    }
}

/// A host, and its status as Metal3 writes it.
pub fn make_host(kubectl: &Kubectl, host: &str, mac: &str, state: &str) {
    let object = json!({"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
        "metadata": {"name": host},
        "spec": {"online": state == INSTALLED, "bootMACAddress": mac,
            "externallyProvisioned": state == INSTALLED}});
    kubectl.apply(&object.to_string());
    let status = json!({"status": {"operationalStatus": "OK", "poweredOn": true,
        "errorMessage": "", "errorCount": 0, "hardwareProfile": "unknown",
        "provisioning": {"state": state, "ID": "", "image": {"url": ""}}}});
    kubectl.patch("bmh", host, "status", &status);
}
