//! The bytes of every message are those that were released.
//!
//! `BPA_WRITE_GOLDEN=1` writes files that are missing. It never changes one that is there: released
//! bytes are frozen, a changed message is a new kind.

use std::fmt::Debug;
use std::path::PathBuf;

use super::samples::*;
use crate::wire::v1::*;
use crate::wire::{Message, decode, encode};

fn check<M: Message + PartialEq + Debug>(file: &str, message: &M) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("testdata/wire/v1")
        .join(format!("{file}.bin"));
    let bytes = encode(message).unwrap();
    if !path.exists() && std::env::var_os("BPA_WRITE_GOLDEN").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &bytes).unwrap();
    }
    let golden = std::fs::read(&path).unwrap_or_else(|e| {
        panic!("{}: {e}; BPA_WRITE_GOLDEN=1 writes the file of a new message", path.display())
    });
    assert_eq!(bytes, golden, "{file}: the encoding of a released message has changed");
    assert_eq!(&decode::<M>(&golden).unwrap(), message, "{file}");
}

#[test]
fn the_session_is_as_released() {
    check("Hello", &hello());
    check("Welcome", &welcome());
    check("Heartbeat", &heartbeat());
    check("ConnectRefused-version", &ConnectRefused::Version { min: 1, max: 2 });
    check("ConnectRefused-unknown", &ConnectRefused::UnknownSite { message: "m".into() });
    check("ConnectRefused-revoked", &ConnectRefused::Revoked { message: "m".into() });
    check("ConnectRefused-busy", &ConnectRefused::Busy { retry_after_ms: 1500 });
}

#[test]
fn joining_is_as_released() {
    check("JoinRequest", &join_request());
    check("JoinGranted", &join_granted());
    check("JoinLineBody", &join_line());
    let refusals = [
        JoinRefused::Version { min: 1, max: 2 },
        JoinRefused::UnknownSite,
        JoinRefused::WrongSecret,
        JoinRefused::Expired { since: 7 },
        JoinRefused::Used { fingerprint: "ab".into() },
        JoinRefused::KeyEnrolled { fingerprint: "ab".into() },
        JoinRefused::Invalid { message: "m".into() },
        JoinRefused::Busy { retry_after_ms: 9 },
        JoinRefused::Internal { message: "m".into() },
    ];
    for (i, refused) in refusals.iter().enumerate() {
        check(&format!("JoinRefused-{i}"), refused);
    }
}

#[test]
fn leases_are_as_released() {
    check("LeaseSnapshot", &snapshot());
    check("LeaseDelta", &delta());
    check("LeaseQuery", &LeaseQuery { macs: vec![entry().mac] });
    check("LeaseReply", &LeaseReply { entries: vec![entry()] });
}

#[test]
fn orders_are_as_released() {
    check("Order", &order());
    check("OrderReply-accepted", &OrderReply::Accepted { run: RUN });
    check("OrderReply-known", &OrderReply::Known { run: RUN, state: RunState::Cancelled });
    let refusals = [
        OrderRefusal::OldEpoch { seen: 1 },
        OrderRefusal::OldGeneration { done: 2 },
        OrderRefusal::Busy { run: RUN },
        OrderRefusal::Invalid { message: "m".into(), fix: "f".into() },
        OrderRefusal::Quarantine,
    ];
    for (i, refusal) in refusals.into_iter().enumerate() {
        check(&format!("OrderReply-refused-{i}"), &OrderReply::Refused(refusal));
    }
    check("CancelOrder", &CancelOrder { run: RUN, epoch: 4 });
    check("CancelReply-stopping", &CancelReply::Stopping);
    check("CancelReply-ended", &CancelReply::AlreadyEnded(RunState::Failed));
    check("CancelReply-unknown", &CancelReply::UnknownRun);
}

#[test]
fn events_and_logs_are_as_released() {
    for event in events() {
        check(&format!("Event-{:02}", event.seq), &event);
    }
    check("EventBatch", &EventBatch { events: events() });
    check("EventAck", &EventAck { seq: 14 });
    check("LogOpen", &LogOpen { run: RUN });
    check("LogChunk", &log_chunk());
    check("LogAck", &LogAck { offset: 65541 });
}
