//! The address of each node: the one that the user wrote, else the lease of one of its MACs.

use std::collections::BTreeMap;
use std::net::IpAddr;

use bpa_common::net::{MacAddress, names_a_host};
use bpa_common::wire::v1::LeaseEntry;

use super::draft::{Draft, Held};
use super::words::{condition, node_state};
use crate::matching::{Offer, Slot};
use crate::sites::LeaseView;

/// What the leases say of one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leased {
    pub mac: MacAddress,
    pub address: IpAddr,
    /// `kea`, `isc`, …
    pub source: String,
    /// Other addresses that are leased to the same MAC.
    pub others: Vec<IpAddr>,
}

/// The lease of the first of these MACs that has one. Of several, the one that the agent chose,
/// else the newest.
pub fn lease_of(macs: &[MacAddress], leases: &LeaseView) -> Option<Leased> {
    macs.iter().find_map(|mac| {
        let entries = leases.by_mac.get(mac)?;
        let best = entries.iter().filter(|e| names_a_host(e.address)).max_by_key(|e| rank(e))?;
        let mut others: Vec<IpAddr> =
            entries.iter().map(|e| e.address).filter(|a| *a != best.address).collect();
        others.sort();
        others.dedup();
        let source = leases.sources.get(best.source as usize);
        Some(Leased {
            mac: *mac,
            address: best.address,
            source: source.map_or_else(|| "lease".to_owned(), |s| s.kind.clone()),
            others,
        })
    })
}

fn rank(entry: &LeaseEntry) -> (bool, Option<i64>, Option<i64>, IpAddr) {
    (entry.chosen, entry.renewed, entry.expires, entry.address)
}

/// The MACs of a host in the order in which they are asked: the one that names it first.
pub fn macs_of(slot: &Slot, offer: &Offer) -> Vec<MacAddress> {
    let first = crate::matching::lease_mac(slot, offer);
    let rest = offer.macs.iter().copied().filter(|mac| Some(*mac) != first);
    first.into_iter().chain(rest).collect()
}

/// Fills in the addresses of all nodes; held while one is missing or two nodes have the same.
pub fn resolve(draft: &mut Draft<'_>, leases: &LeaseView) -> Result<(), Held> {
    let mut missing = Vec::new();
    let mut notes = Vec::new();
    for ((slot, offer), node) in draft.view.plan.hosts.iter().zip(&mut draft.status.nodes) {
        let macs = macs_of(slot, offer);
        node.state = node_state::RESOLVED.to_owned();
        if let Some(address) = slot.address {
            (node.address, node.address_source) = (Some(address), "spec".to_owned());
            continue;
        }
        match lease_of(&macs, leases) {
            Some(found) => {
                if !found.others.is_empty() {
                    let others: Vec<String> =
                        found.others.iter().map(ToString::to_string).collect();
                    notes.push(format!(
                        "{} has several leases ({} and {}); the newest is used",
                        found.mac,
                        found.address,
                        others.join(", ")
                    ));
                }
                node.mac = Some(found.mac);
                (node.address, node.address_source) =
                    (Some(found.address), format!("lease:{}", found.source));
            }
            None => {
                (node.address, node.address_source) = (None, String::new());
                node.state = node_state::WAITING_FOR_LEASE.to_owned();
                node.message = waits_for(&macs);
                missing.push(format!("{} ({}{})", node.host, mac_words(&macs), seen_before(offer)));
            }
        }
    }
    judge(draft, &missing, &notes, leases)
}

fn judge(
    draft: &mut Draft<'_>,
    missing: &[String],
    notes: &[String],
    leases: &LeaseView,
) -> Result<(), Held> {
    const KIND: &str = condition::ADDRESSES_KNOWN;
    let all = draft.status.nodes.len();
    if !missing.is_empty() {
        let mut message = format!(
            "{} of {all} hosts have an address; no lease yet for {}",
            all - missing.len(),
            missing.join(", ")
        );
        message.push_str(&source_words(leases));
        return Err(draft.held(KIND, "WaitingForLease", message));
    }
    let mut by_address: BTreeMap<IpAddr, Vec<&str>> = BTreeMap::new();
    for node in &draft.status.nodes {
        if let Some(address) = node.address {
            by_address.entry(address).or_default().push(&node.host);
        }
    }
    if let Some((address, hosts)) = by_address.iter().find(|(_, hosts)| hosts.len() > 1) {
        let message = format!(
            "{address} is the address of {}; wanted one address for each host: look for a stale lease or reservation, or set `address` of the nodes in the spec",
            hosts.join(" and ")
        );
        return Err(draft.held(KIND, "AddressConflict", message));
    }
    let mut message = format!("{all} of {all} hosts have an address");
    for note in notes {
        message.push_str("; ");
        message.push_str(note);
    }
    draft.yes(KIND, "Resolved", message);
    Ok(())
}

