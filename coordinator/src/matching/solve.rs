//! A full assignment of slots to hosts whenever there is one.
//!
//! Slots with equal needs form one group, so a site of thousands of hosts and few kinds of node is
//! a small problem. Augmenting paths over groups (Kuhn 1955, Berge's theorem: a matching is
//! largest exactly when no augmenting path is left) start from the assignments that stand, so that
//! a slot moves only where that is the only way to serve another.

use std::collections::{BTreeMap, VecDeque};

use super::requirement::fits;
use super::{Catalog, Need, Slot};

/// Slot (by position in the input) to host (by position in the catalog).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assignment {
    pub host_of: BTreeMap<usize, usize>,
}

/// What solving found.
#[derive(Clone, Debug)]
pub struct Solution {
    pub assignment: Assignment,
    /// When not all slots are served: who competes for which hosts; no two share a slot or host.
    pub bottlenecks: Vec<Bottleneck>,
}

/// A min cut: more slots than hosts that any of them could take (Hall's condition broken).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bottleneck {
    pub slots: Vec<usize>,
    pub hosts: Vec<usize>,
}

/// Slots of one need, and the hosts that meet it, best first.
struct Group {
    slots: Vec<usize>,
    hosts: Vec<usize>,
}

struct Solver {
    groups: Vec<Group>,
    /// Per host of the catalog: the group that holds it.
    holder: Vec<Option<usize>>,
    /// Per group: the hosts that it holds.
    held: Vec<Vec<usize>>,
    /// Per group: hosts before this place in its list are not free (they never become free again).
    cursor: Vec<usize>,
}

/// Serves as many slots as possible. `current` names the host that a slot has now; it is kept
/// while it fits. Hosts for which `free` is false are never taken.
pub fn solve(
    slots: &[Slot],
    catalog: &Catalog,
    current: &BTreeMap<usize, usize>,
    free: impl Fn(usize) -> bool,
) -> Solution {
    let mut solver = Solver::new(slots, catalog, free);
    solver.keep(current);
    let mut cuts: Vec<Vec<bool>> = Vec::new();
    for group in 0..solver.groups.len() {
        while solver.held[group].len() < solver.groups[group].slots.len() {
            if let Some(cut) = solver.augment(group) {
                cuts.push(cut);
                break;
            }
        }
    }
    let bottlenecks = apart(cuts).iter().map(|cut| solver.bottleneck(cut)).collect();
    Solution { assignment: solver.name_slots(current), bottlenecks }
}

/// Joins cuts that share a group: what is left can be told one by one.
fn apart(cuts: Vec<Vec<bool>>) -> Vec<Vec<bool>> {
    let mut joined: Vec<Vec<bool>> = Vec::new();
    for mut cut in cuts {
        joined.retain(|other| {
            let shares = other.iter().zip(&cut).any(|(a, b)| *a && *b);
            if shares {
                cut.iter_mut().zip(other).for_each(|(a, b)| *a |= *b);
            }
            !shares
        });
        joined.push(cut);
    }
    joined
}

impl Solver {
    fn new(slots: &[Slot], catalog: &Catalog, free: impl Fn(usize) -> bool) -> Self {
        let mut groups: Vec<(&Need, Group)> = Vec::new();
        for (index, slot) in slots.iter().enumerate() {
            match groups.iter_mut().find(|(need, _)| **need == slot.need) {
                Some((_, group)) => group.slots.push(index),
                None => groups.push((&slot.need, Group { slots: vec![index], hosts: Vec::new() })),
            }
        }
        for (need, group) in &mut groups {
            let candidates: Vec<usize> = if need.macs.is_empty() {
                (0..catalog.offers.len()).collect()
            } else {
                need.macs.iter().filter_map(|mac| catalog.host_of(*mac)).collect()
            };
            group.hosts = candidates
                .into_iter()
                .filter(|&host| {
                    free(host) && catalog.offers[host].is_eligible() && fits(need, catalog, host)
                })
                .collect();
            group.hosts.sort_by_key(|&host| (waste(need, catalog, host), host));
            group.hosts.dedup();
        }
        // Pickier groups first: fewer augmentations. The order of the input has no influence.
        groups.sort_by_key(|(_, group)| (group.hosts.len(), group.slots[0]));
        let groups: Vec<Group> = groups.into_iter().map(|(_, group)| group).collect();
        Self {
            held: vec![Vec::new(); groups.len()],
            cursor: vec![0; groups.len()],
            holder: vec![None; catalog.offers.len()],
            groups,
        }
    }

    fn keep(&mut self, current: &BTreeMap<usize, usize>) {
        for index in 0..self.groups.len() {
            let group = &self.groups[index];
            let kept: Vec<usize> = group
                .slots
                .iter()
                .filter_map(|slot| current.get(slot))
                .filter(|host| group.hosts.contains(host))
                .copied()
                .collect();
            for host in kept {
                if self.holder[host].is_none() {
                    self.take(index, host);
                }
            }
        }
    }

