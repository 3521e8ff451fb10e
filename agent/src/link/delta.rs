//! Which lease messages bring the coordinator from the last view to the new one. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use bpa_common::net::MacAddress;
use bpa_common::wire::v1::{LeaseDelta, LeaseEntry, LeaseSnapshot, LeaseSource, LeaseState};

/// Entries in one message; the largest possible entries still fit the message's cap.
const PER_MESSAGE: usize = 2000;

/// What identifies an entry.
type Key = (MacAddress, IpAddr, u32, bool);

fn key(entry: &LeaseEntry) -> Key {
    (entry.mac, entry.address, entry.source, entry.state == LeaseState::Reserved)
}

/// One message of a lease stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LeaseMessage {
    Snapshot(LeaseSnapshot),
    Delta(LeaseDelta),
}

/// What one lease stream has told so far.
#[derive(Clone, Debug, Default)]
pub(super) struct LeaseTeller {
    seq: u64,
    told: Option<Told>,
}

#[derive(Clone, Debug)]
struct Told {
    sources: Vec<LeaseSource>,
    entries: Vec<LeaseEntry>,
}

impl LeaseTeller {
    /// The messages that tell this view. `refresh` asks to tell the sources' ages even when nothing
    /// else has changed.
    pub fn tell(
        &mut self,
        sources: Vec<LeaseSource>,
        entries: Vec<LeaseEntry>,
        refresh: bool,
    ) -> Vec<LeaseMessage> {
        let messages = match &self.told {
            None => self.begin(&sources, &entries),
            Some(told) => {
                let change = Change::between(&told.entries, &entries);
                let quiet = change.is_empty() && same_health(&told.sources, &sources);
                if quiet && !refresh {
                    return Vec::new();
                }
                self.deltas(&sources, change)
            }
        };
        self.told = Some(Told { sources, entries });
        messages
    }

    /// A snapshot; what does not fit into one message follows as deltas.
    fn begin(&mut self, sources: &[LeaseSource], entries: &[LeaseEntry]) -> Vec<LeaseMessage> {
        let (first, rest) = entries.split_at(entries.len().min(PER_MESSAGE));
        self.seq += 1;
        let snapshot =
            LeaseSnapshot { seq: self.seq, sources: sources.to_vec(), entries: first.to_vec() };
        let mut messages = vec![LeaseMessage::Snapshot(snapshot)];
        if !rest.is_empty() {
            let rest = Change { changed: rest.to_vec(), removed: Vec::new() };
            messages.extend(self.deltas(sources, rest));
        }
        messages
    }

    /// At least one delta. What was removed goes first, because a removal takes an address away
    /// from all sources, and what stays in another source is told again behind it.
    fn deltas(&mut self, sources: &[LeaseSource], change: Change) -> Vec<LeaseMessage> {
        let Change { mut changed, mut removed } = change;
        let mut messages = Vec::new();
        while messages.is_empty() || !changed.is_empty() || !removed.is_empty() {
            let gone: Vec<_> = removed.drain(..removed.len().min(PER_MESSAGE)).collect();
            let room = if removed.is_empty() { PER_MESSAGE - gone.len() } else { 0 };
            let new = changed.drain(..changed.len().min(room)).collect();
            self.seq += 1;
            messages.push(LeaseMessage::Delta(LeaseDelta {
                seq: self.seq,
                sources: sources.to_vec(),
                changed: new,
                removed: gone,
            }));
        }
        messages
    }
}

/// The difference of two views.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Change {
    changed: Vec<LeaseEntry>,
    removed: Vec<(MacAddress, IpAddr)>,
}

impl Change {
    fn between(old: &[LeaseEntry], new: &[LeaseEntry]) -> Self {
        let was: BTreeMap<Key, &LeaseEntry> = old.iter().map(|e| (key(e), e)).collect();
        let is: BTreeSet<Key> = new.iter().map(key).collect();
        let removed: BTreeSet<(MacAddress, IpAddr)> =
            was.keys().filter(|k| !is.contains(k)).map(|k| (k.0, k.1)).collect();
        let told_again = |e: &LeaseEntry| removed.contains(&(e.mac, e.address));
        let changed =
            new.iter().filter(|e| told_again(e) || was.get(&key(e)) != Some(e)).cloned().collect();
        Self { changed, removed: removed.into_iter().collect() }
    }

    fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.removed.is_empty()
    }
}

/// True when the sources differ in nothing but their ages.
fn same_health(old: &[LeaseSource], new: &[LeaseSource]) -> bool {
    let ageless = |s: &LeaseSource| LeaseSource { age_seconds: 0, ..s.clone() };
    old.len() == new.len() && old.iter().zip(new).all(|(a, b)| ageless(a) == ageless(b))
}

#[cfg(test)]
mod tests;
