//! While the playbook runs: failures, cancel, and a link that is cut.

use std::fs;
use std::process::Command;
use std::time::Duration;

use bpa_tests::management::World;
use bpa_tests::process::run;
use bpa_tests::site::{Options, Site};

bpa_tests::in_both_worlds!(
    a_task_that_fails_on_one_host_is_named_with_its_message,
    a_playbook_that_exits_0_having_done_nothing_is_no_success,
    cancel_in_the_middle_ends_the_run_once,
    a_link_cut_for_a_minute_costs_nothing,
);

fn two_hosts(world: World, name: &str) -> Site {
    Site::up(
        name,
        &Options {
            lab: &["--hosts", "2", "--kind", "ns", "--server", "kea"],
            world,
            ..Options::default()
        },
    )
}

fn wish(vars: &str) -> String {
    format!(
        "{{masters: [{{m-1: {{}}}}], workers: [{{w-1: {{}}}}], kubernetes: {{vars: {{{vars}}}}}}}"
    )
}

fn a_task_that_fails_on_one_host_is_named_with_its_message(world: World) {
    let site = two_hosts(world, "task");
    site.provision("edge-a", &wish("lite_fail_on: w-1"));
    let status = site.wait_phase("edge-a", &["Failed"], 180);
    assert_eq!(status["run"]["reason"], "TaskFailed", "{status}");
    let told = site.describe("edge-a");
    for word in ["w-1", "lite_fail_on"] {
        assert!(told.contains(word), "`{word}` in:\n{told}");
    }
    let nodes = status["nodes"].as_array().unwrap();
    assert!(nodes.iter().any(|n| n["name"] == "w-1" && n["state"] == "Failed"), "{status}");
    assert!(nodes.iter().any(|n| n["name"] == "m-1" && n["state"] != "Failed"), "{status}");
    site.assert_one_run_ended_once();
    // Nothing starts again by itself.
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(site.runs().len(), 1);
}

fn a_playbook_that_exits_0_having_done_nothing_is_no_success(world: World) {
    let mut site = Site::prepared(
        "nothing",
        &Options {
            lab: &["--hosts", "1", "--kind", "ns", "--server", "kea"],
            world,
            ..Options::default()
        },
    );
    let copy = site.dir.join("bundle");
    run(Command::new("cp").arg("-a").arg(&site.bundle).arg(&copy)).ok();
    fs::write(copy.join("cluster.yml"), "- name: Nobody\n  hosts: no_such_group\n  tasks: []\n")
        .unwrap();
    site.use_bundle(copy);
    site.go();
    site.provision("edge-a", "{masters: [{m-1: {}}]}");
    let status = site.wait_phase("edge-a", &["Failed"], 180);
    assert_eq!(status["run"]["reason"], "NothingDone", "{status}");
    site.assert_one_run_ended_once();
}

fn cancel_in_the_middle_ends_the_run_once(world: World) {
    let site = two_hosts(world, "cancel");
    site.provision("edge-a", &wish("lite_pause_seconds: 60"));
    site.wait_step("edge-a", "Kubespray", 120);
    site.cancel("edge-a");
    let status = site.wait_phase("edge-a", &["Cancelled"], 120);
    assert_eq!(status["run"]["state"], "Cancelled", "{status}");
    site.assert_one_run_ended_once();
    let left = site.lab.exec("boot", &["pgrep", "-f", "ansible-playbook"]);
    let ours = run(Command::new("ip").args(["netns", "pids", &site.lab.info.boot.netns])).ok().out;
    let still: Vec<&str> = left.out.lines().filter(|pid| ours.lines().any(|p| p == *pid)).collect();
    assert!(still.is_empty(), "ansible still runs: {still:?}");
}

fn a_link_cut_for_a_minute_costs_nothing(world: World) {
    let site = two_hosts(world, "cut");
    site.provision("edge-a", &wish("lite_pause_seconds: 50"));
    site.wait_step("edge-a", "Kubespray", 120);
    site.lab.wan("cut");
    bpa_tests::wait::until("the site to be shown as gone", 40, || {
        let found = site.get("sites", "edge")?;
        if found["status"]["connected"] == false {
            Ok(())
        } else {
            Err(found["status"].to_string())
        }
    });
    std::thread::sleep(Duration::from_secs(40));
    site.lab.wan("heal");
    site.wait_phase("edge-a", &["Ready"], 240);
    site.assert_one_run_ended_once();
    let log = site.ctl(&["logs", "edge-a"]).ok().out;
    assert_eq!(log.matches("PLAY RECAP").count(), 1, "the log is whole and told once:\n{log}");
}
