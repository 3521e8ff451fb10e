//! Why there is no full solution, in words: a min cut, its near misses, and who is not eligible.

use std::collections::BTreeMap;

use serde::Serialize;

use bpa_common::api::FailureDomains;
use bpa_common::net::MacAddress;

use super::requirement::{fits, misses, nearness};
use super::solve::{Bottleneck, Wish};
use super::{Catalog, Need, Offer, Slot};

/// Slots that compete for too few hosts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Competition {
    pub slots: Vec<String>,
    pub hosts: Vec<String>,
    pub message: String,
}

/// A host that almost fits a slot, by one requirement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NearMiss {
    pub slot: String,
    pub host: String,
    /// How many further hosts miss just the same.
    #[serde(skip_serializing_if = "is_zero")]
    pub more: usize,
    pub requirement: String,
    pub wanted: String,
    pub found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub short_by: Option<String>,
}

impl NearMiss {
    /// The hosts as a person reads them.
    pub fn hosts(&self) -> String {
        if self.more == 0 {
            self.host.clone()
        } else {
            format!("{} and {} more", self.host, self.more)
        }
    }
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// The whole explanation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    pub summary: String,
    pub competing: Vec<Competition>,
    pub near_misses: Vec<NearMiss>,
    pub remedies: Vec<super::Remedy>,
}

/// Hosts told per kind of slot; a person reads these, so thousands help nobody.
const NEAREST: usize = 5;

/// Puts the bottlenecks into words. `free` as in `solve`.
pub fn explain(
    wish: &Wish<'_>,
    catalog: &Catalog,
    cuts: &[Bottleneck],
    free: impl Fn(usize) -> bool + Copy,
) -> Explanation {
    let slots = wish.slots;
    let competing: Vec<Competition> =
        cuts.iter().map(|cut| competition(wish, catalog, cut)).collect();
    let domain_of = |host: usize| domain_name(wish.domains, catalog, host);
    let missing: usize = cuts.iter().map(|cut| cut.missing(domain_of)).sum();
    let eligible = (0..catalog.offers.len()).filter(|host| free(*host)).count();
    let words: Vec<&str> = competing.iter().map(|c| c.message.as_str()).collect();
    Explanation {
        summary: format!(
            "{missing} host{} too few: {}; {eligible} of {} hosts can be taken at all",
            if missing == 1 { "" } else { "s" },
            words.join("; "),
            catalog.offers.len()
        ),
        competing,
        near_misses: cuts.iter().flat_map(|cut| near_misses(slots, catalog, cut, free)).collect(),
        remedies: Vec::new(),
    }
}

fn competition(wish: &Wish<'_>, catalog: &Catalog, cut: &Bottleneck) -> Competition {
    let slot_names: Vec<String> = cut.slots.iter().map(|i| wish.slots[*i].name.clone()).collect();
    let host_names: Vec<String> =
        cut.hosts.iter().map(|i| catalog.offers[*i].id.to_string()).collect();
    let message = match (slot_names.as_slice(), host_names.len()) {
        _ if cut.spread.is_some() => too_close(wish, catalog, cut),
        ([only], 0) => format!("no host meets the need of {only}"),
        (many, 0) => format!("no host meets the need of any of {}", named(many)),
        (many, n) => format!(
            "{} nodes ({}) compete for {n} host{} ({})",
            many.len(),
            named(many),
            if n == 1 { "" } else { "s" },
            shown(&host_names)
        ),
    };
    Competition { slots: slot_names, hosts: host_names, message }
}

/// Enough hosts, but too many of them in one failure domain.
fn too_close(wish: &Wish<'_>, catalog: &Catalog, cut: &Bottleneck) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for host in &cut.hosts {
        *counts.entry(domain_name(wish.domains, catalog, *host)).or_default() += 1;
    }
    let words: Vec<String> = counts.iter().map(|(name, n)| format!("{n} in {name}")).collect();
    format!(
        "{} nodes must spread over failure domains with at most {} in each (failureDomains.spread is Required), and of the hosts that fit {} are",
        cut.slots.len(),
        cut.spread.unwrap_or_default(),
        shown(&words)
    )
}

fn domain_name(domains: Option<&FailureDomains>, catalog: &Catalog, host: usize) -> String {
    let Some(domains) = domains else { return String::new() };
    let value = catalog.offers[host].labels.get(&domains.label);
    value.map_or_else(
        || format!("no {}", domains.label),
        |value| format!("{}={value}", domains.label),
    )
}

/// Names, cut where a person stops reading.
pub fn shown(names: &[String]) -> String {
    const MOST: usize = 6;
    if names.len() <= MOST {
        return names.join(", ");
    }
    format!("{} and {} more", names[..MOST].join(", "), names.len() - MOST)
}

/// Names of nodes: those that differ in a number alone are told as one.
pub fn named(names: &[String]) -> String {
    let stem = |name: &String| {
        let (stem, number) = name.rsplit_once('-')?;
        number.chars().all(|c| c.is_ascii_digit()).then(|| stem.to_owned())
    };
    match names {
        [first, rest @ ..] if !rest.is_empty() => match stem(first) {
            Some(same) if rest.iter().all(|name| stem(name).as_ref() == Some(&same)) => {
                format!("{same}-*")
            }
            _ => shown(names),
        },
        _ => shown(names),
    }
}

