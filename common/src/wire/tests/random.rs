//! Round trips of made-up messages, and bytes from nowhere.

use std::net::IpAddr;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::samples;
use crate::net::MacAddress;
use crate::wire::v1::*;
use crate::wire::{Message, decode, encode};

fn there_and_back<M: Message + PartialEq + std::fmt::Debug>(message: &M) {
    let bytes = encode(message).unwrap();
    assert_eq!(&decode::<M>(&bytes).unwrap(), message);
}

fn entry() -> impl Strategy<Value = LeaseEntry> {
    let times = (option::of(any::<i64>()), option::of(any::<i64>()));
    (any::<[u8; 6]>(), any::<IpAddr>(), times, any::<u32>(), ".{0,20}", any::<bool>()).prop_map(
        |(mac, address, (expires, renewed), source, text, chosen)| LeaseEntry {
            mac: MacAddress::new(mac),
            address,
            state: if chosen { LeaseState::Bound } else { LeaseState::Reserved },
            expires,
            renewed,
            source,
            client_id: text.clone(),
            hostname: text,
            chosen,
        },
    )
}

fn event() -> impl Strategy<Value = Event> {
    (any::<u64>(), any::<[u8; 16]>(), any::<i64>(), 0..14usize, ".{0,60}").prop_map(
        |(seq, run, at_ms, which, text)| {
            let mut body = samples::events().swap_remove(which).body;
            match &mut body {
                EventBody::Note { message } | EventBody::Phase { name: message } => *message = text,
                EventBody::Check(check) => check.found = text,
                EventBody::TaskFailed { message, .. } => *message = text,
                EventBody::Ended { outcome: Outcome::Failed(failure) } => failure.node = Some(text),
                _ => {}
            }
            Event { seq, run: RunId(run), at_ms, body }
        },
    )
}

fn refuses_or_is_exact<M: Message>(bytes: &[u8]) {
    if let Ok(message) = decode::<M>(bytes) {
        // Only one spelling of a message is accepted, so that a hash of bytes names a message.
        assert_eq!(encode(&message).unwrap(), bytes, "{}", M::NAME);
    }
}

proptest! {
    #[test]
    fn leases_come_back(seq: u64, entries in vec(entry(), 0..8)) {
        let removed = entries.iter().map(|e| (e.mac, e.address)).collect();
        let sources = vec![samples::source()];
        there_and_back(&LeaseSnapshot { seq, sources: sources.clone(), entries: entries.clone() });
        there_and_back(&LeaseDelta { seq, sources, changed: entries, removed });
    }

    #[test]
    fn events_come_back(events in vec(event(), 0..8)) {
        for event in &events {
            there_and_back(event);
        }
        there_and_back(&EventBatch { events });
    }

    #[test]
    fn hellos_and_orders_come_back(site in ".{0,30}", n: u64, count in 0..4usize) {
        let mut hello = samples::hello();
        hello.site = site.clone();
        hello.session = n;
        hello.runs = vec![hello.runs[0].clone(); count];
        there_and_back(&hello);
        let mut order = samples::order();
        order.cluster.name = site;
        order.nodes = vec![order.nodes[0].clone(); count];
        order.generation = n;
        there_and_back(&order);
    }

    #[test]
    fn random_bytes_never_panic(bytes in vec(any::<u8>(), 0..400)) {
        refuses_or_is_exact::<Hello>(&bytes);
        refuses_or_is_exact::<Order>(&bytes);
        refuses_or_is_exact::<EventBatch>(&bytes);
        refuses_or_is_exact::<LeaseSnapshot>(&bytes);
        refuses_or_is_exact::<JoinRefused>(&bytes);
        refuses_or_is_exact::<LogChunk>(&bytes);
    }

    #[test]
    fn a_damaged_message_never_panics(at in 0..10_000usize, with: u8) {
        let mut bytes = encode(&EventBatch { events: samples::events() }).unwrap();
        let at = at % bytes.len();
        bytes[at] = with;
        refuses_or_is_exact::<EventBatch>(&bytes);
        let mut bytes = encode(&samples::order()).unwrap();
        let at = at % bytes.len();
        bytes[at] = with;
        refuses_or_is_exact::<Order>(&bytes);
    }
}

#[test]
fn secrets_do_not_print_themselves() {
    let text = format!("{:?} {:?}", samples::join_request(), samples::events());
    assert!(text.contains("SecretBytes(32 bytes)"), "{text}");
    assert!(!text.contains("7, 7, 7"), "{text}");
}
