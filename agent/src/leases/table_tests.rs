//! Answers over one and several sources.

use super::*;
use crate::leases::record::{Ends, FIRST_CREDIBLE_SECOND};

const NOW: i64 = 1_796_078_000;

fn mac(last: u8) -> MacAddress {
    MacAddress::new([2, 0xaa, 0, 0, 0, last])
}

fn bound(address: u8, owner: u8, renewed: i64, ends: i64) -> Record {
    Record {
        mac: Some(mac(owner)),
        renewed: Some(renewed),
        ends: Ends::At(ends),
        ..Record::bound([10, 0, 0, address].into())
    }
}

fn source(kind: SourceKind, records: Vec<Record>) -> SourceView {
    let count = records.len() as u64;
    let table = SourceTable { records, count, ..SourceTable::default() };
    SourceView {
        table: table.into(),
        good_at: Some(NOW - 7),
        error: None,
        ..SourceView::unread(kind, "/l")
    }
}

fn address(last: u8) -> Option<IpAddr> {
    Some([10, 0, 0, last].into())
}

#[test]
fn the_newest_of_several_leases_answers_and_all_are_said() {
    let records = vec![
        bound(1, 1, NOW - 60, NOW + 900),
        bound(2, 1, NOW - 30, NOW + 10),
        bound(3, 1, NOW - 90, NOW - 1),
        bound(4, 2, NOW - 90, NOW + 1),
    ];
    let view = LeaseView::evaluate(vec![source(SourceKind::Isc, records)], NOW);
    let answer = view.answer(mac(1));
    assert_eq!((answer.address, answer.ambiguous, answer.all.len()), (address(2), true, 2));
    assert_eq!(view.answer(mac(2)).address, address(4));
    assert_eq!(view.answer(mac(3)), Answer::default());
    assert_eq!(view.next_end(), Some(NOW + 1));
    let chosen: Vec<bool> = view.wire_entries().iter().map(|e| e.chosen).collect();
    assert_eq!(chosen, [true, false, true]);
}

#[test]
fn statement_21_a_grace_lets_a_lease_answer_for_so_long_after_its_end() {
    let graced = |records| SourceView { grace: 60, ..source(SourceKind::Isc, records) };
    let ended = || bound(1, 1, NOW - 900, NOW - 10);
    let at = |views: Vec<SourceView>, now| LeaseView::evaluate(views, now);
    let answer = |views: Vec<SourceView>, now| at(views, now).answer(mac(1)).address;
    for (now, found) in [
        (NOW - 11, address(1)),
        (NOW - 10, address(1)),
        (NOW + 49, address(1)),
        (NOW + 50, None),
        (i64::MAX, None),
    ] {
        assert_eq!(answer(vec![graced(vec![ended()])], now), found, "{}", now - NOW);
        let plain = answer(vec![source(SourceKind::Isc, vec![ended()])], now);
        assert_eq!(plain, found.filter(|_| now < NOW - 10), "without a grace");
    }
    let view = at(vec![graced(vec![ended()])], NOW);
    assert_eq!(view.next_end(), Some(NOW + 50), "then another answer holds");
    assert_eq!(view.wire_entries()[0].expires, Some(NOW - 10), "told as it is");
    // A lease in force is better, however old, and there is no ambiguity; so is a reservation.
    let better = bound(2, 1, NOW - 1000, NOW + 5);
    let found = at(vec![graced(vec![ended(), better])], NOW).answer(mac(1));
    assert_eq!((found.address, found.ambiguous), (address(2), false));
    let mut reserved = graced(vec![ended()]);
    let keep = Record { binding: Binding::Reserved, ..bound(3, 1, NOW, NOW) };
    reserved.table = SourceTable { reservations: vec![keep], ..(*reserved.table).clone() }.into();
    assert_eq!(answer(vec![reserved], NOW), address(3));
    // What the server took back is not in force, with any grace; nor is another's address.
    for binding in [Binding::Free, Binding::Released, Binding::Expired, Binding::Abandoned] {
        let record = Record { binding, ..ended() };
        assert_eq!(answer(vec![graced(vec![record])], NOW), None, "{binding:?}");
    }
    let other = bound(1, 2, NOW - 5, NOW + 900);
    assert_eq!(answer(vec![graced(vec![ended()]), graced(vec![other])], NOW), None);
}

#[test]
fn time_alone_takes_a_lease_away() {
    let sources = vec![source(SourceKind::Kea, vec![bound(1, 1, NOW, NOW + 5)])];
    let at = |now| LeaseView::evaluate(sources.clone(), now).answer(mac(1)).address;
    assert_eq!((at(NOW + 4), at(NOW + 5)), (address(1), None));
}

