//! Random histories, written as each server would, read back and compared with the model; cut at
//! every byte; split into any pieces.

mod model;
mod writers;

use bpa_agent::leases::parsers::{DnsmasqReader, IscReader, KeaReader, Limits};
use bpa_agent::leases::{SourceKind, SourceTable};
use model::{START, check, history, live, mac, state_after, view};
use proptest::prelude::*;

fn isc(pieces: &[&[u8]]) -> SourceTable {
    let mut reader = IscReader::new(Limits::default());
    pieces.iter().for_each(|piece| reader.feed(piece));
    reader.finish().unwrap()
}

fn kea(pieces: &[&[u8]]) -> SourceTable {
    let mut reader = KeaReader::new(Limits::default());
    pieces.iter().for_each(|piece| reader.feed(piece));
    reader.finish().unwrap()
}

fn dnsmasq(pieces: &[&[u8]]) -> SourceTable {
    let mut reader = DnsmasqReader::new(Limits::default());
    pieces.iter().for_each(|piece| reader.feed(piece));
    reader.finish().unwrap()
}

/// Parts bytes at these places, taken modulo their length.
fn split<'a>(bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut cuts: Vec<usize> = cuts.iter().map(|c| c % (bytes.len() + 1)).collect();
    cuts.sort_unstable();
    let mut pieces = Vec::new();
    let mut from = 0;
    for cut in cuts.into_iter().chain([bytes.len()]) {
        pieces.push(&bytes[from..cut]);
        from = cut;
    }
    pieces
}

/// Every prefix gives what its complete records say, and nothing else.
fn check_cuts(
    kind: SourceKind,
    written: &writers::Written,
    events: &[model::Event],
    read: fn(&[&[u8]]) -> SourceTable,
) {
    let mut checked = None;
    for cut in 0..=written.bytes.len() {
        let complete = written.complete_at.iter().filter(|at| **at <= cut).count();
        let table = read(&[&written.bytes[..cut]]);
        assert_eq!(table.count, complete as u64, "{kind} cut at {cut}");
        // The table of a prefix is the same from one complete record to the next.
        if checked != Some(complete) {
            let (state, now) = state_after(events, complete);
            check(kind, &table, &state, now);
            checked = Some(complete);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn dhcpd_is_read_as_it_was_written_and_cut_anywhere(events in history()) {
        check_cuts(SourceKind::Isc, &writers::isc(&events, START), &events, isc);
    }

    #[test]
    fn kea_is_read_as_it_was_written_and_cut_anywhere(events in history()) {
        check_cuts(SourceKind::Kea, &writers::kea(&events, START), &events, kea);
    }

    #[test]
    fn kea_in_several_files_is_the_same_as_in_one(events in history(), at: usize) {
        let written = writers::kea(&events, START);
        let whole = kea(&[&written.bytes]);
        // The rotation: what came so far is the older file, the new one begins with a header.
        let ends: Vec<usize> = [writers::KEA_HEADER.len()].into_iter().chain(written.complete_at).collect();
        let (older, newer) = written.bytes.split_at(ends[at % ends.len()]);
        let mut reader = KeaReader::new(Limits::default());
        for part in [older, &[writers::KEA_HEADER.as_bytes(), newer].concat()] {
            reader.next_file();
            reader.feed(part);
        }
        prop_assert_eq!(reader.finish().unwrap(), whole);
    }

    #[test]
    fn dnsmasq_is_read_as_it_was_written(events in history()) {
        let (state, end) = state_after(&events, events.len());
        let bytes = writers::dnsmasq(&state);
        let table = dnsmasq(&[&bytes]);
        prop_assert_eq!(table.records.len(), state.len());
        for now in [end, end + 30, end + 1000] {
            let view = view(SourceKind::Dnsmasq, table.clone(), now);
            for number in 0..6 {
                let mut wanted = live(&state, number, now);
                let mut found: Vec<_> =
                    view.answer(mac(number)).all.iter().map(|l| l.address).collect();
                wanted.sort();
                found.sort();
                prop_assert_eq!(found, wanted);
            }
        }
        // A prefix never shows what is not there, and loses at most the line that is cut.
        for cut in 0..bytes.len() {
            let lines = bytes[..cut].iter().filter(|b| **b == b'\n').count();
            let part = dnsmasq(&[&bytes[..cut]]);
            prop_assert_eq!(part.records.len(), lines.min(state.len()));
            prop_assert!(part.records.iter().all(|r| table.records.contains(r)));
            prop_assert!(part.skips.is_empty());
        }
    }

    #[test]
    fn pieces_of_any_size_give_the_same_table(events in history(), cuts in proptest::collection::vec(any::<usize>(), 0..9)) {
        let written = writers::isc(&events, START).bytes;
        prop_assert_eq!(isc(&split(&written, &cuts)), isc(&[&written]));
        let written = writers::kea(&events, START).bytes;
        prop_assert_eq!(kea(&split(&written, &cuts)), kea(&[&written]));
        let written = writers::dnsmasq(&state_after(&events, events.len()).0);
        prop_assert_eq!(dnsmasq(&split(&written, &cuts)), dnsmasq(&[&written]));
    }

    #[test]
    fn pieces_of_any_size_of_a_damaged_file_give_the_same_table(
        events in history(),
        cuts in proptest::collection::vec(any::<usize>(), 0..9),
        damage in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..6),
    ) {
        for (mut bytes, read) in [
            (writers::isc(&events, START).bytes, isc as fn(&[&[u8]]) -> SourceTable),
            (writers::dnsmasq(&state_after(&events, events.len()).0), dnsmasq),
        ] {
            for (at, byte) in &damage {
                let length = bytes.len();
                bytes[at % length] = *byte;
            }
            prop_assert_eq!(read(&split(&bytes, &cuts)), read(&[&bytes]));
        }
    }
}
