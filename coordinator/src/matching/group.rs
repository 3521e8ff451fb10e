//! Slots of equal need are one group: a site of thousands of hosts and few kinds of node is a
//! small problem.

use std::collections::BTreeMap;

use super::requirement::fits;
use super::{Catalog, Need, Slot};

/// Slots of one need, and the hosts that meet it.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    pub need: &'a Need,
    /// By position in the input.
    pub slots: Vec<usize>,
    /// By position in the catalog, in order.
    pub hosts: Vec<usize>,
}

/// The groups of these slots, in the order of their first slots. Hosts for which `free` is false
/// (not eligible, or somebody else's) are in none.
pub fn groups<'a>(
    slots: &'a [Slot],
    catalog: &Catalog,
    free: impl Fn(usize) -> bool,
) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut by_need: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, slot) in slots.iter().enumerate() {
        // A key that is cheap to compare finds the few that may be equal.
        let alike = by_need.entry(rough_key(&slot.need)).or_default();
        match alike.iter().find(|group| *groups[**group].need == slot.need) {
            Some(group) => groups[*group].slots.push(index),
            None => {
                alike.push(groups.len());
                groups.push(Group { need: &slot.need, slots: vec![index], hosts: Vec::new() });
            }
        }
    }
    let takeable: Vec<usize> = (0..catalog.offers.len()).filter(|host| free(*host)).collect();
    for group in &mut groups {
        group.hosts = hosts_of(group.need, catalog, &takeable);
    }
    groups
}

fn rough_key(need: &Need) -> String {
    let mac = need.macs.first().map(ToString::to_string).unwrap_or_default();
    let bytes = |q: &Option<bpa_common::api::Quantity>| q.as_ref().map(|q| q.bytes());
    format!("{mac} {:?} {:?} {:?}", need.cpu, bytes(&need.memory), bytes(&need.disk))
}

/// Hosts among `takeable` (in order) that meet a need.
pub fn hosts_of(need: &Need, catalog: &Catalog, takeable: &[usize]) -> Vec<usize> {
    if need.macs.is_empty() {
        return takeable.iter().copied().filter(|host| fits(need, catalog, *host)).collect();
    }
    let mut hosts: Vec<usize> = need
        .macs
        .iter()
        .filter_map(|mac| catalog.host_of(*mac))
        .filter(|host| takeable.binary_search(host).is_ok() && fits(need, catalog, *host))
        .collect();
    hosts.sort_unstable();
    hosts.dedup();
    hosts
}
