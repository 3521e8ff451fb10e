//! What an install leaves in the cluster: kubeconfig and addresses, owned, and never another's.

use std::collections::BTreeMap;

use bpa_coordinator::cluster::WorldError;
use secrecy::SecretString;
use serde_json::{Value, json};

use super::*;

/// "one" and "two" as Secrets have them.
const ONE: &str = "b25l";
const TWO: &str = "dHdv";

fn owner(of: &Provisioning) -> Value {
    json!([{"apiVersion": "bpa.akraino.org/v1alpha1", "kind": "Provisioning", "controller": true,
        "name": of.metadata.name, "uid": of.metadata.uid}])
}

#[tokio::test(flavor = "multi_thread")]
async fn the_kubeconfig_is_a_secret_of_its_provisioning() {
    let place = place("kubeconfig").await;
    let edge = place.edge().await;
    for (text, value) in [("one", ONE), ("one", ONE), ("two", TWO)] {
        let name = place.world.save_kubeconfig(&edge, &SecretString::from(text)).await.unwrap();
        assert_eq!(name, "edge-kubeconfig");
        let secret = place.kubectl.get("secret", &name);
        assert_eq!(
            (&secret["type"], &secret["data"]),
            (&json!("Opaque"), &json!({"value": value}))
        );
        assert_eq!(secret["metadata"]["ownerReferences"], owner(&edge));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_of_somebody_else_is_never_touched() {
    let place = place("kubeconfig-other").await;
    let edge = place.edge().await;
    place.kubectl.run(&[
        "create",
        "secret",
        "generic",
        "edge-kubeconfig",
        "--from-literal=value=one",
    ]);
    place.kubectl.run(&["create", "configmap", "edge-configmap", "--from-literal=a=b"]);
    let error = place.world.save_kubeconfig(&edge, &SecretString::from("two")).await.unwrap_err();
    assert!(matches!(error, WorldError::Conflict { .. }), "{error}");
    assert!(error.to_string().contains("Secret kubeconfig-other/edge-kubeconfig"), "{error}");
    let addresses = BTreeMap::from([("MASTER_m-0".to_owned(), "192.0.2.1".to_owned())]);
    place.world.save_addresses(&edge, &addresses).await.unwrap();
    assert_eq!(place.kubectl.get("secret", "edge-kubeconfig")["data"]["value"], ONE);
    assert_eq!(place.kubectl.get("configmap", "edge-configmap")["data"], json!({"a": "b"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_addresses_are_told_as_the_original_did() {
    let place = place("addresses").await;
    let edge = place.edge().await;
    for address in ["192.0.2.1", "192.0.2.2"] {
        let addresses = BTreeMap::from(
            ["MASTER_m-0", "WORKER_m-0"].map(|key| (key.to_owned(), address.to_owned())),
        );
        place.world.save_addresses(&edge, &addresses).await.unwrap();
        let map = place.kubectl.get("configmap", "edge-configmap");
        assert_eq!(map["data"], json!(addresses));
        assert_eq!(map["metadata"]["labels"]["cluster"], "edge");
        assert_eq!(map["metadata"]["ownerReferences"], owner(&edge));
    }
}

/// With `Retain` the cluster stays when its Provisioning goes; so do the means to use it, and the
/// next Provisioning of the same cluster takes them over.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_kept_cluster_needs_is_kept() {
    for (policy, stays) in [("Retain", true), ("Reset", false)] {
        let place = place(&format!("outputs-{}", policy.to_lowercase())).await;
        let change = json!({"spec": {"deletionPolicy": policy}});
        place.kubectl.patch("bpa", "edge", "", &change);
        let edge = place.edge().await;
        place.world.set_finalizer(&place.key("edge"), true).await.unwrap();
        place.world.save_kubeconfig(&edge, &SecretString::from("one")).await.unwrap();
        place.world.save_addresses(&edge, &BTreeMap::new()).await.unwrap();
        place.kubectl.run(&["delete", "bpa", "edge", "--wait=false"]);
        place.world.set_finalizer(&place.key("edge"), false).await.unwrap();
        place.see("its end", |s| s.provisionings.is_empty().then_some(())).await;
        for (kind, name) in [("secret", "edge-kubeconfig"), ("configmap", "edge-configmap")] {
            let owners = place.kubectl.get(kind, name)["metadata"]["ownerReferences"].clone();
            assert_eq!(owners.is_null(), stays, "{policy} {name}: {owners}");
        }
        place.kubectl.apply(OBJECTS);
        let again = place.edge().await;
        let saved = place.world.save_kubeconfig(&again, &SecretString::from("two")).await;
        assert_eq!(saved.is_ok(), stays, "what still goes with the old one is not ours");
        let value = if stays { TWO } else { ONE };
        assert_eq!(place.kubectl.get("secret", "edge-kubeconfig")["data"]["value"], value);
    }
}
