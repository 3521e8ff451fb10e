//! Getting to the hosts: what can be wrong with leases, machines, passwords and keys.

use std::fs;

use bpa_tests::management::World;
use bpa_tests::site::{Options, Site};
use serde_json::Value;

bpa_tests::in_both_worlds!(
    a_wrong_password_is_said_and_a_retry_with_the_right_one_works,
    a_changed_host_key_stops_the_run,
    a_machine_that_is_not_the_one_is_left_alone,
    a_host_that_is_down_is_said_so,
    a_host_without_python_fails_in_preflight_with_the_fix,
    a_host_with_no_lease_is_waited_for_and_named,
);

fn one_host(world: World, name: &str) -> Site {
    Site::up(
        name,
        &Options {
            lab: &["--hosts", "1", "--kind", "ns", "--server", "dnsmasq"],
            world,
            ..Options::default()
        },
    )
}

const ONE: &str = "{masters: [{m-1: {}}]}";

/// The run failed once, with this reason; `describe` says each of the words.
fn assert_failed(site: &Site, name: &str, reason: &str, words: &[&str]) -> Value {
    let status = site.wait_phase(name, &["Failed"], 180);
    assert_eq!(status["run"]["reason"], reason, "{}", site.describe(name));
    let told = site.describe(name);
    for word in words {
        assert!(told.contains(word), "`{word}` in:\n{told}");
    }
    status
}

fn a_wrong_password_is_said_and_a_retry_with_the_right_one_works(world: World) {
    let site = one_host(world, "pass");
    site.write_credentials(Some("not-the-password"));
    site.provision("edge-a", ONE);
    assert_failed(&site, "edge-a", "WrongPassword", &["host1", "credentials.toml"]);
    site.assert_one_run_ended_once();
    assert!(!site.describe("edge-a").contains("not-the-password"));

    site.write_credentials(None);
    site.retry("edge-a");
    site.wait_phase("edge-a", &["Ready"], 240);
    assert_eq!(site.runs().len(), 2);
}

fn a_changed_host_key_stops_the_run(world: World) {
    let mut site = one_host(world, "key");
    site.provision("edge-a", ONE);
    site.wait_phase("edge-a", &["Ready"], 240);
    site.management.take_away("edge-a");
    site.wait_gone("edge-a", 30);
    site.lab.host("host1", &["reinstall"]);
    site.provision("edge-b", ONE);
    let status = assert_failed(&site, "edge-b", "HostKeyChanged", &["SHA256:", "keys forget"]);
    assert_eq!(status["nodes"][0]["state"], "Failed", "{status}");
    // The way out that the message names.
    site.agentctl(&["keys", "forget", "host1"]).ok();
    site.retry("edge-b");
    site.wait_phase("edge-b", &["Ready"], 240);
    site.agent.take();
}

fn a_machine_that_is_not_the_one_is_left_alone(world: World) {
    let site = one_host(world, "other");
    // The lease of a MAC that this machine does not have points at this machine.
    let host = site.lab.get("host1").clone();
    let address = host.address.clone().unwrap();
    let ghost = "52:54:00:99:99:99";
    let manifests = site.lab.manifests().replace(&host.mac, ghost);
    site.management.write_hosts(&manifests);
    let leases = &site.lab.info.boot.leases.path;
    let stop = site.lab.tool(&["dhcp", &site.lab.info.name, "stop"]);
    assert_eq!(stop.code, 0, "{}", stop.text());
    let end = jiff::Timestamp::now().as_second() + 3600;
    fs::write(leases, format!("{end} {ghost} {address} host1 *\n")).unwrap();
    site.provision("edge-a", ONE);
    assert_failed(&site, "edge-a", "NotTheMachine", &[ghost, &host.mac]);
    let keys = site.lab.exec("host1", &["cat", "/root/.ssh/authorized_keys"]);
    assert!(!keys.out.contains("bpa-agent"), "no key was installed: {}", keys.text());
}

fn a_host_that_is_down_is_said_so(world: World) {
    let site = Site::up(
        "down",
        &Options {
            lab: &["--hosts", "1", "--kind", "ns", "--server", "dnsmasq"],
            agent_config: "[runs]\nssh_wait_seconds = 5\n",
            world,
            ..Options::default()
        },
    );
    site.lab.host("host1", &["power-off"]);
    site.provision("edge-a", ONE);
    let address = site.lab.get("host1").address.clone().unwrap();
    assert_failed(&site, "edge-a", "HostUnreachable", &["m-1", &address]);
    site.assert_one_run_ended_once();
}

fn a_host_without_python_fails_in_preflight_with_the_fix(world: World) {
    let site = one_host(world, "py");
    site.lab.host("host1", &["remove-python"]);
    site.provision("edge-a", ONE);
    let status = assert_failed(&site, "edge-a", "PreflightFailed", &["python", "install"]);
    let check =
        status["run"]["checks"].as_array().unwrap().iter().find(|c| c["id"] == "python").unwrap();
    assert_eq!(check["status"], "failed", "{check}");
    site.assert_one_run_ended_once();
}

fn a_host_with_no_lease_is_waited_for_and_named(world: World) {
    let lab = ["--hosts", "2", "--kind", "ns", "--server", "isc", "--hold", "host2"];
    let site = Site::up("lease", &Options { lab: &lab, world, ..Options::default() });
    let mac = site.lab.get("host2").mac.clone();
    site.provision("edge-a", &format!("{{masters: [{{m-1: {{mac-address: '{mac}'}}}}]}}"));
    let message = site.wait_condition("edge-a", "AddressesKnown", "WaitingForLease", 30);
    assert!(message.contains(&mac) && message.contains("host2"), "{message}");
    assert_eq!(site.runs().len(), 0, "no run without an address");
}
