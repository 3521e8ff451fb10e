//! The best full assignment of slots to hosts, whenever there is a full one.
//!
//! All slots of a provisioning are served or none is. What makes one assignment better than another
//! is in `cost`; how the best is found, in `flow`. When there is no full one, the groups that the
//! last search reached are a min cut: together they want more hosts than any of them could take
//! (Hall's condition broken), which is the explanation.

use std::collections::{BTreeMap, BTreeSet};

use bpa_common::api::{FailureDomains, Spread};

use super::cost::{self, Cost, of_host};
use super::flow::{Flow, Node};
use super::group::{Group, groups};
use super::{Catalog, Slot};

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Wish<'a> {
    pub slots: &'a [Slot],
    /// The host that a slot has now (positions in slots and catalog); it is kept while it fits.
    pub current: &'a BTreeMap<usize, usize>,
    pub domains: Option<&'a FailureDomains>,
}

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
    pub cost: Cost,
}

/// A min cut: more slots than hosts that they could take together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bottleneck {
    pub slots: Vec<usize>,
    pub hosts: Vec<usize>,
    /// The hosts would do, but too many are in one failure domain: at most this many of each.
    pub spread: Option<usize>,
}

impl Bottleneck {
    /// How many slots are not served.
    pub fn missing(&self, domain_of: impl Fn(usize) -> String) -> usize {
        let Some(most) = self.spread else { return self.slots.len() - self.hosts.len() };
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        self.hosts.iter().for_each(|host| *counts.entry(domain_of(*host)).or_default() += 1);
        self.slots.len().saturating_sub(counts.values().map(|n| (*n).min(most)).sum())
    }
}

/// With `spread: Required`, the most slots that one failure domain may have: half of them, so that
/// at least two domains are used and the loss of one never takes the larger part.
pub fn most_in_a_domain(slots: usize) -> usize {
    slots.div_ceil(2)
}

/// Finds the best full assignment. Hosts for which `free` is false are never taken.
pub fn solve(wish: &Wish<'_>, catalog: &Catalog, free: impl Fn(usize) -> bool) -> Solution {
    let mut groups = groups(wish.slots, catalog, free);
    // Pickier groups first: fewer moves. The order of the input has no influence.
    groups.sort_by_key(|group| (group.hosts.len(), group.slots[0]));
    let required = wish.domains.is_some_and(|domains| domains.spread == Spread::Required);
    let cap = if required { most_in_a_domain(wish.slots.len()) } else { usize::MAX };
    let limited = Solver::new(wish, catalog, &groups, cap).run();
    if limited.bottlenecks.is_empty() || !required {
        return limited;
    }
    let unlimited = Solver::new(wish, catalog, &groups, usize::MAX).run();
    if !unlimited.bottlenecks.is_empty() {
        return unlimited;
    }
    let mut hosts: Vec<usize> = groups.iter().flat_map(|group| group.hosts.clone()).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let slots = (0..wish.slots.len()).collect();
    Solution { bottlenecks: vec![Bottleneck { slots, hosts, spread: Some(cap) }], ..limited }
}

struct Solver<'a> {
    wish: &'a Wish<'a>,
    groups: &'a [Group<'a>],
    flow: Flow,
    /// The position in the catalog of each host of the flow.
    hosts: Vec<usize>,
    costs: Vec<BTreeMap<usize, Cost>>,
    domain_of: Vec<usize>,
    even: bool,
}