#[test]
fn a_lease_in_force_is_better_than_a_reservation_and_a_reservation_than_nothing() {
    let reserved = |last: u8, owner: u8| Record {
        binding: Binding::Reserved,
        ends: Ends::Never,
        mac: Some(mac(owner)),
        ..Record::bound([10, 0, 0, last].into())
    };
    let table = SourceTable {
        records: vec![bound(1, 1, NOW, NOW + 5), bound(7, 7, NOW, NOW + 5)],
        reservations: vec![reserved(50, 1), reserved(51, 2), reserved(7, 7)],
        ..SourceTable::default()
    };
    let mut of = source(SourceKind::Isc, vec![]);
    of.table = table.into();
    let view = LeaseView::evaluate(vec![of], NOW);
    assert_eq!(view.answer(mac(1)).address, address(1));
    assert!(view.answer(mac(1)).ambiguous);
    assert_eq!(view.answer(mac(2)).address, address(51));
    assert_eq!(view.answer(mac(2)).all[0].state, wire::LeaseState::Reserved);
    assert_eq!(view.answer(mac(7)).all.len(), 1, "reserved and bound alike is one address");
}

#[test]
fn of_two_servers_of_a_pair_the_newer_record_of_an_address_is_true() {
    let released = Record { binding: Binding::Released, ..bound(1, 1, NOW - 5, NOW - 5) };
    let primary = source(SourceKind::Isc, vec![bound(1, 1, NOW - 100, NOW + 500)]);
    let secondary = source(SourceKind::Isc, vec![released]);
    for sources in [vec![primary.clone(), secondary.clone()], vec![secondary, primary]] {
        assert_eq!(LeaseView::evaluate(sources, NOW).answer(mac(1)).address, None);
    }
}

#[test]
fn an_address_that_moved_to_another_machine_answers_only_for_it() {
    let old = source(SourceKind::Dnsmasq, vec![bound(1, 1, NOW - 100, NOW + 500)]);
    let new = source(SourceKind::Kea, vec![bound(1, 2, NOW - 1, NOW + 60)]);
    let view = LeaseView::evaluate(vec![old, new], NOW);
    assert_eq!(view.answer(mac(1)).address, None);
    assert_eq!(view.answer(mac(2)).address, address(1));
}

#[test]
fn a_guess_from_a_duid_is_used_only_without_an_ipv4_lease() {
    let v6 = |owner: u8| Record {
        mac: Some(mac(owner)),
        renewed: Some(NOW),
        ..Record::bound(format!("fd77::{owner}").parse().unwrap())
    };
    let records = vec![bound(1, 1, NOW - 60, NOW + 900), v6(1), v6(2)];
    let view = LeaseView::evaluate(vec![source(SourceKind::Isc, records)], NOW);
    assert_eq!(view.answer(mac(1)).address, address(1));
    assert!(!view.answer(mac(1)).ambiguous);
    assert_eq!(view.answer(mac(2)).address, Some("fd77::2".parse().unwrap()));
}

#[test]
fn a_lease_without_a_credible_end_does_not_end() {
    let record = Record { ends: Ends::at(600), renewed: None, ..bound(1, 1, NOW, NOW) };
    let view = LeaseView::evaluate(vec![source(SourceKind::Isc, vec![record])], NOW);
    assert_eq!(view.answer(mac(1)).address, address(1));
    assert_eq!(view.answer(mac(1)).all[0].expires, None);
    const { assert!(FIRST_CREDIBLE_SECOND > 600) };
}

#[test]
fn clients_without_a_mac_are_known_by_their_client_id() {
    let record = Record { client_id: [0xff, 0, 1].into(), mac: None, ..bound(1, 1, NOW, NOW + 9) };
    let view = LeaseView::evaluate(vec![source(SourceKind::Isc, vec![record])], NOW);
    assert_eq!(view.without_mac()[0].client_id, "ff:00:01");
    assert!(view.wire_entries().is_empty() && view.macs().is_empty());
}

#[test]
fn health_says_how_old_the_view_is_and_why() {
    let mut broken = source(SourceKind::Kea, vec![bound(1, 1, NOW, NOW + 9)]);
    broken.error = Some("gone".into());
    let unread = SourceView::unread(SourceKind::Isc, "/x");
    let view = LeaseView::evaluate(vec![broken, unread], NOW);
    let sources = view.wire_sources();
    assert_eq!((sources[0].age_seconds, sources[0].error.as_str()), (7, "gone"));
    assert_eq!((sources[0].kind.as_str(), sources[0].records), ("kea", 1));
    assert_eq!(sources[1].error, "not read yet");
    assert_eq!(LeaseView::empty().answer(mac(1)), Answer::default());
}

#[test]
fn why_is_said_for_every_answer() {
    let records = vec![
        bound(1, 1, NOW - 60, NOW + 900),
        bound(2, 1, NOW - 30, NOW + 10),
        bound(3, 2, NOW - 30, NOW + 10),
        bound(4, 3, NOW - 90, NOW - 40),
    ];
    let view = LeaseView::evaluate(vec![source(SourceKind::Isc, records)], NOW);
    let why = |n| crate::leases::why(&view, mac(n));
    assert_eq!(why(1), "the newest of 2 addresses of this MAC");
    assert_eq!(why(2), "the lease in force");
    assert_eq!(why(3), "10.0.0.4 ended 40 s ago in isc:/l: no longer in force");
    assert_eq!(why(9), "no source has ever named this MAC");
}