/// The kinds of slot in the cuts, each with the names of its slots.
pub fn kinds<'a>(slots: &'a [Slot], cuts: &[Bottleneck]) -> Vec<(&'a Need, Vec<String>)> {
    let mut kinds: Vec<(&Need, Vec<String>)> = Vec::new();
    for index in cuts.iter().flat_map(|cut| &cut.slots) {
        let slot = &slots[*index];
        match kinds.iter_mut().find(|(need, _)| **need == slot.need) {
            Some((_, names)) => names.push(slot.name.clone()),
            None => kinds.push((&slot.need, vec![slot.name.clone()])),
        }
    }
    kinds
}

/// The nearest hosts for each kind of slot in the cut; one line per requirement missed.
fn near_misses(
    slots: &[Slot],
    catalog: &Catalog,
    cut: &Bottleneck,
    free: impl Fn(usize) -> bool,
) -> Vec<NearMiss> {
    let mut lines = Vec::new();
    let mut inside = cut.hosts.clone();
    inside.sort_unstable();
    for (need, names) in kinds(slots, std::slice::from_ref(cut)) {
        let mut nearest: BTreeMap<_, (usize, usize)> = BTreeMap::new();
        for (host, offer) in catalog.offers.iter().enumerate() {
            // A host of another MAC is no near miss for a slot that names one.
            let named = need.macs.is_empty() || need.macs.iter().any(|m| offer.macs.contains(m));
            let counts = named && free(host);
            if counts && inside.binary_search(&host).is_err() && !fits(need, catalog, host) {
                // Hosts that miss just the same are told together.
                let alike = (nearness(need, offer), found_of(need, offer));
                nearest.entry(alike).or_insert((host, 0)).1 += 1;
            }
        }
        for (host, count) in nearest.into_values().take(NEAREST) {
            // Why a MAC names no host is told by itself.
            let told =
                misses(need, catalog, host).into_iter().filter(|m| m.requirement != "mac-address");
            lines.extend(told.map(|miss| NearMiss {
                slot: named(&names),
                host: catalog.offers[host].id.to_string(),
                more: count - 1,
                requirement: miss.requirement.to_owned(),
                wanted: miss.wanted,
                found: miss.found,
                short_by: miss.short_by,
            }));
        }
        lines.extend(mac_words(need, catalog, &names, &free));
    }
    lines
}

/// What an offer has of all that is asked for.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Found<'a> {
    cpu: Option<u32>,
    memory: Option<u64>,
    disk: Option<u64>,
    labels: Vec<Option<&'a String>>,
}

fn found_of<'a>(need: &Need, offer: &'a Offer) -> Found<'a> {
    let labels = need.selectors.iter().flat_map(|selector| {
        let expressions = selector.match_expressions.iter().map(|e| &e.key);
        selector.match_labels.keys().chain(expressions).map(|key| offer.labels.get(key))
    });
    Found {
        cpu: need.cpu.and(offer.cpu),
        memory: need.memory.as_ref().and(offer.memory),
        disk: need.disk.as_ref().and(offer.disk),
        labels: labels.collect(),
    }
}

/// A host that seems to be meant by a MAC, and what stands where its boot MAC should be: the
/// definition of a BareMetalHost lets any text pass that contains one.
fn odd_boot_mac(catalog: &Catalog, mac: MacAddress) -> Option<(String, &str)> {
    let mac = mac.to_string();
    catalog.offers.iter().find_map(|offer| {
        let odd = offer.odd_boot_mac.as_deref()?;
        let meant = odd.to_ascii_lowercase().replace('-', ":").contains(&mac);
        meant.then(|| (offer.id.to_string(), odd))
    })
}

/// A MAC that names no host, or more than one, is said so.
fn mac_words(
    need: &Need,
    catalog: &Catalog,
    names: &[String],
    free: impl Fn(usize) -> bool,
) -> Vec<NearMiss> {
    let say = |mac: &MacAddress, host: String, found: String| NearMiss {
        slot: named(names),
        host,
        more: 0,
        requirement: "mac-address".to_owned(),
        wanted: mac.to_string(),
        found,
        short_by: None,
    };
    need.macs
        .iter()
        .filter_map(|mac| {
            let all = catalog.with_mac(*mac);
            let hosts: Vec<String> =
                all.iter().map(|i| catalog.offers[*i].id.to_string()).collect();
            match (all, catalog.host_of(*mac)) {
                ([], _) => Some(match odd_boot_mac(catalog, *mac) {
                    None => say(mac, "none".into(), "no BareMetalHost shows this MAC".into()),
                    Some((host, odd)) => say(
                        mac,
                        host,
                        format!(
                            "bootMACAddress is `{odd}`, which is not one MAC; correct it there"
                        ),
                    ),
                }),
                (_, None) => Some(say(
                    mac,
                    shown(&hosts),
                    format!(
                        "{} hosts show this MAC, so it names none; correct all but one",
                        all.len()
                    ),
                )),
                (_, Some(index)) => {
                    let offer = &catalog.offers[index];
                    let reasons: Vec<&str> =
                        offer.ineligible.iter().map(|i| i.message.as_str()).collect();
                    (!free(index) && !reasons.is_empty()).then(|| {
                        say(mac, offer.id.to_string(), format!("the host {}", reasons.join("; ")))
                    })
                }
            }
        })
        .collect()
}