impl<'a> Solver<'a> {
    fn new(wish: &'a Wish<'a>, catalog: &Catalog, groups: &'a [Group<'a>], cap: usize) -> Self {
        let domains = Domains::new(wish.domains, catalog);
        let mut costs: BTreeMap<usize, BTreeMap<usize, Cost>> = BTreeMap::new();
        for (index, group) in groups.iter().enumerate() {
            for (host, cost) in candidates(wish, catalog, group, &domains) {
                costs.entry(host).or_default().insert(index, cost);
            }
        }
        let hosts: Vec<usize> = costs.keys().copied().collect();
        let domain_of: Vec<usize> = hosts.iter().map(|host| domains.of(*host)).collect();
        let costs: Vec<BTreeMap<usize, Cost>> = costs.into_values().collect();
        let nodes = costs.iter().zip(&domain_of).map(|(costs, domain)| Node {
            domain: *domain,
            costs: costs.iter().map(|(group, cost)| (*group, *cost)).collect(),
        });
        let even = wish.domains.is_some();
        let flow = Flow::new(nodes.collect(), groups.len(), domains.count(), even, cap);
        Self { wish, groups, flow, hosts, costs, domain_of, even }
    }

    fn run(mut self) -> Solution {
        let mut cuts: Vec<Vec<bool>> = Vec::new();
        for group in 0..self.groups.len() {
            for _ in 0..self.groups[group].slots.len() {
                if let Err(cut) = self.flow.augment(group) {
                    cuts.push(cut);
                    break;
                }
            }
        }
        let bottlenecks = apart(cuts).iter().map(|cut| self.bottleneck(cut)).collect();
        Solution { assignment: self.name_slots(), bottlenecks, cost: self.cost() }
    }

    fn cost(&self) -> Cost {
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        let mut sum = 0;
        for (host, holder) in self.flow.holders().iter().enumerate() {
            let Some(group) = holder else { continue };
            sum += self.costs[host].get(group).copied().unwrap_or(0);
            if self.even {
                let count = counts.entry(self.domain_of[host]).or_default();
                sum += cost::of_next_in_domain(*count);
                *count += 1;
            }
        }
        sum
    }

    fn bottleneck(&self, seen: &[bool]) -> Bottleneck {
        let groups = || self.groups.iter().zip(seen).filter(|(_, seen)| **seen).map(|(g, _)| g);
        let mut slots: Vec<usize> = groups().flat_map(|group| group.slots.clone()).collect();
        let mut hosts: Vec<usize> = groups().flat_map(|group| group.hosts.clone()).collect();
        slots.sort_unstable();
        hosts.sort_unstable();
        hosts.dedup();
        Bottleneck { slots, hosts, spread: None }
    }

    /// Within a group hosts are alike to the need: slots keep theirs, the rest go by name.
    fn name_slots(&self) -> Assignment {
        let mut held: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); self.groups.len()];
        for (host, holder) in self.flow.holders().iter().enumerate() {
            if let Some(group) = holder {
                held[*group].insert(self.hosts[host]);
            }
        }
        let mut host_of = BTreeMap::new();
        for (group, mut rest) in self.groups.iter().zip(held) {
            for slot in &group.slots {
                if let Some(host) = self.wish.current.get(slot).filter(|host| rest.remove(host)) {
                    host_of.insert(*slot, *host);
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

/// The hosts of a group that can matter: in each failure domain as many of the cheapest as there
/// are slots in all. Of more, one would always be free, and no worse.
fn candidates(
    wish: &Wish<'_>,
    catalog: &Catalog,
    group: &Group<'_>,
    domains: &Domains,
) -> Vec<(usize, Cost)> {
    let stands: BTreeSet<usize> =
        group.slots.iter().filter_map(|slot| wish.current.get(slot)).copied().collect();
    let mut by_domain: Vec<Vec<(Cost, usize)>> = vec![Vec::new(); domains.count()];
    for host in &group.hosts {
        let cost = of_host(group.need, catalog, *host, stands.contains(host));
        by_domain[domains.of(*host)].push((cost, *host));
    }
    let most = wish.slots.len();
    for hosts in &mut by_domain {
        if hosts.len() > most && most > 0 {
            hosts.select_nth_unstable(most - 1);
            hosts.truncate(most);
        }
    }
    by_domain.into_iter().flatten().map(|(cost, host)| (host, cost)).collect()
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

/// The failure domain of each host. Hosts without the label are one domain of their own.
struct Domains {
    of: Vec<usize>,
    count: usize,
}

impl Domains {
    fn new(wanted: Option<&FailureDomains>, catalog: &Catalog) -> Self {
        let Some(wanted) = wanted else { return Self { of: Vec::new(), count: 1 } };
        let mut numbers: BTreeMap<Option<&String>, usize> = BTreeMap::new();
        let of: Vec<usize> = catalog
            .offers
            .iter()
            .map(|offer| {
                let next = numbers.len();
                *numbers.entry(offer.labels.get(&wanted.label)).or_insert(next)
            })
            .collect();
        Self { of, count: numbers.len().max(1) }
    }

    fn of(&self, host: usize) -> usize {
        self.of.get(host).copied().unwrap_or(0)
    }

    fn count(&self) -> usize {
        self.count
    }
}

#[cfg(test)]
mod tests;
