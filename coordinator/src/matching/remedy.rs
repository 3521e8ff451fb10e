//! Remedies that are proved: each is told only after the question was answered again with it.
//!
//! The search for the smallest change is by bisection over the values that hosts have (a lower
//! value admits more hosts, so once it works it keeps working); then the change as it is told, in
//! the user's unit, is tried as a whole.

use bpa_common::api::{Quantity, Spread};

use super::classes::{Class, Classes};
use super::explain::{kinds, named};
use super::group::{Group, groups, hosts_of};
use super::report::Remedy;
use super::requirement::{FEATURES, fits};
use super::solve::{Bottleneck, Wish, most_in_a_domain};
use super::{Catalog, Need, Offer};

/// What a size requirement has to do with an offer.
const SIZES: [&str; 3] = ["cpu", "memory", "disk"];

/// Single relaxations of one kind of slot that make everything fit, smallest first; then the hosts
/// to add.
pub fn remedies(
    wish: &Wish<'_>,
    catalog: &Catalog,
    cuts: &[Bottleneck],
    free: impl Fn(usize) -> bool,
) -> Vec<Remedy> {
    let takeable: Vec<usize> = (0..catalog.offers.len())
        .filter(|host| catalog.offers[*host].is_eligible() && free(*host))
        .collect();
    let search = Search::new(wish, catalog, &takeable);
    let mut found: Vec<(u32, Remedy)> = Vec::new();
    for (need, members) in kinds(wish.slots, cuts) {
        let Some(group) = search.groups.iter().position(|group| group.need == need) else {
            continue;
        };
        for requirement in SIZES {
            found.extend(search.relax(group, &members, requirement));
        }
    }
    found.sort_by_key(|(distance, _)| *distance);
    let mut told: Vec<Remedy> = found.into_iter().map(|(_, remedy)| remedy).collect();
    told.extend(search.loosen_spread(cuts));
    told.extend(search.addition(cuts));
    told
}

struct Search<'a> {
    wish: &'a Wish<'a>,
    catalog: &'a Catalog,
    takeable: &'a [usize],
    groups: Vec<Group<'a>>,
    /// By position in the catalog.
    class_of: Vec<Class>,
    classes: Classes,
}

