//! All offers at one moment, in a fixed order, with an index of their MACs.

use std::collections::BTreeMap;
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
    by_mac: BTreeMap<MacAddress, Vec<usize>>,
}

impl Catalog {
    /// Sorts and indexes offers. Hosts that can't be taken stay in: they count for ambiguity and
    /// for the explanation.
    pub fn new(offers: Vec<Offer>) -> Self {
        Self::of(offers.into_iter().map(Arc::new).collect(), &[])
    }

    /// As [`Catalog::new`], of offers that are shared. `uses`: who else has hosts.
    pub fn of(mut offers: Vec<Arc<Offer>>, uses: &[HostUse]) -> Self {
        offers.sort_by(|a, b| a.id.cmp(&b.id));
        let mut by_mac: BTreeMap<MacAddress, Vec<usize>> = BTreeMap::new();
        for (index, offer) in offers.iter().enumerate() {
            for mac in &offer.macs {
                by_mac.entry(*mac).or_default().push(index);
            }
        }
        let with_mac = |mac| by_mac.get(&mac).map_or(&[][..], Vec::as_slice);
        for (index, found) in refusals_of_neighbours(&offers, uses, with_mac) {
            // The offer itself is shared, and stays as the host alone says.
            Arc::make_mut(&mut offers[index]).ineligible.extend(found);
        }
        Self { offers, by_mac }
    }

    /// The hosts that show this MAC. More than one: it names no host.
    pub fn with_mac(&self, mac: MacAddress) -> &[usize] {
        self.by_mac.get(&mac).map_or(&[], Vec::as_slice)
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
}
