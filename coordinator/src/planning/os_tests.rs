//! Every state that Metal3 can show us of a host that is ours, and what follows.

use bpa_common::api::metal3::{Image, SecretReference};
use serde_json::json;

use super::*;
use crate::cluster::directory::merge;
use crate::cluster::os_patch;
use crate::planning::testing::host;

const URL: &str = "http://site/image";

fn os() -> OsSpec {
    OsSpec {
        image: json!({"url": URL, "checksum": "c"}),
        network_data_secret: Some("net".into()),
        ..OsSpec::default()
    }
}

fn empty() -> BareMetalHost {
    let mut host = host("h1").host;
    host.status.provisioning.state = "available".into();
    host
}

fn patched(host: &BareMetalHost, patch: &serde_json::Value) -> BareMetalHost {
    let mut value = serde_json::to_value(host).unwrap();
    merge::apply(&mut value, patch);
    serde_json::from_value(value).unwrap()
}

/// A host after our image was written, in this state.
fn written(state: &str) -> BareMetalHost {
    let mut host = patched(&empty(), &os_patch::install(&empty(), "u", &os()));
    host.status.provisioning.state = state.into();
    host
}

fn done() -> BareMetalHost {
    let mut host = written("provisioned");
    host.status.provisioning.image = host.spec.image.clone();
    host
}

fn look(host: &BareMetalHost) -> Install {
    judge(host, "u", Some(&os()))
}

fn stopped(host: &BareMetalHost) -> String {
    match look(host) {
        Install::Stopped(words) => words,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_empty_host_is_written_and_one_with_a_system_is_left_as_it_is() {
    assert_eq!(look(&empty()), Install::Write);
    for state in ["provisioned", "externally provisioned"] {
        let mut host = host("h1").host;
        host.status.provisioning.state = state.into();
        assert_eq!(look(&host), Install::Before, "{state}");
        assert_eq!(judge(&host, "u", None), Install::Before, "{state}");
    }
    assert!(matches!(judge(&empty(), "u", None), Install::Going(_)), "not asked for");
}

#[test]
fn it_is_done_when_our_image_is_what_metal3_has_installed() {
    assert_eq!(look(&done()), Install::Done);
    let stale = written("provisioned");
    assert!(matches!(look(&stale), Install::Going(_)), "the status of before our write");
    let mut other = done();
    other.status.provisioning.image = Some(Image { url: "http://old".into(), checksum: None });
    assert!(matches!(look(&other), Install::Going(_)));
    for state in ["available", "provisioning", "deprovisioning", "preparing", "a new state", ""] {
        assert!(matches!(look(&written(state)), Install::Going(_)), "{state}");
    }
}

#[test]
fn what_someone_has_changed_is_told_and_not_written_back() {
    let mut other = written("provisioning");
    other.spec.image = Some(Image { url: "http://other".into(), checksum: None });
    assert!(stopped(&other).contains("`http://other`"));
    other.spec.image = None;
    assert!(stopped(&other).contains("has no image"));
    let mut off = written("available");
    off.spec.online = false;
    assert!(stopped(&off).contains("set spec.online to true"));
    let mut data = empty();
    data.spec.network_data =
        Some(SecretReference { name: "theirs".into(), ..SecretReference::default() });
    assert!(stopped(&data).contains("`theirs` in spec.networkData"));
    data.spec.network_data.as_mut().unwrap().name = "net".into();
    assert_eq!(look(&data), Install::Write, "the same as ours");
}

#[test]
fn errors_are_told_with_their_count_and_delayed_is_none() {
    let mut failed = written("provisioning");
    failed.status.operational_status = "error".into();
    failed.status.error_type = "provisioning error".into();
    failed.status.error_message = "bad checksum".into();
    (failed.status.error_count, failed.status.provisioning_fail_count) = (1, 2);
    assert_eq!(look(&failed), Install::Failed("has provisioning error: bad checksum".into(), 2));
    let mut delayed = written("available");
    delayed.status.operational_status = "delayed".into();
    assert!(matches!(look(&delayed), Install::Going(words) if words.contains("its turn")));
}

#[test]
fn another_image_is_written_over_ours_alone() {
    let new = OsSpec { image: json!({"url": "http://new"}), ..os() };
    assert_eq!(judge(&done(), "u", Some(&new)), Install::Write);
    assert_eq!(judge(&done(), "other", Some(&new)), Install::Before, "not installed for that one");
    let host = host("h1").host;
    assert_eq!(judge(&host, "u", Some(&new)), Install::Before, "it had its system");
}

#[test]
fn a_host_leaves_after_metal3_has_wiped_it() {
    assert_eq!(leave(&done(), "u", true), Leave::Clear);
    assert_eq!(leave(&done(), "u", false), Leave::Release, "the cluster stays");
    assert_eq!(leave(&done(), "other", true), Leave::Release, "not ours to wipe");
    assert_eq!(leave(&host("h1").host, "u", true), Leave::Release, "it had its system");
    let mut cleared = patched(&done(), &os_patch::clear(&done(), "u").unwrap());
    assert!(matches!(leave(&cleared, "u", true), Leave::Wait(_)), "the status lags behind");
    assert!(matches!(look(&cleared), Install::Going(_)), "and it is no host with a system");
    for state in ["provisioning", "deprovisioning", "preparing", "powering off before delete"] {
        cleared.status.provisioning.state = state.into();
        assert!(matches!(leave(&cleared, "u", true), Leave::Wait(_)), "{state}");
    }
    for state in ["", "unmanaged", "registering", "inspecting", "ready", "available"] {
        cleared.status.provisioning.state = state.into();
        assert_eq!(leave(&cleared, "u", true), Leave::Release, "{state}");
    }
    cleared.status.provisioning.state = "externally provisioned".into();
    cleared.status.powered_on = true;
    assert!(matches!(leave(&cleared, "u", true), Leave::Wait(_)));
    cleared.status.powered_on = false;
    assert_eq!(leave(&cleared, "u", true), Leave::Release);
    let mut theirs = done();
    theirs.spec.image.as_mut().unwrap().url = "http://other".into();
    assert_eq!(leave(&theirs, "u", true), Leave::Release, "someone has chosen another image");
}

#[test]
fn a_failure_counts_once_and_the_third_gives_the_host_up() {
    let mut tally = Tally::default();
    let mut node = NodeStatus { host: "h1".into(), ..NodeStatus::default() };
    let failed = || Install::Failed("has an error: x".into(), 0);
    for (round, failures) in [(1, 1), (2, 1), (4, 2)] {
        let before = node.clone();
        assert_eq!(note(&mut node, Some(&before), failed(), &mut tally), None, "{round}");
        assert_eq!(node.os_failures, failures, "{round}");
        assert!(node.message.contains(&format!("failure {failures} of 3")), "{}", node.message);
        if round == 2 {
            let before = node.clone();
            note(&mut node, Some(&before), Install::Going("is at it".into()), &mut tally);
            assert_eq!(node.os_failures, 1, "kept while it is tried again");
        }
    }
    let before = node.clone();
    note(&mut node, Some(&before), Install::Going("is at it".into()), &mut tally);
    let before = node.clone();
    let given_up = note(&mut node, Some(&before), failed(), &mut tally).unwrap();
    assert_eq!(given_up.message, "has an error: x");
    let by_metal3 = note(&mut node, None, Install::Failed("y".into(), 5), &mut tally);
    assert!(by_metal3.is_some(), "Metal3's own count is enough");
}
