//! First contact: each way it goes well, each way it is refused.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use bpa_agent::link::{JoinError, join};
use bpa_common::identity::{JoinBundle, SecretTag};
use bpa_common::wire::v1::JoinRefused;
use bpa_coordinator::cluster::Vault;
use bpa_coordinator::sites::{Invitation, known_sites, site_add};
use jiff::{SignedDuration, Timestamp};
use secrecy::ExposeSecret;

use crate::agent::Agent;
use crate::coordinator::Coordinator;
use crate::eventually;

async fn refusal(line: &str, agent: &Agent) -> (JoinRefused, String) {
    match join(line, agent.state()).await {
        Err(JoinError::Refused { refusal, reason }) => (refusal, reason),
        other => panic!("not refused: {other:?}"),
    }
}

#[tokio::test]
async fn a_site_joins_and_both_sides_show_the_same_fingerprints() {
    let coordinator = Coordinator::start().await;
    let made = coordinator.invite(&coordinator.invitation("north"));
    let mut agent = Agent::new();
    let joined = join(made.line.expose_secret(), agent.state()).await.unwrap();
    assert_eq!((joined.site.as_str(), joined.already), ("north", false));
    assert_eq!(joined.ca_fingerprint, made.ca_fingerprint);
    agent.dial();
    eventually("the site is seen", || coordinator.view("north").connected).await;
    assert_eq!(coordinator.view("north").fingerprint, joined.fingerprint);
    let known = known_sites(&*coordinator.vault).unwrap();
    assert_eq!(known[0].fingerprint, Some(joined.fingerprint));
    eventually("it is on record", || coordinator.audit().contains("\"enrolled\"")).await;
}

#[tokio::test]
async fn the_same_line_and_key_may_come_again_but_no_other_key() {
    let coordinator = Coordinator::start().await;
    let line = coordinator.line("north");
    let (agent, thief) = (Agent::new(), Agent::new());
    let first = join(&line, agent.state()).await.unwrap();
    let again = join(&line, agent.state()).await.unwrap();
    assert_eq!(first.fingerprint, again.fingerprint);
    assert!(again.already);
    let (refusal, reason) = refusal(&line, &thief).await;
    assert_eq!(refusal, JoinRefused::Used { fingerprint: first.fingerprint.clone() });
    assert!(reason.contains("used already") && reason.contains(&first.fingerprint), "{reason}");
    eventually("it is on record", || coordinator.audit().contains("join-refused")).await;
}

#[tokio::test]
async fn of_two_keys_that_use_a_line_at_once_one_wins() {
    let coordinator = Coordinator::start().await;
    let line = coordinator.line("north");
    let (one, two) = (Agent::new(), Agent::new());
    let (a, b) = tokio::join!(join(&line, one.state()), join(&line, two.state()));
    assert_eq!(usize::from(a.is_ok()) + usize::from(b.is_ok()), 1, "{a:?} {b:?}");
}

#[tokio::test]
async fn a_coordinator_with_another_authority_is_not_believed() {
    let (right, wrong) = (Coordinator::start().await, Coordinator::start().await);
    // The line of one coordinator, with the address of another: a hijacked address.
    let invitation =
        Invitation { addresses: vec![wrong.address().to_string()], ..right.invitation("north") };
    let agent = Agent::new();
    let error = join(right.invite(&invitation).line.expose_secret(), agent.state()).await;
    let error = error.unwrap_err().to_string();
    assert!(error.contains("not the coordinator of this site"), "{error}");
    assert!(!agent.state().join("link/identity.json").exists());
}

#[tokio::test]
async fn an_expired_line_is_refused_by_the_coordinators_clock() {
    let coordinator = Coordinator::start().await;
    let long_ago = Timestamp::now() - SignedDuration::from_hours(2);
    let made = site_add(&*coordinator.vault, &coordinator.invitation("north"), long_ago).unwrap();
    let (refusal, reason) = refusal(made.line.expose_secret(), &Agent::new()).await;
    assert!(matches!(refusal, JoinRefused::Expired { .. }));
    assert!(reason.contains("by the coordinator's clock"), "{reason}");
}