    fn take(&mut self, group: usize, host: usize) {
        self.holder[host] = Some(group);
        self.held[group].push(host);
    }

    /// The best host of this group that nobody holds.
    fn free_host(&mut self, group: usize) -> Option<usize> {
        let hosts = &self.groups[group].hosts;
        while self.cursor[group] < hosts.len() {
            let host = hosts[self.cursor[group]];
            if self.holder[host].is_none() {
                return Some(host);
            }
            self.cursor[group] += 1;
        }
        None
    }

    /// Gives one more host to `start`, moving others along a shortest path. None = done;
    /// otherwise the groups that together have too few hosts.
    fn augment(&mut self, start: usize) -> Option<Vec<bool>> {
        // Per group: the host through which the search came in, and from which group.
        let mut entered: Vec<Option<(usize, usize)>> = vec![None; self.groups.len()];
        let mut seen = vec![false; self.groups.len()];
        let mut queue = VecDeque::from([start]);
        seen[start] = true;
        while let Some(group) = queue.pop_front() {
            if let Some(host) = self.free_host(group) {
                self.shift(host, group, &entered);
                return None;
            }
            for &host in &self.groups[group].hosts {
                if let Some(next) = self.holder[host]
                    && !seen[next]
                {
                    seen[next] = true;
                    entered[next] = Some((host, group));
                    queue.push_back(next);
                }
            }
        }
        Some(seen)
    }

    /// Walks the path back from a free host: each group takes it and gives the host by which the
    /// search came in to the group before.
    fn shift(&mut self, free: usize, last: usize, entered: &[Option<(usize, usize)>]) {
        let (mut host, mut group) = (free, last);
        loop {
            self.take(group, host);
            let Some((given, before)) = entered[group] else { return };
            self.held[group].retain(|h| *h != given);
            (host, group) = (given, before);
        }
    }

    fn bottleneck(&self, seen: &[bool]) -> Bottleneck {
        let groups = || (0..self.groups.len()).filter(|g| seen[*g]);
        let mut slots: Vec<usize> = groups().flat_map(|g| self.groups[g].slots.clone()).collect();
        let mut hosts: Vec<usize> = groups().flat_map(|g| self.groups[g].hosts.clone()).collect();
        slots.sort_unstable();
        hosts.sort_unstable();
        hosts.dedup();
        Bottleneck { slots, hosts }
    }

    /// Within a group hosts are alike to the need: slots keep theirs, the rest go by name.
    fn name_slots(&self, current: &BTreeMap<usize, usize>) -> Assignment {
        let mut host_of = BTreeMap::new();
        for (group, held) in self.groups.iter().zip(&self.held) {
            let mut rest = held.clone();
            rest.sort_unstable();
            for slot in &group.slots {
                if let Some(host) = current.get(slot)
                    && let Some(at) = rest.iter().position(|h| h == host)
                {
                    host_of.insert(*slot, rest.remove(at));
                }
            }
            let mut rest = rest.into_iter();
            for slot in &group.slots {
                if !host_of.contains_key(slot)
                    && let Some(host) = rest.next()
                {
                    host_of.insert(*slot, host);
                }
            }
        }
        Assignment { host_of }
    }
}

