//! Bugs that others had with MACs, sizes and hardware data; each must not be one of ours. Numbers are
//! those of the project's notes on Metal3; `common/src/api/hardware_tests.rs` has more of them.

use bpa_common::api::metal3::{BareMetalHost, ConsumerRef, HardwareData};
use bpa_common::api::{HostUse, NeighbourKind, ObjectKey, Provisioning};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Claimant, Offer, ProvisioningPlan, plan_among};
use crate::cluster::decode::from_value;
use crate::cluster::neighbours;

/// A host as Metal3 shows it, with what is different.
fn host(name: &str, spec: Value, hardware: Value) -> BareMetalHost {
    let mut object = json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
        "metadata": {"name": name, "namespace": "metal3", "uid": name},
        "spec": {"online": true},
        "status": {"operationalStatus": "OK", "hardware": hardware,
            "provisioning": {"state": "provisioned", "ID": "1"}},
    });
    for (field, value) in spec.as_object().unwrap() {
        object["spec"][field] = value.clone();
    }
    from_value(object).unwrap()
}

fn plan(need: Value, hosts: &[BareMetalHost]) -> ProvisioningPlan {
    let pairs: Vec<_> = hosts.iter().map(|host| (host, None)).collect();
    plan_with(need, &pairs)
}

fn plan_with(need: Value, hosts: &[(&BareMetalHost, Option<&HardwareData>)]) -> ProvisioningPlan {
    let wish: Provisioning = from_value(json!({
        "metadata": {"name": "p", "namespace": "ns", "uid": "u"},
        "spec": {"masters": [{"m": need}]},
    }))
    .unwrap();
    plan_among(&[wish], hosts, &[], &[]).provisionings.remove(0)
}

fn taken(plan: &ProvisioningPlan) -> Option<&str> {
    plan.assignments.first().map(|a| a.host.name.as_str())
}

/// `requirement: host: found, short by`.
fn misses(plan: &ProvisioningPlan) -> Vec<String> {
    let lines = plan.explanation.iter().flat_map(|e| &e.near_misses);
    let text = |miss: &super::NearMiss| {
        let short = miss.short_by.as_ref().map(|by| format!(", short by {by}"));
        format!("{}: {}: {}{}", miss.requirement, miss.host, miss.found, short.unwrap_or_default())
    };
    lines.map(text).collect()
}

fn boots(mac: &str) -> Value {
    json!({"bootMACAddress": mac})
}

#[test]
fn bug_23_a_mac_is_the_same_in_any_case_and_with_any_separator() {
    for (theirs, ours) in [
        ("00:00:5e:00:53:af", "00:00:5E:00:53:AF"),
        ("00:00:5E:00:53:AF", "00-00-5e-00-53-af"),
        (" 00:00:5E:00:53:AF ", "0000.5e00.53af"),
    ] {
        let hosts = [host("h1", boots(theirs), json!(null))];
        assert_eq!(taken(&plan(json!({"mac-address": ours}), &hosts)), Some("h1"), "{theirs}");
    }
}

#[test]
fn bug_25_a_mac_of_two_hosts_names_neither_and_both_are_told() {
    let mut hosts = ["h1", "h2"].map(|name| host(name, boots("52:54:00:00:00:01"), json!(null)));
    hosts[1].metadata.namespace = "other".to_owned();
    let found = plan(json!({"mac-address": "52:54:00:00:00:01"}), &hosts);
    assert!(!found.fits);
    assert_eq!(
        misses(&found),
        [
            "mac-address: metal3/h1, other/h2: 2 hosts show this MAC, so it names none; correct all but one"
        ]
    );
    // For a need without a MAC both are hosts like others.
    assert!(plan(json!({}), &hosts).fits);
}

/// The card of a BMC has the same MAC on every server: it names none, and spoils none.
#[test]
fn bug_27_a_card_that_all_servers_have_alike_neither_names_nor_spoils_a_host() {
    let nics = |own: &str| json!({"nics": [{"mac": "02:00:00:00:00:01", "ip": "169.254.3.1"}, {"mac": own, "ip": "192.0.2.5"}]});
    let hosts = [
        host("h1", json!({}), nics("52:54:00:00:00:01")),
        host("h2", json!({}), nics("52:54:00:00:00:02")),
    ];
    let found = plan(json!({"mac-address": "52:54:00:00:00:02"}), &hosts);
    assert_eq!(taken(&found), Some("h2"));
    assert!(!plan(json!({"mac-address": "02:00:00:00:00:01"}), &hosts).fits);
    // And it is not the one whose lease is looked for.
    let any = plan(json!({}), &hosts);
    assert_eq!(any.assignments[0].mac.unwrap().to_string(), "52:54:00:00:00:01");
}

