//! Tests of the outbox: nothing lost, nothing too large, whatever is acknowledged when.

use bpa_common::wire::v1::{Failure, RunId, SecretBytes, Step};
use proptest::prelude::*;

use super::*;

fn event(seq: u64, message: String) -> Event {
    Event { seq, run: RunId([1; 16]), at_ms: 0, body: EventBody::Note { message } }
}

fn events(from: u64, count: u64) -> Vec<Event> {
    (from..from + count).map(|seq| event(seq, "x".into())).collect()
}

#[test]
fn a_few_batches_are_on_their_way_and_an_acknowledgement_makes_room() {
    let mut outbox = Outbox::new(10);
    for n in 0..4 {
        assert_eq!(outbox.wants(), Some(10 + n));
        assert_eq!(outbox.batch(events(11 + n, 1)).unwrap().events.len(), 1);
    }
    assert_eq!(outbox.wants(), None);
    assert_eq!(outbox.acknowledge(12), Ok(Some(12)));
    assert_eq!(outbox.wants(), Some(14));
    assert_eq!(outbox.acknowledge(12), Ok(None), "said twice");
    assert_eq!(outbox.acknowledge(14), Ok(Some(14)));
    assert!(outbox.acknowledge(15).is_err());
}

#[test]
fn a_new_session_begins_where_the_coordinator_says() {
    let mut outbox = Outbox::new(3);
    let batch = outbox.batch(events(1, 6)).unwrap();
    assert_eq!(batch.events.iter().map(|e| e.seq).collect::<Vec<_>>(), [4, 5, 6]);
    assert!(Outbox::new(6).batch(events(1, 6)).is_none());
    assert!(Outbox::new(0).batch(vec![]).is_none());
}

#[test]
fn batches_are_bounded_in_number_and_bytes() {
    let mut outbox = Outbox::new(0);
    assert_eq!(outbox.batch(events(1, 500)).unwrap().events.len(), PER_BATCH);
    let large: Vec<_> = (65..75).map(|seq| event(seq, "y".repeat(300_000))).collect();
    let batch = outbox.batch(large).unwrap();
    assert!(batch.events.len() < 10);
    assert!(encode(&batch).is_ok());
}

#[test]
fn an_event_that_is_too_large_is_shortened_but_keeps_its_meaning() {
    let failure = Failure {
        step: Step::Kubespray,
        reason: "TaskFailed".into(),
        node: None,
        message: "ä".repeat(1_000_000),
        fix: "f".into(),
    };
    let body = EventBody::Ended { outcome: Outcome::Failed(failure) };
    let large = Event { body, ..event(1, String::new()) };
    let batch = Outbox::new(0).batch(vec![large]).unwrap();
    let EventBody::Ended { outcome: Outcome::Failed(failure) } = &batch.events[0].body else {
        panic!("another event: {batch:?}");
    };
    assert!(failure.message.ends_with("… (cut)") && failure.reason == "TaskFailed");
    assert!(encode(&batch).is_ok());
}

#[test]
fn what_can_not_be_shortened_is_replaced_by_a_note() {
    let body = EventBody::Kubeconfig {
        pem: SecretBytes(vec![0; 3_000_000]),
        server: String::new(),
        days_left: 0,
        kubernetes_version: String::new(),
    };
    let large = Event { body, ..event(1, String::new()) };
    let batch = Outbox::new(0).batch(vec![large, event(2, "next".into())]).unwrap();
    assert!(
        matches!(&batch.events[0].body, EventBody::Note { message } if message.contains("event 1"))
    );
    assert!(encode(&batch).is_ok());
}

proptest! {
    #[test]
    fn every_event_goes_out_once_in_order_over_cuts(cuts in prop::collection::vec(1..9usize, 1..12)) {
        // A journal of 200 events; the link is cut after some batches, and the coordinator keeps
        // every batch that was sent although some acknowledgements got lost.
        let journal = events(1, 200);
        let mut kept: Vec<u64> = Vec::new();
        for cut in cuts.into_iter().chain([1000]) {
            let mut outbox = Outbox::new(kept.last().copied().unwrap_or(0));
            for _ in 0..cut {
                let Some(after) = outbox.wants() else { break };
                let next = journal.iter().filter(|e| e.seq > after).take(7).cloned().collect();
                let Some(batch) = outbox.batch(next) else { break };
                kept.extend(batch.events.iter().map(|e| e.seq));
                if cut % 2 == 0 || cut == 1000 {
                    outbox.acknowledge(*kept.last().unwrap()).unwrap();
                }
            }
        }
        prop_assert_eq!(kept, (1..=200).collect::<Vec<_>>());
    }
}
