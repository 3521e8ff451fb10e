//! Sessions: quarantine, orders, events, leases, cuts, replacement.

use std::sync::Arc;
use std::time::Duration;

use bpa_common::wire::v1::{CancelOrder, CancelReply, OrderRefusal, OrderReply};
use bpa_coordinator::sites::{Fleet, SendError};

use crate::agent::Agent;
use crate::coordinator::Coordinator;
use crate::fakes::{FakeLeases, lease, order, run};
use crate::relay::Relay;
use crate::{eventually, within};

#[tokio::test]
async fn a_hello_fills_the_view_and_heartbeats_keep_it() {
    let coordinator = Coordinator::start().await;
    let agent = Agent::connected(&coordinator, "north").await;
    eventually("the host is reported", || coordinator.view("north").host.is_some()).await;
    let view = coordinator.view("north");
    assert_eq!((view.session, view.ssh_public_key.as_str()), (1, "ssh-ed25519 AAAA"));
    assert_eq!(view.bundles[0].name, "lite");
    assert_eq!(view.standing.len(), 1);
    assert!(view.clock_skew_ms.abs() < 5000 && view.last_seen.is_some());
    drop(agent);
}

#[tokio::test]
async fn a_site_in_quarantine_tells_leases_but_gets_no_orders() {
    let coordinator = Coordinator::start().await;
    let agent = Agent::connected(&coordinator, "north").await;
    agent.leases.send_replace(Arc::new(FakeLeases(vec![lease(1, 11)])));
    eventually("a lease came", || coordinator.view("north").leases.by_mac.len() == 1).await;
    let reply = coordinator.sites.send_order("north", order(1, 1)).await.unwrap();
    assert_eq!(reply, OrderReply::Refused(OrderRefusal::Quarantine));
    assert!(agent.desk.journal.lock().unwrap().orders.is_empty());
    assert_eq!(agent.desk.journal.lock().unwrap().approved, Some(false));

    coordinator.approve("north", true);
    let approved = || agent.desk.journal.lock().unwrap().approved == Some(true);
    within(Duration::from_secs(2), "the agent knows of its approval", approved).await;
    let epoch = coordinator.sites.epoch();
    let reply = coordinator.sites.send_order("north", order(1, epoch)).await.unwrap();
    assert_eq!(reply, OrderReply::Accepted { run: run(1) });
    assert_eq!(agent.desk.journal.lock().unwrap().orders.len(), 1);

    coordinator.approve("north", false);
    let reply = coordinator.sites.send_order("north", order(2, epoch)).await.unwrap();
    assert_eq!(reply, OrderReply::Refused(OrderRefusal::Quarantine));
}

#[tokio::test]
async fn a_cancel_reaches_the_agent_and_an_absent_site_is_said_so() {
    let coordinator = Coordinator::start().await;
    let agent = Agent::connected(&coordinator, "north").await;
    let cancel = CancelOrder { run: run(1), epoch: 1 };
    let reply = coordinator.sites.cancel("north", cancel.clone()).await.unwrap();
    assert_eq!(reply, CancelReply::Stopping);
    assert_eq!(agent.desk.journal.lock().unwrap().cancels, std::slice::from_ref(&cancel));
    let error = coordinator.sites.cancel("south", cancel).await.unwrap_err();
    assert!(matches!(error, SendError::NotConnected { .. }), "{error}");
}

#[tokio::test]
async fn leases_follow_every_change() {
    let coordinator = Coordinator::start().await;
    let agent = Agent::connected(&coordinator, "north").await;
    let many: Vec<_> = (1..100).map(|n| lease(n, n)).collect();
    let tell = |entries: Vec<_>| drop(agent.leases.send_replace(Arc::new(FakeLeases(entries))));
    let held = || coordinator.view("north").leases.by_mac.clone();
    tell(many.clone());
    eventually("all leases came", || held().len() == 99).await;
    let mut changes = coordinator.sites.changes();
    changes.borrow_and_update();
    tell(many[..50].iter().cloned().chain([lease(1, 200)]).collect());
    eventually("half are gone, one has two", || held().len() == 50).await;
    assert!(changes.has_changed().unwrap());
    assert_eq!(held()[&lease(1, 0).mac].len(), 2);
    assert_eq!(coordinator.view("north").leases.sources[0].path, "/leases");
}

