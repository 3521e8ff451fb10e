//! Claims beside Metal3's own consumers, on a real API server with Metal3's definitions: a machine of
//! Cluster API's provider, which writes without looking, a HostClaim, which looks, and people who
//! make hosts anew. The coordinator is a process; empty hosts give time between its two looks.

use std::time::Duration;

use bpa_common::api::OS_MARK;
use bpa_tests::kubernetes::{Metal3, User, shared};
use bpa_tests::wait::until;
use serde_json::{Value, json};

use crate::house::{EMPTY, House, make_host, start, wish};

const IMAGE: &str = "http://192.0.2.1/ours.qcow2";

/// Two empty hosts, a coordinator, and a wish for one node with an operating system.
fn house(namespace: &str) -> House {
    let kubeconfig = shared().kubeconfig(User::Coordinator);
    let house = House::with(shared(), namespace, kubeconfig, EMPTY);
    let spec = json!({"masters": [{"m": {}}], "os": {"image": {"url": IMAGE, "checksum": "c"}}});
    house.kubectl.apply(&wish("edge", &spec).to_string());
    house
}

/// Waits for our mark on a host: the first phase is done, the second look is to come.
fn marked(house: &House, host: &str) {
    until(&format!("our mark on {host}"), 60, || {
        let holder = house.holder(host);
        if holder == "edge" { Ok(()) } else { Err(holder.to_string()) }
    });
}

fn image(house: &House, host: &str) -> Value {
    house.kubectl.get("bmh", host)["spec"]["image"]["url"].clone()
}

/// Waits until our image is on the host that the status names, and on no other.
fn installing_on(house: &House, host: &str) {
    until(&format!("our image on {host}"), 60, || {
        let found = image(house, host);
        if found == IMAGE { Ok(()) } else { Err(found.to_string()) }
    });
    let status = house.kubectl.get("bpa", "edge")["status"].clone();
    let object = house.kubectl.get("bmh", host);
    assert_eq!(status["nodes"][0]["hostUid"], object["metadata"]["uid"], "{status}");
    assert_eq!(object["spec"]["consumerRef"]["name"], "edge");
}

/// What a machine of Cluster API's provider writes, as one merge patch and without a version: keys
/// that it does not name, our uid among them, stay (CAPM3 issue 3189).
fn machine_takes(house: &House, host: &str) {
    let patch = json!({
        "metadata": {"labels": {"cluster.x-k8s.io/cluster-name": "theirs"}},
        "spec": {
            "consumerRef": {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
                "kind": "Metal3Machine", "name": "theirs-0", "namespace": house.namespace},
            "image": {"url": "http://192.0.2.1/theirs.qcow2", "checksum": "c"},
            "online": true,
        },
    });
    house.kubectl.patch("bmh", host, "", &patch);
}

/// A host as it is, without what an unrelated write changes.
fn shape(house: &House, host: &str) -> Value {
    let object = house.kubectl.get("bmh", host);
    json!({"metadata": {"annotations": object["metadata"]["annotations"],
        "labels": object["metadata"]["labels"]}, "spec": object["spec"]})
}

#[test]
fn a_host_that_a_machine_takes_between_our_looks_is_theirs_for_good() {
    let mut house = house("claims-machine");
    marked(&house, "h1");
    machine_takes(&house, "h1");
    let theirs = shape(&house, "h1");
    assert!(theirs["spec"]["consumerRef"]["uid"].is_string(), "half of it is ours: {theirs}");
    installing_on(&house, "h2");
    // The machine writes its mark again on each look, whatever the host says (CAPM3 issue 3516).
    for _ in 0..5 {
        machine_takes(&house, "h1");
        std::thread::sleep(Duration::from_millis(500));
    }
    assert_eq!(shape(&house, "h1"), theirs, "nothing of it was touched");
    assert_eq!(house.kubectl.get("bmh", "h1")["metadata"]["annotations"].get(OS_MARK), None);
    // Nor when we go.
    let _metal3 = Metal3::start(&house.kubectl);
    house.delete("edge");
    assert_eq!(shape(&house, "h1"), theirs);
    house.coordinator.assert_sound();
}

#[test]
fn a_machine_that_takes_a_host_after_the_image_has_it_and_we_touch_it_no_more() {
    let house = house("claims-stolen");
    installing_on(&house, "h1");
    machine_takes(&house, "h1");
    let theirs = shape(&house, "h1");
    installing_on(&house, "h2");
    let lost = house.kubectl.get("bpa", "edge")["status"]["lostHosts"].clone();
    assert_eq!(lost[0]["name"], "h1", "it is told: {lost}");
    assert_eq!(shape(&house, "h1"), theirs, "their image stays, our note too");
    // The machine goes, as a person sees it: the host is free, and not taken back by itself.
    let free = json!({"metadata": {"labels": null}, "spec": {"consumerRef": null, "image": null}});
    house.kubectl.patch("bmh", "h1", "", &free);
    std::thread::sleep(Duration::from_secs(4));
    assert_eq!(house.holder("h1"), Value::Null);
}

