//! The Kubernetes world against a real API server, with the rights of `deploy/rbac.yaml`.

mod commands;
mod deploy;
mod events;
mod leaders;
mod missing;
mod os;
mod outputs;
mod rights;
mod seen;
mod vault;
mod writes;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bpa_common::api::metal3::ConsumerRef;
use bpa_common::api::{ObjectKey, Provisioning};
use bpa_coordinator::cluster::kubernetes::{KubernetesOptions, KubernetesWorld};
use bpa_coordinator::cluster::{HostRecord, HostRef, Snapshot, World};
use bpa_tests::kubernetes::{Kubectl, User, shared};

/// Longest that anything here is waited for.
const LONG: Duration = Duration::from_secs(60);

/// A namespace of a test, and the coordinator's world of it.
struct Place {
    kubectl: Kubectl,
    world: KubernetesWorld,
    namespace: String,
}

/// A new namespace with one host, one site and one Provisioning.
async fn place(namespace: &str) -> Place {
    let kubectl = shared().namespace(namespace);
    kubectl.apply(OBJECTS);
    let world = world_of(&shared().kubeconfig(User::Coordinator), namespace).await;
    Place { kubectl, world, namespace: namespace.to_owned() }
}

async fn world_of(kubeconfig: &Path, namespace: &str) -> KubernetesWorld {
    let options = KubernetesOptions {
        kubeconfig: Some(kubeconfig.to_owned()),
        namespaces: vec![namespace.to_owned()],
        ..Default::default()
    };
    let world = KubernetesWorld::connect(options).await.unwrap();
    world.ready(LONG).await.unwrap();
    world
}

const OBJECTS: &str = "apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata: {name: h1, labels: {rack: a}}
spec: {online: true, bootMACAddress: '52:54:00:aa:01:01', externallyProvisioned: true}
---
apiVersion: metal3.io/v1alpha1
kind: HardwareData
metadata: {name: h1}
spec: {hardware: {cpu: {count: 8, flags: [sse, avx]}, ramMebibytes: 4096}}
---
apiVersion: bpa.akraino.org/v1alpha1
kind: Site
metadata: {name: north}
spec: {approved: true}
---
apiVersion: bpa.akraino.org/v1alpha1
kind: Software
metadata: {name: tools}
spec: {masterSoftware: [htop]}
---
apiVersion: bpa.akraino.org/v1alpha1
kind: Provisioning
metadata: {name: edge, labels: {cluster: edge}}
spec: {masters: [{m-0: {mac-address: '52:54:00:aa:01:01'}}]}
";

impl Place {
    fn key(&self, name: &str) -> ObjectKey {
        ObjectKey::new(&self.namespace, name)
    }

    /// Waits until the world shows what is asked for.
    async fn see<T>(&self, what: &str, look: impl Fn(&Snapshot) -> Option<T>) -> T {
        see(&self.world, what, look).await
    }

    async fn edge(&self) -> Arc<Provisioning> {
        self.see("the Provisioning", |snapshot| snapshot.provisionings.first().cloned()).await
    }

    async fn host(&self) -> Arc<HostRecord> {
        self.see("the host", |snapshot| snapshot.hosts.first().cloned()).await
    }
}

/// Waits until a world shows what is asked for; looks again at each change.
async fn see<T>(world: &KubernetesWorld, what: &str, look: impl Fn(&Snapshot) -> Option<T>) -> T {
    let mut changes = world.changes();
    let wait = async {
        loop {
            changes.mark_unchanged();
            let snapshot = world.snapshot().await.unwrap();
            if let Some(found) = look(&snapshot) {
                return found;
            }
            changes.changed().await.unwrap();
        }
    };
    tokio::time::timeout(LONG, wait).await.unwrap_or_else(|_| panic!("never seen: {what}"))
}

/// Asks until there is an answer, for what can't be watched.
async fn wait_for<T>(what: &str, mut probe: impl FnMut() -> Option<T>) -> T {
    let end = std::time::Instant::now() + LONG;
    while std::time::Instant::now() < end {
        if let Some(found) = probe() {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("never came: {what}")
}

fn host_ref(record: &HostRecord) -> HostRef {
    HostRef { key: record.host.metadata.key(), uid: record.host.metadata.uid.clone() }
}

fn consumer(of: &Provisioning) -> ConsumerRef {
    ConsumerRef {
        api_version: "bpa.akraino.org/v1alpha1".into(),
        kind: "Provisioning".into(),
        namespace: of.metadata.namespace.clone(),
        name: of.metadata.name.clone(),
        uid: of.metadata.uid.clone(),
    }
}
