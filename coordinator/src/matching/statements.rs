//! Section A of the statements about the original: finding the host. `docs/legacy.md` lists them.

use std::sync::Arc;

use bpa_common::api::metal3::{BareMetalHost, ConsumerRef, Cpu, Hardware, Nic};
use bpa_common::api::{ObjectMeta, Provisioning};
use serde_json::{Value, json};

use super::testing::host;
use super::{ProvisioningPlan, plan_all};

fn wish(name: &str, spec: Value) -> Arc<Provisioning> {
    let uid = format!("uid-{name}");
    let value = json!({"metadata": {"name": name, "namespace": "ns", "uid": uid}, "spec": spec});
    Arc::new(serde_json::from_value(value).unwrap())
}

fn plans(wishes: &[Arc<Provisioning>], hosts: &[BareMetalHost]) -> Vec<ProvisioningPlan> {
    let pairs: Vec<_> = hosts.iter().map(|host| (host, None)).collect();
    plan_all(wishes, &pairs).provisionings
}

fn plan(spec: Value, hosts: &[BareMetalHost]) -> ProvisioningPlan {
    plans(&[wish("p", spec)], hosts).remove(0)
}

/// `slot=host` for each slot, or nothing.
fn hosts_of(plan: &ProvisioningPlan) -> Vec<String> {
    plan.assignments.iter().map(|a| format!("{}={}", a.slot, a.host.name)).collect()
}

fn by_mac(mac: &str) -> Value {
    json!({"masters": [{"m": {"mac-address": mac}}]})
}

/// All words of a plan.
fn words(plan: &ProvisioningPlan) -> String {
    serde_json::to_string(plan).unwrap()
}

/// A host of this size.
fn sized(name: &str, n: u8, cpus: u32, gib: u64) -> BareMetalHost {
    let mut host = host(name, n);
    host.status.hardware = Some(Hardware {
        cpu: Some(Cpu { count: Some(cpus), ..Cpu::default() }),
        ram_mebibytes: Some(gib * 1024),
        ..Hardware::default()
    });
    host
}

#[test]
fn statement_01_letter_case_of_a_mac_means_nothing() {
    let mut upper = host("a", 0xab);
    upper.spec.boot_mac_address = "52:54:00:00:00:AB".to_owned();
    assert_eq!(hosts_of(&plan(by_mac("52:54:00:00:00:ab"), &[upper])), ["m=a"]);
    assert_eq!(hosts_of(&plan(by_mac("52:54:00:00:00:AB"), &[host("a", 0xab)])), ["m=a"]);
}

#[test]
fn statement_02_the_usual_notations_of_a_mac_are_one() {
    for text in ["52-54-00-00-00-01", "525400000001", "5254.0000.0001", "52:54:0:0:0:1"] {
        assert_eq!(hosts_of(&plan(by_mac(text), &[host("a", 1)])), ["m=a"], "{text}");
    }
}

#[test]
fn statement_03_a_part_of_a_mac_is_none() {
    for text in ["52:54:00", "52:54:00:00:00", "", "<node4-if2-mac>"] {
        let read: Result<Provisioning, _> =
            serde_json::from_value(json!({"metadata": {"name": "p"}, "spec": by_mac(text)}));
        let error = read.unwrap_err().to_string();
        assert!(error.contains("is not a MAC address: wanted six hexadecimal octets"), "{error}");
    }
}

#[test]
fn statement_04_a_mac_counts_only_where_network_cards_have_it() {
    let mac = "52:54:00:00:00:01";
    let mut other = host("other", 2);
    other.metadata.annotations.insert("note".into(), mac.into());
    other.metadata.labels.insert("mac".into(), "52-54-00-00-00-01".into());
    other.spec.image = serde_json::from_value(json!({"url": format!("http://x/{mac}")})).unwrap();
    let found = plan(by_mac(mac), std::slice::from_ref(&other));
    assert!(found.accepted && !found.fits && words(&found).contains(mac), "{}", words(&found));
    other.status.hardware = Some(Hardware {
        nics: vec![Nic { mac: mac.to_uppercase(), ..Nic::default() }],
        ..Hardware::default()
    });
    assert_eq!(hosts_of(&plan(by_mac(mac), &[other])), ["m=other"]);
}

#[test]
fn statement_05_a_mac_of_two_hosts_names_none_and_both_are_told() {
    let found = plan(by_mac("52:54:00:00:00:01"), &[host("a", 1), host("b", 1)]);
    assert!(!found.fits && found.assignments.is_empty());
    let words = words(&found);
    assert!(words.contains("metal3/a") && words.contains("metal3/b"), "{words}");
}

#[test]
fn statement_07_only_a_host_that_is_provisioned_sound_and_on_is_taken() {
    for state in
        ["", "registering", "inspecting", "available", "provisioning", "deprovisioning", "new"]
    {
        let mut host = host("a", 1);
        host.status.provisioning.state = state.to_owned();
        let found = plan(by_mac("52:54:00:00:00:01"), &[host]);
        assert!(!found.fits && found.ineligible.len() == 1, "{state}: {}", words(&found));
    }
    let mut broken = host("a", 1);
    broken.status.error_type = "power management error".to_owned();
    let mut off = host("b", 2);
    off.spec.online = false;
    let found = plan(json!({"masters": [{"m": {}}]}), &[broken, off]);
    assert!(!found.fits && found.ineligible.len() >= 2, "{}", words(&found));
    let mut external = host("a", 1);
    external.status.provisioning.state = "externally provisioned".to_owned();
    assert_eq!(hosts_of(&plan(by_mac("52:54:00:00:00:01"), &[external])), ["m=a"]);
}

