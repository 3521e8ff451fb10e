//! What does not fit, in words; and that it hurts nothing else.

use bpa_common::api::metal3::BareMetalHost;
use bpa_common::api::{Cluster, Site, Software};

use super::*;
use crate::matching::accept;

fn object(spec: Value) -> Value {
    json!({"apiVersion": "bpa.akraino.org/v1alpha1", "kind": "Provisioning",
        "metadata": {"name": "p", "namespace": "n", "uid": "u"}, "spec": spec})
}

/// What is said of a need.
fn need(need: Value) -> String {
    from_value::<Provisioning>(object(json!({"masters": [{"m-0": need}]}))).unwrap_err().to_string()
}

fn spec(spec: Value) -> String {
    from_value::<Provisioning>(object(spec)).unwrap_err().to_string()
}

#[test]
fn a_wrong_type_is_told_by_field_wanted_and_found() {
    assert_eq!(spec(json!({"masters": {"m-0": {}}})), "spec.masters: wanted a list, found a map");
    assert_eq!(
        spec(json!({"masters": ["m-0"]})),
        "spec.masters[0]: wanted a map of names to values, found the text \"m-0\""
    );
    assert_eq!(
        spec(json!({"kubernetes": 7})),
        "spec.kubernetes: wanted a map of fields to values, found the number 7"
    );
    assert_eq!(spec(json!({"site": ["a"]})), "spec.site: wanted text, found a list");
    assert_eq!(
        spec(json!({"paused": "yes"})),
        "spec.paused: wanted true or false, found the text \"yes\""
    );
    assert_eq!(
        spec(json!({"kubernetes": {"version": 1.35}})),
        "spec.kubernetes.version: wanted text, found the number 1.35; put it in quotes"
    );
    assert_eq!(
        spec(json!({"hostSelector": {"matchLabel": {"a": "b"}}})),
        "spec.hostSelector.matchLabel: `matchLabel` is not a field here; wanted `matchLabels` or `matchExpressions`"
    );
    assert_eq!(
        spec(json!({"kubernetes": {"endpoint": {"port": 1}}})),
        "spec.kubernetes.endpoint: `host` is missing"
    );
    let found = spec(json!({"approval": "manual"}));
    assert!(
        found.contains("spec.approval") && found.contains("`Automatic` or `Manual`"),
        "{found}"
    );
    assert_eq!(
        need(json!("4Gi")),
        "spec.masters[0].m-0: wanted a map of fields to values, found the text \"4Gi\""
    );
    assert_eq!(
        need(json!({"cpu": "ten"})),
        "spec.masters[0].m-0.cpu: wanted a whole number from 0 to 4294967295, found `ten`"
    );
    assert!(need(json!({"mac-address": 30_582_134})).contains("put the MAC in quotes"));
    assert!(need(json!({"mac-address": {"a": 1}})).contains("wanted a MAC address such as"));
}

#[test]
fn no_size_is_too_absurd_to_be_told() {
    for (size, words) in [
        (json!(-1), "can't be negative"),
        (json!("-4Gi"), "can't be negative"),
        (json!("4GB"), "unit is not known"),
        (json!("1e400"), "exponent"),
        (json!("99999999999999999999Ei"), "larger than any machine"),
        (json!(1e300), "too long"),
        (json!("1..5Gi"), "can't be read"),
        (json!(""), "empty"),
        (json!([]), "wanted a quantity such as 8Gi, found a list"),
        (json!(true), "wanted a quantity such as 8Gi, found true"),
    ] {
        let found = need(json!({"memory": size}));
        assert!(found.starts_with("spec.masters[0].m-0.memory: "), "{found}");
        assert!(found.contains(words), "{size}: {found}");
    }
    for fits in
        [json!(4096), json!("1.5Gi"), json!("4e9"), json!("4E3"), json!("1500m"), json!("+1Ki")]
    {
        let read = from_value::<Provisioning>(object(json!({"masters": [{"m": {"disk": fits}}]})));
        assert!(read.is_ok(), "{fits}: {read:?}");
    }
}

#[test]
fn long_texts_make_short_messages() {
    let long = "x".repeat(1 << 20);
    for value in [
        json!({"site": [long]}),
        json!({"paused": long}),
        json!({"masters": [{"m": {"memory": long}}]}),
        json!({"masters": [{"m": {"cpu": long}}]}),
        json!({"masters": [{"m": {"mac-address": long}}]}),
        json!({"masters": [{"m": {"address": long}}]}),
        json!({"masters": [{long.clone(): {"cpu": "x"}}]}),
        json!({"approval": long}),
    ] {
        let found = spec_of(value);
        assert!(found.len() < 700, "{} characters", found.len());
    }
}

fn spec_of(value: Value) -> String {
    spec(value)
}

#[test]
fn nulls_mean_nothing_except_where_they_stand_for_a_node() {
    let value = object(json!({"masters": [{"a": {"cpu": null}}], "workers": [{"a": null}],
        "kubernetes": null, "site": null, "approval": null, "KUDPlugins": null}));
    let read: Provisioning = from_value(value).unwrap();
    assert_eq!(read.spec.workers[0]["a"], None);
    assert!(accept(&read).unwrap().slots[0].worker);
}

