//! What inspection data are read as, in the shapes in which they were seen.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn host(status: Value) -> BareMetalHost {
    serde_json::from_value(json!({"metadata": {"name": "h"}, "spec": {},
        "status": {"hardware": status}}))
    .unwrap()
}

fn data(hardware: Value) -> HardwareData {
    serde_json::from_value(json!({"metadata": {"name": "h"}, "spec": {"hardware": hardware}}))
        .unwrap()
}

fn nics(list: Value) -> Vec<InspectedNic> {
    Inspected::of(&host(json!({"nics": list})), None).nics()
}

fn words(nics: &[InspectedNic]) -> Vec<String> {
    let text = |nic: &InspectedNic| {
        let addresses: Vec<String> = nic.addresses.iter().map(ToString::to_string).collect();
        format!("{} {}", nic.mac, addresses.join(" "))
    };
    nics.iter().map(text).collect()
}

#[test]
fn each_section_comes_from_hardware_data_and_else_from_the_status() {
    let old = host(json!({
        "cpu": {"arch": "aarch64", "count": 8},
        "ramMebibytes": 4096,
        "nics": [{"mac": "52:54:00:00:00:01"}],
        "storage": [{"sizeBytes": 10}],
        "systemVendor": {"serialNumber": "old"},
    }));
    let read = |new: Value| {
        let new = data(new);
        let found = Inspected::of(&old, Some(&new));
        let disk = found.disks().first().and_then(|disk| disk.size_bytes);
        let (cpus, memory) = (found.cpus(), found.memory().map(|bytes| bytes >> 20));
        let serial = found.serial().map(str::to_owned);
        (cpus, memory, disk, found.nics().len(), serial, found.architecture().map(str::to_owned))
    };
    let text = |text: &str| Some(text.to_owned());
    let all_old = (Some(8), Some(4096), Some(10), 1, text("old"), text("aarch64"));
    // Bug 38: HardwareData that was deleted, or that is there without content.
    for nothing in [json!(null), json!({}), json!({"cpu": {}, "nics": [], "storage": [{}]})] {
        assert_eq!(read(nothing), all_old);
    }
    let sections = [
        (
            json!({"cpu": {"count": 16}}),
            (Some(16), Some(4096), Some(10), 1, text("old"), text("aarch64")),
        ),
        (json!({"ramMebibytes": 1}), (Some(8), Some(1), Some(10), 1, text("old"), text("aarch64"))),
        (
            json!({"storage": [{"sizeBytes": 5}]}),
            (Some(8), Some(4096), Some(5), 1, text("old"), text("aarch64")),
        ),
        (
            json!({"nics": [{"mac": "52:54:00:00:00:02"}, {"mac": "52:54:00:00:00:03"}]}),
            (Some(8), Some(4096), Some(10), 2, text("old"), text("aarch64")),
        ),
        (
            json!({"systemVendor": {"serialNumber": " new "}, "cpu": {"arch": "x86_64"}}),
            (Some(8), Some(4096), Some(10), 1, text("new"), text("x86_64")),
        ),
    ];
    for (new, wanted) in sections {
        assert_eq!(read(new.clone()), wanted, "{new}");
    }
    assert_eq!(Inspected::of(&host(json!(null)), None).cpus(), None);
}

#[test]
fn what_is_zero_or_negative_was_not_measured() {
    for none in [json!(0), json!(-1), json!(null), json!(-9_223_372_036_854_775_808_i64)] {
        let host = host(json!({"cpu": {"count": none}, "ramMebibytes": none,
            "storage": [{"sizeBytes": none}]}));
        let found = Inspected::of(&host, None);
        assert_eq!((found.cpus(), found.memory(), found.disks().len()), (None, None, 0), "{none}");
    }
    let absurd = host(json!({"cpu": {"count": u64::MAX}, "ramMebibytes": u64::MAX}));
    let found = Inspected::of(&absurd, None);
    assert_eq!((found.cpus(), found.memory()), (None, None), "larger than any machine");
    let part = serde_json::from_value::<Hardware>(json!({"ramMebibytes": 4096.5})).unwrap_err();
    assert!(part.to_string().contains("a whole number"), "{part}");
}

