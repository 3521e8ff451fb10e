//! Deleting a Provisioning: Retain keeps the cluster, Reset takes it off the hosts; both free them.

use bpa_tests::management::World;
use bpa_tests::site::{Options, Site};

bpa_tests::in_both_worlds!(
    retain_keeps_the_cluster_and_frees_the_hosts,
    reset_cleans_the_hosts_and_they_make_a_new_cluster,
);

fn site(world: World, name: &str) -> Site {
    Site::up(
        name,
        &Options {
            lab: &["--hosts", "2", "--kind", "ns", "--server", "kea"],
            world,
            ..Options::default()
        },
    )
}

fn assert_freed(site: &Site, name: &str) {
    site.wait_gone(name, 90);
    for host in ["host1", "host2"] {
        let host = site.get("hosts", host).unwrap();
        assert!(host["spec"].get("consumerRef").is_none(), "{}", host["spec"]);
    }
}

const WISH: &str = "masters: [{m-1: {}}], workers: [{w-1: {}}]";

fn retain_keeps_the_cluster_and_frees_the_hosts(world: World) {
    let site = site(world, "retain");
    site.provision("edge-a", &format!("{{{WISH}}}"));
    let status = site.wait_phase("edge-a", &["Ready"], 240);
    let kubeconfig = status["kubeconfigSecret"].as_str().unwrap().to_owned();
    site.delete("edge-a");
    assert_freed(&site, "edge-a");
    let left = site.lab.exec("host1", &["pgrep", "-x", "kube-apiserver"]);
    let other = site.lab.exec("host2", &["pgrep", "-x", "kube-apiserver"]);
    assert!(left.code == 0 || other.code == 0, "the cluster goes on");
    site.management.assert_kubeconfig_is_kept(&kubeconfig);
    assert_eq!(site.runs().len(), 1, "no reset was run");
}

fn reset_cleans_the_hosts_and_they_make_a_new_cluster(world: World) {
    let site = site(world, "reset");
    site.provision("edge-a", &format!("{{{WISH}, deletionPolicy: Reset}}"));
    site.wait_phase("edge-a", &["Ready"], 240);
    site.delete("edge-a");
    assert_freed(&site, "edge-a");
    for host in ["host1", "host2"] {
        let left = site.lab.exec(host, &["pgrep", "-x", "kube-apiserver"]);
        assert_ne!(left.code, 0, "{host} is clean: {}", left.text());
    }
    assert_eq!(site.runs().len(), 2, "an install and a reset");
    site.provision("edge-b", &format!("{{{WISH}}}"));
    site.wait_phase("edge-b", &["Ready"], 240);
    assert_eq!(site.runs().len(), 3);
}
