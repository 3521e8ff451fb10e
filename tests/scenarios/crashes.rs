//! kill -9 of either side in each step of a run: it ends once, with the truth.

use bpa_tests::site::{Options, Site};

const STEPS: [&str; 8] =
    ["Resolve", "Access", "Verify", "Preflight", "Inventory", "Kubespray", "Collect", "Check"];

fn wish() -> &'static str {
    "{masters: [{m-1: {}}], kubernetes: {vars: {lite_pause_seconds: 3}}}"
}

fn site(name: &str) -> Site {
    Site::up(
        name,
        &Options {
            lab: &["--hosts", "1", "--kind", "ns", "--server", "kea"],
            ..Options::default()
        },
    )
}

#[test]
fn the_agent_killed_in_each_step_finishes_its_run() {
    let mut site = site("s-akill");
    site.provision("edge-a", wish());
    for step in STEPS {
        site.wait_step("edge-a", step, 60);
        site.kill_agent();
        site.start_agent();
    }
    site.wait_phase("edge-a", &["Ready"], 240);
    site.assert_one_run_ended_once();
    let log = site.ctl(&["logs", "edge-a"]).ok().out;
    assert_eq!(log.matches("PLAY RECAP").count(), 1, "the playbook ran once:\n{log}");
}

#[test]
fn the_coordinator_killed_in_each_step_learns_the_end() {
    let mut site = site("s-ckill");
    site.provision("edge-a", wish());
    for step in STEPS {
        site.wait_step("edge-a", step, 60);
        site.kill_coordinator();
        site.start_coordinator();
    }
    site.wait_phase("edge-a", &["Ready"], 240);
    site.assert_one_run_ended_once();
}

#[test]
fn both_killed_while_the_playbook_runs_is_no_loss() {
    let mut site = site("s-bkill");
    site.provision("edge-a", wish());
    site.wait_step("edge-a", "Kubespray", 120);
    site.kill_coordinator();
    site.kill_agent();
    std::thread::sleep(std::time::Duration::from_secs(15));
    site.start_agent();
    site.start_coordinator();
    site.wait_phase("edge-a", &["Ready"], 240);
    site.assert_one_run_ended_once();
}
