//! When hosts and wishes don't fit: the user reads what was wanted, what was found, what to do.

use std::fs;

use bpa_tests::management::World;
use bpa_tests::site::{Options, Site};

bpa_tests::in_both_worlds!(
    wishes_that_no_host_meets_are_explained_and_nothing_is_touched,
    a_second_provisioning_is_told_who_has_the_host,
);

fn two_hosts(world: World) -> Options<'static> {
    Options {
        lab: &["--hosts", "2", "--kind", "ns", "--server", "dnsmasq", "--cpu", "4"],
        world,
        ..Options::default()
    }
}

fn wishes_that_no_host_meets_are_explained_and_nothing_is_touched(world: World) {
    let site = Site::up("fit", &two_hosts(world));
    site.provision("no-mac", "{masters: [{m-1: {mac-address: '52:54:00:ff:ff:01'}}]}");
    site.wait_condition("no-mac", "HostsMatched", "NoFit", 30);
    let told = site.describe("no-mac");
    assert!(
        told.contains("52:54:00:ff:ff:01") && told.contains("no BareMetalHost shows this MAC"),
        "{told}"
    );

    site.provision("too-big", "{masters: [{m-1: {cpu: 64, memory: 1Ti}}]}");
    site.wait_condition("too-big", "HostsMatched", "NoFit", 30);
    let told = site.describe("too-big");
    for words in ["cpu", "wanted 64", "found 4", "short by 60", "1Ti"] {
        assert!(told.contains(words), "`{words}` in:\n{told}");
    }

    // Our `apply` refuses a bad spec; one that comes another way is told in its status.
    let bad = site.manifest("bad", "{masters: [{Node_A: {}}]}");
    let refused = site.our_apply(&bad);
    assert!(refused.code == 1 && refused.err.contains("`node-a`"), "{}", refused.text());
    site.management.put("bad", &bad);
    let status = site.wait_phase("bad", &["Invalid"], 30);
    assert!(status.to_string().contains("node-a"), "{status}");

    let mut manifests = site.lab.manifests();
    let (one, two) = (site.lab.get("host1").mac.clone(), site.lab.get("host2").mac.clone());
    manifests = manifests.replace(&two, &one);
    site.management.write_hosts(&manifests);
    site.provision("twice", &format!("{{masters: [{{m-1: {{mac-address: '{one}'}}}}]}}"));
    site.wait_condition("twice", "HostsMatched", "NoFit", 30);
    let told = site.describe("twice");
    assert!(
        told.contains("2 hosts show this MAC") && told.contains("host1") && told.contains("host2"),
        "{told}"
    );
    assert_eq!(site.runs().len(), 0, "nothing was started");
}

/// Tells no story of a world: it has files only.
#[test]
fn plan_says_the_same_with_no_cluster_agent_or_state() {
    let site = Site::prepared("plan", &two_hosts(World::Directory));
    let hosts = site.dir.join("objects/hosts.yaml").display().to_string();
    let wish = site.dir.join("wish.yaml");
    let text = |need: &str| {
        format!(
            "apiVersion: bpa.akraino.org/v1alpha1\nkind: Provisioning\nmetadata: {{name: p, namespace: default}}\nspec: {{masters: [{{m: {need}}}]}}\n"
        )
    };
    let wish_path = wish.display().to_string();
    let plan =
        |output: &str| site.ctl(&["plan", "-f", &hosts, "-f", &wish_path, "--output", output]);

    fs::write(&wish, text("{cpu: 4}")).unwrap();
    let ran = plan("json").ok();
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&report["schema"], &report["fits"]), (&1.into(), &true.into()));
    let assignment = &report["provisionings"][0]["assignments"][0];
    assert_eq!((&assignment["slot"], &assignment["host"]["name"]), (&"m".into(), &"host1".into()));
    assert_eq!(assignment["mac"], site.lab.get("host1").mac.as_str());
    assert!(plan("table").ok().out.contains("fits"));
    assert!(plan("yaml").ok().out.contains("fits: true"));

    fs::write(&wish, text("{memory: 9Gi}")).unwrap();
    let ran = plan("json");
    assert_eq!(ran.code, 3, "{}", ran.text());
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let miss = &report["provisionings"][0]["explanation"]["nearMisses"][0];
    let words = [&miss["requirement"], &miss["wanted"], &miss["found"], &miss["shortBy"]];
    assert_eq!(words, ["memory", "9Gi", "8Gi", "1Gi"]);
    let remedy = &report["provisionings"][0]["explanation"]["remedies"][0]["message"];
    assert_eq!(remedy, "lower memory of m to 8Gi");
}

fn a_second_provisioning_is_told_who_has_the_host(world: World) {
    let site = Site::up("taken", &two_hosts(world));
    let mac = site.lab.get("host1").mac.clone();
    let wish = format!("{{masters: [{{m-1: {{mac-address: '{mac}'}}}}]}}");
    site.provision("first", &wish);
    site.wait_phase("first", &["Ready"], 240);
    site.provision("second", &wish);
    site.wait_condition("second", "HostsMatched", "NoFit", 30);
    let told = site.describe("second");
    let owner = format!("{}/first", site.management.namespace());
    assert!(told.contains(&owner), "who has it:\n{told}");
    site.assert_one_run_ended_once();
}
