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
    let takeable: Vec<usize> = (0..catalog.offers.len()).filter(|host| free(*host)).collect();
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
mod tests;
