//! A coordinator, as a process, while its API server has faults. Each story ends with what the
//! objects must look like; none may need a restart of the coordinator, or see it panic.
//!
//! The server is a real one; what lies before it (`Proxy`) answers itself, is slow, or loses answers.

mod answers;
mod late;
mod namespace;
mod neighbours;
mod restarts;

use std::path::PathBuf;

use bpa_tests::kubernetes::{ControlPlane, Coordinator, Fault, Kubectl, Proxy, User, shared};
use bpa_tests::wait::until;
use serde_json::{Value, json};

/// Two hosts with Linux and a site: enough for a Provisioning to choose, mark and wait for the site.
const OBJECTS: &str = "apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata: {name: h1}
spec: {online: true, bootMACAddress: '52:54:00:aa:01:01', externallyProvisioned: true}
---
apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata: {name: h2}
spec: {online: true, bootMACAddress: '52:54:00:aa:01:02', externallyProvisioned: true}
---
apiVersion: bpa.akraino.org/v1alpha1
kind: Site
metadata: {name: north}
spec: {approved: true}
";

/// A coordinator in a namespace of its own.
struct House {
    kubectl: Kubectl,
    coordinator: Coordinator,
    dir: tempfile::TempDir,
    namespace: String,
    kubeconfig: PathBuf,
}

impl House {
    /// Objects are there, the coordinator leads. It asks the server by this kubeconfig.
    fn up(plane: &ControlPlane, namespace: &str, kubeconfig: PathBuf) -> Self {
        let kubectl = plane.namespace(namespace);
        own_rights(plane, &kubectl, namespace);
        make_hosts(&kubectl, OBJECTS);
        let dir = tempfile::tempdir().unwrap();
        let coordinator = start(&kubeconfig, namespace, dir.path());
        let namespace = namespace.to_owned();
        let house = Self { kubectl, coordinator, dir, namespace, kubeconfig };
        house.coordinator.wait_ready();
        house
    }

    /// Asks for a cluster of `hosts` nodes.
    fn wish(&self, name: &str, hosts: usize) {
        let spec = json!({"masters": [{"m": {"count": hosts}}]});
        self.kubectl.apply(&wish(name, &spec).to_string());
    }

    /// Waits until a condition of a Provisioning has this reason. Returns its message.
    fn reason(&self, name: &str, kind: &str, reason: &str) -> String {
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
    fn claimed(&self, name: &str) {
        self.reason(name, "AddressesKnown", "SiteNotConnected");
    }

    /// Who has a host.
    fn holder(&self, host: &str) -> Value {
        self.kubectl.get("bmh", host)["spec"]["consumerRef"]["name"].clone()
    }

    /// Deletes a Provisioning and waits until it is gone; its hosts must be free then.
    fn delete(&self, name: &str) {
        self.kubectl.run(&["delete", "bpa", name, "--wait=false"]);
        self.gone(name);
        let text = self.kubectl.run(&["get", "bmh", "-o", "json"]);
        let hosts: Value = serde_json::from_str(&text).unwrap();
        let mut marks =
            hosts["items"].as_array().unwrap().iter().map(|h| &h["spec"]["consumerRef"]);
        assert!(marks.all(|mark| mark["name"] != name), "the hosts are free: {text}");
    }

    /// Waits until a Provisioning is gone.
    fn gone(&self, name: &str) {
        until(&format!("{name} to be gone"), 90, || match self.kubectl.get("bpa", name) {
            Value::Null => Ok(()),
            still => Err(still["status"].to_string()),
        });
    }
}

fn wish(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "bpa.akraino.org/v1alpha1", "kind": "Provisioning",
        "metadata": {"name": name}, "spec": spec})
}

fn start(kubeconfig: &std::path::Path, namespace: &str, dir: &std::path::Path) -> Coordinator {
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

/// Hosts, and their status as Metal3 writes it.
fn make_hosts(kubectl: &Kubectl, manifests: &str) {
    kubectl.apply(manifests);
    for host in ["h1", "h2"] {
        let status = json!({"status": {"operationalStatus": "OK", "poweredOn": true,
            "errorMessage": "", "errorCount": 0, "hardwareProfile": "unknown",
            "provisioning": {"state": "externally provisioned", "ID": "", "image": {"url": ""}}}});
        kubectl.patch("bmh", host, "status", &status);
    }
}

/// A house whose coordinator asks through a proxy before the shared server.
fn behind(namespace: &str) -> (Proxy, House) {
    let proxy = Proxy::before(shared());
    let kubeconfig = proxy.kubeconfig(shared(), User::Coordinator);
    let house = House::up(shared(), namespace, kubeconfig);
    (proxy, house)
}
