//! Absurd objects at a real API server: refused with words, and nothing else is affected.

use bpa_tests::kubernetes::{Kubectl, shared};

fn manifest(spec: &str) -> String {
    format!(
        "apiVersion: bpa.akraino.org/v1alpha1\nkind: Provisioning\nmetadata: {{name: absurd}}\nspec: {spec}\n"
    )
}

/// Refused, with each of the words.
fn refused(kubectl: &Kubectl, spec: &str, words: &[&str]) {
    let found = kubectl.refused(&manifest(spec));
    for word in words {
        assert!(found.contains(word), "wanted `{word}` in: {}", &found[..found.len().min(2000)]);
    }
}

fn one(need: &str) -> String {
    format!("{{masters: [{{m-0: {{{need}}}}}]}}")
}

#[test]
fn sizes_that_no_machine_has_are_refused_in_words() {
    let kubectl = shared().namespace("absurd-sizes");
    let unit = "wanted a number with one of the units Ki, Mi, Gi, Ti";
    let digit = "wanted a size that is not negative and begins with a digit, such as 8Gi";
    for (need, words) in [
        ("memory: 8GB", unit),
        ("memory: 8Mb", unit),
        ("disk: -5", digit),
        ("disk: -5Gi", digit),
        ("disk: ten", digit),
        ("memory: 8 Gi", "wanted the unit right behind the number, without a blank"),
        ("memory: \"1,5Gi\"", "such as 8Gi, 1.5Gi or 100G"),
        ("disk: 480_000_000_000k", "wanted the unit right behind the number"),
        ("memory: 8-9Gi", "should match '^(8Gi|"),
        ("cpu: ten", "wanted a whole number of CPUs"),
        ("cpu: -1", "wanted a whole number of CPUs"),
        ("cpu: 4000000000", "wanted a whole number of CPUs"),
        ("cpu: 1.5", "must be of type"),
        ("count: 1001", "wanted a whole number of nodes from 0 to 1000"),
        ("address: 192.0.2.300", "wanted an IP address such as 192.0.2.10"),
        ("memory: [8Gi]", "must be of type"),
        ("memory: {a: 1}", "unknown field"),
        ("mac-address: 52:54:00", "should match '^(52:54:00:aa:01:02|"),
        ("mac-address: [52:54:00:aa:01:02, 7]", "must be of type string"),
    ] {
        let field = "spec.masters[0]";
        refused(&kubectl, &one(need), &[words, field]);
    }
    for fits in [
        "memory: 1.5Gi",
        "memory: 4e9",
        "memory: 4E3",
        "disk: 1500m",
        "memory: 4096",
        "memory: .5Gi",
        "memory: \"+1Ki\"",
        "cpu: \"4\"",
        "count: \"3\"",
        "disk: 2E",
    ] {
        kubectl.apply(&manifest(&one(fits)));
    }
}

#[test]
fn thousands_of_nodes_and_megabytes_of_text_are_refused() {
    let kubectl = shared().namespace("absurd-amounts");
    kubectl.apply(&manifest(&one("cpu: 1")).replace("absurd", "neighbour"));
    let items: Vec<String> = (0..10_000).map(|n| format!("{{w-{n}: {{}}}}")).collect();
    let spec = format!("{{masters: [{{m: {{}}}}], workers: [{}]}}", items.join(","));
    refused(&kubectl, &spec, &["spec.workers: Too many: 10000: must have at most 1000 items"]);
    let long = "x".repeat(1 << 18);
    for need in
        [format!("memory: {long}"), format!("mac-address: {long}"), format!("address: {long}")]
    {
        // Server-side, since `kubectl apply` keeps a copy of at most 256 KiB.
        let ran = kubectl.try_run(&["create", "-f", "-"], &manifest(&one(&need)));
        assert!(
            ran.code != 0 && ran.err.contains("Too long"),
            "{}",
            &ran.err[..ran.err.len().min(500)]
        );
    }
    let spec = format!("{{masters: [{{m: {{}}}}], site: {}}}", "x".repeat(1 << 20));
    let ran = kubectl.try_run(&["create", "-f", "-"], &manifest(&spec));
    assert!(
        ran.code != 0 && ran.err.contains("spec.site: Too long"),
        "{}",
        &ran.err[..ran.err.len().min(500)]
    );
    let neighbour = kubectl.get("provisioning", "neighbour");
    assert_eq!(neighbour["spec"]["masters"][0]["m-0"]["cpu"], 1);
}

