//! Images for empty hosts, against the real schema of Metal3: what is written, and taken back.

use bpa_common::api::metal3::BareMetalHost;
use bpa_common::api::{OS_MARK, OsSpec};
use bpa_coordinator::cluster::{ClaimOutcome, WorldError};
use serde_json::{Value, json};

use super::*;

fn os() -> OsSpec {
    OsSpec {
        image: json!({"url": "http://192.0.2.1/u.qcow2", "checksum": "c", "checksumType": "sha256"}),
        user_data_secret: Some("cloud".into()),
        network_data_secret: Some("net".into()),
    }
}

/// A host that is ours, and who we are.
async fn ours(place: &Place) -> (BareMetalHost, ConsumerRef, HostRef) {
    place.kubectl.patch(
        "bmh",
        "h1",
        "",
        &json!({"spec": {"online": false,
        "externallyProvisioned": null}}),
    );
    let edge = place.edge().await;
    let (host, mark) = (host_ref(&*place.host().await), consumer(&edge));
    let fresh = place.world.fresh_host(&host).await.unwrap().unwrap();
    let claimed = place.world.claim(&host, &fresh.metadata.resource_version, &mark).await;
    assert_eq!(claimed.unwrap(), ClaimOutcome::Ours);
    (place.world.fresh_host(&host).await.unwrap().unwrap(), mark, host)
}

/// The host without what changes with every write.
fn shape(place: &Place) -> Value {
    let mut host = place.kubectl.get("bmh", "h1");
    let metadata = host["metadata"].as_object_mut().unwrap();
    for field in ["resourceVersion", "generation"] {
        metadata.remove(field);
    }
    if metadata.get("annotations") == Some(&json!({})) {
        metadata.remove("annotations");
    }
    host
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_is_written_whole_and_all_of_it_is_taken_back() {
    let place = place("os").await;
    let (host, mark, reference) = ours(&place).await;
    let before = shape(&place);
    assert_eq!(place.world.write_os(&host, &mark, &os()).await.unwrap(), ClaimOutcome::Ours);
    let written = place.kubectl.get("bmh", "h1");
    assert_eq!(written["spec"]["image"], os().image);
    assert_eq!(written["spec"]["online"], true);
    assert_eq!(written["spec"]["userData"], json!({"name": "cloud", "namespace": "os"}));
    assert_eq!(written["spec"]["networkData"], json!({"name": "net", "namespace": "os"}));
    assert!(written["metadata"]["annotations"][OS_MARK].is_string());
    // Over an older version nothing is written, whoever has changed the host.
    assert_eq!(place.world.write_os(&host, &mark, &os()).await.unwrap(), ClaimOutcome::Changed);
    assert_eq!(
        place.world.clear_os(&host, &mark).await.unwrap(),
        ClaimOutcome::Ours,
        "no note in it"
    );

    // Another image replaces the whole of the first one.
    let fresh = place.world.fresh_host(&reference).await.unwrap().unwrap();
    let iso =
        OsSpec { image: json!({"url": "http://192.0.2.1/i.iso", "format": "live-iso"}), ..os() };
    assert_eq!(place.world.write_os(&fresh, &mark, &iso).await.unwrap(), ClaimOutcome::Ours);
    assert_eq!(place.kubectl.get("bmh", "h1")["spec"]["image"], iso.image);

    let fresh = place.world.fresh_host(&reference).await.unwrap().unwrap();
    assert_eq!(place.world.clear_os(&fresh, &mark).await.unwrap(), ClaimOutcome::Ours);
    let cleared = place.kubectl.get("bmh", "h1");
    assert_eq!(cleared["spec"], before["spec"], "as it was found, with our mark");
    assert!(cleared["metadata"]["annotations"][OS_MARK].is_string(), "until it is empty");
    place.world.release(&reference, &mark).await.unwrap();
    let mut free = before;
    free["spec"].as_object_mut().unwrap().remove("consumerRef");
    assert_eq!(shape(&place), free);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_host_of_another_is_given_no_image_and_loses_none() {
    let place = place("os-taken").await;
    let (host, mark, reference) = ours(&place).await;
    let theirs = json!({"kind": "Metal3Machine", "name": "m", "namespace": "os-taken",
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1"});
    // As Cluster API's provider does it: over our mark, of which the uid stays.
    place.kubectl.patch(
        "bmh",
        "h1",
        "",
        &json!({"spec": {"consumerRef": theirs},
        "metadata": {"labels": {"cluster.x-k8s.io/cluster-name": "c"}}}),
    );
    let before = shape(&place);
    assert_eq!(place.world.write_os(&host, &mark, &os()).await.unwrap(), ClaimOutcome::Changed);
    let fresh = place.world.fresh_host(&reference).await.unwrap().unwrap();
    let refused = place.world.write_os(&fresh, &mark, &os()).await.unwrap();
    assert!(matches!(&refused, ClaimOutcome::Taken(by) if by.kind == "Metal3Machine"));
    assert!(matches!(place.world.clear_os(&fresh, &mark).await.unwrap(), ClaimOutcome::Ours));
    place.world.release(&reference, &mark).await.unwrap();
    assert_eq!(shape(&place), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_that_the_schema_refuses_is_told_with_the_field() {
    let place = place("os-refused").await;
    let (host, mark, _) = ours(&place).await;
    let wrong = OsSpec { image: json!({"url": "x", "format": "tar"}), ..OsSpec::default() };
    let error = place.world.write_os(&host, &mark, &wrong).await.unwrap_err();
    assert!(matches!(error, WorldError::Api { .. }), "{error:?}");
    assert!(error.to_string().contains("spec.image.format"), "{error}");
    assert_eq!(place.kubectl.get("bmh", "h1")["spec"].get("image"), None);
}