#[test]
fn of_us_and_a_host_claim_the_first_has_the_host() {
    let kubeconfig = shared().kubeconfig(User::Coordinator);
    let house = House::with(shared(), "claims-hostclaim", kubeconfig, EMPTY);
    let claim = |mut host: Value| {
        host["spec"]["consumerRef"] = json!({"apiVersion": "metal3.io/v1alpha1",
            "kind": "HostClaim", "name": "c", "namespace": house.namespace});
        house.kubectl.try_run(&["replace", "-f", "-"], &host.to_string())
    };
    // It reads both before we write, and writes one before us and the other after.
    let (first, second) = (house.kubectl.get("bmh", "h1"), house.kubectl.get("bmh", "h2"));
    assert_eq!(claim(first).code, 0);
    let spec = json!({"masters": [{"m": {}}], "os": {"image": {"url": IMAGE, "checksum": "c"}}});
    house.kubectl.apply(&wish("edge", &spec).to_string());
    installing_on(&house, "h2");
    let refused = claim(second);
    assert!(refused.code != 0 && refused.err.contains("Conflict"), "{}", refused.text());
    assert_eq!([house.holder("h1"), house.holder("h2")], [json!("c"), json!("edge")]);
}

#[test]
fn a_host_that_is_made_anew_between_our_looks_is_another_host() {
    let mut house = house("claims-anew");
    marked(&house, "h1");
    let old = house.kubectl.get("bmh", "h1")["metadata"]["uid"].clone();
    house.kubectl.run(&["delete", "bmh", "h1"]);
    make_host(&house.kubectl, "h1", "52:54:00:aa:01:01", EMPTY);
    let uid = until("a host to be marked", 60, || {
        let status = house.kubectl.get("bpa", "edge")["status"].clone();
        let uid = status["nodes"][0]["hostUid"].clone();
        let told = ["Provisioning"].contains(&status["nodes"][0]["state"].as_str().unwrap_or(""));
        if told && uid != old { Ok(uid) } else { Err(status.to_string()) }
    });
    let hosts = [house.kubectl.get("bmh", "h1"), house.kubectl.get("bmh", "h2")];
    let held: Vec<&Value> = hosts.iter().filter(|h| !h["spec"]["consumerRef"].is_null()).collect();
    assert_eq!(held.len(), 1, "one slot, one host: {hosts:?}");
    assert_eq!(held[0]["metadata"]["uid"], uid);
    house.coordinator.assert_sound();
}

#[test]
fn a_coordinator_that_dies_between_its_looks_goes_on_with_the_same_host() {
    let mut house = house("claims-killed");
    marked(&house, "h1");
    house.coordinator.kill();
    house.coordinator = start(&house.kubeconfig, &house.namespace, house.dir.path());
    installing_on(&house, "h1");
    assert_eq!(house.holder("h2"), Value::Null);
}

#[test]
fn an_empty_host_is_installed_by_metal3_and_given_back_empty() {
    let mut house = house("claims-os");
    let before = ["h1", "h2"].map(|host| {
        let mut shape = shape(&house, host);
        shape["spec"].as_object_mut().unwrap().remove("consumerRef");
        shape
    });
    let metal3 = Metal3::start(&house.kubectl);
    let words = house.reason("edge", "HostsProvisioned", "Provisioned");
    assert_eq!(words, format!("Linux is installed on all hosts, on 1 of them by Metal3 ({IMAGE})"));
    house.claimed("edge");
    assert_eq!(house.kubectl.get("bmh", "h1")["status"]["provisioning"]["state"], "provisioned");

    // Metal3 is slow: until it has wiped the host, our mark keeps others off.
    drop(metal3);
    house.kubectl.run(&["delete", "bpa", "edge", "--wait=false"]);
    until("the image to be taken away", 60, || {
        let found = image(&house, "h1");
        if found.is_null() { Ok(()) } else { Err(found.to_string()) }
    });
    let words = house.reason("edge", "Ready", "Releasing");
    assert!(words.contains("h1 is in state `provisioned`"), "{words}");
    assert_eq!(house.holder("h1"), "edge");
    let _metal3 = Metal3::start(&house.kubectl);
    house.gone("edge");
    for (host, before) in ["h1", "h2"].iter().zip(before) {
        let mut after = shape(&house, host);
        if after["metadata"]["annotations"] == json!({}) {
            after["metadata"]["annotations"] = Value::Null;
        }
        let mut wanted = before;
        // `kubectl apply` has its own note on it.
        wanted["metadata"]["annotations"] = after["metadata"]["annotations"].clone();
        assert_eq!(after, wanted, "{host} is as it was found");
        assert!(!after.to_string().contains(OS_MARK));
    }
    house.coordinator.assert_sound();
}
