//! Our definitions in a real API server: what a user sees and what is refused.

use bpa_tests::kubernetes::shared;

#[test]
fn a_provisioning_is_taken_and_shown_in_columns() {
    let kubectl = shared().namespace("columns");
    kubectl.apply(
        "apiVersion: bpa.akraino.org/v1alpha1\nkind: Provisioning\n\
         metadata: {name: edge, labels: {cluster: edge}}\n\
         spec: {masters: [{m: {cpu: 10, memory: 4Gi}}]}\n",
    );
    let table = kubectl.run(&["get", "bpa"]);
    let head: Vec<&str> = table.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(head, ["NAME", "CLUSTER", "SITE", "PHASE", "READY", "VERSION", "AGE"]);
    let explained = kubectl.run(&["explain", "provisioning.spec.deletionPolicy"]);
    assert!(explained.contains("What happens to the cluster when"), "{explained}");
}

#[test]
fn two_writers_each_have_their_condition() {
    let kubectl = shared().namespace("conditions");
    kubectl.apply(
        "apiVersion: bpa.akraino.org/v1alpha1\nkind: Provisioning\nmetadata: {name: edge}\n\
         spec: {masters: [{m: {}}]}\n",
    );
    let write = |manager: &str, kind: &str| {
        let manifest = format!(
            "apiVersion: bpa.akraino.org/v1alpha1\nkind: Provisioning\nmetadata: {{name: edge}}\n\
             status: {{conditions: [{{type: {kind}, status: \"True\", reason: Well, message: \"\", lastTransitionTime: \"2026-12-01T00:00:00Z\"}}]}}\n"
        );
        let args = ["apply", "--server-side", "--subresource=status", "--field-manager", manager];
        let ran = kubectl.try_run(&[&args[..], &["-f", "-"]].concat(), &manifest);
        assert_eq!(ran.code, 0, "{}", ran.err);
    };
    write("one", "Ready");
    write("another", "Mine");
    let found = kubectl.get("provisioning", "edge");
    let kinds: Vec<&str> = found["status"]["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|condition| condition["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["Ready", "Mine"]);
    // And a status in what a user applies is nothing.
    kubectl.apply(
        "apiVersion: bpa.akraino.org/v1alpha1\nkind: Provisioning\nmetadata: {name: edge}\n\
         spec: {masters: [{m: {}}]}\nstatus: {phase: Ready}\n",
    );
    assert!(kubectl.get("provisioning", "edge")["status"]["phase"].is_null());
}