#[tokio::test]
async fn an_unknown_site_a_stale_line_and_a_forged_secret_are_told_apart() {
    let coordinator = Coordinator::start().await;
    let agent = Agent::new();
    let old = coordinator.line("north");
    let new = coordinator.line("north");
    assert_eq!(refusal(&old, &agent).await.0, JoinRefused::WrongSecret);
    let mut forged = JoinBundle::parse(&new).unwrap();
    forged.site = "south".parse().unwrap();
    let line = forged.to_line().unwrap();
    assert_eq!(refusal(line.expose_secret(), &agent).await.0, JoinRefused::UnknownSite);
    // A secret is bound to its site, even if both were invited.
    coordinator.line("south");
    assert_eq!(refusal(line.expose_secret(), &agent).await.0, JoinRefused::WrongSecret);
    assert!(join(&new, agent.state()).await.is_ok());
}

#[tokio::test]
async fn an_agent_of_one_site_does_not_become_another_by_mistake() {
    let coordinator = Coordinator::start().await;
    let agent = Agent::new();
    join(&coordinator.line("north"), agent.state()).await.unwrap();
    let error = join(&coordinator.line("south"), agent.state()).await.unwrap_err();
    assert!(error.to_string().contains("belongs to site north"), "{error}");
}

#[tokio::test]
async fn a_new_machine_replaces_an_old_one_by_decision_and_the_old_one_is_out() {
    let coordinator = Coordinator::start().await;
    let mut old = Agent::connected(&coordinator, "north").await;
    let invitation = Invitation { replace: true, ..coordinator.invitation("north") };
    let made = coordinator.invite(&invitation);
    assert!(made.replaces.is_some());
    let new = Agent::new();
    join(made.line.expose_secret(), new.state()).await.unwrap();
    old.loops.pop().unwrap().stop().await;
    old.dial();
    eventually("the old key is refused", || {
        old.loops[0].why().contains("another agent has joined")
    })
    .await;
}

#[tokio::test]
async fn addresses_are_tried_in_turn_and_all_failures_are_listed() {
    let coordinator = Coordinator::start().await;
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let silent = silent.local_addr().unwrap().to_string();
    let agent = Agent::new();
    let mut invitation = coordinator.invitation("north");
    invitation.addresses = vec![silent.clone()];
    let error = join(coordinator.invite(&invitation).line.expose_secret(), agent.state()).await;
    let error = error.unwrap_err().to_string();
    assert!(error.contains(&silent) && error.contains("did not answer within 5 s"), "{error}");
    invitation.addresses.push(coordinator.address().to_string());
    let joined = join(coordinator.invite(&invitation).line.expose_secret(), agent.state()).await;
    assert_eq!(joined.unwrap().site, "north");
}

#[tokio::test]
async fn the_secret_and_the_keys_stay_where_they_belong() {
    let coordinator = Coordinator::start().await;
    let line = coordinator.line("north");
    let bundle = JoinBundle::parse(&line).unwrap();
    let agent = Agent::new();
    join(&line, agent.state()).await.unwrap();
    let key = std::fs::read(agent.state().join("link/key.pem")).unwrap();
    let secret = bundle.secret.expose();
    for name in coordinator.vault.list("").unwrap() {
        let kept = coordinator.vault.get(&name).unwrap().unwrap().to_vec();
        assert!(!kept.windows(32).any(|w| w == secret), "{name}");
        assert!(!kept.windows(60).any(|w| w == &key[40..100]), "{name}");
    }
    assert!(!format!("{:?}", SecretTag::of(&bundle.site, &bundle.secret)).contains('['));
    for name in ["link/key.pem", "link/identity.json"] {
        let mode = std::fs::metadata(agent.state().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!coordinator.audit().contains("bpa1."));
}
