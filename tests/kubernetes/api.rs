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