/// Bug 28: one NIC with an address of each family is two entries.
#[test]
fn bug_28_dual_stack_is_one_nic_with_both_addresses() {
    let found = nics(json!([
        {"name": "eno1", "mac": "52:54:00:00:00:01", "ip": "192.0.2.5"},
        {"name": "eno2", "mac": "52:54:00:00:00:02"},
        {"name": "eno1", "mac": "52-54-00-00-00-01", "ip": "2001:db8::5", "pxe": true},
        {"name": "eno1", "mac": "52:54:00:00:00:01", "ip": "192.0.2.5/24"},
    ]));
    assert_eq!(words(&found), ["52:54:00:00:00:01 192.0.2.5 2001:db8::5", "52:54:00:00:00:02 "]);
    assert!(found[0].pxe, "whichever of the entries says so");
}

/// Bugs 29, 30, 31: addresses of one family only, and those that only the next machine can reach.
#[test]
fn bugs_29_and_30_addresses_of_either_family_count_and_link_local_ones_do_not() {
    let found = nics(json!([
        {"mac": "52:54:00:00:00:01", "ip": "fe80::1%eno1"},
        {"mac": "52:54:00:00:00:02", "ip": "169.254.3.1"},
        {"mac": "52:54:00:00:00:03", "ip": "fd00::5"},
    ]));
    let wanted = ["52:54:00:00:00:03 fd00::5", "52:54:00:00:00:01 ", "52:54:00:00:00:02 "];
    assert_eq!(words(&found), wanted);
}

/// Bug 27: the first entry of the list is often a card that nobody uses.
#[test]
fn bug_27_the_nic_that_booted_comes_first_then_one_that_had_an_address() {
    let found = nics(json!([
        {"mac": "02:00:00:00:00:01"},
        {"mac": "00:00:00:00:00:00", "ip": "192.0.2.9"},
        {"mac": "ff:ff:ff:ff:ff:ff", "pxe": true},
        {"mac": "", "ip": "192.0.2.8"},
        {"mac": "52:54:00:00:00:02", "ip": "192.0.2.5"},
        {"mac": "52:54:00:00:00:03", "pxe": true},
    ]));
    let macs: Vec<String> = found.iter().map(|nic| nic.mac.to_string()).collect();
    assert_eq!(macs, ["52:54:00:00:00:03", "52:54:00:00:00:02", "02:00:00:00:00:01"]);
}

/// Bug 40: 800 entries for 8 volumes of a storage network.
#[test]
fn bug_40_a_disk_on_many_paths_is_one_disk() {
    let path = |n: u64| {
        json!({"name": format!("/dev/sd{n}"), "sizeBytes": 1000 + n % 8,
            "wwn": "0x600", "wwnWithExtension": format!("0x600{}", n % 8)})
    };
    let volumes: Vec<Value> = (0..800).map(path).collect();
    let host = host(json!({"storage": volumes}));
    assert_eq!(Inspected::of(&host, None).disks().len(), 8);
    let sizes = |list: Value| -> Vec<u64> {
        let hardware: Hardware = serde_json::from_value(json!({"storage": list})).unwrap();
        hardware.distinct_disks().iter().filter_map(|disk| disk.size_bytes).collect()
    };
    // By serial where there is no WWN; the path that knows the size counts.
    let twice = json!([{"serialNumber": "s"}, {"serialNumber": " s", "sizeBytes": 7}]);
    assert_eq!(sizes(twice), [7]);
    // What says nothing of itself is one each.
    assert_eq!(
        sizes(json!([{"sizeBytes": 5}, {"sizeBytes": 5}, {"wwn": "", "sizeBytes": 5}])),
        [5, 5, 5]
    );
}

