//! Pins: per host and installation.

use crate::steps::NodeTarget;
use crate::steps::access::testing::{Agent, MAC, Sshd, make_host_key, target};

#[tokio::test]
async fn a_changed_host_key_stops_until_a_person_says_so() {
    let mut sshd = Sshd::start("");
    let agent = Agent::with_password("root");
    let first = agent.prepare(&sshd.target()).await.unwrap().host_key_fingerprint().to_owned();
    sshd.change_host_key();
    let before = sshd.log().matches("Accepted").count();
    let failure = agent.refused(&sshd.target()).await;
    assert_eq!(failure.reason, "HostKeyChanged");
    assert!(failure.message.contains(&format!("wanted {first}, found SHA256:")), "{failure}");
    assert!(failure.fix.contains("bpa-agent keys forget host1"), "{failure}");
    assert_eq!(sshd.log().matches("Accepted").count(), before, "nothing was sent");

    assert_eq!(agent.context.pins.forget("host1").unwrap().len(), 1);
    let second = agent.prepare(&sshd.target()).await.unwrap().host_key_fingerprint().to_owned();
    assert_ne!(first, second);
    sshd.change_host_key();
    assert_eq!(agent.refused(&sshd.target()).await.reason, "HostKeyChanged", "pinned again");
}

#[tokio::test]
async fn a_new_installation_has_a_pin_of_its_own() {
    let mut sshd = Sshd::start("");
    let agent = Agent::with_password("root");
    agent.prepare(&sshd.target()).await.unwrap();
    sshd.change_host_key();
    let anew = NodeTarget { installation: "two".into(), ..sshd.target() };
    agent.prepare(&anew).await.unwrap();
    let told = agent.told();
    assert!(
        told.last().unwrap().starts_with("new installation of the OS: host key SHA256:"),
        "{told:?}"
    );
    assert_eq!(agent.context.pins.all().unwrap().len(), 1, "the old one is gone");
}

#[tokio::test]
async fn a_lease_that_moved_to_a_known_machine_names_it() {
    let (one, two) = (Sshd::start(""), Sshd::start(""));
    let agent = Agent::with_password("root");
    agent.prepare(&one.target()).await.unwrap();
    agent.prepare(&target("host2", two.port)).await.unwrap();
    let failure = agent.refused(&target("host1", two.port)).await;
    assert_eq!(failure.reason, "HostKeyChanged");
    assert!(failure.message.contains("is the one of host host2"), "{failure}");
}

#[tokio::test]
async fn a_further_kind_of_host_key_is_no_change() {
    let mut sshd = Sshd::prepared("", "", super::super::testing::free_port());
    std::fs::remove_file(sshd.path("host_key")).unwrap();
    make_host_key(&sshd.path("host_key"), "ecdsa");
    sshd.run();
    let agent = Agent::with_password("root");
    agent.prepare(&sshd.target()).await.unwrap();
    sshd.stop();
    make_host_key(&sshd.path("more"), "ed25519");
    let config = std::fs::read_to_string(sshd.path("sshd_config")).unwrap();
    let config = format!("HostKey {}\n{config}", sshd.path("more").display());
    std::fs::write(sshd.path("sshd_config"), config).unwrap();
    sshd.run();
    agent.prepare(&sshd.target()).await.unwrap();
}

#[tokio::test]
async fn a_server_with_rsa_alone_is_told_what_to_add() {
    let mut sshd = Sshd::prepared("", "", super::super::testing::free_port());
    std::fs::remove_file(sshd.path("host_key")).unwrap();
    make_host_key(&sshd.path("host_key"), "rsa");
    sshd.run();
    let failure = Agent::with_password("root").refused(&sshd.target()).await;
    assert_eq!(failure.reason, "NoCommonAlgorithm");
    assert!(failure.message.contains("rsa") && failure.fix.contains("ed25519"), "{failure}");
}

#[tokio::test]
async fn damaged_pins_stop_before_anything_is_sent() {
    let agent = Agent::with_password("root");
    std::fs::write(agent.state.path().join("pins.json"), "{").unwrap();
    let failure = agent.refused(&NodeTarget { macs: vec![MAC], ..target("host1", 1) }).await;
    assert_eq!(failure.reason, "PinsUnusable");
}
