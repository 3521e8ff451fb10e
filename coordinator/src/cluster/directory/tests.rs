//! The directory world as its users see it: snapshots, claims, edits, deletions, restarts.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bpa_common::api::metal3::ConsumerRef;
use bpa_common::api::{ObjectKey, ProvisioningStatus};
use secrecy::SecretString;
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::cluster::kind::{Kind, ObjectId};
use crate::cluster::{ClaimOutcome, HostRef, ObjectEvent, Snapshot, World, WorldError};

const HOST: &str = "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {name: host1, namespace: metal3, uid: u-1}\nspec: {online: true, bootMACAddress: 52:54:00:aa:01:01}\n";
const PROVISIONING: &str = "apiVersion: bpa.akraino.org/v1alpha1\nkind: Provisioning\nmetadata: {name: edge}\nspec:\n  masters:\n  - m-0: {mac-address: 52:54:00:aa:01:01}\n";
const SITE: &str = "apiVersion: bpa.akraino.org/v1alpha1\nkind: Site\nmetadata: {name: north}\n";

/// A directory world on temporary directories, with a host, a site and a provisioning.
struct Lab {
    dir: TempDir,
}

impl Lab {
    fn new() -> Self {
        let lab = Self { dir: tempfile::tempdir().unwrap() };
        fs::create_dir(lab.objects()).unwrap();
        for (name, text) in [("hosts.yaml", HOST), ("edge.yaml", PROVISIONING), ("site.yaml", SITE)]
        {
            lab.write(name, text);
        }
        lab
    }

    fn objects(&self) -> PathBuf {
        self.dir.path().join("objects")
    }

    fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    /// Writes a manifest that has rested for a while.
    fn write(&self, name: &str, text: &str) {
        let path = self.objects().join(name);
        fs::write(&path, text).unwrap();
        let rested = std::time::SystemTime::now() - Duration::from_secs(10);
        fs::File::options().write(true).open(&path).unwrap().set_modified(rested).unwrap();
    }

    fn remove(&self, name: &str) {
        fs::remove_file(self.objects().join(name)).unwrap();
    }

    fn open(&self, role: Role) -> DirectoryWorld {
        DirectoryWorld::open(&self.objects(), &self.state(), role).unwrap()
    }
}

fn edge() -> ObjectKey {
    ObjectKey::new("default", "edge")
}

fn edge_id() -> ObjectId {
    ObjectId::new(Kind::Provisioning, edge())
}

fn consumer(uid: &str) -> ConsumerRef {
    ConsumerRef {
        api_version: bpa_common::api::API_VERSION.to_owned(),
        kind: "Provisioning".to_owned(),
        namespace: "default".to_owned(),
        name: "edge".to_owned(),
        uid: uid.to_owned(),
    }
}

fn host_of(snapshot: &Snapshot) -> (HostRef, String, Option<ConsumerRef>) {
    let host = &snapshot.hosts[0].host;
    let found = HostRef { key: host.metadata.key(), uid: host.metadata.uid.clone() };
    (found, host.metadata.resource_version.clone(), host.spec.consumer_ref.clone())
}

