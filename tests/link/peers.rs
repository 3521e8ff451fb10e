//! Who is kept out, and what the ones inside can't do to each other.

use std::time::Duration;

use bpa_common::identity::SiteKey;
use bpa_common::link::CloseCode;
use bpa_common::wire::frame::{HEADER_LEN, Header};
use bpa_common::wire::v1::*;
use bpa_common::wire::{FrameReader, FrameWriter, Message};
use jiff::{SignedDuration, Timestamp};

use crate::agent::Agent;
use crate::coordinator::Coordinator;
use crate::eventually;
use crate::fakes::run;
use crate::raw::{Raw, connect, credentials, hello, stolen_key};

async fn outsider(coordinator: &Coordinator, key: &SiteKey, site: &str, issued: Timestamp) -> Raw {
    let authority = coordinator.authority();
    let credentials = credentials(&authority, key, site, issued);
    connect(coordinator.address(), &authority, false, Some(credentials)).await
}

#[tokio::test]
async fn without_a_certificate_there_is_no_session() {
    let coordinator = Coordinator::start().await;
    let raw = connect(coordinator.address(), &coordinator.authority(), false, None).await;
    let (code, reason) = raw.closed().await;
    assert_eq!(code, CloseCode::NoCertificate);
    assert!(reason.contains("bpa-agent join"), "{reason}");
}

#[tokio::test]
async fn a_certificate_of_our_authority_for_another_key_is_not_enough() {
    let coordinator = Coordinator::start().await;
    let _north = Agent::connected(&coordinator, "north").await;
    let key = SiteKey::generate().unwrap();
    for site in ["north", "ghost"] {
        let raw = outsider(&coordinator, &key, site, Timestamp::now()).await;
        assert_eq!(raw.closed().await.0, CloseCode::NotEnrolled, "{site}");
    }
    assert!(coordinator.view("north").connected);
    eventually("it is on record", || coordinator.audit().contains("connect-refused")).await;
}

#[tokio::test]
async fn an_expired_certificate_of_the_enrolled_key_is_refused_with_its_reason() {
    let coordinator = Coordinator::start().await;
    let north = Agent::connected(&coordinator, "north").await;
    let key = stolen_key(north.state());
    let long_ago = Timestamp::now() - SignedDuration::from_hours(24 * 365);
    let raw = outsider(&coordinator, &key, "north", long_ago).await;
    let (code, reason) = raw.closed().await;
    assert_eq!(code, CloseCode::Expired);
    assert!(reason.contains("ended at"), "{reason}");
}

#[tokio::test]
async fn on_the_join_protocol_nothing_but_joining_is_possible() {
    let coordinator = Coordinator::start().await;
    let north = Agent::connected(&coordinator, "north").await;
    let authority = coordinator.authority();
    let enrolled = credentials(&authority, &stolen_key(north.state()), "north", Timestamp::now());
    let raw = connect(coordinator.address(), &authority, true, Some(enrolled)).await;
    let (send, receive) = raw.connection.open_bi().await.unwrap();
    FrameWriter::new(send).send(&hello("north")).await.unwrap();
    let answer = FrameReader::new(receive, 1 << 20).next().await;
    assert!(!matches!(answer, Ok(Some(_))), "{answer:?}");
    assert_eq!(raw.closed().await.0, CloseCode::Protocol);
    assert_eq!(coordinator.view("north").session, 1);
}

#[tokio::test]
async fn a_hello_of_another_name_or_of_another_age_is_refused_by_a_message() {
    let coordinator = Coordinator::start().await;
    let north = Agent::connected(&coordinator, "north").await;
    let key = stolen_key(north.state());
    let raw = outsider(&coordinator, &key, "north", Timestamp::now()).await;
    let (answer, _control) = raw.greet(&hello("south")).await;
    let refused: ConnectRefused = answer.decode().unwrap();
    assert!(matches!(refused, ConnectRefused::UnknownSite { .. }), "{refused:?}");
    let raw = outsider(&coordinator, &key, "north", Timestamp::now()).await;
    let future = Hello { min_version: 7, max_version: 9, ..hello("north") };
    let (answer, _control) = raw.greet(&future).await;
    let refused: ConnectRefused = answer.decode().unwrap();
    assert_eq!(refused, ConnectRefused::Version { min: 1, max: 1 });
}

/// Joins as `south` with a peer that is then driven by hand.
async fn rude(coordinator: &Coordinator) -> Raw {
    let agent = Agent::new();
    bpa_agent::link::join(&coordinator.line("south"), agent.state()).await.unwrap();
    outsider(coordinator, &stolen_key(agent.state()), "south", Timestamp::now()).await
}

