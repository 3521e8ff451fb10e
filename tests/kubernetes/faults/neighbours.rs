//! Beside Metal3, Cluster API and people: whatever makes a host theirs is seen, in the objects as a
//! real API server keeps them, and keeps the coordinator off.

use super::*;

const CAPM3: &str = "infrastructure.cluster.x-k8s.io/v1beta2";

/// A wish for h1 that is planned and claims nothing.
fn planned(house: &House, more: &Value) {
    let mut spec =
        json!({"paused": true, "masters": [{"m": {"mac-address": "52:54:00:aa:01:01"}}]});
    for (field, value) in more.as_object().unwrap() {
        spec[field] = value.clone();
    }
    house.kubectl.apply(&wish("edge", &spec).to_string());
    house.reason("edge", "HostsMatched", "Matched");
}

/// How a sign is put on h1 and taken off again.
enum Sign {
    /// Merge patches: on, off. Of the status when the flag is set.
    Patch(bool, Value, Value),
    /// An object of others, and a status for it.
    Object(Value, Option<Value>),
}

fn metadata(on: Value, off: Value) -> Sign {
    Sign::Patch(false, json!({"metadata": on}), json!({"metadata": off}))
}

fn annotation(key: &str) -> Sign {
    metadata(json!({"annotations": {key: "x"}}), json!({"annotations": {key: null}}))
}

fn label(key: &str) -> Sign {
    metadata(json!({"labels": {key: "x"}}), json!({"labels": {key: null}}))
}

fn spec(on: Value, off: Value) -> Sign {
    Sign::Patch(false, json!({"spec": on}), json!({"spec": off}))
}

fn status(on: Value, off: Value) -> Sign {
    Sign::Patch(true, json!({"status": on}), json!({"status": off}))
}

fn machine(namespace: &str) -> Value {
    json!({"apiVersion": CAPM3, "kind": "Metal3Machine",
        "metadata": {"name": "theirs", "annotations": {"metal3.io/BareMetalHost": format!("{namespace}/h1")}},
        "spec": {"image": {"url": "http://192.0.2.1/x.img", "checksum": "c"}}})
}

fn signs(namespace: &str) -> Vec<(&'static str, Sign)> {
    let claim = json!({"apiVersion": "metal3.io/v1alpha1", "kind": "HostClaim",
        "metadata": {"name": "theirs"}, "spec": {"poweredOn": true}});
    let bound = json!({"status": {"bareMetalHost": {"name": "h1", "namespace": namespace}}});
    let owner = json!([{"apiVersion": CAPM3, "kind": "Metal3Machine", "name": "theirs",
        "uid": "00000000-0000-4000-8000-000000000001"}]);
    let consumer = json!({"apiVersion": CAPM3, "kind": "Metal3Machine", "namespace": namespace,
        "name": "theirs"});
    let states = |state: &str| json!({"provisioning": {"state": state}});
    vec![
        (
            "is held by Metal3Machine",
            spec(json!({"consumerRef": consumer}), json!({"consumerRef": null})),
        ),
        ("is reserved for reuse by `x`", label("infrastructure.cluster.x-k8s.io/node-reuse")),
        ("the Cluster API cluster `x`", label("cluster.x-k8s.io/cluster-name")),
        (
            "is owned by Metal3Machine `theirs`",
            metadata(json!({"ownerReferences": owner}), json!({"ownerReferences": null})),
        ),
        ("is the host of Metal3Machine", Sign::Object(machine(namespace), None)),
        ("is the host of HostClaim", Sign::Object(claim, Some(bound))),
        ("is paused", annotation("baremetalhost.metal3.io/paused")),
        ("is detached from Metal3 (annotation", annotation("baremetalhost.metal3.io/detached")),
        (
            "is detached from Metal3 (operational status",
            status(json!({"operationalStatus": "detached"}), json!({"operationalStatus": "OK"})),
        ),
        ("annotation capm3.metal3.io/unhealthy", annotation("capm3.metal3.io/unhealthy")),
        ("annotation capi.metal3.io/unhealthy", annotation("capi.metal3.io/unhealthy")),
        ("is held in a reboot", annotation("reboot.metal3.io/metal3-remediation-1")),
        ("clusterctl move", annotation("clusterctl.cluster.x-k8s.io/block-move")),
        (
            "has the error `power management error`: no power",
            status(
                json!({"errorType": "power management error", "errorMessage": "no power"}),
                json!({"errorType": null, "errorMessage": ""}),
            ),
        ),
        (
            "has the operational status `servicing`",
            status(json!({"operationalStatus": "servicing"}), json!({"operationalStatus": "OK"})),
        ),
        (
            "is in state `inspecting`",
            status(states("inspecting"), states("externally provisioned")),
        ),
        (
            "switched off (spec.online is false)",
            spec(json!({"online": false}), json!({"online": true})),
        ),
    ]
}