/// The definition's pattern is not anchored.
#[test]
fn a_text_that_contains_a_mac_is_none() {
    for odd in [
        "52:54:00:00:00:01,52:54:00:00:00:02",
        "[\"52:54:00:00:00:01\"]",
        "x52:54:00:00:00:01",
        "52:54:00:00:00:01/eno1",
        "00:00:00:00:00:00",
        "",
    ] {
        assert_eq!(readable_mac(odd), None, "{odd}");
    }
    assert!(readable_mac(" 52:54:00:00:00:AB ").is_some());
}

/// Any JSON, more often than not with the names and values that are read.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (0_u64..70_000).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z0-9:%./-]{0,20}".prop_map(Value::from),
        Just(json!("52:54:00:00:00:01")),
        Just(json!("192.0.2.1")),
    ];
    let name = prop_oneof![
        prop::sample::select(vec![
            "cpu",
            "count",
            "arch",
            "ramMebibytes",
            "nics",
            "mac",
            "ip",
            "pxe",
            "storage",
            "sizeBytes",
            "wwn",
            "serialNumber",
            "systemVendor",
            "speedGbps",
        ])
        .prop_map(str::to_owned),
        "[a-z]{1,4}",
    ];
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(name.clone(), inner, 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// A section as it should be, but for its values.
fn hardware() -> impl Strategy<Value = Value> {
    let number = || prop_oneof![any::<i64>().prop_map(Value::from), any_json()];
    let disk =
        (number(), any_json()).prop_map(|(size, wwn)| json!({"sizeBytes": size, "wwn": wwn}));
    let sections = (number(), number(), prop::collection::vec(disk, 0..4), any_json());
    let whole = sections.prop_map(|(cpus, memory, disks, nics)| {
        json!({"cpu": {"count": cpus}, "ramMebibytes": memory, "storage": disks, "nics": nics})
    });
    prop_oneof![whole, any_json()]
}

/// Every positive whole number in a value.
fn numbers(value: &Value, into: &mut Vec<u64>) {
    match value {
        Value::Number(number) => into.extend(number.as_u64().filter(|n| *n > 0)),
        Value::Array(items) => items.iter().for_each(|item| numbers(item, into)),
        Value::Object(fields) => fields.values().for_each(|item| numbers(item, into)),
        _ => {}
    }
}

proptest! {
    /// Whatever is in the objects: reading never panics, and no size is made up.
    #[test]
    fn no_size_is_found_that_was_not_there(status in hardware(), new in hardware()) {
        let (mut there, mut host, mut data) = (Vec::new(), host(json!(null)), data(json!(null)));
        if let Ok(read) = serde_json::from_value::<Hardware>(status.clone()) {
            host.status.hardware = Some(read);
            numbers(&status, &mut there);
        }
        if let Ok(read) = serde_json::from_value::<Hardware>(new.clone()) {
            data.spec.hardware = Some(read);
            numbers(&new, &mut there);
        }
        let found = Inspected::of(&host, Some(&data));
        let sizes = found.cpus().map(u64::from).into_iter().chain(found.memory().map(|b| b >> 20));
        for size in sizes.chain(found.disks().iter().filter_map(|disk| disk.size_bytes)) {
            prop_assert!(there.contains(&size), "{size} in {there:?}");
        }
        for nic in found.nics() {
            prop_assert!(nic.mac.is_unicast());
            prop_assert!(nic.addresses.iter().all(|a| crate::net::names_a_host(*a)));
        }
    }

    #[test]
    fn any_json_as_a_host_is_a_host_or_an_error(value in any_json(), spec in any_json(), status in any_json()) {
        let whole = json!({"metadata": {"name": "h"}, "spec": spec, "status": status});
        for value in [value, whole] {
            let _ = serde_json::from_value::<HardwareData>(value.clone());
            if let Ok(host) = serde_json::from_value::<BareMetalHost>(value) {
                let _ = Inspected::of(&host, None).nics();
            }
        }
    }
}
