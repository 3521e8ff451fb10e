//! The hosts of the world, made ready for decisions once, however many provisionings ask.
//!
//! Kept from one look to the next: what did not change (the same shared record) is not read again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bpa_common::api::HostUse;
use bpa_common::api::metal3::ConsumerRef;

use super::view::host_id;
use crate::cluster::HostRecord;
use crate::matching::{Catalog, HostId, Offer};

/// The hosts of one moment.
#[derive(Debug, Default)]
pub struct HostIndex {
    /// As they came last.
    records: Vec<Arc<HostRecord>>,
    uses: Vec<HostUse>,
    by_id: BTreeMap<HostId, (Arc<HostRecord>, Arc<Offer>)>,
    by_consumer: BTreeMap<String, BTreeSet<HostId>>,
    catalog: Catalog,
    generation: u64,
    gains: u64,
}

impl HostIndex {
    /// The index of these hosts.
    pub fn of(records: &[Arc<HostRecord>]) -> Self {
        let mut index = Self::default();
        index.update(records, &[]);
        index
    }

    /// Takes in the hosts as they are now, and who else has some.
    pub fn update(&mut self, records: &[Arc<HostRecord>], uses: &[HostUse]) {
        let same = |(old, new): (&Arc<HostRecord>, &Arc<HostRecord>)| Arc::ptr_eq(old, new);
        let same_hosts =
            self.records.len() == records.len() && self.records.iter().zip(records).all(same);
        if same_hosts && self.uses == uses {
            return;
        }
        if !self.exchange(records) {
            self.rebuild(records);
        }
        let offers = self.by_id.values().map(|(_, offer)| Arc::clone(offer)).collect();
        let catalog = Catalog::after(&self.catalog, offers, uses);
        self.gains += u64::from(gains(&self.catalog.offers, &catalog.offers));
        self.catalog = catalog;
        self.records = records.to_vec();
        self.uses = uses.to_vec();
        self.generation += 1;
    }

    /// Takes in records that are the same hosts in the same order, as they mostly are. False, with
    /// nothing changed, when they are not.
    fn exchange(&mut self, records: &[Arc<HostRecord>]) -> bool {
        if self.records.len() != records.len() {
            return false;
        }
        let pairs = || self.records.iter().zip(records).filter(|(a, b)| !Arc::ptr_eq(a, b));
        let changed: Vec<(Arc<HostRecord>, Arc<HostRecord>)> =
            pairs().map(|(old, new)| (Arc::clone(old), Arc::clone(new))).collect();
        if changed.iter().any(|(old, new)| host_id(old) != host_id(new)) {
            return false;
        }
        for (old, new) in changed {
            let id = host_id(&new);
            if let Some(consumer) = &old.host.spec.consumer_ref
                && let Some(marked) = self.by_consumer.get_mut(&consumer.uid)
            {
                marked.remove(&id);
                if marked.is_empty() {
                    self.by_consumer.remove(&consumer.uid);
                }
            }
            let known = self.by_id.get(&id).filter(|_| old == new);
            let known = known.map(|(_, offer)| Arc::clone(offer));
            self.insert(id, &new, known);
        }
        true
    }

    fn rebuild(&mut self, records: &[Arc<HostRecord>]) {
        let old = std::mem::take(&mut self.by_id);
        self.by_consumer.clear();
        for record in records {
            let id = host_id(record);
            let known = old.get(&id).filter(|(known, _)| known == record);
            self.insert(id, record, known.map(|(_, offer)| Arc::clone(offer)));
        }
    }

    /// Notes a host, and what it offers if that is known already.
    fn insert(&mut self, id: HostId, record: &Arc<HostRecord>, known: Option<Arc<Offer>>) {
        if let Some(consumer) = &record.host.spec.consumer_ref {
            self.by_consumer.entry(consumer.uid.clone()).or_default().insert(id.clone());
        }
        let offer =
            known.unwrap_or_else(|| Arc::new(Offer::read(&record.host, record.hardware.as_ref())));
        self.by_id.insert(id, (Arc::clone(record), offer));
    }

    /// Another number after each change.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Another number whenever a wish that did not fit might fit now: not when hosts were only taken.
    pub fn gains(&self) -> u64 {
        self.gains
    }

    /// What a host offers, apart from what its neighbours say of it.
    pub fn offer(&self, id: &HostId) -> Option<&Offer> {
        self.by_id.get(id).map(|(_, offer)| &**offer)
    }

    /// One host, exactly.
    pub fn get(&self, id: &HostId) -> Option<&HostRecord> {
        self.by_id.get(id).map(|(record, _)| &**record)
    }

    /// One host, shared.
    pub fn shared(&self, id: &HostId) -> Option<&Arc<HostRecord>> {
        self.by_id.get(id).map(|(record, _)| record)
    }

    /// The hosts with a mark of this uid, whatever else is in it.
    pub fn marked_for(&self, uid: &str) -> impl Iterator<Item = Arc<HostRecord>> {
        let ids = self.by_consumer.get(uid).into_iter().flatten();
        ids.filter_map(|id| self.shared(id).cloned())
    }

