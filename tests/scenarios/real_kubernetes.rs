//! Booted hosts become a real Kubernetes cluster: all nodes Ready, CoreDNS runs, and the
//! kubeconfig that came home answers.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bpa_tests::management::World;
use bpa_tests::site::{Options, Site};
use serde_json::Value;

bpa_tests::in_both_worlds!(one_control_plane_and_two_workers, three_control_planes,);

/// Whole clusters are much for two cores: of the stories of one kind one is told at a time.
static ONE: Mutex<()> = Mutex::new(());
static THREE: Mutex<()> = Mutex::new(());

fn alone(kind: &'static Mutex<()>) -> MutexGuard<'static, ()> {
    kind.lock().unwrap_or_else(PoisonError::into_inner)
}

fn install(world: World, name: &str, hosts: &str, spec: &str, nodes: usize) -> Site {
    let lab = ["--hosts", hosts, "--kind", "node", "--server", "kea"];
    let site = Site::up(name, &Options { lab: &lab, world, bundle: "full", ..Options::default() });
    site.provision("edge-a", spec);
    site.wait_phase("edge-a", &["Ready"], 400);
    let list: Value =
        serde_json::from_str(&site.kubectl("edge-a", &["get", "nodes", "-o", "json"]).ok().out)
            .unwrap();
    let ready = list["items"].as_array().unwrap().iter().filter(|node| {
        node["status"]["conditions"]
            .as_array()
            .unwrap()
            .iter()
            .any(|c| c["type"] == "Ready" && c["status"] == "True")
    });
    assert_eq!(ready.count(), nodes, "{list}");
    let pods = site
        .kubectl(
            "edge-a",
            &["-n", "kube-system", "get", "pods", "-l", "k8s-app=kube-dns", "--no-headers"],
        )
        .ok();
    assert!(pods.out.contains("Running"), "{}", pods.text());
    site.assert_one_run_ended_once();
    site
}

fn one_control_plane_and_two_workers(world: World) {
    let _alone = alone(&ONE);
    let site = install(
        world,
        "k8s",
        "3",
        "{masters: [{m-1: {}}], workers: [{w: {count: 2}}], deletionPolicy: Reset}",
        3,
    );
    site.delete("edge-a");
    site.wait_gone("edge-a", 180);
    let left = site.lab.exec("host1", &["pgrep", "-x", "kubelet"]);
    assert_ne!(left.code, 0, "host1 is clean: {}", left.text());
    site.provision("edge-b", "{masters: [{m-1: {}}], workers: [{w: {count: 2}}]}");
    site.wait_phase("edge-b", &["Ready"], 400);
}

fn three_control_planes(world: World) {
    let _alone = alone(&THREE);
    install(world, "k8s3", "3", "{masters: [{m: {count: 3}}]}", 3);
}
