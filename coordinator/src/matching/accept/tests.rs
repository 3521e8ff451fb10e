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
fn statement_35_a_name_that_is_part_of_another_is_a_worker_of_its_own() {
    let spec =
        r#"{"masters": [{"m": {"cpu": 1}}], "workers": [{"worker-10": {}}, {"worker-1": {}}]}"#;
    assert_eq!(
        shape(&read(spec).unwrap())[1..],
        [("worker-10", false, true), ("worker-1", false, true)]
    );
}

#[test]
fn statement_36_without_workers_every_master_is_one_whatever_its_name() {
    let spec = r#"{"masters": [{"node-10": {}}, {"node-1": {}}, {"node-2": {}}]}"#;
    let accepted = read(spec).unwrap();
    assert_eq!(accepted.slots.len(), 3);
    assert!(accepted.slots.iter().all(|s| s.control_plane && s.worker));
}

#[test]
fn statement_37_a_cluster_needs_a_control_plane() {
    refused(r#"{"workers": [{"w": {}}]}"#, "spec.masters is empty");
    refused("{}", "at least one control plane node is needed; write `masters:` as a list");
}

#[test]
fn statement_38_any_master_may_be_a_worker_by_name_alone() {
    for name in ["a", "b", "c"] {
        let spec = format!(
            r#"{{"masters": [{{"a": {{}}}}, {{"b": {{}}}}, {{"c": {{}}}}], "workers": [{{"{name}": null}}]}}"#
        );
        let both: Vec<_> = shape(&read(&spec).unwrap())
            .into_iter()
            .filter(|(_, master, worker)| *master && *worker)
            .map(|(name, ..)| name.to_owned())
            .collect();
        assert_eq!(both, [name]);
    }
}

#[test]
fn statement_39_a_node_in_both_lists_is_one_node() {
    let mac = r#"{"mac-address": "52:54:00:aa:07:01"}"#;
    let spec =
        format!(r#"{{"masters": [{{"a": {{}}}}, {{"b": {mac}}}], "workers": [{{"b": {mac}}}]}}"#);
    assert_eq!(shape(&read(&spec).unwrap()), [("a", true, false), ("b", true, true)]);
    refused(
        r#"{"masters": [{"b": {"mac-address": "52:54:00:aa:07:01"}}], "workers": [{"b": {"mac-address": "52:54:00:aa:07:02"}}]}"#,
        "contradict",
    );
}

#[test]
fn statement_40_two_masters_of_one_name_are_refused() {
    refused(
        r#"{"masters": [{"a": {"mac-address": "52:54:00:aa:03:01"}}, {"a": {"mac-address": "52:54:00:aa:03:02"}}]}"#,
        "spec.masters names `a` twice",
    );
}

#[test]
fn statement_41_two_masters_of_one_mac_are_refused() {
    refused(
        r#"{"masters": [{"a": {"mac-address": "52:54:00:aa:03:01"}}, {"b": {"mac-address": "52:54:00:AA:03:01"}}]}"#,
        "52:54:00:aa:03:01 is asked for by `a` and `b`",
    );
}

#[test]
fn statement_42_two_workers_of_one_name_or_one_mac_are_refused() {
    refused(r#"{"masters": [{"m": {}}], "workers": [{"a": {}}, {"a": {}}]}"#, "`a` twice");
    let twice = r#"{"mac-address": "52:54:00:aa:03:01"}"#;
    refused(
        &format!(
            r#"{{"masters": [{{"m": {{}}}}], "workers": [{{"a": {twice}}}, {{"b": {twice}}}]}}"#
        ),
        "`a` and `b`: one machine can't be two nodes",
    );
    // A master and a worker too.
    refused(
        &format!(r#"{{"masters": [{{"a": {twice}}}], "workers": [{{"b": {twice}}}]}}"#),
        "`a` and `b`",
    );
}

#[test]
fn statement_43_letter_case_does_not_make_another_host() {
    let spec = r#"{"masters": [{"b": {"mac-address": "52:54:00:aa:07:01"}}], "workers": [{"b": {"mac-address": "52:54:00:AA:07:01"}}]}"#;
    assert_eq!(shape(&read(spec).unwrap()), [("b", true, true)]);
}

#[test]
fn statement_44_a_list_item_is_one_node() {
    refused(r#"{"masters": [{"a": {}, "b": {}}]}"#, "has 2 keys (a, b): wanted one node name");
    refused(r#"{"masters": [{}]}"#, "has no node name");
}

#[test]
fn statement_45_a_name_that_is_no_host_name_is_refused_with_a_better_one() {
    refused(r#"{"masters": [{"Node_A": {}}]}"#, "for example `node-a`");
    for bad in ["a\\n[all]", "a b", "a=b", "[all]", "A", "-a", "all"] {
        let error = read(&format!(r#"{{"masters": [{{"{bad}": {{}}}}]}}"#)).unwrap_err();
        assert!(error.to_string().contains("node name `"), "{bad}: {error}");
    }
    let long = "a".repeat(64);
    refused(&format!(r#"{{"masters": [{{"{long}": {{}}}}]}}"#), "can't be a host name");
}

#[test]
fn statement_47_an_even_control_plane_is_told() {
    let accepted = read(r#"{"masters": [{"a": {}}, {"b": {}}]}"#).unwrap();
    let warning = &accepted.warnings[0];
    assert!(warning.contains("it runs on 1 of them; write 3 or 1"), "{warning}");
}

#[test]
fn statement_51_without_a_label_the_cluster_has_the_objects_name() {
    assert_eq!(read(r#"{"masters": [{"a": {}}]}"#).unwrap().cluster, "c1");
    // Never empty: that would be everybody's directory.
    let mut empty = object("c1", r#"{"masters": [{"a": {}}]}"#);
    empty.metadata.labels.insert("cluster".into(), String::new());
    assert!(accept(&empty).unwrap_err().to_string().contains("such as edge-a"));
}

#[test]
fn statement_53_a_cluster_name_that_can_name_no_object_is_refused() {
    for bad in ["edge.a", "Edge", "edge_a", "-a"] {
        let mut labelled = object("c1", r#"{"masters": [{"a": {}}]}"#);
        labelled.metadata.labels.insert("cluster".into(), bad.into());
        let error = accept(&labelled).unwrap_err().to_string();
        assert!(error.contains(&format!("`{bad}`")) && error.contains("such as edge-a"), "{error}");
    }
}

#[test]
fn statement_82_what_would_be_a_command_is_refused() {
    for (field, value) in [
        ("KUDPlugins", r#"["emco; id"]"#),
        ("KUDPlugins", r#"["$(id)"]"#),
        ("KUDPlugins", r#"["../emco"]"#),
        ("PodSubnet", r#""10.0.0.0/8; id""#),
        ("PodSubnet", r#""{{ lookup('pipe', 'id') }}""#),
    ] {
        refused(&format!(r#"{{"masters": [{{"m": {{}}}}], "{field}": {value}}}"#), "wanted ");
    }
}

#[test]
fn many_mistakes_and_long_names_make_a_short_refusal() {
    let long = "X".repeat(1 << 20);
    let error = read(&format!(r#"{{"masters": [{{"{long}": {{}}}}], "{long}": 1}}"#)).unwrap_err();
    assert!(error.to_string().len() < 1000, "{}", error.to_string().len());
    let items: Vec<String> = (0..900).map(|n| format!(r#"{{"N_{n}": {{"x": 1}}}}"#)).collect();
    let error = read(&format!(r#"{{"masters": [{}]}}"#, items.join(","))).unwrap_err();
    assert_eq!((error.problems.len(), error.problems[20].as_str()), (21, "and 880 more"));
}

#[test]
fn millions_of_nodes_are_counted_and_not_made() {
    let items: Vec<String> =
        (0..10_000).map(|n| format!(r#"{{"n-{n}": {{"count": 1000}}}}"#)).collect();
    refused(&format!(r#"{{"masters": [{}]}}"#, items.join(",")), "10000000 nodes are asked for");
    let items: Vec<String> = (0..1001).map(|n| format!(r#"{{"n-{n}": {{}}}}"#)).collect();
    refused(&format!(r#"{{"masters": [{}]}}"#, items.join(",")), "1001 nodes are asked for");
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
