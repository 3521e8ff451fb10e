//! kill -9 of either side in each step of a run: it ends once, with the truth.

use bpa_tests::management::World;
use bpa_tests::site::{Options, Site};

bpa_tests::in_both_worlds!(
    the_agent_killed_in_each_step_finishes_its_run,
    the_coordinator_killed_in_each_step_learns_the_end,
    both_killed_while_the_playbook_runs_is_no_loss,
);

const STEPS: [&str; 8] =
    ["Resolve", "Access", "Verify", "Preflight", "Inventory", "Kubespray", "Collect", "Check"];

fn wish() -> &'static str {
    "{masters: [{m-1: {}}], kubernetes: {vars: {lite_pause_seconds: 3}}}"
}

fn site(world: World, name: &str) -> Site {
    Site::up(
        name,
        &Options {
            lab: &["--hosts", "1", "--kind", "ns", "--server", "kea"],
            world,
            ..Options::default()
        },
    )
}

fn the_agent_killed_in_each_step_finishes_its_run(world: World) {
    let mut site = site(world, "akill");
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

fn the_coordinator_killed_in_each_step_learns_the_end(world: World) {
    let mut site = site(world, "ckill");
    site.provision("edge-a", wish());
    for step in STEPS {
        site.wait_step("edge-a", step, 60);
        site.kill_coordinator();
        site.start_coordinator();
    }
    site.wait_phase("edge-a", &["Ready"], 240);
    site.assert_one_run_ended_once();
}

fn both_killed_while_the_playbook_runs_is_no_loss(world: World) {
    let mut site = site(world, "bkill");
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
