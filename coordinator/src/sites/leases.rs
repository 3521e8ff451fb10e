//! The lease stream of one session, put into the view of its site. Pure.

use bpa_common::wire::v1::{LeaseDelta, LeaseEntry, LeaseSnapshot};
use jiff::Timestamp;

use super::LeaseView;

/// Leases kept of one site. A site has thousands of hosts at most; more is a mistake or an attack.
const MAX_ENTRIES: usize = 200_000;

/// Where a lease stream is.
#[derive(Debug, Default)]
pub(super) struct LeaseStream {
    /// Sequence number of the last message; none before the snapshot.
    seq: Option<u64>,
    entries: usize,
}

/// Why a message can't be applied. The stream must begin again with a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum LeaseError {
    #[error("lease message {found} came where {wanted} was due")]
    Gap { wanted: u64, found: u64 },
    #[error("a lease delta came before the snapshot")]
    NoSnapshot,
    #[error("more than {MAX_ENTRIES} leases")]
    TooMany,
}

impl LeaseStream {
    /// Puts a snapshot in the place of all that was known.
    pub fn snapshot(
        &mut self,
        view: &mut LeaseView,
        snapshot: LeaseSnapshot,
        now: Timestamp,
    ) -> Result<(), LeaseError> {
        *view = LeaseView { sources: snapshot.sources, ..LeaseView::default() };
        self.seq = Some(snapshot.seq);
        self.entries = 0;
        self.insert(view, snapshot.entries)?;
        view.received = Some(now);
        Ok(())
    }

    /// Applies a delta: first what was removed, then what is new.
    pub fn delta(
        &mut self,
        view: &mut LeaseView,
        delta: LeaseDelta,
        now: Timestamp,
    ) -> Result<(), LeaseError> {
        let wanted = self.seq.ok_or(LeaseError::NoSnapshot)?.wrapping_add(1);
        if delta.seq != wanted {
            return Err(LeaseError::Gap { wanted, found: delta.seq });
        }
        self.seq = Some(wanted);
        for (mac, address) in &delta.removed {
            let Some(entries) = view.by_mac.get_mut(mac) else { continue };
            let before = entries.len();
            entries.retain(|entry| entry.address != *address);
            self.entries -= before - entries.len();
            if entries.is_empty() {
                view.by_mac.remove(mac);
            }
        }
        view.sources = delta.sources;
        self.insert(view, delta.changed)?;
        view.received = Some(now);
        Ok(())
    }

    fn insert(&mut self, view: &mut LeaseView, new: Vec<LeaseEntry>) -> Result<(), LeaseError> {
        for entry in new {
            let entries = view.by_mac.entry(entry.mac).or_default();
            let same = |old: &LeaseEntry| {
                old.address == entry.address
                    && old.source == entry.source
                    && old.state == entry.state
            };
            match entries.iter_mut().find(|old| same(old)) {
                Some(old) => *old = entry,
                None if self.entries >= MAX_ENTRIES => return Err(LeaseError::TooMany),
                None => {
                    entries.push(entry);
                    self.entries += 1;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use bpa_common::net::MacAddress;
    use bpa_common::wire::v1::{LeaseSource, LeaseState};

    use super::*;

    fn entry(mac: u8, address: u8, source: u32) -> LeaseEntry {
        LeaseEntry {
            mac: MacAddress::new([2, 0, 0, 0, 0, mac]),
            address: IpAddr::from([10, 0, 0, address]),
            state: LeaseState::Bound,
            expires: None,
            renewed: None,
            source,
            client_id: String::new(),
            hostname: String::new(),
            chosen: true,
        }
    }

    fn snapshot(seq: u64, entries: Vec<LeaseEntry>) -> LeaseSnapshot {
        LeaseSnapshot { seq, sources: vec![], entries }
    }

    fn delta(seq: u64, changed: Vec<LeaseEntry>, removed: &[LeaseEntry]) -> LeaseDelta {
        let removed = removed.iter().map(|e| (e.mac, e.address)).collect();
        let source = LeaseSource {
            kind: "kea".into(),
            path: "/x".into(),
            records: 1,
            skipped: 0,
            age_seconds: 0,
            error: String::new(),
        };
        LeaseDelta { seq, sources: vec![source], changed, removed }
    }

    fn now() -> Timestamp {
        Timestamp::from_second(9).unwrap()
    }

    #[test]
    fn a_snapshot_then_deltas_give_the_sites_view() {
        let (mut stream, mut view) = (LeaseStream::default(), LeaseView::default());
        stream
            .snapshot(&mut view, snapshot(5, vec![entry(1, 1, 0), entry(2, 2, 0)]), now())
            .unwrap();
        let moved = delta(6, vec![entry(1, 9, 0)], &[entry(1, 1, 0)]);
        stream.delta(&mut view, moved, now()).unwrap();
        stream.delta(&mut view, delta(7, vec![], &[entry(2, 2, 0)]), now()).unwrap();
        assert_eq!(view.by_mac.len(), 1);
        assert_eq!(view.by_mac[&entry(1, 0, 0).mac], [entry(1, 9, 0)]);
        assert_eq!((view.sources.len(), view.received), (1, Some(now())));
        assert_eq!(stream.entries, 1);
    }

    #[test]
    fn what_stays_in_another_source_is_told_again_after_its_removal() {
        let (mut stream, mut view) = (LeaseStream::default(), LeaseView::default());
        let both = vec![entry(1, 1, 0), entry(1, 1, 1)];
        stream.snapshot(&mut view, snapshot(1, both), now()).unwrap();
        let change = delta(2, vec![entry(1, 1, 1)], &[entry(1, 1, 0)]);
        stream.delta(&mut view, change, now()).unwrap();
        assert_eq!(view.by_mac[&entry(1, 0, 0).mac], [entry(1, 1, 1)]);
    }

    #[test]
    fn a_gap_a_repeat_or_a_missing_snapshot_asks_for_a_new_beginning() {
        let (mut stream, mut view) = (LeaseStream::default(), LeaseView::default());
        let early = stream.delta(&mut view, delta(1, vec![], &[]), now());
        assert_eq!(early, Err(LeaseError::NoSnapshot));
        stream.snapshot(&mut view, snapshot(5, vec![]), now()).unwrap();
        for found in [5, 7] {
            let result = stream.delta(&mut view, delta(found, vec![], &[]), now());
            assert_eq!(result, Err(LeaseError::Gap { wanted: 6, found }));
        }
    }

    #[test]
    fn a_site_can_not_fill_the_memory() {
        let (mut stream, mut view) = (LeaseStream::default(), LeaseView::default());
        stream.snapshot(&mut view, snapshot(1, vec![]), now()).unwrap();
        stream.entries = MAX_ENTRIES;
        let result = stream.delta(&mut view, delta(2, vec![entry(1, 1, 0)], &[]), now());
        assert_eq!(result, Err(LeaseError::TooMany));
    }
}
