//! The answer of `bpa-coordinator plan`: the same with or without a cluster, agent or state.
//!
//! Documented in `docs/plan.md`; programs rely on it, so a change of meaning is a new schema number.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use bpa_common::api::metal3::{BareMetalHost, ConsumerRef, HardwareData};
use bpa_common::api::{API_VERSION, HostChooser, HostUse, OsSpec, Provisioning};
use bpa_common::net::MacAddress;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::accept::{Accepted, accept};
use super::doubt::{Doubt, Others, doubts};
use super::eligibility::{Ineligible, IneligibleReason};
use super::explain::{Explanation, explain};
use super::remedy::remedies;
use super::solve::{Wish, solve};
use super::{Catalog, Claimant, HostId, Offer, Slot};

/// The version of the JSON.
pub const PLAN_SCHEMA: u32 = 1;

/// Plans of all provisionings that were asked about, in the order in which they were decided.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanReport {
    pub schema: u32,
    /// True when every provisioning is accepted and fits.
    pub fits: bool,
    pub provisionings: Vec<ProvisioningPlan>,
    /// Objects in the files that can't be used; each affects only itself.
    pub unreadable: Vec<Unreadable>,
}

/// An object that can't be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unreadable {
    /// File, document, item.
    pub place: String,
    pub message: String,
}

/// The plan of one provisioning.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProvisioningPlan {
    pub namespace: String,
    pub name: String,
    /// False when the spec itself is refused; `explanation.summary` says why.
    pub accepted: bool,
    pub fits: bool,
    /// Names this very assignment, for an approval. Empty when it does not fit.
    pub hash: String,
    /// What is wrong with the spec; empty when accepted.
    pub problems: Vec<String>,
    pub warnings: Vec<String>,
    pub assignments: Vec<AssignmentReport>,
    pub ineligible: Vec<IneligibleReport>,
    pub explanation: Option<Explanation>,
}

/// One slot and its host.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AssignmentReport {
    pub slot: String,
    pub roles: Vec<String>,
    pub host: HostReport,
    /// The MAC whose lease gives the address; none when Metal3 knows no MAC of the host.
    pub mac: Option<MacAddress>,
    /// From the spec; leases are known only to a running coordinator.
    pub address: Option<IpAddr>,
    /// URL of the image that Metal3 installs on the host; none: its system is used as it is.
    pub os: Option<String>,
}

/// A host by its full name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostReport {
    pub namespace: String,
    pub name: String,
    pub uid: String,
}

/// A host that can't be taken, one line per reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IneligibleReport {
    pub host: String,
    pub reason: String,
    pub message: String,
}

/// A change that was proved to make it fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Remedy {
    /// `lower` or `add`.
    pub action: String,
    pub requirement: String,
    pub slots: Vec<String>,
    pub value: String,
    pub message: String,
}

/// A plan with what the coordinator needs to carry it out.
#[derive(Clone, Debug, Default)]
pub struct Planned {
    pub report: ProvisioningPlan,
    /// None when the spec is refused.
    pub accepted: Option<Accepted>,
    /// Per slot its host, in the order of the slots; empty when it does not fit.
    pub hosts: Vec<(Slot, Arc<Offer>)>,
    /// What to know of a plan that fits; among the report's warnings too.
    pub doubts: Vec<Doubt>,
    /// When it does not fit: hosts that no younger one may have meanwhile.
    pub reserved: Vec<HostId>,
}

/// The mark that a provisioning puts on its hosts.
pub fn consumer_of(provisioning: &Provisioning) -> ConsumerRef {
    ConsumerRef {
        api_version: API_VERSION.to_owned(),
        kind: "Provisioning".to_owned(),
        namespace: provisioning.metadata.namespace.clone(),
        name: provisioning.metadata.name.clone(),
        uid: provisioning.metadata.uid.clone(),
    }
}

/// What speaks against a host besides what it says itself: who has it, or how it failed.
pub type BarOf<'a> = &'a dyn Fn(&HostId) -> Option<Ineligible>;

/// That somebody has a host already.
pub fn assigned_to(owner: &str) -> Ineligible {
    let message = format!("is assigned to {owner}");
    Ineligible { reason: IneligibleReason::Assigned, message }
}

/// The hosts to plan with.
#[derive(Clone, Copy)]
pub struct Pool<'a> {
    pub catalog: &'a Catalog,
    /// There is somebody (Metal3) who installs operating systems.
    pub installs_os: bool,
    pub bar: BarOf<'a>,
    pub others: Others<'a>,
}