/// Takes snapshots until one satisfies, as controllers do at each tick.
async fn until(world: &DirectoryWorld, wanted: impl Fn(&Snapshot) -> bool) -> Snapshot {
    for _ in 0..120 {
        let snapshot = world.snapshot().await.unwrap();
        if wanted(&snapshot) {
            return snapshot;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("never came: {:?}", world.snapshot().await.unwrap());
}

#[tokio::test]
async fn objects_get_what_a_directory_cannot_say_and_keep_it() {
    let lab = Lab::new();
    let first = lab.open(Role::Runner).snapshot().await.unwrap();
    let again = lab.open(Role::Runner).snapshot().await.unwrap();
    for snapshot in [&first, &again] {
        assert_eq!(
            (snapshot.hosts.len(), snapshot.sites.len(), snapshot.problems.len()),
            (1, 1, 0)
        );
    }
    let metadata = |s: &Snapshot| s.provisionings[0].metadata.clone();
    assert_eq!(metadata(&first), metadata(&again));
    assert_eq!((metadata(&first).generation, metadata(&first).uid.len()), (1, 36));
    assert!(metadata(&first).creation_timestamp.is_some());
    let mode =
        |path: &str| fs::metadata(lab.state().join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(""), mode("ledger.json"), mode("overlay")), (0o700, 0o600, 0o700));
}

const MACHINE: &str = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: Metal3Machine\nmetadata: {name: m, namespace: capi, annotations: {metal3.io/BareMetalHost: metal3/host1}}\n";

/// An export of Metal3 may hold them beside the hosts.
#[tokio::test]
async fn who_else_has_a_host_is_seen_and_not_forgotten_while_its_file_cannot_be_read() {
    let lab = Lab::new();
    lab.write("machines.yaml", MACHINE);
    let world = lab.open(Role::Runner);
    let users = |snapshot: Snapshot| -> Vec<String> {
        snapshot.uses.iter().map(|used| format!("{} {}", used.by, used.host)).collect()
    };
    assert_eq!(users(world.snapshot().await.unwrap()), ["capi/m metal3/host1"]);
    lab.write("machines.yaml", "a: \"unfinished\n");
    assert_eq!(users(world.snapshot().await.unwrap()), ["capi/m metal3/host1"]);
    lab.write("machines.yaml", &MACHINE.replace("metal3/host1", ""));
    let snapshot = until(&world, |s| s.uses.is_empty()).await;
    assert_eq!(snapshot.choosers.len(), 1);
    lab.remove("machines.yaml");
    assert_eq!(until(&world, |s| s.choosers.is_empty()).await.problems, []);
}

#[tokio::test]
async fn a_claim_is_exclusive_survives_a_restart_and_is_released() {
    let lab = Lab::new();
    let world = lab.open(Role::Runner);
    let (host, version, none) = host_of(&world.snapshot().await.unwrap());
    assert!(none.is_none());
    let (ours, other) = (consumer("u-a"), consumer("u-b"));
    assert_eq!(world.claim(&host, "old", &ours).await.unwrap(), ClaimOutcome::Changed);
    assert_eq!(world.claim(&host, &version, &ours).await.unwrap(), ClaimOutcome::Ours);
    assert_eq!(world.claim(&host, &version, &ours).await.unwrap(), ClaimOutcome::Ours);
    let taken = world.claim(&host, &version, &other).await.unwrap();
    assert_eq!(taken, ClaimOutcome::Taken(ours.clone()), "the uid alone makes another consumer");
    let stranger = HostRef { uid: "u-2".to_owned(), ..host.clone() };
    assert_eq!(world.claim(&stranger, &version, &ours).await.unwrap(), ClaimOutcome::Changed);
    drop(world);

    let world = lab.open(Role::Runner);
    world.release(&host, &other).await.unwrap();
    let (_, changed, held) = host_of(&world.snapshot().await.unwrap());
    assert_eq!(held.as_ref(), Some(&ours));
    assert_ne!(changed, version);
    world.release(&host, &ours).await.unwrap();
    world.release(&host, &ours).await.unwrap();
    assert!(host_of(&world.snapshot().await.unwrap()).2.is_none());
    let text = fs::read_to_string(lab.objects().join("hosts.yaml")).unwrap();
    assert_eq!(text, HOST, "the user's file is as it was");
}

#[tokio::test]
async fn a_host_that_metal3_gave_to_another_is_seen_as_theirs() {
    let lab = Lab::new();
    let world = lab.open(Role::Runner);
    let (host, version, _) = host_of(&world.snapshot().await.unwrap());
    world.claim(&host, &version, &consumer("u-a")).await.unwrap();
    let stolen = HOST.replace(
        "spec: {",
        "spec: {consumerRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: Metal3Machine, namespace: metal3, name: m1}, ",
    );
    lab.write("hosts.yaml", &stolen);
    let (_, version, found) = host_of(&world.snapshot().await.unwrap());
    assert_eq!(found.as_ref().map(|c| c.kind.as_str()), Some("Metal3Machine"));
    let outcome = world.claim(&host, &version, &consumer("u-a")).await.unwrap();
    assert!(matches!(outcome, ClaimOutcome::Taken(_)), "{outcome:?}");
    world.release(&host, &consumer("u-a")).await.unwrap();
    assert!(host_of(&world.snapshot().await.unwrap()).2.is_some(), "not ours to take off");
}

#[tokio::test]
async fn edits_of_a_command_reach_the_runner_and_count_as_spec() {
    let lab = Lab::new();
    let world = lab.open(Role::Runner);
    world.snapshot().await.unwrap();
    let mut changes = world.changes();
    changes.mark_unchanged();
    let command = lab.open(Role::Reader);
    let site = ObjectId::new(Kind::Site, ObjectKey::new("default", "north"));
    command.patch(site, json!({"spec": {"approved": true}})).await.unwrap();
    let cancel = json!({"metadata": {"annotations": {"bpa.akraino.org/cancel": "run-1"}}});
    command.patch(edge_id(), cancel).await.unwrap();
    tokio::time::timeout(Duration::from_secs(5), changes.changed()).await.unwrap().unwrap();
    let snapshot = world.snapshot().await.unwrap();
    assert!(snapshot.sites[0].spec.approved);
    assert_eq!(snapshot.sites[0].metadata.generation, 2);
    let provisioning = &snapshot.provisionings[0];
    assert_eq!(provisioning.metadata.annotations["bpa.akraino.org/cancel"], "run-1");
    assert_eq!(provisioning.metadata.generation, 1, "an annotation is no new wish");
    let nobody = ObjectId::new(Kind::Site, ObjectKey::new("default", "south"));
    let error = command.patch(nobody, json!({})).await.unwrap_err();
    assert!(matches!(error, WorldError::NotFound { .. }), "{error}");
}

#[tokio::test]
async fn a_status_belongs_to_one_uid() {
    let lab = Lab::new();
    let world = lab.open(Role::Runner);
    let uid = world.snapshot().await.unwrap().provisionings[0].metadata.uid.clone();
    let status = ProvisioningStatus { phase: "Installing".to_owned(), ..Default::default() };
    world.write_provisioning_status(&edge(), &uid, &status).await.unwrap();
    assert_eq!(world.snapshot().await.unwrap().provisionings[0].status, status);
    let error = world.write_provisioning_status(&edge(), "another", &status).await.unwrap_err();
    assert!(matches!(error, WorldError::NotFound { .. }), "{error}");
    // A reader sees it too, also from a manifest that claims a status of its own.
    lab.write("edge.yaml", &format!("{PROVISIONING}status: {{phase: Ready}}\n"));
    let seen = lab.open(Role::Reader).snapshot().await.unwrap();
    assert_eq!(seen.provisionings[0].status.phase, "Installing");
}

#[tokio::test]
async fn a_held_provisioning_is_deleted_only_when_its_work_is_done() {
    let lab = Lab::new();
    let world = lab.open(Role::Runner);
    let uid = world.snapshot().await.unwrap().provisionings[0].metadata.uid.clone();
    world.set_finalizer(&edge(), true).await.unwrap();
    let kubeconfig = world.snapshot().await.unwrap().provisionings.remove(0);
    assert_eq!(kubeconfig.metadata.finalizers, [FINALIZER]);
    let path = world.save_kubeconfig(&kubeconfig, &SecretString::from("x")).await.unwrap();
    lab.remove("edge.yaml");
    let snapshot = world.snapshot().await.unwrap();
    assert!(!snapshot.provisionings[0].metadata.is_deleting(), "one read is not enough");
    until(&world, |s| s.provisionings[0].metadata.is_deleting()).await;
    // The wish survives a restart, and a new one of the same name has to wait.
    drop(world);
    lab.write("edge.yaml", PROVISIONING);
    let world = lab.open(Role::Runner);
    let snapshot = world.snapshot().await.unwrap();
    assert!(snapshot.provisionings[0].metadata.is_deleting());
    assert!(
        snapshot.problems[0].message.contains("still being deleted"),
        "{:?}",
        snapshot.problems
    );
    world.set_finalizer(&edge(), false).await.unwrap();
    let new = world.snapshot().await.unwrap().provisionings.remove(0);
    assert!(!new.metadata.is_deleting() && new.metadata.finalizers.is_empty());
    assert_ne!(new.metadata.uid, uid, "another object of the same name");
    assert!(Path::new(&path).exists(), "the cluster was retained, so is its kubeconfig");
}

#[tokio::test]
async fn with_reset_the_kubeconfig_of_the_dead_cluster_goes() {
    let lab = Lab::new();
    lab.write("edge.yaml", &format!("{PROVISIONING}  deletionPolicy: Reset\n"));
    let world = lab.open(Role::Runner);
    let object = world.snapshot().await.unwrap().provisionings.remove(0);
    world.set_finalizer(&edge(), true).await.unwrap();
    let path = world.save_kubeconfig(&object, &SecretString::from("x")).await.unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    lab.remove("edge.yaml");
    until(&world, |s| s.provisionings.first().is_some_and(|p| p.metadata.is_deleting())).await;
    world.set_finalizer(&edge(), false).await.unwrap();
    assert!(world.snapshot().await.unwrap().provisionings.is_empty());
    assert!(!Path::new(&path).exists());
}

#[tokio::test]
async fn an_empty_moment_and_a_mistake_delete_nothing() {
    let lab = Lab::new();
    let world = lab.open(Role::Runner);
    let uid = world.snapshot().await.unwrap().provisionings[0].metadata.uid.clone();
    world.set_finalizer(&edge(), true).await.unwrap();
    lab.write("edge.yaml", "");
    assert_eq!(world.snapshot().await.unwrap().provisionings.len(), 1);
    for broken in ["kind: \"Prov", &PROVISIONING.replace("52:54:00:aa:01:01", "nonsense")] {
        lab.write("edge.yaml", broken);
        world.snapshot().await.unwrap();
        tokio::time::sleep(Duration::from_millis(1100)).await;
        let snapshot = world.snapshot().await.unwrap();
        assert_eq!(snapshot.problems.len(), 1);
        let kept = &snapshot.provisionings[0];
        assert!(!kept.metadata.is_deleting() && kept.metadata.uid == uid);
        assert_eq!(kept.metadata.generation, 1, "the last good wish holds");
    }
    lab.write("edge.yaml", PROVISIONING);
    assert!(world.snapshot().await.unwrap().problems.is_empty());
}

#[tokio::test]
async fn an_unheld_object_that_comes_back_is_another_one() {
    let lab = Lab::new();
    let world = lab.open(Role::Runner);
    let uid = world.snapshot().await.unwrap().provisionings[0].metadata.uid.clone();
    lab.remove("edge.yaml");
    until(&world, |s| s.provisionings.is_empty()).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    world.snapshot().await.unwrap();
    lab.write("edge.yaml", PROVISIONING);
    let back = until(&world, |s| !s.provisionings.is_empty()).await;
    assert_ne!(back.provisionings[0].metadata.uid, uid);
}

#[tokio::test]
async fn a_directory_that_went_away_is_an_error_and_deletes_nothing() {
    let lab = Lab::new();
    let world = lab.open(Role::Runner);
    world.snapshot().await.unwrap();
    world.set_finalizer(&edge(), true).await.unwrap();
    fs::rename(lab.objects(), lab.dir.path().join("away")).unwrap();
    tokio::time::sleep(Duration::from_millis(1100)).await;
    assert!(world.snapshot().await.is_err());
    fs::rename(lab.dir.path().join("away"), lab.objects()).unwrap();
    assert!(!world.snapshot().await.unwrap().provisionings[0].metadata.is_deleting());
}

#[tokio::test]
async fn events_are_kept_for_readers() {
    let lab = Lab::new();
    let world = lab.open(Role::Runner);
    let event = ObjectEvent {
        kind: "Provisioning",
        key: edge(),
        warning: true,
        reason: "HostTaken".to_owned(),
        message: "host1 is taken".to_owned(),
    };
    world.record_event(event.clone()).await.unwrap();
    world.record_event(event).await.unwrap();
    let events = lab.open(Role::Reader).events().await.unwrap();
    assert_eq!((events.len(), events[0].count), (1, 2));
}

#[tokio::test]
async fn only_one_runner_has_a_state_directory() {
    let lab = Lab::new();
    let _first = lab.open(Role::Runner);
    let error = DirectoryWorld::open(&lab.objects(), &lab.state(), Role::Runner).unwrap_err();
    assert!(matches!(error, WorldError::InUse { .. }), "{error}");
}

#[tokio::test]
async fn a_state_file_that_is_broken_makes_its_object_unusable_and_no_other() {
    let lab = Lab::new();
    let world = lab.open(Role::Runner);
    let uid = world.snapshot().await.unwrap().provisionings[0].metadata.uid.clone();
    world.write_provisioning_status(&edge(), &uid, &ProvisioningStatus::default()).await.unwrap();
    fs::write(lab.state().join("status/provisioning.default.edge.json"), "{torn").unwrap();
    let snapshot = world.snapshot().await.unwrap();
    assert_eq!(
        (snapshot.provisionings.len(), snapshot.hosts.len(), snapshot.sites.len()),
        (0, 1, 1)
    );
    let problem = &snapshot.problems[0];
    assert_eq!(problem.key.as_ref(), Some(&edge()));
    assert!(problem.message.contains("status/provisioning.default.edge.json"), "{problem:?}");
}

#[tokio::test]
async fn what_is_kept_of_objects_that_are_gone_goes_too() {
    let lab = Lab::new();
    let world = lab.open(Role::Runner);
    world.snapshot().await.unwrap();
    let site = ObjectId::new(Kind::Site, ObjectKey::new("default", "north"));
    world.patch(site, json!({"spec": {"approved": true}})).await.unwrap();
    let overlay = lab.state().join("overlay/site.default.north.json");
    assert!(overlay.exists());
    lab.remove("site.yaml");
    until(&world, |s| s.sites.is_empty()).await;
    until(&world, |_| !overlay.exists()).await;
    lab.write("site.yaml", SITE);
    let back = until(&world, |s| !s.sites.is_empty()).await;
    assert!(!back.sites[0].spec.approved, "approval was given to another site");
}

#[tokio::test]
async fn a_restart_with_the_manifest_gone_goes_on_with_the_deletion() {
    let lab = Lab::new();
    let world = lab.open(Role::Runner);
    world.snapshot().await.unwrap();
    world.set_finalizer(&edge(), true).await.unwrap();
    world.set_finalizer(&edge(), true).await.unwrap();
    drop(world);
    lab.remove("edge.yaml");
    let world = lab.open(Role::Runner);
    let first = world.snapshot().await.unwrap();
    assert!(!first.provisionings[0].metadata.is_deleting(), "one read is not enough");
    let seen = until(&world, |s| s.provisionings[0].metadata.is_deleting()).await;
    let since = seen.provisionings[0].metadata.deletion_timestamp;
    drop(world);
    let again = lab.open(Role::Runner).snapshot().await.unwrap();
    assert_eq!(again.provisionings[0].metadata.deletion_timestamp, since);
}

#[tokio::test]
async fn hosts_with_long_names_and_many_of_them_are_no_trouble() {
    let lab = Lab::new();
    let name = format!("{}.{}", "a".repeat(63), "b".repeat(63))
        + &format!(".{}", "c".repeat(63))
        + &format!(".{}", "d".repeat(60));
    let mut text = HOST.replace("name: host1", &format!("name: {name}"));
    for n in 0..500 {
        text.push_str("---\n");
        text.push_str(
            &HOST.replace("name: host1", &format!("name: h{n}")).replace("u-1", &format!("u{n}")),
        );
    }
    lab.write("hosts.yaml", &text);
    let world = lab.open(Role::Runner);
    let snapshot = world.snapshot().await.unwrap();
    assert_eq!((snapshot.hosts.len(), snapshot.problems.len()), (501, 0));
    let long = snapshot.hosts.iter().find(|h| h.host.metadata.name == name).unwrap();
    let host = HostRef { key: long.host.metadata.key(), uid: "u-1".to_owned() };
    let version = long.host.metadata.resource_version.clone();
    assert_eq!(world.claim(&host, &version, &consumer("u")).await.unwrap(), ClaimOutcome::Ours);
}

#[tokio::test]
async fn two_claims_at_once_have_one_winner() {
    let lab = Lab::new();
    let world = lab.open(Role::Runner);
    let (host, version, _) = host_of(&world.snapshot().await.unwrap());
    let (a, b) = (consumer("u-a"), consumer("u-b"));
    let (first, second) =
        tokio::join!(world.claim(&host, &version, &a), world.claim(&host, &version, &b));
    let ours = [first.unwrap(), second.unwrap()];
    let winners = ours.iter().filter(|outcome| **outcome == ClaimOutcome::Ours).count();
    let losers = ours.iter().filter(|outcome| matches!(outcome, ClaimOutcome::Taken(_))).count();
    assert_eq!((winners, losers), (1, 1), "{ours:?}");
}
