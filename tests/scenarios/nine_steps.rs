//! The nine steps, with each DHCP server and each way to ask for hosts.

use bpa_tests::management::World;
use bpa_tests::site::{Options, Site};

bpa_tests::in_both_worlds!(
    roles_by_mac_with_leases_of_kea,
    roles_by_need_with_leases_of_isc,
    roles_by_both_with_leases_of_dnsmasq_and_a_sudo_password,
    a_lease_that_comes_later_is_waited_for_visibly,
);

/// Every condition of a cluster that is there, and a kubeconfig that answers.
fn assert_ready(site: &Site, name: &str, nodes: usize) {
    let status = site.wait_phase(name, &["Ready"], 240);
    assert_eq!(status["nodes"].as_array().map(Vec::len), Some(nodes), "{status}");
    for condition in [
        "Accepted",
        "HostsMatched",
        "HostsClaimed",
        "HostsProvisioned",
        "AddressesKnown",
        "OrderAccepted",
        "AccessReady",
        "PreflightPassed",
        "Installed",
        "KubeconfigSaved",
        "Ready",
    ] {
        let found =
            status["conditions"].as_array().unwrap().iter().find(|c| c["type"] == condition);
        assert!(
            found.is_some_and(|c| c["status"] == "True"),
            "{condition}: {}",
            status["conditions"]
        );
    }
    let answer = site.kubectl(name, &["get", "--raw", "/readyz"]).ok();
    assert_eq!(answer.out.trim(), "ok");
    let place = status["kubeconfigSecret"].as_str().unwrap();
    site.management.assert_kubeconfig_is_private(name, place);
    let (told, words) = (site.describe(name), site.management.kubeconfig_words(place));
    assert!(told.contains(&words), "describe names the command `{words}`:\n{told}");
    site.assert_one_run_ended_once();
    assert_site_is_told(site);
}

/// The Site's status tells of the bootstrap host, its leases and bundles; the agent's own commands
/// agree with what the lab knows.
fn assert_site_is_told(site: &Site) {
    let status = site.get("sites", "edge").unwrap()["status"].clone();
    let host = &status["host"];
    for field in ["cpus", "memoryTotal", "memoryAvailable", "diskTotal", "diskAvailable"] {
        assert!(host[field].as_u64().is_some_and(|n| n > 0), "{field}: {status}");
    }
    assert_eq!(status["bundles"][0]["name"], "lite", "{status}");
    let hosts = site.lab.now().hosts;
    assert!(status["leases"]["count"].as_u64() >= Some(hosts.len() as u64), "{status}");
    let answers = site.agentctl(&["leases", "--output", "json"]).ok().out;
    let answers: serde_json::Value = serde_json::from_str(&answers).unwrap();
    for host in &hosts {
        let answer = &answers["answers"][&host.mac]["address"];
        assert_eq!(answer.as_str(), host.address.as_deref(), "{}: {answers}", host.name);
    }
    let doctor = site.agentctl(&["doctor", "--output", "json"]).ok().out;
    let findings: Vec<serde_json::Value> = serde_json::from_str(&doctor).unwrap();
    for looked_at in ["config", "credentials", "disk", "memory"] {
        assert!(findings.iter().any(|f| f["id"] == looked_at), "{looked_at}: {doctor}");
    }
    assert!(findings.iter().all(|f| f["status"] != "failed"), "{doctor}");
}

fn roles_by_mac_with_leases_of_kea(world: World) {
    let site = Site::up("mac", &Options { world, ..Options::default() });
    let mac = |host: &str| site.lab.get(host).mac.to_uppercase();
    site.provision("edge-a", &format!(
        "{{masters: [{{m-1: {{mac-address: '{}'}}}}], workers: [{{w-1: {{mac-address: '{}'}}}}, {{w-2: {{mac-address: '{}'}}}}]}}",
        mac("host2"), mac("host1"), mac("host3")
    ));
    assert_ready(&site, "edge-a", 3);
    let status = site.status("edge-a").unwrap();
    let host_of = |n: usize| status["nodes"][n]["host"].as_str().unwrap().to_owned();
    assert_eq!([host_of(0), host_of(1), host_of(2)], ["host2", "host1", "host3"]);
    let watch = site.ctl(&["watch", "edge-a"]).ok();
    assert!(watch.out.contains("Ready"), "{}", watch.text());
    let log = site.ctl(&["logs", "edge-a"]).ok();
    assert!(log.out.contains("PLAY RECAP"), "{}", log.text());
    let claimed = site.get("hosts", "host2").unwrap();
    assert_eq!(claimed["spec"]["consumerRef"]["name"], "edge-a");
}

fn roles_by_need_with_leases_of_isc(world: World) {
    let lab = [
        "--hosts",
        "3",
        "--kind",
        "ns",
        "--server",
        "isc",
        "--cpu",
        "4",
        "--host-hw",
        "host1:cpu=20,memory=8Gi,disk=200Gi",
    ];
    let site = Site::up("need", &Options { lab: &lab, world, ..Options::default() });
    site.provision(
        "edge-a",
        "{masters: [{m-1: {cpu: 4, memory: 4Gi}}], workers: [{w-1: {cpu: 20, memory: 8Gi}}]}",
    );
    assert_ready(&site, "edge-a", 2);
    let status = site.status("edge-a").unwrap();
    assert_eq!(status["nodes"][1]["host"], "host1", "only host1 has 20 CPUs");
}

fn roles_by_both_with_leases_of_dnsmasq_and_a_sudo_password(world: World) {
    let lab = [
        "--hosts",
        "2",
        "--kind",
        "ns",
        "--server",
        "dnsmasq",
        "--sudo",
        "--cpu",
        "4",
        "--host-label",
        "host2:rack=a",
    ];
    let site = Site::up("both", &Options { lab: &lab, world, ..Options::default() });
    let mac = &site.lab.get("host1").mac;
    site.provision("edge-a", &format!(
        "{{masters: [{{m-1: {{mac-address: '{mac}', cpu: 4, memory: 4Gi}}}}], workers: [{{w-1: {{hostSelector: {{matchLabels: {{rack: a}}}}}}}}]}}"
    ));
    assert_ready(&site, "edge-a", 2);
}

fn a_lease_that_comes_later_is_waited_for_visibly(world: World) {
    let lab = ["--hosts", "2", "--kind", "ns", "--server", "kea", "--hold", "host2"];
    let site = Site::up("later", &Options { lab: &lab, world, ..Options::default() });
    site.provision("edge-a", "{masters: [{m-1: {}}], workers: [{w-1: {}}]}");
    let message = site.wait_condition("edge-a", "AddressesKnown", "WaitingForLease", 30);
    let mac = &site.lab.get("host2").mac;
    assert!(message.contains("host2") && message.contains(mac.as_str()), "{message}");
    site.lab.host("host2", &["boot"]);
    assert_ready(&site, "edge-a", 2);
}