#[test]
fn bug_36_a_host_that_was_never_inspected_meets_a_mac_and_no_size() {
    let mut external = host("h1", boots("52:54:00:00:00:01"), json!(null));
    external.status.provisioning.state = "externally provisioned".to_owned();
    external.spec.externally_provisioned = true;
    let hosts = [external];
    assert_eq!(taken(&plan(json!({"mac-address": "52:54:00:00:00:01"}), &hosts)), Some("h1"));
    for need in [json!({"cpu": 1}), json!({"memory": "1Ki"}), json!({"disk": "1"})] {
        let found = plan(need.clone(), &hosts);
        assert!(!found.fits && misses(&found)[0].ends_with(": unknown"), "{need}");
    }
}

#[test]
fn bug_38_without_hardware_data_the_status_of_the_host_counts() {
    let hosts = [host("h1", json!({}), json!({"cpu": {"count": 8}, "ramMebibytes": 4096}))];
    assert!(plan(json!({"cpu": 8, "memory": "4Gi"}), &hosts).fits);
    let data = |hardware: Value| -> HardwareData {
        from_value(json!({"metadata": {"name": "h1", "namespace": "metal3"},
            "spec": {"hardware": hardware}}))
        .unwrap()
    };
    let smaller = data(json!({"ramMebibytes": 2048}));
    let found = plan_with(json!({"cpu": 8, "memory": "4Gi"}), &[(&hosts[0], Some(&smaller))]);
    assert_eq!(misses(&found), ["memory: metal3/h1: 2Gi, short by 2Gi"], "the newer place counts");
    let empty = data(json!(null));
    assert!(plan_with(json!({"cpu": 8, "memory": "4Gi"}), &[(&hosts[0], Some(&empty))]).fits);
}

#[test]
fn bug_42_binary_and_decimal_units_are_told_apart_to_the_byte() {
    let sized = |hardware: Value| [host("h1", json!({}), hardware)];
    let memory = |mib: u64, wanted: &str| {
        plan(json!({"memory": wanted}), &sized(json!({"ramMebibytes": mib}))).fits
    };
    assert!(memory(4096, "4Gi") && memory(4096, "4G") && memory(4096, "4294967296"));
    assert!(!memory(4095, "4Gi") && memory(3815, "4G") && !memory(3814, "4G"));
    let disk = |bytes: u64, wanted: &str| {
        plan(json!({"disk": wanted}), &sized(json!({"storage": [{"sizeBytes": bytes}]}))).fits
    };
    assert!(disk(480_103_981_056, "480G") && !disk(480_103_981_056, "480Gi"));
    assert!(disk(4_000_000_000, "4G") && !disk(3_999_999_999, "4G"));
}

#[test]
fn bug_43_how_little_is_missing_is_told_and_what_would_do() {
    let hosts = [host("h1", json!({}), json!({"ramMebibytes": 15974}))];
    let found = plan(json!({"memory": "16Gi"}), &hosts);
    assert_eq!(misses(&found), ["memory: metal3/h1: 15.5Gi, short by 410Mi"]);
    let remedy = &found.explanation.as_ref().unwrap().remedies[0];
    assert!(remedy.message.contains("lower memory of m to"), "{}", remedy.message);
    let lower = remedy.value.clone();
    assert!(plan(json!({"memory": lower}), &hosts).fits, "the remedy holds");
}

#[test]
fn bug_44_a_list_of_macs_means_any_nic_of_the_host() {
    let nics = json!({"nics": [{"mac": "52:54:00:00:00:01"}, {"mac": "52:54:00:00:00:02"}]});
    let hosts = [host("h1", json!({}), nics), host("h2", boots("52:54:00:00:00:09"), json!(null))];
    for macs in [
        json!(["52:54:00:00:00:02"]),
        json!(["52:54:00:00:00:01", "52:54:00:00:00:02"]),
        json!(["52:54:00:00:00:77", "52:54:00:00:00:02"]),
    ] {
        assert_eq!(taken(&plan(json!({"mac-address": macs}), &hosts)), Some("h1"), "{macs}");
    }
}

#[test]
fn what_is_no_mac_in_the_place_of_one_is_told_to_who_asks_for_it() {
    for odd in ["52:54:00:00:00:01,52:54:00:00:00:02", "[52-54-00-00-00-01]"] {
        let hosts = [host("h1", boots(odd), json!(null))];
        let found = plan(json!({"mac-address": "52:54:00:00:00:01"}), &hosts);
        let wanted = format!(
            "mac-address: metal3/h1: bootMACAddress is `{odd}`, which is not one MAC; correct it there"
        );
        assert_eq!(misses(&found), [wanted]);
        assert!(plan(json!({}), &hosts).fits, "nothing else is wrong with it");
    }
}

