//! What a DHCP server did, and what is true after it: the model that readers are compared with.

use std::collections::BTreeMap;
use std::net::IpAddr;

use bpa_agent::leases::{LeaseView, SourceKind, SourceTable, SourceView};
use bpa_common::net::MacAddress;
use proptest::prelude::*;

/// When the histories begin.
pub const START: i64 = 1_796_078_000;

/// One thing that happened, some seconds after the one before.
#[derive(Clone, Debug)]
pub struct Event {
    pub after: i64,
    pub address: u8,
    pub what: What,
}

#[derive(Clone, Debug)]
pub enum What {
    /// Given or renewed; no length = for ever.
    Bind {
        mac: u8,
        length: Option<i64>,
        name: Vec<u8>,
    },
    Release,
    Decline,
}

/// What stands for an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    pub mac: u8,
    pub since: i64,
    /// None = for ever.
    pub ends: Option<i64>,
    pub name: Vec<u8>,
    /// Which event it was: greater is newer.
    pub number: usize,
}

/// Per address what is bound; addresses that are not are absent.
pub type State = BTreeMap<u8, Held>;

pub fn ip(address: u8) -> IpAddr {
    [10, 0, 0, address].into()
}

pub fn mac(number: u8) -> MacAddress {
    MacAddress::new([2, 0xaa, 0, 0, 0, number])
}

/// Histories over few addresses and machines, so that they meet.
pub fn history() -> impl Strategy<Value = Vec<Event>> {
    let name = prop_oneof![
        Just(Vec::new()),
        "[a-z][a-z0-9]{0,8}".prop_map(String::into_bytes),
        proptest::collection::vec(any::<u8>(), 1..12),
        Just(b"a\"b\\;{}#,".to_vec()),
    ];
    let bind = (0u8..6, proptest::option::weighted(0.9, 0i64..200), name)
        .prop_map(|(mac, length, name)| What::Bind { mac, length, name });
    let what = prop_oneof![6 => bind, 1 => Just(What::Release), 1 => Just(What::Decline)];
    let event =
        (0i64..60, 1u8..8, what).prop_map(|(after, address, what)| Event { after, address, what });
    proptest::collection::vec(event, 0..14)
}

/// What stands after the first `count` events, and the time of the last.
pub fn state_after(events: &[Event], count: usize) -> (State, i64) {
    let (mut state, mut now) = (State::new(), START);
    for (number, event) in events[..count].iter().enumerate() {
        now += event.after;
        match &event.what {
            What::Bind { mac, length, name } => {
                let ends = length.map(|l| now + l);
                let held = Held { mac: *mac, since: now, ends, name: name.clone(), number };
                state.insert(event.address, held);
            }
            What::Release | What::Decline => {
                state.remove(&event.address);
            }
        }
    }
    (state, now)
}

/// The addresses of a MAC at a time, the newest first.
pub fn live(state: &State, number: u8, now: i64) -> Vec<IpAddr> {
    let mut held: Vec<(&u8, &Held)> = state
        .iter()
        .filter(|(_, h)| h.mac == number && h.ends.is_none_or(|end| end > now))
        .collect();
    held.sort_by_key(|(_, h)| std::cmp::Reverse((h.since, h.number)));
    held.into_iter().map(|(address, _)| ip(*address)).collect()
}

/// A view of one table.
pub fn view(kind: SourceKind, table: SourceTable, now: i64) -> LeaseView {
    let source = SourceView {
        table: table.into(),
        written: Some(now),
        good_at: Some(now),
        error: None,
        ..SourceView::unread(kind, "/leases")
    };
    LeaseView::evaluate(vec![source], now)
}

/// Compares a table with the model at several times.
pub fn check(kind: SourceKind, table: &SourceTable, state: &State, end: i64) {
    assert_eq!(table.skips, [], "{kind}");
    for now in [end, end + 30, end + 100, end + 1000] {
        let view = view(kind, table.clone(), now);
        for number in 0..6 {
            let wanted = live(state, number, now);
            let answer = view.answer(mac(number));
            let found: Vec<IpAddr> = answer.all.iter().map(|l| l.address).collect();
            assert_eq!(found, wanted, "{kind}: {} at {now}", mac(number));
            assert_eq!(answer.address, wanted.first().copied());
        }
    }
}
