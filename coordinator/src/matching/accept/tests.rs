//! The statements of section C about the original, and the shapes of its sample CRs.

use super::*;

fn read(spec: &str) -> Result<Accepted, Rejection> {
    accept(&object("c1", spec))
}

fn object(name: &str, spec: &str) -> Provisioning {
    let text = format!("{{\"metadata\": {{\"name\": \"{name}\"}}, \"spec\": {spec}}}");
    serde_json::from_str(&text).unwrap()
}

fn shape(accepted: &Accepted) -> Vec<(&str, bool, bool)> {
    accepted.slots.iter().map(|s| (s.name.as_str(), s.control_plane, s.worker)).collect()
}

fn refused(spec: &str, words: &str) {
    let error = read(spec).unwrap_err().to_string();
    assert!(error.contains(words), "wanted `{words}` in `{error}`");
}

#[test]
fn c35_c36_a_name_that_is_part_of_another_is_a_node_of_its_own() {
    let spec =
        r#"{"masters": [{"m": {"cpu": 1}}], "workers": [{"worker-10": {}}, {"worker-1": {}}]}"#;
    assert_eq!(
        shape(&read(spec).unwrap())[1..],
        [("worker-10", false, true), ("worker-1", false, true)]
    );
    let spec = r#"{"masters": [{"node-10": {}}, {"node-1": {}}, {"node-2": {}}]}"#;
    assert!(read(spec).unwrap().slots.iter().all(|s| s.control_plane && s.worker));
}

#[test]
fn c37_a_cluster_needs_a_control_plane() {
    refused(r#"{"workers": [{"w": {}}]}"#, "spec.masters is empty");
    refused("{}", "at least one control plane node");
}

#[test]
fn c38_c39_c43_a_worker_of_a_masters_name_is_the_same_node() {
    for worker in ["null", r#"{"mac-address": "52:54:00:AA:07:01"}"#] {
        let spec = format!(
            r#"{{"masters": [{{"a": {{}}}}, {{"b": {{"mac-address": "52:54:00:aa:07:01"}}}}, {{"c": {{}}}}], "workers": [{{"b": {worker}}}]}}"#
        );
        assert_eq!(
            shape(&read(&spec).unwrap()),
            [("a", true, false), ("b", true, true), ("c", true, false)]
        );
    }
    refused(
        r#"{"masters": [{"b": {"mac-address": "52:54:00:aa:07:01"}}], "workers": [{"b": {"mac-address": "52:54:00:aa:07:02"}}]}"#,
        "contradict",
    );
}

#[test]
fn c40_c41_c42_names_and_macs_are_unique() {
    refused(r#"{"masters": [{"a": {}}, {"a": {}}]}"#, "`a` twice");
    refused(r#"{"masters": [{"m": {}}], "workers": [{"a": {}}, {"a": {}}]}"#, "`a` twice");
    let twice = r#"{"mac-address": "52:54:00:aa:03:01"}"#;
    refused(
        &format!(r#"{{"masters": [{{"a": {twice}}}], "workers": [{{"b": {twice}}}]}}"#),
        "`a` and `b`",
    );
}

#[test]
fn c44_c45_an_item_is_one_good_name() {
    refused(r#"{"masters": [{"a": {}, "b": {}}]}"#, "has 2 keys (a, b)");
    refused(r#"{"masters": [{}]}"#, "has no node name");
    refused(r#"{"masters": [{"Node_A": {}}]}"#, "`node-a`");
    refused(r#"{"masters": [{"a\n[all]": {}}]}"#, "can't be a host name");
}

#[test]
fn c47_an_even_control_plane_is_told() {
    let accepted = read(r#"{"masters": [{"a": {}}, {"b": {}}]}"#).unwrap();
    assert!(accepted.warnings[0].contains("runs on 1 of them"), "{:?}", accepted.warnings);
}

#[test]
fn c51_c53_the_cluster_is_named_by_label_or_object() {
    assert_eq!(read(r#"{"masters": [{"a": {}}]}"#).unwrap().cluster, "c1");
    let mut labelled = object("c1", r#"{"masters": [{"a": {}}]}"#);
    labelled.metadata.labels.insert("cluster".into(), "edge.a".into());
    assert!(accept(&labelled).unwrap_err().to_string().contains("`edge.a`"));
}

#[test]
fn removed_fields_are_a_warning_and_draft_fields_a_refusal_that_says_what_to_write() {
    let accepted =
        read(r#"{"masters": [{"a": {}}], "hostfile": "/srv/hosts.ini", "sit": "x"}"#).unwrap();
    assert_eq!(accepted.warnings.len(), 2);
    refused(r#"{"master": {"cpu": 10}, "worker": {"cpu": 20}, "replicas": 2}"#, "`masters:`");
}

#[test]
fn counts_make_slots_within_a_limit() {
    let accepted =
        read(r#"{"masters": [{"m": {}}], "workers": [{"w": {"count": "2", "cpu": "4"}}]}"#)
            .unwrap();
    assert_eq!(shape(&accepted)[1..], [("w-0", false, true), ("w-1", false, true)]);
    assert_eq!(accepted.slots[1].need.cpu, Some(4));
    refused(
        r#"{"masters": [{"m": {}}], "workers": [{"w": {"count": 4000000000}}]}"#,
        "at most 1000",
    );
    refused(
        r#"{"masters": [{"m": {"count": 2, "mac-address": "52:54:00:aa:03:01"}}]}"#,
        "one item per machine",
    );
}

#[test]
fn networks_versions_and_plugins_are_checked() {
    refused(r#"{"masters": [{"m": {}}], "PodSubnet": "10.0.0.0"}"#, "spec.PodSubnet is `10.0.0.0`");
    refused(
        r#"{"masters": [{"m": {}}], "kubernetes": {"podSubnet": "10.0.0.0/8", "serviceSubnet": "10.96.0.0/16"}}"#,
        "overlap",
    );
    refused(r#"{"masters": [{"m": {}}], "kubernetes": {"version": "latest"}}"#, "1.35.4");
    refused(r#"{"masters": [{"m": {}}], "KUDPlugins": ["a; rm -rf /"]}"#, "not a plugin name");
    let accepted = read(r#"{"masters": [{"m": {}}], "PodSubnet": "172.21.64.0/18", "kubernetes": {"version": "v1.35.4"}}"#).unwrap();
    assert_eq!(accepted.pod_subnet.as_deref(), Some("172.21.64.0/18"));
    assert_eq!(accepted.kubernetes_version.as_deref(), Some("1.35.4"));
}

/// `kubectl apply` sends `- NAME:` as an empty map.
#[test]
fn a_worker_without_a_name_can_only_mean_the_only_master() {
    let spec = r#"{"masters": [{"a": {}}], "workers": [{}]}"#;
    assert_eq!(shape(&read(spec).unwrap()), [("a", true, true)]);
    let two = r#"{"masters": [{"a": {}}, {"b": {}}], "workers": [{}]}"#;
    refused(two, "spec.workers[0] has no node name; `kubectl apply` drops a name");
    refused(r#"{"masters": [{}]}"#, "spec.masters[0] has no node name");
    refused(r#"{"masters": [{"a": {"count": 3}}], "workers": [{}]}"#, "has no node name");
}