/// The same machine as Metal3 of 2020 and of 2026 show it.
#[test]
fn newer_and_older_shapes_of_a_host_are_read_alike() {
    let nics = |pci: bool| {
        let mut nic = json!({"name": "eno1", "model": "0x8086 0x1572", "mac": "00:00:5E:00:53:AF",
            "ip": "192.0.2.5", "speedGbps": 10, "vlanId": 0, "pxe": true});
        if pci {
            nic["pciAddress"] = json!("0000:19:00.0");
            nic["lldp"] = json!({"switchID": "s", "portID": "p", "switchSystemName": "n"});
        }
        json!([nic, {"name": "eno2", "mac": "00:00:5e:00:53:b0", "vlans": [{"id": 5}]}])
    };
    let older: BareMetalHost = from_value(json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
        "metadata": {"name": "h", "namespace": "m", "uid": "u", "selfLink": "/x", "generation": 3,
            "finalizers": ["baremetalhost.metal3.io"]},
        "spec": {"online": true, "bootMACAddress": "00:00:5E:00:53:AF", "hardwareProfile": "dell",
            "taints": [{"key": "a", "effect": "NoSchedule"}], "description": "",
            "bmc": {"address": "ipmi://192.0.2.1", "credentialsName": "bmc"},
            "image": {"url": "http://site/i", "checksum": "http://site/i.md5"}},
        "status": {"operationalStatus": "OK", "errorMessage": "", "poweredOn": true,
            "hardwareProfile": "dell", "lastUpdated": "2020-03-01T10:00:00Z",
            "goodCredentials": {"credentials": {"name": "bmc"}, "credentialsVersion": "1"},
            "operationHistory": {"inspect": {"start": null, "end": null}},
            "provisioning": {"ID": "id", "state": "provisioned", "image": {"url": "http://site/i",
                "checksum": "http://site/i.md5"}, "firmware": {}},
            "hardware": {
                "cpu": {"arch": "x86_64", "model": "Xeon", "clockMegahertz": 2101.5, "count": 64, "flags": ["aes"]},
                "ramMebibytes": 262_144, "nics": nics(false), "hostname": "localhost",
                "storage": [{"name": "/dev/sda", "rotational": true, "sizeBytes": 480_103_981_056_u64,
                    "hctl": "0:0:0:0", "serialNumber": "s1"}],
                "systemVendor": {"manufacturer": "V", "productName": "P", "serialNumber": "ABC"},
                "firmware": {"bios": {"date": "", "vendor": "V", "version": "1"}}}},
    }))
    .unwrap();
    let newer: BareMetalHost = from_value(json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
        "metadata": {"name": "h", "namespace": "m", "uid": "u",
            "labels": {"infrastructure.cluster.x-k8s.io/failure-domain": "a"}},
        "spec": {"online": true, "bootMACAddress": "00:00:5e:00:53:af", "architecture": "x86_64",
            "automatedCleaningMode": "metadata", "inspectionMode": "fast", "bootMode": "UEFI",
            "networkInterfaces": [{"name": "x"}], "disablePowerOff": true,
            "bmc": {"address": "ipmi://192.0.2.1", "credentialsName": "bmc", "disableCertificateVerification": true},
            "image": {"url": "http://site/i", "checksum": "c", "checksumType": "sha256", "format": "qcow2"}},
        "status": {"operationalStatus": "OK", "errorMessage": "", "errorCount": 0, "poweredOn": true,
            "provisioningFailCount": 0, "lastAttemptedImage": {"url": "http://site/i"},
            "conditions": [{"type": "Ready", "status": "True", "reason": "x", "message": ""}],
            "provisioning": {"ID": "id", "state": "provisioned", "bootMode": "UEFI",
                "customDeploy": null, "rootDeviceHints": {}, "image": {"url": "http://site/i"}}},
    }))
    .unwrap();
    let data: HardwareData = from_value(json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "HardwareData",
        "metadata": {"name": "h", "namespace": "m", "finalizers": ["baremetalhost.metal3.io/hardwareData"]},
        "spec": {"hardware": {
            "cpu": {"arch": "x86_64", "count": 64, "clockMegahertz": 2101.5},
            "ramMebibytes": 262_144, "nics": nics(true),
            "storage": [
                {"name": "/dev/disk/by-path/a", "alternateNames": ["/dev/sda"], "type": "NVME",
                    "sizeBytes": 480_103_981_056_u64, "wwn": "0x1", "wwnVendorExtension": "0x2", "wwnWithExtension": "0x12"},
                {"name": "/dev/disk/by-path/b", "sizeBytes": 480_103_981_056_u64, "wwn": "0x1", "wwnWithExtension": "0x12"}],
            "systemVendor": {"serialNumber": "ABC"}}},
    }))
    .unwrap();
    let old = Offer::read(&older, None);
    let mut new = Offer::read(&newer, Some(&data));
    assert_eq!((old.cpu, old.memory, old.disk), (Some(64), Some(256 << 30), Some(480_103_981_056)));
    assert_eq!((old.serial.as_deref(), old.architecture.as_deref()), (Some("ABC"), Some("x86_64")));
    assert_eq!((old.macs.len(), old.inspected.len()), (2, 1));
    assert_eq!(old.ineligible, []);
    assert_eq!(
        new.labels.remove("infrastructure.cluster.x-k8s.io/failure-domain").as_deref(),
        Some("a")
    );
    assert_eq!(old, new);
}