#[test]
fn fields_that_are_not_known_are_named_or_dropped() {
    let kubectl = shared().namespace("unknown");
    let spec = "{masters: [{m-0: {cpus: 4}}], wokers: []}";
    let found = kubectl.refused(&manifest(spec));
    assert!(found.contains("unknown field \"spec.wokers\""), "{found}");
    assert!(found.contains("unknown field \"spec.masters[0].m-0.cpus\""), "{found}");
    // Who asks for no validation gets it dropped.
    let ran = kubectl.try_run(&["apply", "--validate=false", "-f", "-"], &manifest(spec));
    assert_eq!(ran.code, 0, "{}", ran.err);
    let object = kubectl.get("provisioning", "absurd");
    assert_eq!(object["spec"]["wokers"], serde_json::Value::Null);
    assert_eq!(object["spec"]["masters"][0]["m-0"], serde_json::json!({}));
}

#[test]
fn every_kind_refuses_what_it_cannot_mean() {
    let kubectl = shared().namespace("kinds");
    let kind = |kind: &str, spec: &str| {
        format!(
            "apiVersion: bpa.akraino.org/v1alpha1\nkind: {kind}\nmetadata: {{name: x}}\nspec: {spec}\n"
        )
    };
    for (manifest, words) in [
        (kind("Cluster", "{clusterName: edge}"), "wanted `provisioning:`, `software:` or both"),
        (
            kind("Cluster", "{provisioning: {name: a, spec: {masters: [{m: {}}]}}}"),
            "wanted either `name:`",
        ),
        (
            kind("Cluster", "{provisioning: {spec: {workers: [{m: {}}]}}}"),
            "at least one control plane node",
        ),
        (
            kind("Cluster", "{clusterName: Edge_A, provisioning: {name: a}}"),
            "wanted a cluster name",
        ),
        (kind("Site", "{approved: maybe}"), "must be of type boolean"),
        (kind("Software", "{masterSoftware: htop}"), "must be of type array"),
        (kind("Software", "{masterSoftware: [\"htop; id\"]}"), "should match '^(htop|"),
    ] {
        let found = kubectl.refused(&manifest);
        assert!(found.contains(words), "{manifest}: {found}");
    }
    kubectl.apply(&kind(
        "Cluster",
        "{provisioning: {name: a}, software: [{name: s}, {spec: {workerSoftware: [htop]}}]}",
    ));
    kubectl.apply("apiVersion: bpa.akraino.org/v1alpha1\nkind: Site\nmetadata: {name: north}\n");
    assert_eq!(kubectl.get("site", "north")["spec"]["approved"], false);
}

/// The rules cost something for each node, and an API server has a limit for each object.
#[test]
fn the_largest_object_that_the_limits_allow_is_taken() {
    let kubectl = shared().namespace("largest");
    let need = |n: usize| {
        let (high, low) = (n / 250, n % 250);
        format!(
            "{{cpu: \"16\", memory: 64.5Gi, disk: 1500000m, mac-address: [\"52:54:00:aa:{high:02x}:{low:02x}\"], address: 10.1.{high}.{low}, hostSelector: {{matchLabels: {{rack: r1, zone: z1}}, matchExpressions: [{{key: a, operator: In, values: [b, c]}}]}}}}"
        )
    };
    let list = |name: &str| {
        let items: Vec<String> =
            (0..1000).map(|n| format!("{{{name}-{n}: {}}}", need(n))).collect();
        items.join(",")
    };
    let spec = format!("{{masters: [{}], workers: [{}]}}", list("m"), list("w"));
    let cluster = format!("{{provisioning: {{spec: {spec}}}}}");
    for manifest in
        [manifest(&spec), manifest(&cluster).replace("kind: Provisioning", "kind: Cluster")]
    {
        let ran = kubectl.try_run(&["create", "-f", "-"], &manifest);
        assert_eq!(ran.code, 0, "{}", ran.err.chars().take(2000).collect::<String>());
    }
    // Each later write is checked too.
    kubectl.patch("provisioning", "absurd", "", &serde_json::json!({"spec": {"paused": true}}));
    kubectl.patch(
        "provisioning",
        "absurd",
        "status",
        &serde_json::json!({"status": {"phase": "Paused"}}),
    );
}
