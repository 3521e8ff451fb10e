//! What files may hold, and what is said when they hold something else.

use proptest::prelude::*;

use super::*;

const HOST: &str = "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {name: host1, namespace: metal3}\nspec: {online: true}\n";

fn only_problem(text: &str) -> String {
    let parsed = parse("a.yaml", text);
    assert_eq!((parsed.manifests.len(), parsed.problems.len()), (0, 1), "{parsed:?}");
    format!("{}: {}", parsed.problems[0].place, parsed.problems[0].message)
}

#[test]
fn documents_are_read_on_their_own() {
    let text = format!(
        "# comment\n---\n{HOST}---\n: [broken\n---\n\n---\napiVersion: v1\nkind: Secret\nmetadata: {{name: s}}\n---\n{}",
        HOST.replace("host1", "host2")
    );
    let parsed = parse("hosts.yaml", &text);
    let names: Vec<_> = parsed.manifests.iter().map(|m| m.id.key.to_string()).collect();
    assert_eq!(names, ["metal3/host1", "metal3/host2"]);
    assert_eq!(parsed.manifests[1].place.to_string(), "hosts.yaml, document 4");
    assert_eq!(parsed.ignored, 1);
    assert_eq!(parsed.problems.len(), 1);
    assert_eq!(parsed.problems[0].place, "hosts.yaml, document 2");
    assert!(parsed.problems[0].message.contains("line 8"), "{:?}", parsed.problems);
}

#[test]
fn a_list_as_kubectl_exports_it_is_taken_apart() {
    let text = r#"{"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
         "metadata": {"name": "a", "managedFields": [{"manager": "x"}], "labels": null}, "spec": {"online": true}},
        {"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "metadata": {"name": 7}, "spec": {}}
    ]}"#;
    for file in ["hosts.json", "hosts.yaml"] {
        let parsed = parse(file, text);
        assert_eq!(parsed.manifests.len(), 1, "{parsed:?}");
        let host = &parsed.manifests[0];
        assert_eq!(host.id.to_string(), "BareMetalHost default/a");
        assert!(host.value["metadata"].get("managedFields").is_none());
        assert!(host.value["metadata"].get("labels").is_none());
        let said = format!("{}: {}", parsed.problems[0].place, parsed.problems[0].message);
        assert!(said.contains("document 1, item 2") && said.contains("metadata.name"), "{said}");
    }
}

#[test]
fn each_kind_of_mistake_says_what_was_wanted() {
    for (text, wanted) in [
        ("- a\n- b\n", "found a list"),
        ("kind: Site\nmetadata: {name: a}\n", "`apiVersion` is missing"),
        ("apiVersion: bpa.akraino.org/v1alpha1\nkind: Site\n", "no `metadata`"),
        ("apiVersion: bpa.akraino.org/v1alpha1\nkind: Site\nmetadata: {name: ../x}\n", "DNS-1123"),
        ("apiVersion: bpa.akraino.org/v1alpha1\nkind: Site\nmetadata: {name: 12}\n", "in quotes"),
        (
            "apiVersion: bpa.akraino.org/v1alpha1\nkind: Cite\nmetadata: {name: a}\n",
            "`Cite` is not known",
        ),
        (
            "apiVersion: bpa.akraino.org/v1\nkind: Site\nmetadata: {name: a}\n",
            "wanted `bpa.akraino.org/v1alpha1`",
        ),
        (
            "apiVersion: bpa.akraino.org/v1alpha1\nkind: Site\nmetadata: {name: a, namespace: a.b}\n",
            "metadata.namespace",
        ),
        ("a: 1\na: 2\n", "duplicate"),
        ("a: \"unfinished\n", "line"),
    ] {
        let said = only_problem(text);
        assert!(
            said.contains(wanted) && said.starts_with("a.yaml, document 1: "),
            "{text}: {said}"
        );
    }
}

#[test]
fn a_cluster_of_another_group_is_not_ours() {
    let text = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: c}\n";
    assert_eq!(parse("a.yaml", text).ignored, 1);
}

#[test]
fn objects_of_others_are_read_for_what_they_say_of_hosts_whatever_their_shape() {
    let api = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: Metal3Machine\n";
    let text = format!(
        "{api}metadata: {{name: m, namespace: capi, annotations: {{metal3.io/BareMetalHost: a/b}}}}\n---\n{api}metadata: 7\n---\n{api}metadata: {{name: [x]}}\nspec: 7\n"
    );
    let parsed = parse("a.yaml", &text);
    assert_eq!((parsed.ignored, parsed.problems.len(), parsed.neighbours.len()), (0, 0, 3));
    let Neighbour::Has(found) = &parsed.neighbours[0] else { panic!("{:?}", parsed.neighbours) };
    assert_eq!((found.host.to_string(), found.by.to_string()), ("a/b".into(), "capi/m".into()));
}

#[test]
fn depth_aliases_and_numbers_of_documents_are_limited() {
    let deep = format!("a: {}1{}\n", "[".repeat(500), "]".repeat(500));
    assert!(only_problem(&deep).contains("not YAML that can be read"));
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..12 {
        let refs = vec![format!("*a{}", n - 1); 10].join(", ");
        bomb.push_str(&format!("a{n}: &a{n} [{refs}]\n"));
    }
    assert!(only_problem(&bomb).contains("not YAML that can be read"));
    let parsed =
        parse("many.yaml", &"---\napiVersion: v1\nkind: Secret\n".repeat(MAX_DOCUMENTS + 2));
    assert_eq!(parsed.ignored, MAX_DOCUMENTS);
    assert!(parsed.problems[0].message.contains("split it"), "{:?}", parsed.problems);
}

#[test]
fn a_null_worker_and_names_of_digits_survive() {
    let text = "apiVersion: bpa.akraino.org/v1alpha1\nkind: Provisioning\nmetadata: {name: \"7\", labels: {zone: 007}}\nspec:\n  masters:\n    - master-1: {mac-address: 00:11:22:33:44:55}\n  workers:\n    - master-1:\n  bundle:\n";
    let parsed = parse("p.yaml", text);
    let spec = &parsed.manifests[0].value["spec"];
    assert!(
        spec["workers"][0]["master-1"].is_null() && spec["workers"][0].get("master-1").is_some()
    );
    assert!(spec.get("bundle").is_none());
    assert_eq!(spec["masters"][0]["master-1"]["mac-address"], "00:11:22:33:44:55");
    assert_eq!(parsed.manifests[0].value["metadata"]["labels"]["zone"], "007");
}

proptest! {
    #[test]
    fn no_text_panics(text in "(?s).{0,200}") {
        parse("x.yaml", &text);
        parse("x.json", &text);
    }

    #[test]
    fn no_torn_file_panics_or_makes_up_an_object(cut in 0usize..400) {
        let text = format!("---\n{HOST}---\n{}", HOST.replace("host1", "host2"));
        let cut = cut.min(text.len());
        for manifest in parse("x.yaml", &text[..cut]).manifests {
            prop_assert!(["host1", "host2", "host", "hos", "ho", "h"].contains(&manifest.id.key.name.as_str()));
        }
    }

    #[test]
    fn documents_of_yaml_marks_never_panic(lines in proptest::collection::vec("(---|\\.\\.\\.|--- a|- b|a: 1|  c: \\[|%YAML 1.2|# x|)", 0..30)) {
        parse("x.yaml", &lines.join("\n"));
    }
}