#[tokio::test]
async fn garbage_on_streams_harms_neither_the_others_nor_the_server() {
    let coordinator = Coordinator::start().await;
    let north = Agent::connected(&coordinator, "north").await;
    let raw = rude(&coordinator).await;
    let _control = raw.session("south").await;
    let mut random = 7u64;
    for n in 0..60u64 {
        let mut bytes = Vec::new();
        for _ in 0..200 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(n | 1);
            bytes.push((random >> 33) as u8);
        }
        // A third looks like a frame at first, with a length that lies.
        if n % 3 == 0 {
            let kind =
                [EventBatch::KIND, LogOpen::KIND, LeaseSnapshot::KIND, 0xfff0][n as usize % 4];
            let header = Header { version: 1, kind, flags: 0, seq: 0, len: 150 + n as u32 * 7 };
            bytes[..HEADER_LEN].copy_from_slice(&header.to_bytes());
        }
        if n % 2 == 0 {
            let Ok((mut send, _receive)) = raw.connection.open_bi().await else { break };
            let _ = send.write_all(&bytes).await;
            let _ = send.finish();
        } else {
            let Ok(mut send) = raw.connection.open_uni().await else { break };
            let _ = send.write_all(&bytes).await;
            let _ = send.finish();
        }
    }
    north.desk.happen(50);
    eventually("north is served", || coordinator.sink.seqs("north").len() == 50).await;
    assert!(coordinator.view("south").connected, "bad streams end alone");
    assert!(coordinator.sink.seqs("south").is_empty());
}

#[tokio::test]
async fn garbage_on_the_control_stream_ends_that_session_only() {
    let coordinator = Coordinator::start().await;
    let north = Agent::connected(&coordinator, "north").await;
    let raw = rude(&coordinator).await;
    let (_reader, mut writer) = raw.session("south").await;
    writer.get_mut().write_all(&[0x55; 100]).await.unwrap();
    assert_eq!(raw.closed().await.0, CloseCode::Protocol);
    eventually("south is gone", || !coordinator.view("south").connected).await;
    assert!(coordinator.view("north").connected && north.is_connected());
}

#[tokio::test]
async fn events_out_of_order_and_log_bombs_are_not_kept() {
    let coordinator = Coordinator::start().await;
    let raw = rude(&coordinator).await;
    let _control = raw.session("south").await;
    let event = |seq| Event { seq, run: run(1), at_ms: 0, body: EventBody::Accepted };
    let (send, receive) = raw.connection.open_bi().await.unwrap();
    let batch = EventBatch { events: vec![event(2), event(1)] };
    FrameWriter::new(send).send(&batch).await.unwrap();
    assert!(FrameReader::new(receive, 1024).next().await.is_err(), "the stream is reset");
    assert!(coordinator.sink.seqs("south").is_empty());

    let (send, receive) = raw.connection.open_bi().await.unwrap();
    let (mut writer, mut reader) = (FrameWriter::new(send), FrameReader::new(receive, 1024));
    writer.send(&LogOpen { run: run(3) }).await.unwrap();
    assert_eq!(reader.require::<LogAck>().await.unwrap().offset, 0);
    // Deflate's stored block of five bytes, said to be one.
    let deflated = vec![1, 5, 0, 0xfa, 0xff, b'h', b'e', b'l', b'l', b'o'];
    let bomb = LogChunk { offset: 0, plain_len: 1, deflated, last: false };
    writer.send(&bomb).await.unwrap();
    assert!(reader.next().await.is_err());
    assert!(coordinator.sink.0.lock().unwrap().logs.is_empty());
    assert!(coordinator.view("south").connected);
}

#[tokio::test]
async fn a_lease_gap_is_answered_with_a_stop_so_that_a_snapshot_follows() {
    let coordinator = Coordinator::start().await;
    let raw = rude(&coordinator).await;
    let _control = raw.session("south").await;
    let send = raw.connection.open_uni().await.unwrap();
    let mut writer = FrameWriter::new(send);
    let snapshot = LeaseSnapshot { seq: 1, sources: vec![], entries: vec![] };
    writer.send(&snapshot).await.unwrap();
    let delta = LeaseDelta { seq: 3, sources: vec![], changed: vec![], removed: vec![] };
    writer.send(&delta).await.unwrap();
    let stopped = tokio::time::timeout(Duration::from_secs(5), writer.get_mut().stopped());
    let code = stopped.await.unwrap().unwrap();
    assert_eq!(code, Some(bpa_common::link::StreamCode::Gap.number()));
}

#[tokio::test]
async fn noise_from_strangers_is_ignored() {
    let coordinator = Coordinator::start().await;
    let north = Agent::connected(&coordinator, "north").await;
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    for n in 0..2000u32 {
        let mut packet = vec![0xc3; 1200];
        packet[1..5].copy_from_slice(&1u32.to_be_bytes());
        packet[5..9].copy_from_slice(&n.to_be_bytes());
        let _ = socket.send_to(&packet[..(n as usize % 1200) + 1], coordinator.address());
    }
    north.desk.happen(20);
    eventually("north is served", || coordinator.sink.seqs("north").len() == 20).await;
}
