//! The optional policy of `deploy/admission.yaml`: names are refused at `kubectl apply` already.

use bpa_tests::kubernetes::{User, shared};
use bpa_tests::root;
use bpa_tests::wait::until;

fn manifest(labels: &str, spec: &str) -> String {
    format!(
        "apiVersion: bpa.akraino.org/v1alpha1\nkind: Provisioning\nmetadata: {{name: edge, labels: {labels}}}\nspec: {spec}\n"
    )
}

#[test]
fn what_the_definitions_can_not_see_is_refused_by_the_policy() {
    let kubectl = shared().namespace("admission");
    let policy = std::fs::read_to_string(root().join("deploy/admission.yaml")).unwrap();
    // Other tests make objects that it would refuse.
    let here = "  matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: admission}}}\n";
    let admin = shared().kubectl(User::Admin);
    let warned = admin.try_run(&["apply", "-f", "-"], &(policy + here));
    assert_eq!((warned.code, warned.err.as_str()), (0, ""));
    let bad = manifest("{cluster: Edge.A}", "{masters: [{m: {}}]}");
    until("the policy to be in force", 60, || {
        let ran = kubectl.try_run(&["apply", "--dry-run=server", "-f", "-"], &bad);
        if ran.code == 0 { Err("it was taken".to_owned()) } else { Ok(()) }
    });
    for (manifest, words) in [
        (bad, "cluster name `Edge.A` (label cluster, else metadata.name): wanted 1 to 63"),
        (manifest("{}", "{masters: [{M_1: {}}]}"), "spec.masters: a node name is a host name"),
        (
            manifest("{}", "{masters: [{m: {}}], workers: [{\"a\\n[all]\": {}}]}"),
            "spec.workers: a node name is a host name",
        ),
        (manifest("{}", "{masters: [{m: {}}, {m: {}}]}"), "names of nodes must be unique"),
    ] {
        let found = kubectl.refused(&manifest);
        assert!(found.contains(words), "{found}");
    }
    for name in ["f01", "f07b", "f15", "f16", "f19", "f23"] {
        let path = root().join(format!("tests/fixtures/legacy/{name}.yaml"));
        kubectl.apply(&std::fs::read_to_string(path).unwrap());
    }
    kubectl.apply(&manifest("{}", "{masters: [{m: {}}]}"));
    // What is not about the spec goes through, and so does the largest.
    kubectl.patch(
        "provisioning",
        "edge",
        "status",
        &serde_json::json!({"status": {"phase": "Ready"}}),
    );
    let items: Vec<String> = (0..1000).map(|n| format!("{{n-{n}: {{}}}}")).collect();
    kubectl.apply(&manifest("{}", &format!("{{masters: [{0}], workers: [{0}]}}", items.join(","))));
}
