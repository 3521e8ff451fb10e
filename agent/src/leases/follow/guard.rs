//! What may be believed of a reading: new leases at once, disappearance only after a second look.
//!
//! A file that is being rewritten is short for a moment, and looks whole. So a lease that is in
//! force and missing stays until it was missing in two settled readings, and when most leases are
//! missing at once, for longer.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use crate::leases::record::{Record, SourceTable};

/// Between the two readings that must agree.
const SECOND_LOOK_MS: u64 = 60;
/// The same when half of the leases or more are missing.
const MASS_LOOK_MS: u64 = 2000;

/// Remembers what is missing.
#[derive(Debug, Default)]
pub struct Guard {
    /// When an address was first missing in a settled reading, in milliseconds of the caller's
    /// steady clock.
    missing: HashMap<IpAddr, u64>,
}

/// What to publish, and when to look again.
#[derive(Debug)]
pub struct Admitted {
    pub table: SourceTable,
    pub look_again_ms: Option<u64>,
}

impl Guard {
    /// Compares a new reading with the last view. `now` is seconds since 1970, `steady` milliseconds
    /// of a clock that does not jump.
    pub fn admit(
        &mut self,
        old: &SourceTable,
        mut new: SourceTable,
        settled: bool,
        now: i64,
        steady: u64,
    ) -> Admitted {
        let here: HashSet<IpAddr> = new.records.iter().map(|r| r.address).collect();
        let kept: HashSet<IpAddr> = new.reservations.iter().map(|r| r.address).collect();
        let live = |r: &&Record| r.is_live(now);
        let live_before = old.records.iter().chain(&old.reservations).filter(live).count();
        let gone = old.records.iter().filter(live).filter(|r| !here.contains(&r.address));
        let unreserved = old.reservations.iter().filter(|r| !kept.contains(&r.address));
        let gone: Vec<&Record> = gone.collect();
        let unreserved: Vec<&Record> = unreserved.collect();
        let count = gone.len() + unreserved.len();
        let wait =
            if count > 1 && count * 2 >= live_before { MASS_LOOK_MS } else { SECOND_LOOK_MS };
        let still: HashSet<IpAddr> = gone.iter().chain(&unreserved).map(|r| r.address).collect();
        self.missing.retain(|address, _| still.contains(address));
        let mut doubted = |record: &&Record| match self.missing.get(&record.address) {
            Some(since) => !(settled && steady.saturating_sub(*since) >= wait),
            None => {
                if settled {
                    self.missing.insert(record.address, steady);
                }
                true
            }
        };
        let mut back: Vec<Record> = gone.into_iter().filter(&mut doubted).cloned().collect();
        let mut back_reserved: Vec<Record> =
            unreserved.into_iter().filter(&mut doubted).cloned().collect();
        let doubts = !back.is_empty() || !back_reserved.is_empty();
        new.records.append(&mut back);
        new.reservations.append(&mut back_reserved);
        Admitted { table: new, look_again_ms: doubts.then_some(wait) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::leases::record::Ends;

    const NOW: i64 = 1_796_078_000;

    fn table(last: &[u8]) -> SourceTable {
        let record =
            |l: &u8| Record { ends: Ends::At(NOW + 60), ..Record::bound([10, 0, 0, *l].into()) };
        SourceTable { records: last.iter().map(record).collect(), ..SourceTable::default() }
    }

    fn addresses(table: &SourceTable) -> Vec<String> {
        let mut all: Vec<String> = table.records.iter().map(|r| r.address.to_string()).collect();
        all.sort();
        all
    }

    #[test]
    fn what_is_new_is_believed_at_once_and_what_is_gone_after_a_second_look() {
        let mut guard = Guard::default();
        let first = guard.admit(&table(&[1, 2, 3, 4]), table(&[2, 3, 4, 5]), true, NOW, 1000);
        assert_eq!(addresses(&first.table).len(), 5);
        assert_eq!(first.look_again_ms, Some(SECOND_LOOK_MS));
        let second = guard.admit(&first.table, table(&[2, 3, 4, 5]), true, NOW, 1060);
        assert_eq!(addresses(&second.table).len(), 4);
        assert_eq!(second.look_again_ms, None);
    }

    #[test]
    fn a_file_that_is_empty_for_a_second_loses_nothing() {
        let mut guard = Guard::default();
        let old = table(&[1, 2, 3]);
        for steady in [0, 100, 1900] {
            let kept = guard.admit(&old, table(&[]), true, NOW, steady);
            assert_eq!(addresses(&kept.table), addresses(&old));
            assert_eq!(kept.look_again_ms, Some(MASS_LOOK_MS));
        }
        assert!(guard.admit(&old, table(&[]), true, NOW, 2000).table.records.is_empty());
    }

    #[test]
    fn a_lease_that_comes_back_is_not_remembered_as_missing() {
        let mut guard = Guard::default();
        let old = table(&[1, 2, 3, 4]);
        guard.admit(&old, table(&[2, 3, 4]), true, NOW, 0);
        guard.admit(&old, table(&[1, 2, 3, 4]), true, NOW, 50);
        let third = guard.admit(&old, table(&[2, 3, 4]), true, NOW, 100);
        assert_eq!(third.table.records.len(), 4, "missing for the first time again");
    }

    #[test]
    fn an_unsettled_reading_takes_nothing_away_and_an_ended_lease_needs_no_second_look() {
        let mut guard = Guard::default();
        let old = table(&[1, 2, 3, 4]);
        for steady in [0, 100, 9000] {
            let kept = guard.admit(&old, table(&[2, 3, 4]), false, NOW, steady);
            assert_eq!(kept.table.records.len(), 4);
        }
        let later = guard.admit(&old, table(&[2, 3]), true, NOW + 61, 9000);
        assert_eq!(later.table.records.len(), 2);
    }
}
