//! The first of the two steps: per address, the record in force is the last complete one.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use super::limits::{Limits, ParseError};
use crate::leases::record::{Record, Skip, SourceTable};

/// Collects records in the order of the file.
#[derive(Clone, Debug, Default)]
pub struct Fold {
    index: HashMap<IpAddr, u32>,
    records: Vec<Record>,
    /// By the name of the `host` block: a later block of this name replaces it or deletes it.
    reservations: BTreeMap<Box<[u8]>, Vec<Record>>,
    count: u64,
    skipped: u64,
    skips: Vec<Skip>,
    set_aside: u64,
    overflow: bool,
}

impl Fold {
    /// A record that replaces what was said of its address before.
    pub fn put(&mut self, record: Record, limits: &Limits) {
        self.count += 1;
        if let Some(&at) = self.index.get(&record.address) {
            self.records[at as usize] = record;
        } else if self.records.len() < limits.addresses.min(u32::MAX as usize) {
            self.index.insert(record.address, self.records.len() as u32);
            self.records.push(record);
        } else {
            self.overflow = true;
        }
    }

    /// As `put`, with the next number of order: what comes later in the file is newer.
    pub fn put_newer(&mut self, mut record: Record, limits: &Limits) {
        record.order = u32::try_from(self.count).unwrap_or(u32::MAX);
        self.put(record, limits);
    }

    /// What a `host` block says; nothing = it was deleted.
    pub fn reserve(&mut self, name: &[u8], records: Vec<Record>, limits: &Limits) {
        self.count += 1;
        if records.is_empty() {
            self.reservations.remove(name);
        } else if self.reservations.len() < limits.addresses {
            self.reservations.insert(name.into(), records);
        } else {
            self.overflow = true;
        }
    }

    /// A record that could not be read.
    pub fn skip(&mut self, line: u64, reason: &'static str, limits: &Limits) {
        self.skipped += 1;
        if self.skips.len() < limits.skips {
            self.skips.push(Skip { line, reason });
        }
    }

    /// A record that is right but names no MAC by its nature.
    pub fn set_aside(&mut self) {
        self.set_aside += 1;
        self.count += 1;
    }

    /// The table; `unfinished` is the line of a record that has no end yet.
    pub fn finish(
        self,
        unfinished: Option<u64>,
        limits: &Limits,
    ) -> Result<SourceTable, ParseError> {
        if self.overflow {
            return Err(ParseError::TooManyAddresses { limit: limits.addresses });
        }
        Ok(SourceTable {
            records: self.records,
            reservations: self.reservations.into_values().flatten().collect(),
            count: self.count,
            skipped: self.skipped,
            skips: self.skips,
            set_aside: self.set_aside,
            unfinished,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::leases::record::Binding;

    fn record(last: u8, binding: Binding) -> Record {
        Record { binding, ..Record::bound([10, 0, 0, last].into()) }
    }

    #[test]
    fn the_last_record_of_an_address_is_in_force() {
        let limits = Limits::default();
        let mut fold = Fold::default();
        fold.put_newer(record(1, Binding::Bound), &limits);
        fold.put_newer(record(2, Binding::Bound), &limits);
        fold.put_newer(record(1, Binding::Abandoned), &limits);
        let table = fold.finish(None, &limits).unwrap();
        let said: Vec<_> = table.records.iter().map(|r| (r.binding, r.order)).collect();
        assert_eq!(said, [(Binding::Abandoned, 2), (Binding::Bound, 1)]);
        assert_eq!(table.count, 3);
    }

    #[test]
    fn too_many_addresses_are_an_error_and_skips_are_counted_beyond_the_kept() {
        let limits = Limits { addresses: 1, skips: 1, ..Limits::default() };
        let mut fold = Fold::default();
        fold.skip(3, "bad", &limits);
        fold.skip(4, "bad", &limits);
        fold.put(record(1, Binding::Bound), &limits);
        let table = fold.clone().finish(None, &limits).unwrap();
        assert_eq!((table.skipped, table.skips.len()), (2, 1));
        fold.put(record(2, Binding::Bound), &limits);
        let error = fold.finish(None, &limits).unwrap_err();
        assert_eq!(error, ParseError::TooManyAddresses { limit: 1 });
    }
}
