//! Of several coordinators one leads, only the leader writes, and a lost lead is the end of writing.

use bpa_common::api::ProvisioningStatus;
use bpa_coordinator::cluster::WorldError;
use bpa_coordinator::cluster::kubernetes::Election;
use bpa_tests::kubernetes::{ControlPlane, Coordinator};
use serde_json::json;

use super::*;

async fn candidate(namespace: &str) -> KubernetesWorld {
    let options = KubernetesOptions {
        kubeconfig: Some(shared().kubeconfig(User::Other)),
        namespaces: vec![namespace.to_owned()],
        system_namespace: Some(namespace.to_owned()),
        ..Default::default()
    };
    let world = KubernetesWorld::connect(options).await.unwrap();
    world.ready(LONG).await.unwrap();
    world
}

async fn write(world: &KubernetesWorld, namespace: &str, phase: &str) -> Result<(), WorldError> {
    let snapshot = world.snapshot().await?;
    let uid = snapshot.provisionings[0].metadata.uid.clone();
    let status = ProvisioningStatus { phase: phase.into(), ..Default::default() };
    world.write_provisioning_status(&ObjectKey::new(namespace, "edge"), &uid, &status).await
}

fn is_refused(result: Result<(), WorldError>) -> bool {
    matches!(result, Err(WorldError::NotLeader))
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_leader_writes_and_one_that_is_silent_leads_no_longer() {
    let kubectl = shared().namespace("leaders");
    kubectl.apply(OBJECTS);
    let [first, second] = [candidate("leaders").await, candidate("leaders").await];
    let mut one = Election::new(&first, "one");
    let mut two = Election::new(&second, "two");
    assert!(is_refused(write(&first, "leaders", "x").await), "a candidate writes nothing");
    one.win(|_| {}).await;
    write(&first, "leaders", "Waiting").await.unwrap();
    let mut words = Vec::new();
    let waiting =
        tokio::time::timeout(Duration::from_secs(5), two.win(|w| words.push(w.to_owned())));
    assert!(waiting.await.is_err(), "there is a leader");
    assert!(words[0].contains(one.identity()), "{words:?}");
    assert!(is_refused(write(&second, "leaders", "x").await));

    // The first does not renew: nothing is written by it long before the second may take over.
    tokio::time::timeout(LONG, two.win(|_| {})).await.unwrap();
    write(&second, "leaders", "Pending").await.unwrap();
    assert!(is_refused(write(&first, "leaders", "x").await));
    assert_eq!(kubectl.get("bpa", "edge")["status"]["phase"], "Pending");
    let lost = tokio::time::timeout(LONG, one.hold(|_| {})).await.unwrap();
    assert!(lost.contains(two.identity()), "{lost}");

    // Given back, it is taken at once.
    two.resign().await;
    assert_eq!(kubectl.get("lease", "bpa-coordinator")["spec"]["holderIdentity"], "");
    let mut three = Election::new(&first, "three");
    three.win(|word| panic!("{word}")).await;
    write(&first, "leaders", "Waiting").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lead_that_is_taken_in_the_middle_of_writing_ends_the_writing() {
    let kubectl = shared().namespace("leaders-taken");
    kubectl.apply(OBJECTS);
    let world = candidate("leaders-taken").await;
    let mut election = Election::new(&world, "one");
    election.win(|_| {}).await;
    let writing = async {
        for n in 0.. {
            if is_refused(write(&world, "leaders-taken", &format!("{n}")).await) {
                return n;
            }
        }
        0
    };
    let taking = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let spec = json!({"spec": {"holderIdentity": "another"}});
        kubectl.patch("lease", "bpa-coordinator", "", &spec);
        election.hold(|_| {}).await
    };
    let (written, why) = tokio::join!(writing, taking);
    // What was begun before is done by now; from here on nothing changes.
    let version = kubectl.get("bpa", "edge")["metadata"]["resourceVersion"].clone();
    assert!(written > 0 && why.contains("another has taken"), "{written} {why}");
    assert!(is_refused(write(&world, "leaders-taken", "late").await));
    assert_eq!(kubectl.get("bpa", "edge")["metadata"]["resourceVersion"], version);
    assert!(is_refused(world.set_finalizer(&ObjectKey::new("leaders-taken", "edge"), true).await));
    let lease = kubectl.get("lease", "bpa-coordinator");
    assert_eq!(lease["spec"]["holderIdentity"], "another", "it is not taken back");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_somebody_deletes_is_a_lost_one() {
    let kubectl = shared().namespace("leaders-deleted");
    let world = candidate("leaders-deleted").await;
    let mut election = Election::new(&world, "one");
    election.win(|_| {}).await;
    kubectl.run(&["delete", "lease", "bpa-coordinator"]);
    let why = tokio::time::timeout(LONG, election.hold(|_| {})).await.unwrap();
    assert!(why.contains("deleted"), "{why}");
    assert!(world.guard().check(std::time::Instant::now()).is_err());
}

/// An API server that was away is no reason to start again, as long as nobody else took the lead.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_without_an_api_server_is_silent_and_then_leads_on() {
    let plane = ControlPlane::start();
    plane.install_definitions();
    plane.kubectl(User::Admin).in_namespace("default").apply(OBJECTS);
    let world = world_of(&plane.kubeconfig(User::Coordinator), "default").await;
    let mut election = Election::new(&world, "one");
    election.win(|_| {}).await;
    let (tell, mut told) = tokio::sync::watch::channel(None);
    let holding = tokio::spawn(async move {
        election
            .hold(move |trouble| drop(tell.send_replace(Some(trouble.map(str::to_owned)))))
            .await
    });
    plane.kill_api();
    let trouble =
        tokio::time::timeout(LONG, told.wait_for(Option::is_some)).await.unwrap().unwrap();
    assert!(trouble.as_ref().unwrap().as_ref().unwrap().contains("can't be renewed"));
    drop(trouble);
    assert!(is_refused(write(&world, "default", "x").await), "it can't know who leads");
    plane.start_api();
    plane.wait_ready();
    let over = |told: &Option<Option<String>>| told == &Some(None);
    tokio::time::timeout(LONG, told.wait_for(over)).await.unwrap().unwrap();
    write(&world, "default", "Waiting").await.unwrap();
    assert!(!holding.is_finished());
    holding.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_processes_one_is_ready_and_the_other_takes_over() {
    let plane = ControlPlane::start();
    plane.install_definitions();
    let kubectl = plane.kubectl(User::Admin).in_namespace("bpa-system");
    let dir = tempfile::tempdir().unwrap();
    let config = plane.kubeconfig(User::Coordinator);
    let start = |name: &str| Coordinator::start(&config, &[], &dir.path().join(name));
    let mut first = start("one");
    wait_for("the first to be ready", || first.is_ready().then_some(())).await;
    let mut second = start("two");
    let says = wait_for("the second to wait", || second.ask("/readyz")).await;
    assert!(says.contains("503") && second.ask("/healthz").unwrap().contains("200"), "{says}");

    // The lease is taken from the first: it ends with the code that the documentation has.
    kubectl.patch("lease", "bpa-coordinator", "", &json!({"spec": {"holderIdentity": "x"}}));
    let status = wait_for("the first to end", || first.ended()).await;
    assert_eq!(status.code(), Some(6));
    wait_for("the second to be ready", || second.is_ready().then_some(())).await;
    let secret = kubectl.get("secret", "bpa-coordinator-identity");
    assert_eq!(secret["data"]["epoch"], "Mg==", "the second start of one identity");
    assert!(secret["data"]["advertise"].is_string(), "for `site add` elsewhere");

    // Told to stop, it gives the lease back: nobody has to wait for it.
    second.terminate();
    let status = wait_for("the second to end", || second.ended()).await;
    assert_eq!(status.code(), Some(0));
    let lease = kubectl.get("lease", "bpa-coordinator");
    assert_eq!(lease["spec"]["holderIdentity"], "");
}