#[tokio::test]
async fn events_are_acknowledged_only_when_kept_and_go_on_after_a_restart() {
    let mut coordinator = Coordinator::start().await;
    let agent = Agent::connected(&coordinator, "north").await;
    let acknowledged = || agent.desk.journal.lock().unwrap().acknowledged;
    agent.desk.happen(200);
    eventually("200 are acknowledged", || acknowledged() == 200).await;

    coordinator.sink.0.lock().unwrap().disk_full = true;
    agent.desk.happen(5);
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(acknowledged(), 200, "what is not kept is not acknowledged");
    coordinator.sink.0.lock().unwrap().disk_full = false;
    eventually("they came again", || acknowledged() == 205).await;

    let before = coordinator.sites.epoch();
    coordinator.stop().await;
    agent.desk.happen(100);
    coordinator.restart().await;
    eventually("the rest came", || acknowledged() == 305).await;
    assert_eq!(coordinator.sites.epoch(), before + 1);
    assert_eq!(coordinator.sink.seqs("north"), (1..=305).collect::<Vec<_>>());
    assert_eq!(coordinator.view("north").session, 2);
}

#[tokio::test]
async fn a_site_that_lost_its_disk_is_not_taken_for_its_past() {
    let coordinator = Coordinator::start().await;
    let mut old = Agent::connected(&coordinator, "north").await;
    old.desk.happen(40);
    eventually("the old events came", || coordinator.sink.seqs("north").len() == 40).await;
    old.loops.pop().unwrap().stop().await;
    let mut new = Agent::new();
    let invitation =
        bpa_coordinator::sites::Invitation { replace: true, ..coordinator.invitation("north") };
    let line = coordinator.invite(&invitation).line;
    let line = secrecy::ExposeSecret::expose_secret(&line).to_owned();
    bpa_agent::link::join(&line, new.state()).await.unwrap();
    new.dial();
    eventually("the new agent is connected", || new.is_connected()).await;
    new.desk.happen(2);
    eventually("its events are new", || coordinator.sink.seqs("north").len() == 42).await;
    assert_eq!(coordinator.sink.seqs("north")[40..], [41, 42]);
}

#[tokio::test]
async fn a_newer_session_of_the_same_key_takes_the_place_of_the_older() {
    let coordinator = Coordinator::start().await;
    let mut agent = Agent::connected(&coordinator, "north").await;
    agent.dial();
    eventually("the second is connected", || agent.loops[1].is_connected()).await;
    eventually("the first is told", || agent.loops[0].why().contains("a newer session")).await;
    let view = coordinator.view("north");
    assert!(view.connected && view.session == 2);
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(agent.loops[1].is_connected(), "the first does not fight back at once");
    eventually("it is on record", || coordinator.audit().contains("\"replaced\"")).await;
}

#[tokio::test]
async fn an_agent_that_stops_is_seen_at_once() {
    let coordinator = Coordinator::start().await;
    let mut agent = Agent::connected(&coordinator, "north").await;
    agent.loops.pop().unwrap().stop().await;
    let gone = || !coordinator.view("north").connected;
    within(Duration::from_secs(2), "the end is seen", gone).await;
    let error = coordinator.sites.cancel("north", CancelOrder { run: run(1), epoch: 1 }).await;
    assert!(error.unwrap_err().to_string().contains("not connected"));
}

#[tokio::test]
async fn a_coordinator_that_was_killed_and_is_back_is_noticed_before_the_idle_time() {
    let coordinator = Coordinator::start().await;
    let relay = Relay::start(coordinator.address()).await;
    let mut invitation = coordinator.invitation("north");
    invitation.addresses = vec![relay.address().to_string()];
    let mut agent = Agent::new();
    let line = coordinator.invite(&invitation).line;
    let line = secrecy::ExposeSecret::expose_secret(&line).to_owned();
    bpa_agent::link::join(&line, agent.state()).await.unwrap();
    agent.dial();
    eventually("the agent is connected", || agent.is_connected()).await;
    // As after kill -9: the new process gets the packets of connections that it never made.
    let reborn = coordinator.reborn().await;
    relay.lead_to(reborn.local_addr());
    let seen = || reborn.view().get("north").is_some_and(|view| view.connected);
    within(Duration::from_secs(8), "the agent is back", seen).await;
}

#[tokio::test]
async fn a_silent_cut_is_known_within_fifteen_seconds_and_healed_within_three() {
    let coordinator = Coordinator::start().await;
    let relay = Relay::start(coordinator.address()).await;
    let mut invitation = coordinator.invitation("north");
    invitation.addresses = vec![relay.address().to_string()];
    let mut agent = Agent::new();
    let line = coordinator.invite(&invitation).line;
    let line = secrecy::ExposeSecret::expose_secret(&line).to_owned();
    bpa_agent::link::join(&line, agent.state()).await.unwrap();
    agent.dial();
    eventually("the agent is connected", || agent.is_connected()).await;
    relay.cut(true);
    let lost = || !agent.is_connected() && !coordinator.view("north").connected;
    within(Duration::from_secs(15), "both sides know", lost).await;
    // Not when an attempt begins, but in the middle of one.
    tokio::time::sleep(Duration::from_millis(3200)).await;
    relay.cut(false);
    within(Duration::from_secs(3), "the link is back", || agent.is_connected()).await;
}