impl<'a> Search<'a> {
    fn new(wish: &'a Wish<'a>, catalog: &'a Catalog, takeable: &'a [usize]) -> Self {
        let groups = groups(wish.slots, catalog, |host| takeable.binary_search(&host).is_ok());
        let required = wish.domains.filter(|domains| domains.spread == Spread::Required);
        let mut labels: Vec<Option<&String>> = Vec::new();
        let mut domain_of = |offer: &'a Offer| {
            let Some(domains) = required else { return 0 };
            let label = offer.labels.get(&domains.label);
            labels.iter().position(|known| *known == label).unwrap_or_else(|| {
                labels.push(label);
                labels.len() - 1
            })
        };
        let mut class_of: Vec<Class> =
            catalog.offers.iter().map(|offer| (Vec::new(), domain_of(offer))).collect();
        for (index, group) in groups.iter().enumerate() {
            group.hosts.iter().for_each(|host| class_of[*host].0.push(index));
        }
        let mut classes = Classes {
            demand: groups.iter().map(|group| group.slots.len()).collect(),
            counts: Default::default(),
            cap: if required.is_some() { most_in_a_domain(wish.slots.len()) } else { usize::MAX },
        };
        takeable.iter().for_each(|host| classes.add(class_of[*host].clone()));
        Self { wish, catalog, takeable, groups, class_of, classes }
    }

    /// The smallest lowering of one requirement of one group that works.
    fn relax(
        &self,
        group: usize,
        members: &[String],
        requirement: &'static str,
    ) -> Option<(u32, Remedy)> {
        let need = self.groups[group].need;
        let wanted = wanted(need, requirement)?;
        // Hosts that miss only this, best first.
        let without = lowered(need, requirement, None);
        let mut values: Vec<(u64, usize)> = hosts_of(&without, self.catalog, self.takeable)
            .into_iter()
            .filter_map(|host| Some((found(&self.catalog.offers[host], requirement)?, host)))
            .filter(|(value, _)| *value < wanted)
            .collect();
        values.sort_unstable_by(|a, b| b.cmp(a));
        let works = |most: usize| {
            let mut classes = self.classes.clone();
            values[..most].iter().for_each(|(_, host)| self.admit(&mut classes, *host, group));
            classes.fits()
        };
        let (mut low, mut high) = (1, values.len());
        if values.is_empty() || !works(high) {
            return None;
        }
        while low < high {
            let middle = usize::midpoint(low, high);
            if works(middle) { high = middle } else { low = middle + 1 }
        }
        self.told(group, members, requirement, values[low - 1].0, wanted)
    }

    /// Lets a host serve one group more.
    fn admit(&self, classes: &mut Classes, host: usize, group: usize) {
        let (serves, domain) = &self.class_of[host];
        if let Err(at) = serves.binary_search(&group) {
            classes.remove(&self.class_of[host]);
            let mut more = serves.clone();
            more.insert(at, group);
            classes.add((more, *domain));
        }
    }

    /// The lowering as it is told, in the user's unit, proved as a whole.
    fn told(
        &self,
        group: usize,
        members: &[String],
        requirement: &'static str,
        value: u64,
        wanted: u64,
    ) -> Option<(u32, Remedy)> {
        let relaxed = lowered(self.groups[group].need, requirement, Some(value));
        let mut classes = self.classes.clone();
        for host in hosts_of(&relaxed, self.catalog, self.takeable) {
            self.admit(&mut classes, host, group);
        }
        if !classes.fits() {
            return None;
        }
        let shown = match requirement {
            "cpu" => value.to_string(),
            "memory" => relaxed.memory?.to_string(),
            _ => relaxed.disk?.to_string(),
        };
        let distance = u32::try_from(u128::from(wanted - value) * 1000 / u128::from(wanted.max(1)));
        let remedy = Remedy {
            action: "lower".into(),
            requirement: requirement.into(),
            slots: members.to_vec(),
            message: format!("lower {requirement} of {} to {shown}", quoted(members)),
            value: shown,
        };
        Some((distance.unwrap_or(u32::MAX), remedy))
    }

    /// A spread that is a wish instead of a condition.
    fn loosen_spread(&self, cuts: &[Bottleneck]) -> Option<Remedy> {
        cuts.iter().find(|cut| cut.spread.is_some())?;
        let loose = Classes { cap: usize::MAX, ..self.classes.clone() };
        loose.fits().then(|| Remedy {
            action: "relax".into(),
            requirement: "failureDomains".into(),
            slots: self.wish.slots.iter().map(|slot| slot.name.clone()).collect(),
            value: "Preferred".into(),
            message: "set failureDomains.spread to Preferred".into(),
        })
    }

    /// "Add n hosts with at least …", the fewest that do, proved by adding them.
    fn addition(&self, cuts: &[Bottleneck]) -> Option<Remedy> {
        // A slot that names a MAC is not served by any other machine.
        let mut kinds: Vec<(&Need, Vec<String>)> = kinds(self.wish.slots, cuts)
            .into_iter()
            .filter(|(need, _)| need.macs.is_empty())
            .collect();
        // The least demanding that helps is the smallest addition.
        kinds.sort_by_key(|(need, _)| self.served_by(need).len());
        let spread = cuts.iter().any(|cut| cut.spread.is_some());
        let ideals: Vec<Vec<usize>> = kinds.iter().map(|(need, _)| self.served_by(need)).collect();
        let mut classes = self.classes.clone();
        let mut counts = vec![0usize; kinds.len()];
        // Each host that is added is in a domain of its own, if domains count.
        let mut domain = self.class_of.iter().map(|(_, domain)| domain + 1).max().unwrap_or(0);
        let all: usize = classes.demand.iter().sum();
        let mut served = classes.served();
        while served < all {
            let helps = (0..kinds.len()).find(|kind| {
                let mut more = classes.clone();
                more.add((ideals[*kind].clone(), domain));
                more.served() > served
            })?;
            classes.add((ideals[helps].clone(), domain));
            counts[helps] += 1;
            served += 1;
            domain += usize::from(spread);
        }
        let label = self.wish.domains.map(|domains| domains.label.as_str()).filter(|_| spread);
        let parts: Vec<String> = kinds
            .iter()
            .zip(&counts)
            .filter(|(_, count)| **count > 0)
            .map(|((need, _), count)| {
                let plural = if *count == 1 { "" } else { "s" };
                let place = label.map(|l| format!(", in another {l}")).unwrap_or_default();
                format!("{count} host{plural}{}{place}", words(need))
            })
            .collect();
        Some(Remedy {
            action: "add".into(),
            requirement: "hosts".into(),
            slots: kinds.into_iter().flat_map(|(_, names)| names).collect(),
            value: counts.iter().sum::<usize>().to_string(),
            message: format!("add {}", parts.join(" and ")),
        })
    }

    /// The groups that a host made for this need can serve.
    fn served_by(&self, need: &Need) -> Vec<usize> {
        let alone = Catalog::new(vec![ideal(need)]);
        (0..self.groups.len()).filter(|group| fits(self.groups[*group].need, &alone, 0)).collect()
    }
}