/// Plans one provisioning on these hosts.
pub fn plan_one(provisioning: &Provisioning, pool: Pool<'_>) -> Planned {
    let catalog = pool.catalog;
    let metadata = &provisioning.metadata;
    let mut report = ProvisioningPlan {
        namespace: metadata.namespace.clone(),
        name: metadata.name.clone(),
        ..ProvisioningPlan::default()
    };
    let accepted = match accept(provisioning) {
        Ok(accepted) => accepted,
        Err(rejection) => {
            let summary = rejection.to_string();
            report.problems = rejection.problems;
            report.explanation = Some(Explanation { summary, ..Explanation::default() });
            return Planned { report, ..Planned::default() };
        }
    };
    report.accepted = true;
    report.warnings = accepted.warnings.clone();
    let os = provisioning.spec.os.as_ref().filter(|_| pool.installs_os);
    let who = Claimant { mark: &consumer_of(provisioning), installs: os.is_some() };
    let bars: BTreeMap<usize, Ineligible> = (catalog.offers.iter().enumerate())
        .filter_map(|(host, offer)| Some((host, (pool.bar)(&offer.id)?)))
        .collect();
    let free: Vec<bool> = (catalog.offers.iter().enumerate())
        .map(|(host, offer)| !bars.contains_key(&host) && offer.is_free_for(who))
        .collect();
    let free = |host: usize| free[host];
    let current = standing(provisioning, &accepted.slots, catalog);
    let domains = provisioning.spec.failure_domains.as_ref();
    let wish = Wish { slots: &accepted.slots, current: &current, domains };
    let solution = solve(&wish, catalog, free);
    report.ineligible = ineligible(catalog, &bars, who);
    if solution.bottlenecks.is_empty() {
        let chosen: Vec<(Slot, Arc<Offer>)> = (accepted.slots.iter().enumerate())
            .filter_map(|(i, slot)| {
                let host = *solution.assignment.host_of.get(&i)?;
                Some((slot.clone(), Arc::clone(&catalog.offers[host])))
            })
            .collect();
        report.fits = true;
        report.assignments = chosen.iter().map(|one| assignment(one, who, os)).collect();
        report.hash = plan_hash(&report.assignments);
        let doubts = doubts(&chosen, who, pool.others);
        report.warnings.extend(doubts.iter().map(|doubt| doubt.message.clone()));
        return Planned {
            report,
            accepted: Some(accepted),
            hosts: chosen,
            doubts,
            ..Planned::default()
        };
    }
    let cuts = &solution.bottlenecks;
    let mut explanation = explain(&wish, catalog, cuts, free);
    explanation.remedies = remedies(&wish, catalog, cuts, free);
    report.explanation = Some(explanation);
    let reserved = named_by_mac(&accepted.slots, catalog, free);
    Planned { report, accepted: Some(accepted), reserved, ..Planned::default() }
}

/// The hosts that a wish names by MAC: no younger one gets them while it waits.
fn named_by_mac(slots: &[Slot], catalog: &Catalog, free: impl Fn(usize) -> bool) -> Vec<HostId> {
    let macs = slots.iter().flat_map(|slot| &slot.need.macs);
    let hosts = macs.filter_map(|mac| catalog.host_of(*mac)).filter(|host| free(*host));
    hosts.map(|host| catalog.offers[host].id.clone()).collect()
}

/// Plans every provisioning, oldest first: one that fits takes its hosts, and one that does not
/// fit holds back only those that it names by MAC.
pub fn plan_all<P: Borrow<Provisioning>>(
    provisionings: &[P],
    hosts: &[(&BareMetalHost, Option<&HardwareData>)],
) -> PlanReport {
    plan_among(provisionings, hosts, &[], &[])
}

/// As [`plan_all`], beside others who have hosts and for whom hosts are chosen.
pub fn plan_among<P: Borrow<Provisioning>>(
    provisionings: &[P],
    hosts: &[(&BareMetalHost, Option<&HardwareData>)],
    uses: &[HostUse],
    choosers: &[HostChooser],
) -> PlanReport {
    let offers = hosts.iter().map(|(host, data)| Arc::new(Offer::read(host, *data))).collect();
    let catalog = Catalog::of(offers, uses);
    let others = Others { choosers, unseen: &[] };
    let mut order: Vec<&Provisioning> = provisionings.iter().map(Borrow::borrow).collect();
    order.sort_by_key(|p| (p.metadata.creation_timestamp, p.metadata.key()));
    let mut taken: BTreeMap<HostId, String> = BTreeMap::new();
    let mut plans = Vec::new();
    for provisioning in order {
        let bar = |host: &HostId| taken.get(host).map(|owner| assigned_to(owner));
        let pool = Pool { catalog: &catalog, installs_os: true, bar: &bar, others };
        let planned = plan_one(provisioning, pool);
        let owner = format!("Provisioning {}", provisioning.metadata.key());
        let chosen = planned.hosts.into_iter().map(|(_, offer)| offer.id.clone());
        taken.extend(chosen.chain(planned.reserved).map(|host| (host, owner.clone())));
        plans.push(planned.report);
    }
    PlanReport {
        schema: PLAN_SCHEMA,
        fits: plans.iter().all(|p| p.fits),
        provisionings: plans,
        unreadable: Vec::new(),
    }
}

