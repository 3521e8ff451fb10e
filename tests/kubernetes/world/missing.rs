//! An API server without the definitions: said, looked for again, and never taken for "no objects".

use bpa_coordinator::cluster::kubernetes::SecretVault;
use bpa_coordinator::cluster::{Vault, WorldError};
use bpa_tests::kubernetes::ControlPlane;
use bpa_tests::root;

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn definitions_that_are_missing_are_named_and_found_when_they_come() {
    let plane = ControlPlane::start();
    let kubectl = plane.kubectl(User::Admin);
    let options =
        KubernetesOptions { kubeconfig: Some(plane.kubeconfig(User::Admin)), ..Default::default() };
    let world = KubernetesWorld::connect(options).await.unwrap();
    let error = world.ready(Duration::from_secs(5)).await.unwrap_err();
    assert!(matches!(error, WorldError::NotReady { .. }));
    let text = error.to_string();
    assert!(
        text.contains("Provisioning in all namespaces") && text.contains("deploy/crds"),
        "{text}"
    );
    assert!(!text.contains("BareMetalHost"), "Metal3 may come later: {text}");
    assert!(world.snapshot().await.is_err());

    let apply = |dir: &str| {
        let dir = root().join(dir).display().to_string();
        kubectl.run(&["apply", "--server-side", "-f", &dir]);
    };
    apply("deploy/crds");
    world.ready(LONG).await.unwrap();
    let snapshot = world.snapshot().await.unwrap();
    assert_eq!(snapshot.problems.len(), 2, "{:?}", snapshot.problems);
    assert!(snapshot.problems.iter().all(|p| p.message.contains("is Metal3 installed?")));

    apply("../shared/metal3-crds");
    kubectl.run(&["wait", "--for=condition=Established", "crd/baremetalhosts.metal3.io"]);
    kubectl.in_namespace("default").apply(OBJECTS);
    see(&world, "the host and its hardware", |snapshot| {
        let host = snapshot.hosts.first()?;
        (host.hardware.is_some() && snapshot.problems.is_empty()).then_some(())
    })
    .await;
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_server_that_comes_back_is_found_again() {
    let plane = ControlPlane::start();
    plane.install_definitions();
    let kubectl = plane.kubectl(User::Admin).in_namespace("default");
    kubectl.apply(OBJECTS);
    let world = world_of(&plane.kubeconfig(User::Coordinator), "default").await;
    let vault = SecretVault::open(&world).unwrap();
    let keeper = vault.clone();
    blocking(move || keeper.put("sites/north/key", b"k").unwrap()).await;
    plane.kill_api();
    blocking(move || {
        let known = vault.get("sites/north/key").unwrap().unwrap();
        assert_eq!(&**known, b"k", "agents that are known may come back meanwhile");
        assert!(vault.put("sites/south/key", b"k").is_err(), "and nothing is promised");
    })
    .await;
    let key = ObjectKey::new("default", "edge");
    let error = world.set_finalizer(&key, true).await.unwrap_err();
    assert!(matches!(error, WorldError::Api { .. }), "{error}");
    assert_eq!(world.snapshot().await.unwrap().hosts.len(), 1, "the last view stays");
    plane.start_api();
    plane.wait_ready();
    world.set_finalizer(&key, true).await.unwrap();
    kubectl.run(&["label", "bmh", "h1", "rack=b", "--overwrite"]);
    see(&world, "the change", |s| (s.hosts[0].host.metadata.labels["rack"] == "b").then_some(()))
        .await;
}