#[test]
fn statement_08_a_host_of_another_consumer_or_one_that_goes_is_refused() {
    let mut theirs = host("a", 1);
    theirs.spec.consumer_ref = Some(ConsumerRef {
        kind: "Metal3Machine".into(),
        namespace: "m".into(),
        name: "x".into(),
        ..ConsumerRef::default()
    });
    let mut goes = host("b", 2);
    goes.metadata.deletion_timestamp = Some(jiff::Timestamp::UNIX_EPOCH);
    let found = plan(json!({"masters": [{"m": {}}]}), &[theirs, goes]);
    assert!(!found.fits);
    let words = words(&found);
    assert!(words.contains("is held by Metal3Machine m/x"), "{words}");
    assert!(words.contains("is being deleted"), "{words}");
}

#[test]
fn statement_09_a_need_without_a_mac_finds_a_host_that_meets_it() {
    let hosts = [sized("small", 1, 4, 8), sized("large", 2, 20, 64)];
    let found = plan(json!({"masters": [{"m": {"cpu": 10, "memory": "16Gi"}}]}), &hosts);
    assert_eq!(hosts_of(&found), ["m=large"]);
}

#[test]
fn statement_10_the_host_of_a_mac_must_meet_the_size_too() {
    let spec = json!({"masters": [{"m": {"mac-address": "52:54:00:00:00:01", "memory": "16Gi"}}]});
    let found = plan(spec, &[sized("small", 1, 4, 8), sized("large", 2, 20, 64)]);
    assert!(!found.fits);
    let words = words(&found);
    assert!(words.contains("16Gi") && words.contains("8Gi") && words.contains("small"), "{words}");
}

#[test]
fn statement_11_features_are_looked_up_and_not_ignored() {
    for feature in ["sriov", "qat"] {
        let found = plan(json!({"masters": [{"m": {feature: true}}]}), &[host("a", 1)]);
        assert!(!found.fits && words(&found).contains(feature), "{}", words(&found));
        let unasked = plan(json!({"masters": [{"m": {feature: false}}]}), &[host("a", 1)]);
        assert_eq!(hosts_of(&unasked), ["m=a"]);
    }
}

#[test]
fn statement_12_all_or_nothing_whatever_the_order_and_the_scarce_host_where_it_must_go() {
    let spec = json!({"masters": [{"any": {"cpu": 1}}], "workers": [{"big": {"cpu": 16}}]});
    let mut hosts = vec![sized("big", 1, 32, 64), sized("small", 2, 4, 8)];
    let first = hosts_of(&plan(spec.clone(), &hosts));
    assert_eq!(first, ["any=small", "big=big"]);
    hosts.reverse();
    assert_eq!(hosts_of(&plan(spec.clone(), &hosts)), first);
    let found = plan(spec, &hosts[..1]);
    assert!(!found.fits && found.assignments.is_empty());
}

#[test]
fn statement_13_a_host_is_given_once() {
    let one = |name: &str| wish(name, json!({"masters": [{"m": {"cpu": 2}}]}));
    let found = plans(&[one("a"), one("b")], &[sized("only", 1, 4, 8)]);
    let fits: Vec<bool> = found.iter().map(|plan| plan.fits).collect();
    assert_eq!(fits.iter().filter(|fits| **fits).count(), 1, "{fits:?}");
}

#[test]
fn statement_14_a_mac_of_two_clusters_goes_to_the_first_and_the_second_is_told() {
    let one = |name: &str, mac: &str| wish(name, by_mac(mac));
    let wishes = [one("a", "52:54:00:00:00:ab"), one("b", "52-54-00-00-00-AB")];
    let found = plans(&wishes, &[host("h", 0xab)]);
    assert!(found[0].fits && !found[1].fits);
    assert!(words(&found[1]).contains("ns/a"), "{}", words(&found[1]));
}

#[test]
fn statement_46_each_host_stands_under_its_own_name() {
    let value = json!({"metadata": {"name": "p", "labels": {"cluster-type": "virtlet-vm"}},
        "spec": {"masters": [{"master-1": {"mac-address": "52:54:00:00:00:01"}}],
            "workers": [{"worker-1": {"mac-address": "52:54:00:00:00:02"}}]}});
    let wish: Provisioning = serde_json::from_value(value).unwrap();
    let found = plans(&[Arc::new(wish)], &[host("a", 1), host("b", 2)]).remove(0);
    assert_eq!(hosts_of(&found), ["master-1=a", "worker-1=b"]);
    assert!(found.warnings[0].contains("each node needs a BareMetalHost"), "{:?}", found.warnings);
}

#[test]
fn statement_92_an_object_without_labels_is_an_object() {
    let bare = ObjectMeta { name: "p".into(), ..ObjectMeta::default() };
    let spec = serde_json::from_value(by_mac("52:54:00:00:00:01")).unwrap();
    let mut unlabelled = host("a", 1);
    unlabelled.metadata.labels.clear();
    let found = plans(&[Arc::new(Provisioning::new(bare, spec))], &[unlabelled]).remove(0);
    assert_eq!(hosts_of(&found), ["m=a"]);
}