/// As an API server may have it from times when nothing was checked.
#[test]
fn a_provisioning_that_cannot_be_read_is_refused_in_its_status_and_can_go_away() {
    let mut value = object(json!({"masters": {"m-0": {}}}));
    value["metadata"]["finalizers"] = json!(["bpa.akraino.org/provisioning"]);
    value["metadata"]["deletionTimestamp"] = json!("2026-12-01T00:00:00Z");
    value["status"] = json!({"phase": "Ready", "nodes": [{"name": "m-0", "host": "h"}]});
    let read = provisioning(value).unwrap();
    assert!(read.metadata.is_deleting() && read.metadata.finalizers.len() == 1);
    assert_eq!(read.status.nodes[0].host, "h");
    let refused = accept(&read).unwrap_err().to_string();
    assert!(refused.contains("spec.masters: wanted a list, found a map"), "{refused}");
    let mut value = object(json!({}));
    value["status"] = json!({"nodes": 7});
    assert!(provisioning(value).unwrap_err().to_string().contains("status.nodes"));
}

#[test]
fn statement_70_a_version_of_any_type_crashes_nothing() {
    for item in [json!({"jq": {"version": 1.6}}), json!({"jq": null}), json!({"jq": {}}), json!(5)]
    {
        let value = json!({"metadata": {"name": "x"}, "spec": {"masterSoftware": [item.clone()]}});
        let read: Software = from_value(value).unwrap();
        assert_eq!(read.spec.master_software, [item]);
    }
}

#[test]
fn every_kind_says_what_does_not_fit() {
    let with = |spec: Value| json!({"metadata": {"name": "x"}, "spec": spec});
    let site = from_value::<Site>(with(json!({"approved": "yes"}))).unwrap_err();
    assert_eq!(site.to_string(), "spec.approved: wanted true or false, found the text \"yes\"");
    let software = from_value::<Software>(with(json!({"masterSoftware": "htop"}))).unwrap_err();
    assert_eq!(software.to_string(), "spec.masterSoftware: wanted a list, found the text \"htop\"");
    let cluster =
        from_value::<Cluster>(with(json!({"provisioning": {"spec": {"masters": 1}}}))).unwrap_err();
    assert_eq!(
        cluster.to_string(),
        "spec.provisioning.spec.masters: wanted a list, found the number 1"
    );
    let host = from_value::<BareMetalHost>(with(json!({"online": 7}))).unwrap_err();
    assert_eq!(host.to_string(), "spec.online: wanted true or false, found the number 7");
}

mod any_value {
    use proptest::prelude::*;

    use super::*;

    /// Names of real fields, and of none.
    const NAMES: [&str; 24] = [
        "masters",
        "workers",
        "site",
        "kubernetes",
        "version",
        "podSubnet",
        "serviceSubnet",
        "PodSubnet",
        "KUDPlugins",
        "hostSelector",
        "matchLabels",
        "matchExpressions",
        "key",
        "operator",
        "values",
        "mac-address",
        "cpu",
        "memory",
        "disk",
        "count",
        "address",
        "vars",
        "master",
        "m-0",
    ];

    fn leaf() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,12}".prop_map(Value::from),
            prop::sample::select(&["52:54:00:aa:01:02", "8Gi", "10.0.0.0/8", "1.35.4", "In", "4"])
                .prop_map(Value::from),
        ]
    }

    fn tree() -> impl Strategy<Value = Value> {
        leaf().prop_recursive(5, 64, 6, |inner| {
            let map =
                prop::collection::btree_map(prop::sample::select(&NAMES), inner.clone(), 0..6);
            prop_oneof![
                prop::collection::vec(inner, 0..4).prop_map(Value::from),
                map.prop_map(|map| map.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()),
            ]
        })
    }

    /// A spec whose lists of nodes are lists of maps, so that more of them get further.
    fn spec() -> impl Strategy<Value = Value> {
        let item = || prop::collection::btree_map("[a-z_]{1,3}", tree(), 0..3);
        let list = || prop::collection::vec(item(), 0..4);
        (list(), list(), tree()).prop_map(|(masters, workers, rest)| {
            let mut spec = if rest.is_object() { rest } else { json!({}) };
            spec["masters"] = json!(masters);
            spec["workers"] = json!(workers);
            spec
        })
    }

    proptest! {
        #[test]
        fn is_read_or_refused_in_few_words(spec in prop_oneof![spec(), tree()]) {
            let read = provisioning(object(spec)).expect("metadata and status are sound");
            match accept(&read) {
                Ok(accepted) => prop_assert!(!accepted.slots.is_empty()),
                Err(refused) => {
                    prop_assert!(!refused.problems.is_empty());
                    prop_assert!(refused.to_string().len() < 20_000);
                }
            }
        }

        #[test]
        fn written_and_read_again_means_the_same(spec in spec()) {
            let Ok(read) = from_value::<Provisioning>(object(spec)) else { return Ok(()) };
            let again: Provisioning = from_value(serde_json::to_value(&read).unwrap()).unwrap();
            prop_assert_eq!(accept(&read), accept(&again));
        }
    }
}
