//! The loop on a real directory of manifests: the same story, with files.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bpa_common::api::Provisioning;
use bpa_common::wire::v1::{OrderKind, RunId};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::super::testing::{Ends, FakeFleet, Fuse};
use crate::cluster::World;
use crate::cluster::directory::{DirectoryWorld, Role};
use crate::planning::testing::site_view;
use crate::runs::RunStore;
use crate::sites::RunSink;

const OBJECTS: &str = "apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata: {name: h1, namespace: metal3, uid: u-1}
spec: {online: true, bootMACAddress: '52:54:00:00:00:01'}
status: {operationalStatus: OK, provisioning: {state: provisioned}}
---
apiVersion: bpa.akraino.org/v1alpha1
kind: Site
metadata: {name: north}
spec: {approved: true}
";
const EDGE: &str = "apiVersion: bpa.akraino.org/v1alpha1
kind: Provisioning
metadata: {name: edge}
spec:
  masters:
  - m-0: {mac-address: '52:54:00:00:00:01'}
  deletionPolicy: Reset
";

/// A coordinator at work on these directories.
struct Coordinator {
    world: DirectoryWorld,
    runs: RunStore,
    stop: CancellationToken,
    work: JoinHandle<()>,
}

impl Coordinator {
    fn start(objects: &Path, state: &Path, fleet: &Arc<FakeFleet>) -> Self {
        let runner = DirectoryWorld::open(objects, state, Role::Runner).unwrap();
        let world = DirectoryWorld::open(objects, state, Role::Reader).unwrap();
        let runs = RunStore::open(state).unwrap();
        let stop = CancellationToken::new();
        let work = super::super::run(
            Arc::new(runner),
            Arc::clone(fleet),
            Arc::new(runs.clone()),
            stop.clone(),
        );
        Self { world, runs, stop, work: tokio::spawn(work) }
    }

    async fn end(self) {
        self.stop.cancel();
        self.work.await.unwrap();
    }

    async fn edge(&self) -> Option<Provisioning> {
        self.world.snapshot().await.unwrap().provisionings.pop().map(Arc::unwrap_or_clone)
    }

    /// Waits for an order of this kind and does it.
    async fn work(&self, fleet: &FakeFleet, kind: OrderKind) -> RunId {
        let run = loop {
            let found = {
                let state = fleet.lock();
                state.journal.iter().find(|(order, _)| order.kind == kind).map(|(o, _)| o.run)
            };
            match found {
                Some(run) => break run,
                None => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        };
        self.runs.append_events("north", fleet.work(run, Ends::Well)).await.unwrap();
        run
    }
}

async fn story() {
    let dir = tempfile::tempdir().unwrap();
    let (objects, state) = (dir.path().join("objects"), dir.path().join("state"));
    fs::create_dir(&objects).unwrap();
    fs::write(objects.join("site.yaml"), OBJECTS).unwrap();
    fs::write(objects.join("edge.yaml"), EDGE).unwrap();
    let fleet = Arc::new(FakeFleet::new(site_view(&[1]), Arc::new(Fuse::default())));

    let coordinator = Coordinator::start(&objects, &state, &fleet);
    let run = coordinator.work(&fleet, OrderKind::Install).await;
    let ready = loop {
        let edge = coordinator.edge().await.unwrap();
        if edge.status.phase == "Ready" {
            break edge;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    let place = ready.status.kubeconfig_secret.clone().unwrap();
    assert_eq!(fs::read_to_string(&place).unwrap(), "marked-kubeconfig");
    assert_eq!(fs::metadata(&place).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(ready.status.run.unwrap().id, run.to_string());
    let host = &coordinator.world.snapshot().await.unwrap().hosts[0].host;
    assert_eq!(host.spec.consumer_ref.as_ref().unwrap().name, "edge");
    let map = state.join("configmaps/default.edge.json");
    while !map.exists() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let told: serde_json::Value = serde_json::from_slice(&fs::read(&map).unwrap()).unwrap();
    assert_eq!(told["metadata"]["name"], "edge-configmap");
    let address = ready.status.nodes[0].address.unwrap().to_string();
    let both = serde_json::json!({"MASTER_m-0": address, "WORKER_m-0": address});
    assert_eq!(told["data"], both, "a node of both roles has both keys");
    coordinator.end().await;

    let coordinator = Coordinator::start(&objects, &state, &fleet);
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(fleet.lock().received.len(), 1, "a restart starts nothing");
    fs::remove_file(objects.join("edge.yaml")).unwrap();
    coordinator.work(&fleet, OrderKind::Reset).await;
    while coordinator.edge().await.is_some() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let host = &coordinator.world.snapshot().await.unwrap().hosts[0].host;
    assert_eq!(host.spec.consumer_ref, None);
    assert!(!map.exists() && !Path::new(&place).exists(), "they go with a reset cluster");
    coordinator.end().await;
}

#[tokio::test]
async fn a_manifest_becomes_a_cluster_and_its_removal_a_reset() {
    tokio::time::timeout(Duration::from_secs(60), story()).await.unwrap();
}
