//! Reasons against a host that stand elsewhere than on the host: in the objects of others, and on
//! another record of the same machine.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bpa_common::api::{HostUse, NeighbourKind, ObjectKey};

use super::{Ineligible, IneligibleReason};
use crate::matching::Offer;

/// What more hosts than this have alike tells no machine (a BMC's USB network card has the same MAC
/// on every server).
const MOST_ALIKE: usize = 16;

/// Reasons by the place of the offer. `with_mac`: the offers that show a MAC.
pub fn refusals<'a>(
    offers: &[Arc<Offer>],
    uses: &[HostUse],
    with_mac: impl Fn(bpa_common::net::MacAddress) -> &'a [usize],
) -> BTreeMap<usize, Vec<Ineligible>> {
    let mut found: BTreeMap<usize, Vec<Ineligible>> = BTreeMap::new();
    for used in uses {
        let start = offers.partition_point(|offer| key(offer) < by_key(&used.host));
        let of_name = (start..offers.len()).take_while(|i| key(&offers[*i]) == by_key(&used.host));
        of_name.for_each(|i| found.entry(i).or_default().push(by_use(used)));
    }
    let bmcs = bmcs_of_deleting(offers);
    for (index, going) in offers.iter().enumerate().filter(|(_, offer)| offer.deleting) {
        let by_mac = going.macs.iter().map(|mac| with_mac(*mac));
        let by_bmc = going.bmc.as_deref().and_then(|bmc| bmcs.get(bmc)).map(Vec::as_slice);
        let few = by_mac.chain(by_bmc).filter(|alike| alike.len() <= MOST_ALIKE);
        let twins: BTreeSet<usize> = few.flatten().copied().filter(|i| *i != index).collect();
        for twin in twins {
            if !offers[twin].deleting && is_same_machine(going, &offers[twin]) {
                let words = format!("is the same machine as {}, which is being deleted", going.id);
                let reason = Ineligible::new(IneligibleReason::TwinDeleting, words);
                found.entry(twin).or_default().push(reason);
            }
        }
    }
    found
}

/// The hosts of each BMC that a host which is being deleted has.
fn bmcs_of_deleting(offers: &[Arc<Offer>]) -> BTreeMap<&str, Vec<usize>> {
    let going = offers.iter().filter(|offer| offer.deleting);
    let mut bmcs: BTreeMap<&str, Vec<usize>> =
        going.filter_map(|offer| Some((offer.bmc.as_deref()?, Vec::new()))).collect();
    if !bmcs.is_empty() {
        for (index, offer) in offers.iter().enumerate() {
            let found = offer.bmc.as_deref().and_then(|bmc| bmcs.get_mut(bmc));
            found.into_iter().for_each(|hosts| hosts.push(index));
        }
    }
    bmcs
}

fn key(offer: &Offer) -> (&str, &str) {
    (&offer.id.namespace, &offer.id.name)
}

fn by_key(key: &ObjectKey) -> (&str, &str) {
    (&key.namespace, &key.name)
}

fn by_use(used: &HostUse) -> Ineligible {
    let HostUse { kind, by, .. } = used;
    match kind {
        NeighbourKind::Claim => {
            Ineligible::new(IneligibleReason::UsedByClaim, format!("is the host of {kind} {by}"))
        }
        NeighbourKind::Machine | NeighbourKind::Template => {
            let words = format!(
                "is the host of {kind} {by} by its annotation metal3.io/BareMetalHost, which takes it at any time"
            );
            Ineligible::new(IneligibleReason::UsedByMachine, words)
        }
    }
}

/// That two hosts share the MAC of some NIC proves nothing, if they boot from others.
fn is_same_machine(a: &Offer, b: &Offer) -> bool {
    let boots = |x: &Offer, y: &Offer| x.boot_mac.is_some_and(|mac| y.macs.contains(&mac));
    let same_bmc = a.bmc.is_some() && a.bmc == b.bmc;
    let no_boot_mac = a.boot_mac.is_none() && b.boot_mac.is_none();
    same_bmc || boots(a, b) || boots(b, a) || (no_boot_mac && a.macs.first() == b.macs.first())
}
