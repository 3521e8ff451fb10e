//! What is written: statuses, claims, finalizers; each only over what was read.

use bpa_common::api::{ConditionStatus, ProvisioningStatus, SiteStatus};
use bpa_coordinator::cluster::{ClaimOutcome, WorldError};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;

fn status(phase: &str) -> ProvisioningStatus {
    let mut status = ProvisioningStatus { phase: phase.into(), ..Default::default() };
    let now = Timestamp::from_second(1_800_000_000).unwrap();
    status.conditions.set("Ready", ConditionStatus::False, "Waiting", "for a test", now, 1);
    status
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_is_written_whole_under_one_name_and_nothing_else() {
    let place = place("status").await;
    let edge = place.edge().await;
    let (key, uid) = (place.key("edge"), edge.metadata.uid.clone());
    let mut first = status("Waiting");
    first.kubeconfig_secret = Some("edge-kubeconfig".into());
    place.world.write_provisioning_status(&key, &uid, &first).await.unwrap();
    place.see("the status", |s| (s.provisionings[0].status == first).then_some(())).await;
    // What is not in the next status is gone from the object.
    let second = status("Pending");
    place.world.write_provisioning_status(&key, &uid, &second).await.unwrap();
    place.see("the second status", |s| (s.provisionings[0].status == second).then_some(())).await;
    let object = place.kubectl.get("provisioning", "edge");
    assert_eq!(object["metadata"]["generation"], 1, "the spec is as it was");
    let shown = place.kubectl.run(&["get", "bpa", "edge", "-o", "json", "--show-managed-fields"]);
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let managers = shown["metadata"]["managedFields"].as_array().unwrap();
    let ours: Vec<_> = managers.iter().filter(|m| m["subresource"] == "status").collect();
    assert_eq!(ours.len(), 1);
    let of = |field: &str| ours[0][field].as_str().unwrap().to_owned();
    assert_eq!((of("manager"), of("operation")), ("bpa-coordinator".into(), "Apply".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_of_one_that_was_made_anew_is_not_written() {
    let place = place("status-other").await;
    let edge = place.edge().await;
    let write = async |name: &str, uid: &str| {
        place.world.write_provisioning_status(&place.key(name), uid, &status("Waiting")).await
    };
    for (name, uid) in [("edge", "an-older-one"), ("none", edge.metadata.uid.as_str())] {
        let error = write(name, uid).await.unwrap_err();
        assert!(matches!(error, WorldError::NotFound { .. }), "{name}: {error}");
    }
    assert_eq!(place.kubectl.get("bpa", "edge").get("status"), None);
    assert_eq!(place.kubectl.get("bpa", "none"), Value::Null, "a status makes no object");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_has_its_status_and_one_that_is_gone_is_said() {
    let place = place("status-site").await;
    let status = SiteStatus { connected: true, agent_version: "1".into(), ..Default::default() };
    place.world.write_site_status(&place.key("north"), &status).await.unwrap();
    place.see("the status", |s| s.sites[0].status.connected.then_some(())).await;
    let error = place.world.write_site_status(&place.key("none"), &status).await.unwrap_err();
    assert!(matches!(error, WorldError::NotFound { .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_of_megabytes_is_shortened_and_says_so() {
    let place = place("status-large").await;
    let edge = place.edge().await;
    let mut large = status("Failed");
    large.run = Some(bpa_common::api::RunStatus {
        message: "m".repeat(3 << 20),
        last_line: "l".repeat(3 << 20),
        ..Default::default()
    });
    let uid = &edge.metadata.uid;
    place.world.write_provisioning_status(&place.key("edge"), uid, &large).await.unwrap();
    let edge = place
        .see("the status", |s| {
            (s.provisionings[0].status.phase == "Failed").then(|| s.provisionings[0].clone())
        })
        .await;
    assert!(edge.status.run.as_ref().unwrap().message.ends_with('…'));
    let said = edge.status.conditions.get("StatusComplete").unwrap();
    assert!(said.status == ConditionStatus::False && said.message.contains("shortened"));
    assert!(edge.status.conditions.get("Ready").is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_free_host_is_claimed_and_released_and_nothing_else_of_it_changes() {
    let place = place("claim").await;
    let (edge, record) = (place.edge().await, place.host().await);
    let (host, ours) = (host_ref(&record), consumer(&edge));
    let before = whole(&place);
    let version = record.host.metadata.resource_version.clone();
    let claim = place.world.claim(&host, &version, &ours).await.unwrap();
    assert_eq!(claim, ClaimOutcome::Ours);
    let again = place.world.claim(&host, &version, &ours).await.unwrap();
    assert_eq!(again, ClaimOutcome::Ours, "what is ours stays ours, whatever was read");
    let claimed = place.kubectl.get("bmh", "h1");
    assert_eq!(claimed["spec"]["consumerRef"], json!(ours));
    let mut marked = whole(&place);
    marked["spec"].as_object_mut().unwrap().remove("consumerRef");
    assert_eq!(marked, before, "consumerRef and nothing else");
    place.see("the mark", |s| s.hosts[0].host.spec.consumer_ref.is_some().then_some(())).await;
    place.world.release(&host, &ours).await.unwrap();
    place.world.release(&host, &ours).await.unwrap();
    assert_eq!(whole(&place), before);
}

/// The host without what changes with every write.
fn whole(place: &Place) -> Value {
    let mut host = place.kubectl.get("bmh", "h1");
    let metadata = host["metadata"].as_object_mut().unwrap();
    ["resourceVersion", "generation"].iter().for_each(|field| drop(metadata.remove(*field)));
    host
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fresh_look_is_past_every_view_that_may_lag() {
    let place = place("fresh").await;
    let mut host = host_ref(&*place.host().await);
    for rack in ["b", "c", "d"] {
        place.kubectl.run(&["label", "bmh", "h1", &format!("rack={rack}"), "--overwrite"]);
        let fresh = place.world.fresh_host(&host).await.unwrap().unwrap();
        assert_eq!(fresh.metadata.labels["rack"], rack);
    }
    let uid = std::mem::replace(&mut host.uid, "an-older-one".into());
    assert_eq!(place.world.fresh_host(&host).await.unwrap(), None);
    host.uid = uid;
    place.kubectl.run(&["delete", "bmh", "h1"]);
    assert_eq!(place.world.fresh_host(&host).await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_changed_or_was_made_anew_is_not_claimed() {
    let place = place("claim-changed").await;
    let (edge, record) = (place.edge().await, place.host().await);
    let (mut host, ours) = (host_ref(&record), consumer(&edge));
    let version = &record.host.metadata.resource_version;
    place.kubectl.run(&["label", "bmh", "h1", "rack=b", "--overwrite"]);
    let claim = place.world.claim(&host, version, &ours).await.unwrap();
    assert_eq!(claim, ClaimOutcome::Changed);
    let now = place.kubectl.get("bmh", "h1")["metadata"]["resourceVersion"].clone();
    host.uid = "an-older-one".into();
    let claim = place.world.claim(&host, now.as_str().unwrap(), &ours).await.unwrap();
    assert_eq!(claim, ClaimOutcome::Changed);
    assert_eq!(place.kubectl.get("bmh", "h1")["spec"].get("consumerRef"), None);
    place.kubectl.run(&["delete", "bmh", "h1"]);
    host.uid = record.host.metadata.uid.clone();
    assert_eq!(place.world.claim(&host, version, &ours).await.unwrap(), ClaimOutcome::Changed);
    place.world.release(&host, &ours).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_mark_of_another_is_never_written_over_nor_cleared() {
    let place = place("claim-taken").await;
    let (edge, record) = (place.edge().await, place.host().await);
    let (host, ours) = (host_ref(&record), consumer(&edge));
    let theirs = json!({"kind": "Metal3Machine", "name": "m", "namespace": "claim-taken",
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1"});
    place.kubectl.patch("bmh", "h1", "", &json!({"spec": {"consumerRef": theirs}}));
    let version = place.kubectl.get("bmh", "h1")["metadata"]["resourceVersion"].clone();
    let claim = place.world.claim(&host, version.as_str().unwrap(), &ours).await.unwrap();
    assert!(matches!(&claim, ClaimOutcome::Taken(by) if by.kind == "Metal3Machine"), "{claim:?}");
    place.world.release(&host, &ours).await.unwrap();
    assert_eq!(place.kubectl.get("bmh", "h1")["spec"]["consumerRef"], theirs);
    // A merge patch of CAPM3 over our mark leaves our uid in it: half ours is not ours.
    let mut half = theirs.clone();
    half["uid"] = json!(ours.uid);
    place.kubectl.patch("bmh", "h1", "", &json!({"spec": {"consumerRef": half}}));
    place.world.release(&host, &ours).await.unwrap();
    assert_eq!(place.kubectl.get("bmh", "h1")["spec"]["consumerRef"], half);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_who_claim_at_once_one_has_the_host() {
    let place = place("claim-race").await;
    let record = place.host().await;
    let host = host_ref(&record);
    let version = &record.host.metadata.resource_version;
    let other = world_of(&shared().kubeconfig(User::Other), "claim-race").await;
    let edge = place.edge().await;
    let claims = (0..20).map(|n| {
        let world = if n % 2 == 0 { &place.world } else { &other };
        let mine = ConsumerRef { name: format!("edge-{n}"), ..consumer(&edge) };
        let host = &host;
        async move {
            let outcome = world.claim(host, version, &mine).await.unwrap();
            (mine, outcome)
        }
    });
    let outcomes = futures_util::future::join_all(claims).await;
    let winners: Vec<_> =
        outcomes.iter().filter(|(_, outcome)| *outcome == ClaimOutcome::Ours).collect();
    assert_eq!(winners.len(), 1, "{outcomes:?}");
    assert_eq!(place.kubectl.get("bmh", "h1")["spec"]["consumerRef"], json!(winners[0].0));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_finalizer_holds_a_provisioning_and_leaves_those_of_others() {
    let place = place("finalizer").await;
    let key = place.key("edge");
    let others = json!({"metadata": {"finalizers": ["example.org/other"]}});
    place.kubectl.patch("bpa", "edge", "", &others);
    for _ in 0..2 {
        place.world.set_finalizer(&key, true).await.unwrap();
    }
    let finalizers =
        |place: &Place| place.kubectl.get("bpa", "edge")["metadata"]["finalizers"].clone();
    assert_eq!(finalizers(&place), json!(["example.org/other", "bpa.akraino.org/provisioning"]));
    place.kubectl.run(&["delete", "bpa", "edge", "--wait=false"]);
    place.see("its deletion", |s| s.provisionings[0].metadata.is_deleting().then_some(())).await;
    for _ in 0..2 {
        place.world.set_finalizer(&key, false).await.unwrap();
    }
    assert_eq!(finalizers(&place), json!(["example.org/other"]));
    let error = place.world.set_finalizer(&key, true).await.unwrap_err();
    assert!(matches!(error, WorldError::NotFound { .. }), "it is going: {error}");
    place.kubectl.patch("bpa", "edge", "", &json!({"metadata": {"finalizers": null}}));
    place.see("its end", |s| s.provisionings.is_empty().then_some(())).await;
    place.world.set_finalizer(&key, false).await.unwrap();
    assert!(place.world.set_finalizer(&key, true).await.is_err());
}

/// Others write the same object all the time, as a controller in a hurry does.
#[tokio::test(flavor = "multi_thread")]
async fn a_storm_of_conflicts_passes() {
    let place = place("storm").await;
    let (edge, record) = (place.edge().await, place.host().await);
    let (host, ours, key) = (host_ref(&record), consumer(&edge), place.key("edge"));
    let kubectl = place.kubectl.clone();
    let storm = std::thread::spawn(move || {
        for n in 0..25 {
            let label = format!("storm={n}");
            kubectl.run(&["label", "bpa/edge", "bmh/h1", &label, "--overwrite"]);
        }
    });
    let mut rounds = 0;
    while !storm.is_finished() || rounds == 0 {
        place.world.set_finalizer(&key, true).await.unwrap();
        let version = place.kubectl.get("bmh", "h1")["metadata"]["resourceVersion"].clone();
        place.world.claim(&host, version.as_str().unwrap(), &ours).await.unwrap();
        place.world.release(&host, &ours).await.unwrap();
        place.world.set_finalizer(&key, false).await.unwrap();
        rounds += 1;
    }
    storm.join().unwrap();
    assert_eq!(place.kubectl.get("bmh", "h1")["spec"].get("consumerRef"), None);
    assert_eq!(place.kubectl.get("bpa", "edge")["metadata"].get("finalizers"), None);
}