/// Twelve hexadecimal digits that name this assignment.
pub fn plan_hash(assignments: &[AssignmentReport]) -> String {
    let mut hasher = Sha256::new();
    for a in assignments {
        for part in [&a.slot, &a.roles.join("+"), &a.host.namespace, &a.host.name, &a.host.uid] {
            hasher.update(part.as_bytes());
            hasher.update([0]);
        }
        // To wipe a host is more than to use it: that needs an approval of its own.
        for part in a.os.iter().flat_map(|image| ["os", image]) {
            hasher.update(part.as_bytes());
            hasher.update([0]);
        }
    }
    hasher.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

fn assignment(
    (slot, offer): &(Slot, Arc<Offer>),
    who: Claimant<'_>,
    os: Option<&OsSpec>,
) -> AssignmentReport {
    let HostId { namespace, name, uid } = offer.id.clone();
    AssignmentReport {
        slot: slot.name.clone(),
        roles: slot.roles(),
        host: HostReport { namespace, name, uid },
        mac: lease_mac(slot, offer),
        address: slot.address,
        os: os.filter(|_| offer.is_installed_by(who)).map(|os| os.image_url().to_owned()),
    }
}

/// The MAC whose lease gives a node's address: the one that the user named, else the boot MAC.
pub fn lease_mac(slot: &Slot, offer: &Offer) -> Option<MacAddress> {
    let named = slot.need.macs.iter().find(|mac| offer.macs.contains(mac));
    named.or(offer.macs.first()).copied()
}

fn ineligible(
    catalog: &Catalog,
    bars: &BTreeMap<usize, Ineligible>,
    who: Claimant<'_>,
) -> Vec<IneligibleReport> {
    let mut lines = Vec::new();
    for (index, offer) in catalog.offers.iter().enumerate() {
        // The mark that this very owner has set on the host says the same, and what to do.
        let marked = |bar: &Ineligible| {
            let owner = bar.message.strip_prefix("is assigned to ");
            owner.is_some_and(|owner| offer.ineligible.iter().any(|i| i.message.contains(owner)))
        };
        let bar = bars.get(&index).filter(|bar| !marked(bar));
        lines.extend(bar.into_iter().chain(offer.refusals(who)).map(|i| IneligibleReport {
            host: offer.id.to_string(),
            reason: i.reason.id().to_owned(),
            message: i.message.clone(),
        }));
    }
    lines
}

/// Hosts that can't be taken for one and the same reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IneligibleGroup<'a> {
    pub hosts: Vec<&'a str>,
    pub reason: &'a str,
    pub message: &'a str,
}

impl IneligibleGroup<'_> {
    /// The hosts as they are told: a few by name, many by number.
    pub fn names(&self) -> String {
        match self.hosts.as_slice() {
            [first, second, third, _, ..] => {
                format!("{first}, {second}, {third} and {} more", self.hosts.len() - 3)
            }
            few => few.join(", "),
        }
    }
}

/// Puts together what is said alike of several hosts, the most common first.
pub fn in_groups(lines: &[IneligibleReport]) -> Vec<IneligibleGroup<'_>> {
    let mut places: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut groups: Vec<IneligibleGroup<'_>> = Vec::new();
    for IneligibleReport { host, reason, message } in lines {
        let place = *places.entry((reason, message)).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.hosts.push(host),
            None => groups.push(IneligibleGroup { hosts: vec![host], reason, message }),
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.hosts.len()));
    groups
}

/// What stands by the status: slot to host, by name and uid.
fn standing(
    provisioning: &Provisioning,
    slots: &[Slot],
    catalog: &Catalog,
) -> BTreeMap<usize, usize> {
    let nodes = &provisioning.status.nodes;
    let host_of = |name: &str| {
        let node = nodes.iter().find(|n| n.name == name)?;
        let of_node = |offer: &Arc<Offer>| {
            let key = (&offer.id.namespace, &offer.id.name, &offer.id.uid);
            key.cmp(&(&node.host_namespace, &node.host, &node.host_uid))
        };
        catalog.offers.binary_search_by(of_node).ok()
    };
    slots.iter().enumerate().filter_map(|(i, slot)| Some((i, host_of(&slot.name)?))).collect()
}

#[cfg(test)]
mod tests;
