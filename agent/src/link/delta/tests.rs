//! Tests of lease deltas; the receiver's rules are modelled here, in the fewest words.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn entry(mac: u8, address: u8, source: u32, reserved: bool, expires: i64) -> LeaseEntry {
    LeaseEntry {
        mac: MacAddress::new([2, 0, 0, 0, 0, mac]),
        address: IpAddr::from([10, 0, 0, address]),
        state: if reserved { LeaseState::Reserved } else { LeaseState::Bound },
        expires: Some(expires),
        renewed: None,
        source,
        client_id: String::new(),
        hostname: String::new(),
        chosen: false,
    }
}

fn source(age_seconds: u64, error: &str) -> LeaseSource {
    LeaseSource {
        kind: "kea".into(),
        path: "/x".into(),
        records: 1,
        skipped: 0,
        age_seconds,
        error: error.into(),
    }
}

/// What a receiver holds.
#[derive(Default)]
struct Receiver {
    seq: u64,
    held: BTreeMap<Key, LeaseEntry>,
}

impl Receiver {
    fn take(&mut self, messages: Vec<LeaseMessage>) {
        for message in messages {
            match message {
                LeaseMessage::Snapshot(snapshot) => {
                    self.seq = snapshot.seq;
                    self.held = snapshot.entries.into_iter().map(|e| (key(&e), e)).collect();
                }
                LeaseMessage::Delta(delta) => {
                    assert_eq!(delta.seq, self.seq + 1);
                    self.seq = delta.seq;
                    self.held.retain(|k, _| !delta.removed.contains(&(k.0, k.1)));
                    self.held.extend(delta.changed.into_iter().map(|e| (key(&e), e)));
                }
            }
        }
    }

    fn entries(&self) -> Vec<LeaseEntry> {
        self.held.values().cloned().collect()
    }
}

#[test]
fn the_first_word_is_a_snapshot_and_an_unchanged_view_says_nothing() {
    let mut teller = LeaseTeller::default();
    let entries = vec![entry(1, 1, 0, false, 9)];
    let first = teller.tell(vec![source(0, "")], entries.clone(), false);
    assert!(matches!(&first[..], [LeaseMessage::Snapshot(s)] if s.entries == entries));
    assert!(teller.tell(vec![source(60, "")], entries.clone(), false).is_empty());
    assert_eq!(teller.tell(vec![source(60, "")], entries.clone(), true).len(), 1);
    assert_eq!(teller.tell(vec![source(60, "gone")], entries, false).len(), 1);
}

#[test]
fn an_address_that_one_of_two_sources_drops_is_kept() {
    let mut teller = LeaseTeller::default();
    let mut receiver = Receiver::default();
    let both = vec![entry(1, 1, 0, false, 9), entry(1, 1, 1, false, 9)];
    receiver.take(teller.tell(vec![], both.clone(), false));
    receiver.take(teller.tell(vec![], vec![both[1].clone()], false));
    assert_eq!(receiver.entries(), [both[1].clone()]);
}

#[test]
fn thousands_of_leases_are_told_in_pieces() {
    let mut teller = LeaseTeller::default();
    let mut receiver = Receiver::default();
    let many: Vec<_> = (0..9000u32)
        .map(|n| LeaseEntry {
            address: IpAddr::from((0x0a00_0000 + n).to_be_bytes()),
            ..entry(1, 0, 0, false, 1)
        })
        .collect();
    let messages = teller.tell(vec![], many.clone(), false);
    assert_eq!(messages.len(), 5);
    receiver.take(messages);
    assert_eq!(receiver.held.len(), 9000);
    let messages = teller.tell(vec![], many[..10].to_vec(), false);
    assert!(messages.len() > 1);
    receiver.take(messages);
    assert_eq!(receiver.held.len(), 10);
}

#[test]
fn the_largest_entries_fit_one_message() {
    let big = LeaseEntry {
        client_id: "f".repeat(510),
        hostname: "\\u{0}".repeat(255),
        ..entry(1, 1, 0, false, 1)
    };
    let entries = vec![big; PER_MESSAGE];
    let snapshot = LeaseSnapshot { seq: 1, sources: vec![source(0, "")], entries };
    assert!(bpa_common::wire::encode(&snapshot).is_ok());
}

proptest! {
    #[test]
    fn whatever_changes_the_receiver_ends_with_the_same_view(
        views in vec(vec((0..4u8, 0..4u8, 0..2u32, any::<bool>(), 0..3i64), 0..12), 1..8)
    ) {
        let mut teller = LeaseTeller::default();
        let mut receiver = Receiver::default();
        for view in views {
            let unique: BTreeMap<Key, LeaseEntry> = view
                .into_iter()
                .map(|(mac, address, source, reserved, end)| entry(mac, address, source, reserved, end))
                .map(|e| (key(&e), e))
                .collect();
            let entries: Vec<_> = unique.values().cloned().collect();
            receiver.take(teller.tell(vec![], entries.clone(), false));
            prop_assert_eq!(receiver.entries(), entries);
        }
    }
}