/// Names as they stand in a sentence.
fn quoted(members: &[String]) -> String {
    let names = named(members);
    if names.ends_with('*') { format!("`{names}`") } else { names }
}

fn wanted(need: &Need, requirement: &str) -> Option<u64> {
    match requirement {
        "cpu" => need.cpu.map(u64::from),
        "memory" => need.memory.as_ref().map(Quantity::bytes),
        _ => need.disk.as_ref().map(Quantity::bytes),
    }
}

fn found(offer: &Offer, requirement: &str) -> Option<u64> {
    match requirement {
        "cpu" => offer.cpu.map(u64::from),
        "memory" => offer.memory,
        _ => offer.disk,
    }
}

/// The need with one requirement at another value, or without it.
fn lowered(need: &Need, requirement: &str, value: Option<u64>) -> Need {
    let mut relaxed = need.clone();
    match requirement {
        "cpu" => relaxed.cpu = value.and_then(|value| u32::try_from(value).ok()),
        "memory" => relaxed.memory = relaxed.memory.zip(value).map(|(q, v)| in_unit(&q, v)),
        _ => relaxed.disk = relaxed.disk.zip(value).map(|(q, v)| in_unit(&q, v)),
    }
    relaxed
}

/// The value in the user's unit if that is exact or rounds down; else in bytes.
fn in_unit(wanted: &Quantity, bytes: u64) -> Quantity {
    wanted
        .in_same_unit(bytes)
        .parse::<Quantity>()
        .ok()
        .filter(|q| q.bytes() > 0 && q.bytes() <= bytes)
        .unwrap_or_else(|| Quantity::from_bytes(bytes))
}

/// A host that has just what is needed.
fn ideal(need: &Need) -> Offer {
    use bpa_common::api::SelectorOperator as Op;
    let mut labels = std::collections::BTreeMap::new();
    for selector in &need.selectors {
        labels.extend(selector.match_labels.clone());
        for expression in &selector.match_expressions {
            let value = match expression.operator {
                Op::In => expression.values.first().cloned(),
                Op::Exists => Some("true".to_owned()),
                Op::NotIn | Op::DoesNotExist => None,
            };
            labels.extend(value.map(|value| (expression.key.clone(), value)));
        }
    }
    for (key, asked) in FEATURES.into_iter().zip([need.sriov, need.qat]) {
        if asked == Some(true) {
            labels.insert(key.to_owned(), "true".to_owned());
        }
    }
    Offer {
        cpu: Some(need.cpu.unwrap_or(0)),
        memory: Some(need.memory.as_ref().map_or(0, Quantity::bytes)),
        disk: Some(need.disk.as_ref().map_or(0, Quantity::bytes)),
        labels,
        ..Offer::default()
    }
}