#[test]
fn each_sign_of_another_owner_keeps_a_host_from_being_chosen_until_it_is_gone() {
    let kubeconfig = shared().kubeconfig(User::Coordinator);
    let mut house = House::up(shared(), "signs", kubeconfig);
    planned(&house, &json!({}));
    for (words, sign) in signs("signs") {
        match &sign {
            Sign::Patch(is_status, on, _) => {
                house.kubectl.patch("bmh", "h1", if *is_status { "status" } else { "" }, on);
            }
            Sign::Object(object, state) => {
                house.kubectl.apply(&object.to_string());
                if let Some(state) = state {
                    let kind = object["kind"].as_str().unwrap();
                    house.kubectl.patch(kind, "theirs", "status", state);
                }
            }
        }
        let message = house.reason("edge", "HostsMatched", "NoFit");
        assert!(message.contains(words), "wanted `{words}`: {message}");
        match sign {
            Sign::Patch(is_status, _, off) => {
                house.kubectl.patch("bmh", "h1", if is_status { "status" } else { "" }, &off);
            }
            Sign::Object(object, _) => {
                house.kubectl.run(&["delete", object["kind"].as_str().unwrap(), "theirs"]);
            }
        }
        house.reason("edge", "HostsMatched", "Matched");
    }
    assert_eq!(house.holder("h1"), Value::Null, "nothing was claimed all the while");
    house.coordinator.assert_sound();
}

/// A machine that was given a new record while the old one is still being deleted.
#[test]
fn of_two_records_of_a_machine_none_is_taken_until_the_old_one_is_gone() {
    let kubeconfig = shared().kubeconfig(User::Coordinator);
    let mut house = House::up(shared(), "records", kubeconfig);
    let old = json!({"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
        "metadata": {"name": "old", "finalizers": ["baremetalhost.metal3.io/test"]},
        "spec": {"online": true, "bootMACAddress": "52:54:00:AA:01:01"}});
    planned(&house, &json!({}));
    house.kubectl.apply(&old.to_string());
    house.kubectl.run(&["delete", "bmh", "old", "--wait=false"]);
    let words = "h1 is the same machine as records/old, which is being deleted";
    until("both records to be left alone", 60, || {
        let message = house.reason("edge", "HostsMatched", "NoFit");
        if message.contains(words) { Ok(()) } else { Err(message) }
    });
    house.kubectl.patch("bmh", "old", "", &json!({"metadata": {"finalizers": null}}));
    house.reason("edge", "HostsMatched", "Matched");
    house.coordinator.assert_sound();
}

/// What a person who looks with kubectl alone sees.
#[test]
fn that_cluster_api_may_be_given_the_same_empty_host_is_a_warning_until_its_selector_excludes_it() {
    let kubeconfig = shared().kubeconfig(User::Coordinator);
    let mut house = House::up(shared(), "contested", kubeconfig);
    let empty = json!({"status": {"provisioning": {"state": "available"}}});
    let plain =
        json!({"spec": {"externallyProvisioned": null}, "metadata": {"labels": {"for": "bpa"}}});
    house.kubectl.patch("bmh", "h1", "", &plain);
    house.kubectl.patch("bmh", "h1", "status", &empty);
    let template = |selector: Value| {
        let image = json!({"url": "http://192.0.2.1/x.img", "checksum": "c"});
        json!({"apiVersion": CAPM3, "kind": "Metal3MachineTemplate", "metadata": {"name": "workers"},
            "spec": {"template": {"spec": {"image": image, "hostSelector": selector}}}})
    };
    house.kubectl.apply(&template(json!({})).to_string());
    let image = json!({"url": "http://192.0.2.1/u.img", "checksum": "c", "checksumType": "sha256"});
    planned(&house, &json!({"os": {"image": image}}));
    let message = house.reason("edge", "HostsDoubtful", "HostsContested");
    let wanted = "Metal3MachineTemplate contested/workers (no hostSelector: every host of its namespace) may be given h1,";
    assert!(message.starts_with(wanted), "{message}");
    until("kubectl describe to tell it", 60, || {
        let told = house.kubectl.run(&["describe", "bpa", "edge"]);
        let event = told.lines().any(|l| l.contains("Warning") && l.contains("HostsContested"));
        if event { Ok(()) } else { Err(told) }
    });
    let excluding =
        json!({"matchExpressions": [{"key": "for", "operator": "NotIn", "values": ["bpa"]}]});
    house.kubectl.run(&["delete", "metal3machinetemplate", "workers"]);
    house.kubectl.apply(&template(excluding).to_string());
    until("the warning to be over", 60, || {
        let conditions = house.kubectl.get("bpa", "edge")["status"]["conditions"].clone();
        let mut all = conditions.as_array().unwrap().iter();
        if all.any(|c| c["type"] == "HostsDoubtful") { Err(conditions.to_string()) } else { Ok(()) }
    });
    house.coordinator.assert_sound();
}