/// Spare CPUs and memory as a share of the offer, parts per thousand: least waste first.
fn waste(need: &Need, catalog: &Catalog, host: usize) -> u64 {
    let offer = &catalog.offers[host];
    let spare = |wanted: u64, found: Option<u64>| match found {
        Some(found) if found > 0 => (found - wanted.min(found)).saturating_mul(1000) / found,
        _ => 0,
    };
    spare(need.cpu.unwrap_or(0).into(), offer.cpu.map(Into::into))
        + spare(need.memory.as_ref().map_or(0, |m| m.bytes()), offer.memory)
        // Among hosts with nothing wanted, the smaller one.
        + offer.cpu.map_or(0, |c| u64::from(c) / 64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::matching::testing::{mac, offer, size, slot};

    fn names(
        slots: &[Slot],
        catalog: &Catalog,
        current: &BTreeMap<usize, usize>,
    ) -> Option<Vec<String>> {
        let solution = solve(slots, catalog, current, |_| true);
        if !solution.bottlenecks.is_empty() {
            return None;
        }
        let host = |i| catalog.offers[solution.assignment.host_of[&i]].id.name.clone();
        Some((0..slots.len()).map(host).collect())
    }

    #[test]
    fn a_scarce_host_goes_to_the_slot_that_only_it_can_serve() {
        let catalog = Catalog::new(vec![offer("big", 1, 32, 64), offer("small", 2, 4, 8)]);
        let slots = [slot("any", Need::default()), slot("large", size(20, "32Gi"))];
        assert_eq!(names(&slots, &catalog, &BTreeMap::new()).unwrap(), ["small", "big"]);
    }

    #[test]
    fn what_stands_is_kept_unless_that_is_the_only_way() {
        let catalog =
            Catalog::new(vec![offer("a", 1, 8, 16), offer("b", 2, 8, 16), offer("c", 3, 8, 16)]);
        let slots = [slot("w0", size(4, "8Gi")), slot("w1", size(4, "8Gi"))];
        let current = BTreeMap::from([(0, 2), (1, 1)]);
        assert_eq!(names(&slots, &catalog, &current).unwrap(), ["c", "b"]);
        let pinned = slot("m", Need { macs: vec![mac(3)], ..Need::default() });
        let slots = [slots[0].clone(), slots[1].clone(), pinned];
        assert_eq!(names(&slots, &catalog, &current).unwrap(), ["a", "b", "c"]);
    }

    #[test]
    fn too_few_hosts_give_the_cut() {
        let catalog =
            Catalog::new(vec![offer("a", 1, 32, 64), offer("b", 2, 4, 8), offer("c", 3, 4, 8)]);
        let slots = [
            slot("l0", size(20, "32Gi")),
            slot("l1", size(20, "32Gi")),
            slot("s", Need::default()),
        ];
        let cuts = solve(&slots, &catalog, &BTreeMap::new(), |_| true).bottlenecks;
        assert_eq!(cuts, [Bottleneck { slots: vec![0, 1], hosts: vec![0] }]);
    }

    /// All ways, by brute force.
    fn possible(slots: &[Slot], catalog: &Catalog, used: &mut Vec<bool>) -> bool {
        let Some((slot, rest)) = slots.split_first() else { return true };
        for host in 0..catalog.offers.len() {
            if !used[host] && fits(&slot.need, catalog, host) {
                used[host] = true;
                let found = possible(rest, catalog, used);
                used[host] = false;
                if found {
                    return true;
                }
            }
        }
        false
    }

    fn any_need() -> impl Strategy<Value = Need> {
        prop_oneof![
            Just(Need::default()),
            (1u32..5, 1u32..5).prop_map(|(c, m)| size(c, &format!("{m}Gi"))),
            (0u8..8).prop_map(|n| Need { macs: vec![mac(n)], ..Need::default() }),
            (0u8..8, 1u32..5).prop_map(|(n, c)| Need {
                macs: vec![mac(n)],
                cpu: Some(c),
                ..Need::default()
            }),
        ]
    }

    fn any_catalog() -> impl Strategy<Value = Vec<(u32, u32)>> {
        proptest::collection::vec((1u32..5, 1u32..5), 0..8)
    }

    fn catalog_of(hosts: &[(u32, u32)]) -> Catalog {
        let named =
            |(i, (c, m)): (usize, &(u32, u32))| offer(&format!("h{i}"), i as u8, *c, u64::from(*m));
        Catalog::new(hosts.iter().enumerate().map(named).collect())
    }

    proptest! {
        #[test]
        fn a_full_solution_is_found_exactly_when_there_is_one(
            needs in proptest::collection::vec(any_need(), 0..8),
            hosts in any_catalog(),
            stands in proptest::collection::btree_map(0usize..8, 0usize..8, 0..4),
        ) {
            let slots: Vec<Slot> = needs.into_iter().enumerate().map(|(i, n)| slot(&format!("s{i}"), n)).collect();
            let catalog = catalog_of(&hosts);
            let current = stands.into_iter().filter(|(s, h)| *s < slots.len() && *h < hosts.len()).collect();
            let solution = solve(&slots, &catalog, &current, |_| true);
            let full = solution.assignment.host_of.len() == slots.len();
            prop_assert_eq!(full, possible(&slots, &catalog, &mut vec![false; hosts.len()]));
            prop_assert_eq!(full, solution.bottlenecks.is_empty());
            let mut hosts_used: Vec<_> = solution.assignment.host_of.values().collect();
            hosts_used.sort();
            hosts_used.dedup();
            prop_assert_eq!(hosts_used.len(), solution.assignment.host_of.len(), "a host is given once only");
            for (s, h) in &solution.assignment.host_of {
                prop_assert!(fits(&slots[*s].need, &catalog, *h));
            }
            let unserved = slots.len() - solution.assignment.host_of.len();
            let mut proved = 0;
            for cut in solution.bottlenecks {
                prop_assert!(cut.slots.len() > cut.hosts.len(), "the cut proves itself");
                proved += cut.slots.len() - cut.hosts.len();
            }
            prop_assert_eq!(proved, unserved, "the cuts tell of every slot that is not served");
        }

        #[test]
        fn the_order_of_the_hosts_has_no_influence(hosts in any_catalog(), seed: u64) {
            let slots = [slot("a", size(2, "2Gi")), slot("b", size(3, "1Gi")), slot("c", Need::default())];
            let offers = catalog_of(&hosts).offers;
            let mut mixed = offers.clone();
            let len = mixed.len().max(1);
            mixed.rotate_left(seed as usize % len);
            prop_assert_eq!(
                names(&slots, &Catalog::new(offers), &BTreeMap::new()),
                names(&slots, &Catalog::new(mixed), &BTreeMap::new())
            );
        }
    }
}