fn words(need: &Need) -> String {
    let sizes = [
        need.cpu.map(|n| format!("{n} CPUs")),
        need.memory.as_ref().map(|q| format!("{q} of memory")),
        need.disk.as_ref().map(|q| format!("a disk of {q}")),
    ];
    let labels: Vec<String> =
        ideal(need).labels.iter().map(|(key, value)| format!("the label {key}={value}")).collect();
    let sizes: Vec<String> = sizes.into_iter().flatten().collect();
    match (sizes.is_empty(), labels.is_empty()) {
        (true, true) => String::new(),
        (false, true) => format!(" with at least {}", sizes.join(", ")),
        (true, false) => format!(" with {}", labels.join(", ")),
        (false, false) => format!(" with at least {} and {}", sizes.join(", "), labels.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use bpa_common::api::FailureDomains;
    use proptest::prelude::*;

    use super::*;
    use crate::matching::Slot;
    use crate::matching::solve::solve;
    use crate::matching::testing::{offer, size, slot};

    fn told(slots: &[Slot], catalog: &Catalog, domains: Option<&FailureDomains>) -> Vec<Remedy> {
        let wish = Wish { slots, current: &BTreeMap::new(), domains };
        let cuts = solve(&wish, catalog, |_| true).bottlenecks;
        remedies(&wish, catalog, &cuts, |_| true)
    }

    fn messages(remedies: &[Remedy]) -> Vec<&str> {
        remedies.iter().map(|remedy| remedy.message.as_str()).collect()
    }

    fn workers(count: usize, need: &Need) -> Vec<Slot> {
        (0..count).map(|n| slot(&format!("worker-{n}"), need.clone())).collect()
    }

    #[test]
    fn the_smallest_lowering_comes_first_in_the_users_unit() {
        let catalog =
            Catalog::new(vec![offer("a", 1, 16, 64), offer("b", 2, 16, 62), offer("c", 3, 8, 64)]);
        let found = told(&workers(2, &size(16, "64Gi")), &catalog, None);
        assert_eq!(
            messages(&found),
            [
                "lower memory of `worker-*` to 62Gi",
                "lower cpu of `worker-*` to 8",
                "add 1 host with at least 16 CPUs, 64Gi of memory",
            ]
        );
    }

    #[test]
    fn kinds_that_no_one_host_serves_get_a_host_each() {
        let rack = |name: &str| Need {
            selectors: vec![bpa_common::api::LabelSelector {
                match_labels: [("rack".to_owned(), name.to_owned())].into(),
                ..Default::default()
            }],
            ..Need::default()
        };
        let slots = [slot("x", rack("a")), slot("y", rack("b"))];
        let found = told(&slots, &Catalog::new(vec![]), None);
        assert_eq!(
            messages(&found),
            ["add 1 host with the label rack=a and 1 host with the label rack=b"]
        );
    }

    #[test]
    fn a_spread_that_can_not_be_is_remedied_by_a_host_elsewhere_or_as_a_wish() {
        let mut offers = vec![offer("a", 1, 8, 32), offer("b", 2, 8, 32), offer("c", 3, 8, 32)];
        for offer in &mut offers {
            offer.labels.insert("rack".into(), "a".into());
        }
        let domains = FailureDomains { label: "rack".into(), spread: Spread::Required };
        let slots = workers(3, &size(8, "32Gi"));
        let found = told(&slots, &Catalog::new(offers), Some(&domains));
        assert_eq!(
            messages(&found),
            [
                "set failureDomains.spread to Preferred",
                "add 1 host with at least 8 CPUs, 32Gi of memory, in another rack",
            ]
        );
    }

    proptest! {
        /// Each lowering, carried out in the spec, makes it fit; the next larger value of a host
        /// does not.
        #[test]
        fn a_lowering_works_and_a_smaller_one_does_not(
            hosts in prop::collection::vec((1u32..6, 1u64..6), 1..8),
            needs in prop::collection::vec((2u32..8, 2u32..8), 1..6),
        ) {
            let named = |(i, (c, m)): (usize, &(u32, u64))| offer(&format!("h{i}"), i as u8, *c, *m);
            let catalog = Catalog::new(hosts.iter().enumerate().map(named).collect());
            let slots: Vec<Slot> = needs
                .iter()
                .enumerate()
                .map(|(i, (c, m))| slot(&format!("s{i}"), size(*c, &format!("{m}Gi"))))
                .collect();
            let fits_with = |slots: &[Slot]| {
                let wish = Wish { slots, current: &BTreeMap::new(), domains: None };
                solve(&wish, &catalog, |_| true).bottlenecks.is_empty()
            };
            for remedy in told(&slots, &catalog, None).iter().filter(|r| r.action == "lower") {
                let change = |value: &str| -> Vec<Slot> {
                    let lower = |slot: &Slot| {
                        let mut slot = slot.clone();
                        if remedy.slots.contains(&slot.name) {
                            match remedy.requirement.as_str() {
                                "cpu" => slot.need.cpu = value.parse().ok(),
                                _ => slot.need.memory = value.parse().ok(),
                            }
                        }
                        slot
                    };
                    slots.iter().map(lower).collect()
                };
                prop_assert!(fits_with(&change(&remedy.value)), "{}", remedy.message);
                let number: u32 = remedy.value.trim_end_matches("Gi").parse().unwrap();
                let unit = remedy.value.trim_start_matches(|c: char| c.is_ascii_digit());
                prop_assert!(!fits_with(&change(&format!("{}{unit}", number + 1))), "{}", remedy.message);
            }
        }
    }
}
