//! The agent against a coordinator that is driven by hand: look-ups, messages of the future,
//! nonsense.

use std::sync::Arc;

use bpa_agent::link::join;
use bpa_common::link::server_config;
use bpa_common::wire::frame::Header;
use bpa_common::wire::v1::*;
use bpa_common::wire::{FrameReader, FrameWriter, Message};
use jiff::Timestamp;
use quinn::{Connection, Endpoint};

use crate::agent::Agent;
use crate::coordinator::Coordinator;
use crate::eventually;
use crate::fakes::{FakeLeases, lease, order, run};
use crate::raw::Control;

/// An agent that has joined, and a coordinator's endpoint in the place of the real one.
async fn stage() -> (Agent, Endpoint) {
    let coordinator = Coordinator::start().await;
    let agent = Agent::new();
    join(&coordinator.line("north"), agent.state()).await.unwrap();
    coordinator.stop().await;
    let authority = coordinator.authority();
    let identity = authority.server_identity(Timestamp::now()).unwrap();
    let config = server_config(identity, authority.certificate()).unwrap();
    let address = coordinator.address();
    for _ in 0..100 {
        if let Ok(endpoint) = Endpoint::server(config.clone(), address) {
            return (agent, endpoint);
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("{address} stays in use");
}

/// Accepts a session and welcomes it.
async fn welcome(endpoint: &Endpoint, welcome: Welcome) -> (Connection, Hello, Control) {
    let connection = endpoint.accept().await.unwrap().await.unwrap();
    let (send, receive) = connection.accept_bi().await.unwrap();
    let (mut reader, mut writer) = (FrameReader::new(receive, 1 << 20), FrameWriter::new(send));
    let hello: Hello = reader.require().await.unwrap();
    writer.send(&welcome).await.unwrap();
    (connection, hello, (reader, writer))
}

fn accepting() -> Welcome {
    Welcome {
        version: 1,
        coordinator_version: "raw".into(),
        epoch: 1,
        clock_ms: 0,
        approved: true,
        events_seen: 0,
    }
}

async fn ask<Q: Message, A: Message>(connection: &Connection, question: &Q) -> A {
    let (send, receive) = connection.open_bi().await.unwrap();
    FrameWriter::new(send).send(question).await.unwrap();
    FrameReader::new(receive, A::MAX).require().await.unwrap()
}

#[tokio::test]
async fn a_look_up_is_answered_from_the_view_of_this_moment() {
    let (mut agent, endpoint) = stage().await;
    agent.dial();
    let (connection, _hello, _control) = welcome(&endpoint, accepting()).await;
    let view = vec![lease(1, 1), lease(1, 2), lease(2, 3)];
    agent.leases.send_replace(Arc::new(FakeLeases(view)));
    let query = LeaseQuery { macs: vec![lease(1, 0).mac, lease(9, 0).mac] };
    let reply: LeaseReply = ask(&connection, &query).await;
    assert_eq!(reply.entries, [lease(1, 1), lease(1, 2)]);
}

#[tokio::test]
async fn a_message_of_the_future_is_skipped_and_nonsense_ends_its_stream_only() {
    let (mut agent, endpoint) = stage().await;
    agent.dial();
    let (connection, hello, (_reader, mut writer)) = welcome(&endpoint, accepting()).await;
    assert_eq!((hello.site.as_str(), hello.session), ("north", 1));
    // On the control stream, between the welcome and a heartbeat.
    let future = Header { version: 1, kind: 0x0199, flags: 1, seq: 1, len: 3 };
    writer.get_mut().write_all(&future.to_bytes()).await.unwrap();
    writer.get_mut().write_all(b"abc").await.unwrap();
    let beat = Heartbeat { clock_ms: 0, host: None, approved: false };
    let bytes = bpa_common::wire::frame::to_bytes(2, &beat).unwrap();
    writer.get_mut().write_all(&bytes).await.unwrap();
    let heard = || agent.desk.journal.lock().unwrap().approved == Some(false);
    eventually("the heartbeat behind it was heard", heard).await;
    // On a stream of its own.
    let (mut send, _receive) = connection.open_bi().await.unwrap();
    send.write_all(&[0xff; 64]).await.unwrap();
    let reply: OrderReply = ask(&connection, &order(1, 1)).await;
    assert_eq!(reply, OrderReply::Accepted { run: run(1) });
    assert!(agent.is_connected());
}

#[tokio::test]
async fn a_crowded_coordinator_is_obeyed_and_a_refusal_is_shown() {
    let (mut agent, endpoint) = stage().await;
    agent.dial();
    for refused in [
        ConnectRefused::Busy { retry_after_ms: 100 },
        ConnectRefused::Revoked { message: "the site was closed".into() },
    ] {
        let connection = endpoint.accept().await.unwrap().await.unwrap();
        let (send, receive) = connection.accept_bi().await.unwrap();
        let _hello: Hello = FrameReader::new(receive, 1 << 20).require().await.unwrap();
        let mut writer = FrameWriter::new(send);
        writer.send(&refused).await.unwrap();
        writer.get_mut().finish().unwrap();
        connection.closed().await;
    }
    eventually("the reason is shown", || agent.loops[0].why().contains("was closed")).await;
}

#[tokio::test]
async fn an_acknowledgement_of_what_was_never_sent_deletes_nothing() {
    let (mut agent, endpoint) = stage().await;
    agent.desk.happen(3);
    agent.dial();
    let (connection, _hello, _control) = welcome(&endpoint, accepting()).await;
    let (send, receive) = connection.accept_bi().await.unwrap();
    let batch: EventBatch = FrameReader::new(receive, EventBatch::MAX).require().await.unwrap();
    assert_eq!(batch.events.len(), 3);
    FrameWriter::new(send).send(&EventAck { seq: 900 }).await.unwrap();
    // The stream is begun again, from the start.
    let (_send, receive) = connection.accept_bi().await.unwrap();
    let batch: EventBatch = FrameReader::new(receive, EventBatch::MAX).require().await.unwrap();
    assert_eq!(batch.events[0].seq, 1);
    assert_eq!(agent.desk.journal.lock().unwrap().acknowledged, 0);
}