    /// The hosts that carry exactly this mark.
    pub fn of_consumer<'a>(
        &'a self,
        consumer: &'a ConsumerRef,
    ) -> impl Iterator<Item = &'a HostRecord> {
        let ids = self.by_consumer.get(&consumer.uid).into_iter().flatten();
        ids.filter_map(|id| self.get(id))
            .filter(move |record| record.host.spec.consumer_ref.as_ref() == Some(consumer))
    }

    /// What the hosts offer.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }
}

/// Whether anything but the taking of hosts has happened between two lists, both in one order.
/// Fewer hosts may be a gain: a MAC that two showed may name one now.
fn gains(old: &[Arc<Offer>], new: &[Arc<Offer>]) -> bool {
    let no_gain =
        |(old, new): (&Arc<Offer>, &Arc<Offer>)| Arc::ptr_eq(old, new) || is_taken(old, new);
    old.len() != new.len() || !old.iter().zip(new).all(no_gain)
}

/// The same host, and nothing is different but that somebody has it, or that more speaks against it.
fn is_taken(old: &Offer, new: &Offer) -> bool {
    let as_free = |offer: &Offer| Offer { consumer: None, ineligible: Vec::new(), ..offer.clone() };
    (old.consumer.is_none() || old.consumer == new.consumer)
        && old.ineligible.iter().all(|reason| new.ineligible.contains(reason))
        && as_free(old) == as_free(new)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::matching::Claimant;
    use crate::planning::testing::host;

    fn hosts(names: &[&str]) -> Vec<Arc<HostRecord>> {
        names.iter().map(|name| Arc::new(host(name))).collect()
    }

    #[test]
    fn what_did_not_change_is_not_read_again() {
        let mut records = hosts(&["h1", "h2"]);
        let mut index = HostIndex::of(&records);
        assert_eq!(index.generation(), 1);
        index.update(&records, &[]);
        assert_eq!(index.generation(), 1);
        let before = Arc::clone(&index.catalog().offers[1]);
        Arc::make_mut(&mut records[0]).host.spec.online = false;
        index.update(&records, &[]);
        assert_eq!(index.generation(), 2);
        assert!(Arc::ptr_eq(&before, &index.catalog().offers[1]));
        let who = Claimant { mark: &ConsumerRef::default(), installs: false };
        assert!(!index.catalog().offers[0].is_free_for(who), "it is off now");
        index.update(&records[1..], &[]);
        assert_eq!(index.catalog().offers.len(), 1);
        assert!(index.get(&host_id(&records[0])).is_none());
    }

    #[test]
    fn who_else_has_a_host_counts_from_the_moment_it_is_known_until_it_is_over() {
        let records = hosts(&["h1", "h2"]);
        let mut index = HostIndex::of(&records);
        let who = Claimant { mark: &ConsumerRef::default(), installs: false };
        let free = |index: &HostIndex| -> Vec<bool> {
            index.catalog().offers.iter().map(|offer| offer.is_free_for(who)).collect()
        };
        let used = HostUse {
            host: records[1].host.metadata.key(),
            kind: bpa_common::api::NeighbourKind::Machine,
            by: bpa_common::api::ObjectKey::new("n", "m"),
        };
        index.update(&records, std::slice::from_ref(&used));
        assert_eq!((free(&index), index.generation()), (vec![true, false], 2));
        index.update(&records, &[used]);
        assert_eq!(index.generation(), 2, "nothing is new");
        index.update(&records, &[]);
        assert_eq!(free(&index), [true, true]);
    }

    proptest! {
        /// Whatever comes, goes and changes: an index that went along shows what a new one shows.
        #[test]
        fn an_index_that_went_along_is_as_a_new_one(
            rounds in prop::collection::vec(prop::collection::vec((0u8..6, 0u8..4), 0..6), 1..6)
        ) {
            let mut index = HostIndex::default();
            for round in rounds {
                let mut records: BTreeMap<u8, Arc<HostRecord>> = BTreeMap::new();
                for (number, owner) in round {
                    let mut record = host(&format!("h{number}"));
                    let uid = format!("u{owner}");
                    let mark = ConsumerRef { uid, ..ConsumerRef::default() };
                    record.host.spec.consumer_ref = (owner > 0).then_some(mark);
                    records.insert(number, Arc::new(record));
                }
                let records: Vec<_> = records.into_values().collect();
                index.update(&records, &[]);
                let new = HostIndex::of(&records);
                prop_assert_eq!(&index.by_consumer, &new.by_consumer);
                prop_assert_eq!(&index.by_id, &new.by_id);
                prop_assert_eq!(&index.catalog.offers, &new.catalog.offers);
            }
        }
    }

    #[test]
    fn hosts_are_found_by_exactly_the_mark_that_they_carry() {
        let mut records = hosts(&["h1", "h2", "h3"]);
        let ours = ConsumerRef { name: "edge".into(), uid: "u".into(), ..ConsumerRef::default() };
        let alike = ConsumerRef { name: "other".into(), ..ours.clone() };
        Arc::make_mut(&mut records[0]).host.spec.consumer_ref = Some(ours.clone());
        Arc::make_mut(&mut records[1]).host.spec.consumer_ref = Some(alike);
        let index = HostIndex::of(&records);
        let found: Vec<_> =
            index.of_consumer(&ours).map(|r| r.host.metadata.name.as_str()).collect();
        assert_eq!(found, ["h1"]);
    }
}
