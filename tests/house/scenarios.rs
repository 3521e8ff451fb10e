//! Every scenario is lived through in both worlds of objects; the few that make sense in one only
//! are listed here, so that none is left out by and by.

use std::fs;

use super::root;

/// In one world only; each says why where it is.
const ONE_WORLD: [&str; 3] = [
    "a_cluster_is_made_and_followed_with_kubectl_alone",
    "plan_says_the_same_with_no_cluster_agent_or_state",
    "what_does_not_fit_is_read_mended_and_approved_with_kubectl_alone",
];

#[test]
fn every_scenario_runs_in_both_worlds_but_for_those_of_the_list() {
    let (mut both, mut one) = (0, Vec::new());
    for entry in fs::read_dir(root().join("tests/scenarios")).expect("scenarios are readable") {
        let path = entry.expect("an entry is readable").path();
        if path.extension().is_none_or(|end| end != "rs") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a source is UTF-8");
        let listed = text.split_once("in_both_worlds!(").map_or("", |(_, rest)| rest);
        let listed = listed.split(");").next().unwrap_or_default();
        both += listed.split(',').filter(|name| !name.trim().is_empty()).count();
        // A story that takes a world and is in no list is dead code, which is a warning.
        let tests = text.split("#[test]\n").skip(1).filter_map(|rest| {
            let name = rest.trim_start().strip_prefix("fn ")?.split('(').next()?;
            Some(name.to_owned())
        });
        one.extend(tests);
    }
    one.sort();
    assert_eq!(one, ONE_WORLD, "in one world only");
    assert!(both >= 24, "the stories of both worlds were not found: {both}");
}