fn mac_words(macs: &[MacAddress]) -> String {
    let words: Vec<String> = macs.iter().take(4).map(ToString::to_string).collect();
    if words.is_empty() { "no MAC known".to_owned() } else { words.join(", ") }
}

/// Addresses of an inspection are told and not used: the system that was installed since may have
/// another one.
fn seen_before(offer: &Offer) -> String {
    let seen: Vec<String> = offer.inspected.iter().take(4).map(ToString::to_string).collect();
    match seen.as_slice() {
        [] => String::new(),
        seen => format!("; had {} when Metal3 inspected it", seen.join(", ")),
    }
}

fn waits_for(macs: &[MacAddress]) -> String {
    if macs.is_empty() {
        "no MAC of this host is known, so no lease can be found; set bootMACAddress of the BareMetalHost, or `address` of the node".to_owned()
    } else {
        format!("waits for a DHCP lease of {}", mac_words(macs))
    }
}

/// What the sources of leases say of themselves, when something is wrong with them.
fn source_words(leases: &LeaseView) -> String {
    if leases.received.is_none() {
        return "; the site has sent no leases yet".to_owned();
    }
    if leases.sources.is_empty() {
        return "; the agent follows no lease source: check its configuration with `bpa-agent doctor`".to_owned();
    }
    let broken: Vec<String> = leases
        .sources
        .iter()
        .filter(|source| !source.error.is_empty())
        .map(|source| format!("{} {}: {}", source.kind, source.path, source.error))
        .collect();
    if broken.is_empty() { String::new() } else { format!("; {}", broken.join("; ")) }
}

/// Nodes of a standing cluster whose lease is another address now.
pub fn moved(draft: &Draft<'_>, leases: &LeaseView) -> Vec<String> {
    let nodes = draft.status.nodes.iter().filter(|node| node.address_source != "spec");
    nodes
        .filter_map(|node| {
            let (mac, old) = (node.mac?, node.address?);
            let new = lease_of(&[mac], leases)?;
            (new.address != old && !new.others.contains(&old)).then(|| {
                format!(
                    "{} was installed as {old} and has the lease {} now",
                    node.name, new.address
                )
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planning::testing::{lease, leases, mac};

    fn found(macs: &[MacAddress], view: &LeaseView) -> Option<String> {
        lease_of(macs, view).map(|leased| leased.address.to_string())
    }

    #[test]
    fn the_first_mac_that_has_a_lease_answers() {
        let view = leases(&[2, 3]);
        assert_eq!(found(&[mac(1), mac(3), mac(2)], &view).as_deref(), Some("10.0.0.3"));
        assert_eq!(found(&[mac(1)], &view), None);
        assert_eq!(found(&[], &view), None);
    }

    #[test]
    fn what_the_agent_chose_wins_then_the_newest() {
        let mut view = leases(&[1]);
        let entry = |address: &str, renewed, chosen| LeaseEntry {
            address: address.parse().unwrap(),
            renewed,
            chosen,
            ..lease(1)
        };
        view.by_mac.insert(
            mac(1),
            vec![entry("10.0.0.9", Some(9), false), entry("10.0.0.5", Some(5), false)],
        );
        assert_eq!(found(&[mac(1)], &view).as_deref(), Some("10.0.0.9"));
        view.by_mac.get_mut(&mac(1)).unwrap().push(entry("10.0.0.7", None, true));
        let leased = lease_of(&[mac(1)], &view).unwrap();
        assert_eq!(leased.address.to_string(), "10.0.0.7");
        assert_eq!(leased.others.len(), 2);
    }

    #[test]
    fn addresses_that_no_node_can_have_are_none() {
        let mut view = leases(&[1]);
        for address in
            ["127.0.0.1", "169.254.1.2", "0.0.0.0", "224.0.0.1", "fe80::1", "::", "ff02::1"]
        {
            view.by_mac.get_mut(&mac(1)).unwrap()[0].address = address.parse().unwrap();
            assert_eq!(found(&[mac(1)], &view), None, "{address}");
        }
        view.by_mac.get_mut(&mac(1)).unwrap()[0].address = "fd00::5".parse().unwrap();
        assert_eq!(found(&[mac(1)], &view).as_deref(), Some("fd00::5"));
    }
}
