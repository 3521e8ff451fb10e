//! Remedies that are proved: each is tried by solving again before it is told.

use std::collections::BTreeMap;

use bpa_common::api::Quantity;

use super::explain::{kinds, shown};
use super::report::Remedy;
use super::requirement::misses;
use super::solve::{Bottleneck, solve};
use super::{Catalog, Need, Offer, Slot};

/// Each kind of slot, each size requirement: this many values are tried.
const MOST_TRIES: usize = 64;

/// Single relaxations of one kind of slot that make everything fit, smallest first; then the hosts
/// to add.
pub fn remedies(
    slots: &[Slot],
    catalog: &Catalog,
    current: &BTreeMap<usize, usize>,
    cuts: &[Bottleneck],
    free: impl Fn(usize) -> bool + Copy,
) -> Vec<Remedy> {
    let mut found: Vec<(u32, Remedy)> = Vec::new();
    for (need, members) in kinds(slots, cuts) {
        for requirement in ["cpu", "memory", "disk"] {
            let works = |relaxed: &Need| {
                let changed: Vec<Slot> = slots
                    .iter()
                    .map(|s| {
                        if s.need == *need {
                            Slot { need: relaxed.clone(), ..s.clone() }
                        } else {
                            s.clone()
                        }
                    })
                    .collect();
                solve(&changed, catalog, current, free).bottlenecks.is_empty()
            };
            found.extend(relax(need, &members, requirement, catalog, free, works));
        }
    }
    found.sort_by_key(|(distance, _)| *distance);
    let mut told: Vec<Remedy> = found.into_iter().map(|(_, remedy)| remedy).collect();
    told.extend(addition(slots, catalog, current, cuts, free));
    told
}

/// The smallest lowering of one requirement that works, by bisection over the values that hosts
/// have (a lower value admits more hosts, so once it works it keeps working).
fn relax(
    need: &Need,
    members: &[String],
    requirement: &'static str,
    catalog: &Catalog,
    free: impl Fn(usize) -> bool,
    works: impl Fn(&Need) -> bool,
) -> Option<(u32, Remedy)> {
    let mut values: Vec<u64> = (0..catalog.offers.len())
        .filter(|host| catalog.offers[*host].is_eligible() && free(*host))
        .flat_map(|host| misses(need, catalog, host))
        .filter(|miss| miss.requirement == requirement)
        .filter_map(|miss| miss.found_value)
        .collect();
    values.sort_unstable();
    values.dedup();
    values.reverse();
    let (mut low, mut high) = (0, values.len());
    let mut tries = 0;
    while low < high && tries < MOST_TRIES {
        let middle = usize::midpoint(low, high);
        if works(&lowered(need, requirement, values[middle])) {
            high = middle
        } else {
            low = middle + 1
        }
        tries += 1;
    }
    let value = *values.get(low)?;
    let relaxed = lowered(need, requirement, value);
    if !works(&relaxed) {
        return None;
    }
    let (wanted, shown_value) = match requirement {
        "cpu" => (u64::from(need.cpu?), value.to_string()),
        "memory" => (need.memory.as_ref()?.bytes(), relaxed.memory?.to_string()),
        _ => (need.disk.as_ref()?.bytes(), relaxed.disk?.to_string()),
    };
    let distance = u32::try_from((wanted - value) * 1000 / wanted.max(1)).unwrap_or(u32::MAX);
    let message = format!("lower {requirement} of {} to {shown_value}", shown(members));
    Some((
        distance,
        Remedy {
            action: "lower".into(),
            requirement: requirement.into(),
            slots: members.to_vec(),
            value: shown_value,
            message,
        },
    ))
}

fn lowered(need: &Need, requirement: &str, value: u64) -> Need {
    let mut relaxed = need.clone();
    match requirement {
        "cpu" => relaxed.cpu = u32::try_from(value).ok(),
        "memory" => relaxed.memory = relaxed.memory.map(|q| in_unit(&q, value)),
        _ => relaxed.disk = relaxed.disk.map(|q| in_unit(&q, value)),
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

/// "Add n hosts with at least …", proved by adding them.
fn addition(
    slots: &[Slot],
    catalog: &Catalog,
    current: &BTreeMap<usize, usize>,
    cuts: &[Bottleneck],
    free: impl Fn(usize) -> bool,
) -> Option<Remedy> {
    // A slot that names a MAC is not served by any other machine.
    let open: Vec<&Slot> = cuts
        .iter()
        .flat_map(|cut| &cut.slots)
        .map(|i| &slots[*i])
        .filter(|s| s.need.macs.is_empty())
        .collect();
    let largest =
        open.iter().fold(Need::default(), |all, s| all.both(s.need.clone()).unwrap_or_default());
    let known = catalog.offers.len();
    for count in 1..=open.len().min(MOST_TRIES) {
        let mut offers = catalog.offers.clone();
        offers.extend((0..count).map(|n| ideal(&largest, n)));
        let more = Catalog::new(offers);
        // The added ones sort last (see `ideal`), so positions of the known ones stand.
        if solve(slots, &more, current, |h| h >= known || free(h)).bottlenecks.is_empty() {
            let value = words(&largest);
            let plural = if count == 1 { "" } else { "s" };
            return Some(Remedy {
                action: "add".into(),
                requirement: "hosts".into(),
                slots: open.iter().map(|s| s.name.clone()).collect(),
                value: count.to_string(),
                message: format!("add {count} host{plural}{value}"),
            });
        }
    }
    None
}

fn ideal(need: &Need, n: usize) -> Offer {
    let labels = need.selectors.iter().flat_map(|s| s.match_labels.clone()).collect();
    Offer {
        id: super::HostId {
            namespace: "\u{10ffff}".into(),
            name: format!("{n:06}"),
            uid: String::new(),
        },
        cpu: Some(need.cpu.unwrap_or(u32::MAX)),
        memory: Some(need.memory.as_ref().map_or(u64::MAX, Quantity::bytes)),
        disk: Some(need.disk.as_ref().map_or(u64::MAX, Quantity::bytes)),
        labels,
        ..Offer::default()
    }
}

fn words(need: &Need) -> String {
    let parts: Vec<String> = [
        need.cpu.map(|n| format!("{n} CPUs")),
        need.memory.as_ref().map(|q| format!("{q} of memory")),
        need.disk.as_ref().map(|q| format!("a disk of {q}")),
    ]
    .into_iter()
    .flatten()
    .chain(
        need.selectors
            .iter()
            .flat_map(|s| s.match_labels.iter().map(|(k, v)| format!("the label {k}={v}"))),
    )
    .collect();
    if parts.is_empty() { String::new() } else { format!(" with at least {}", parts.join(", ")) }
}