/// Fields of hosts and of their neighbours, by path.
const FIELDS: [&str; 30] = [
    "/metadata/labels/a",
    "/metadata/annotations",
    "/metadata/annotations/metal3.io~1BareMetalHost",
    "/metadata/deletionTimestamp",
    "/metadata/ownerReferences",
    "/metadata/namespace",
    "/metadata",
    "/spec/bootMACAddress",
    "/spec/bmc",
    "/spec/bmc/address",
    "/spec/consumerRef",
    "/spec/image",
    "/spec/customDeploy",
    "/spec/online",
    "/spec/hostSelector",
    "/spec/hostSelector/matchLabels",
    "/spec/hostSelector/matchExpressions",
    "/spec/template/spec/hostSelector",
    "/spec",
    "/status/operationalStatus",
    "/status/errorMessage",
    "/status/provisioning/state",
    "/status/provisioning/image",
    "/status/provisioning",
    "/status/hardware/nics",
    "/status/hardware/storage",
    "/status/hardware/cpu",
    "/status/hardware",
    "/status/bareMetalHost",
    "/status",
];

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        Just(json!("2026-12-01T00:00:00Z")),
        Just(json!("52:54:00:00:00:01")),
        Just(json!("provisioned")),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-zA-Z]{1,8}", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Puts a value at a path, as far as there is a way to it.
fn put(object: &mut Value, path: &str, value: Value) {
    let (parent, name) = path.rsplit_once('/').unwrap();
    if let Some(Value::Object(fields)) = object.pointer_mut(parent) {
        fields.insert(name.replace("~1", "/"), value);
    }
}

proptest! {
    /// Whatever an object holds: it is read or refused, told in words, and a host on which anything
    /// of others is seen is free for nobody.
    #[test]
    fn any_host_is_read_or_refused_and_judged(
        changes in prop::collection::vec((prop::sample::select(FIELDS.to_vec()), anything()), 0..6)
    ) {
        let mut object = json!({
            "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
            "metadata": {"name": "h", "namespace": "m", "uid": "u", "labels": {}, "annotations": {}},
            "spec": {"online": true, "hostSelector": {}, "bmc": {}, "template": {"spec": {}}},
            "status": {"operationalStatus": "OK", "hardware": {}, "provisioning": {"state": "provisioned"}},
        });
        for (path, value) in changes {
            put(&mut object, path, value);
        }
        for kind in NeighbourKind::ALL {
            let _ = neighbours::read(kind, ObjectKey::new("m", "n"), &object);
        }
        if let Ok(host) = from_value::<BareMetalHost>(object) {
            let offer = Offer::read(&host, None);
            let nobody = ConsumerRef::default();
            for installs in [false, true] {
                let who = Claimant { mark: &nobody, installs };
                let taken = host.spec.consumer_ref.as_ref().is_some_and(|c| *c != nobody);
                let going = host.metadata.is_deleting();
                prop_assert!(!(offer.is_free_for(who) && (taken || going)));
                for refusal in offer.refusals(who) {
                    prop_assert!(refusal.message.contains("; ") && refusal.message.len() < 2000);
                }
            }
            let used = HostUse {
                host: host.metadata.key(),
                kind: NeighbourKind::Machine,
                by: ObjectKey::new("m", "n"),
            };
            let wish: Provisioning =
                from_value(json!({"metadata": {"name": "p"}, "spec": {"masters": [{"m": {}}]}})).unwrap();
            let plans = plan_among(&[wish], &[(&host, None)], &[used], &[]);
            prop_assert!(!plans.fits);
        }
    }
}
