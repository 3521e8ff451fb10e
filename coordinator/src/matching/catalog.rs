//! All offers at one moment, in a fixed order, with an index of their MACs.

use std::sync::Arc;

use bpa_common::api::HostUse;
use bpa_common::net::MacAddress;

use super::Offer;
use super::eligibility::refusals_of_neighbours;

/// The hosts to choose from.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// Sorted by namespace, name, uid: the order of the input has no influence.
    pub offers: Vec<Arc<Offer>>,
    by_mac: Arc<MacIndex>,
}

/// Places of offers by MAC: two lists side by side, sorted by MAC, then by place.
#[derive(Clone, Debug, Default)]
struct MacIndex {
    macs: Vec<MacAddress>,
    places: Vec<usize>,
}

impl MacIndex {
    fn of(offers: &[Arc<Offer>]) -> Self {
        let of_one = |(place, offer): (usize, &Arc<Offer>)| {
            offer.macs.iter().map(move |mac| (*mac, place)).collect::<Vec<_>>()
        };
        let mut pairs: Vec<(MacAddress, usize)> =
            offers.iter().enumerate().flat_map(of_one).collect();
        pairs.sort_unstable();
        let (macs, places) = pairs.into_iter().unzip();
        Self { macs, places }
    }

    fn with(&self, mac: MacAddress) -> &[usize] {
        let from = self.macs.partition_point(|other| *other < mac);
        let count = self.macs[from..].iter().take_while(|other| **other == mac).count();
        &self.places[from..from + count]
    }
}

impl Catalog {
    /// Sorts and indexes offers. Hosts that can't be taken stay in: they count for ambiguity and
    /// for the explanation.
    pub fn new(offers: Vec<Offer>) -> Self {
        Self::of(offers.into_iter().map(Arc::new).collect(), &[])
    }

    /// As [`Catalog::new`], of offers that are shared. `uses`: who else has hosts.
    pub fn of(offers: Vec<Arc<Offer>>, uses: &[HostUse]) -> Self {
        Self::after(&Self::default(), offers, uses)
    }

    /// As [`Catalog::of`]; what is as in the catalog before is not indexed anew.
    pub fn after(before: &Self, mut offers: Vec<Arc<Offer>>, uses: &[HostUse]) -> Self {
        offers.sort_by(|a, b| a.id.cmp(&b.id));
        let same =
            |(old, new): (&Arc<Offer>, &Arc<Offer>)| Arc::ptr_eq(old, new) || old.macs == new.macs;
        let same_macs =
            before.offers.len() == offers.len() && before.offers.iter().zip(&offers).all(same);
        let by_mac = match same_macs {
            true => Arc::clone(&before.by_mac),
            false => Arc::new(MacIndex::of(&offers)),
        };
        for (index, found) in refusals_of_neighbours(&offers, uses, |mac| by_mac.with(mac)) {
            // The offer itself is shared, and stays as the host alone says.
            Arc::make_mut(&mut offers[index]).ineligible.extend(found);
        }
        Self { offers, by_mac }
    }

    /// The hosts that show this MAC. More than one: it names no host.
    pub fn with_mac(&self, mac: MacAddress) -> &[usize] {
        self.by_mac.with(mac)
    }

    /// The one host of this MAC. A boot MAC that only one host has wins over other NICs: some
    /// cards (a BMC's USB network) show the same MAC on every server.
    pub fn host_of(&self, mac: MacAddress) -> Option<usize> {
        let all = self.with_mac(mac);
        match all {
            [] => None,
            [one] => Some(*one),
            _ => {
                let mut boot = all.iter().filter(|i| self.offers[**i].boot_mac == Some(mac));
                match (boot.next(), boot.next()) {
                    (Some(one), None) => Some(*one),
                    _ => None,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matching::testing::{mac, offer};

    #[test]
    fn a_mac_of_two_hosts_names_none_unless_one_boots_from_it() {
        let mut a = offer("a", 1, 4, 8);
        let b = offer("b", 2, 4, 8);
        a.macs.push(mac(2));
        let catalog = Catalog::new(vec![b.clone(), a.clone()]);
        assert_eq!(catalog.offers[0].id.name, "a");
        assert_eq!(catalog.with_mac(mac(2)).len(), 2);
        assert_eq!(catalog.host_of(mac(2)), Some(1), "b boots from it");
        let twin = Offer { boot_mac: Some(mac(2)), ..a };
        let catalog = Catalog::new(vec![b, twin]);
        assert_eq!(catalog.host_of(mac(2)), None);
        assert_eq!(catalog.host_of(mac(9)), None);
    }

    #[test]
    fn a_catalog_after_another_finds_the_same_as_a_new_one() {
        let offers: Vec<Arc<Offer>> =
            (1..9).map(|n| Arc::new(offer(&format!("h{n}"), n, 4, 8))).collect();
        let before = Catalog::of(offers.clone(), &[]);
        let mut moved = offers.clone();
        Arc::make_mut(&mut moved[3]).macs.push(mac(20));
        let mut renamed = offers.clone();
        Arc::make_mut(&mut renamed[0]).id.name = "z".into();
        let lists = [offers.clone(), moved, renamed, offers[1..].to_vec(), Vec::new()];
        for offers in lists {
            let (after, new) =
                (Catalog::after(&before, offers.clone(), &[]), Catalog::of(offers, &[]));
            for n in 0..30 {
                assert_eq!(after.with_mac(mac(n)), new.with_mac(mac(n)), "{n}");
            }
        }
        assert!(Arc::ptr_eq(&before.by_mac, &Catalog::after(&before, offers, &[]).by_mac));
    }
}
