//! Planning: from wishes and hosts to an assignment, or to the reasons why there is none.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bpa_common::api::metal3::{BareMetalHost, ConsumerRef, HardwareData};
use bpa_common::api::{API_VERSION, HostChooser, HostUse, OsSpec, Provisioning, Spread};
use bpa_common::net::MacAddress;
use sha2::{Digest, Sha256};

use super::accept::{Accepted, accept};
use super::doubt::{Doubt, Others, doubts};
use super::eligibility::{Ineligible, IneligibleReason};
use super::explain::{Explanation, explain};
use super::remedy::remedies;
use super::report::{
    AssignmentReport, HostReport, IneligibleGroup, IneligibleReport, PLAN_SCHEMA, PlanReport,
    ProvisioningPlan, in_groups,
};
use super::requirement::fits;
use super::solve::{Wish, solve};
use super::{Catalog, Claimant, HostId, Offer, Slot};

/// A plan with what the coordinator needs to carry it out.
#[derive(Clone, Debug, Default)]
pub struct Planned {
    pub report: ProvisioningPlan,
    /// None when the spec is refused.
    pub accepted: Option<Accepted>,
    /// Per slot its host, in the order of the slots; empty when it does not fit.
    pub hosts: Vec<(Slot, Arc<Offer>)>,
    /// When it does not fit: why hosts can't be taken at all, the most common reasons first.
    pub against: Against,
    /// What to know of a plan that fits; among the report's warnings too.
    pub doubts: Vec<Doubt>,
    /// When it does not fit: hosts that no younger one may have meanwhile.
    pub reserved: Vec<HostId>,
}

/// Reasons against hosts, few enough to be kept for each wish that waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Against {
    pub groups: Vec<IneligibleGroup>,
    /// How many more reasons there are.
    pub more: usize,
}

impl Against {
    /// Most reasons that are kept.
    const MOST: usize = 10;

    fn of(mut groups: Vec<IneligibleGroup>) -> Self {
        let more = groups.len().saturating_sub(Self::MOST);
        groups.truncate(Self::MOST);
        groups.shrink_to_fit();
        Self { groups, more }
    }
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
    /// Whether each host that can't be taken is listed, in every plan.
    pub list_all: bool,
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
    let current = standing(provisioning, &accepted.slots, catalog);
    if !pool.list_all
        && let Some(stands) = stands(provisioning, &accepted.slots, &current, pool, who)
    {
        return fitting(report, accepted, stands, pool, (who, os));
    }
    let bars: BTreeMap<usize, Ineligible> = (catalog.offers.iter().enumerate())
        .filter_map(|(host, offer)| Some((host, (pool.bar)(&offer.id)?)))
        .collect();
    let free: Vec<bool> = (catalog.offers.iter().enumerate())
        .map(|(host, offer)| !bars.contains_key(&host) && offer.is_free_for(who))
        .collect();
    let free = |host: usize| free[host];
    let domains = provisioning.spec.failure_domains.as_ref();
    let wish = Wish { slots: &accepted.slots, current: &current, domains };
    let solution = solve(&wish, catalog, free);
    let is_full = solution.bottlenecks.is_empty();
    if pool.list_all {
        let refused = refused(catalog, &bars, who);
        report.ineligible = refused.map(|(host, refusal)| line(host, refusal)).collect();
    }
    if is_full {
        return fitting(report, accepted, solution.assignment.host_of, pool, (who, os));
    }
    let cuts = &solution.bottlenecks;
    let mut explanation = explain(&wish, catalog, cuts, free);
    explanation.remedies = remedies(&wish, catalog, cuts, free);
    report.explanation = Some(explanation);
    let reserved = named_by_mac(&accepted.slots, catalog, free);
    let refused = refused(catalog, &bars, who);
    let against = Against::of(in_groups(
        refused.map(|(host, refusal)| (host, refusal.reason.id(), refusal.message.as_str())),
    ));
    Planned { report, accepted: Some(accepted), against, reserved, ..Planned::default() }
}

/// The assignment that stands, if every part of it still holds: to keep it comes before all else,
/// so that nothing needs to be solved. Not where domains are required: those are judged as a whole.
fn stands(
    provisioning: &Provisioning,
    slots: &[Slot],
    current: &BTreeMap<usize, usize>,
    pool: Pool<'_>,
    who: Claimant<'_>,
) -> Option<BTreeMap<usize, usize>> {
    let domains = provisioning.spec.failure_domains.as_ref();
    let required = domains.is_some_and(|domains| domains.spread == Spread::Required);
    let hosts: BTreeSet<usize> = current.values().copied().collect();
    if required || hosts.len() != slots.len() || current.len() != slots.len() {
        return None;
    }
    let holds = |(slot, host): (&usize, &usize)| {
        let offer = &pool.catalog.offers[*host];
        offer.is_free_for(who)
            && (pool.bar)(&offer.id).is_none()
            && fits(&slots[*slot].need, pool.catalog, *host)
    };
    current.iter().all(holds).then(|| current.clone())
}

/// A plan with a host for each slot.
fn fitting(
    mut report: ProvisioningPlan,
    accepted: Accepted,
    host_of: BTreeMap<usize, usize>,
    pool: Pool<'_>,
    (who, os): (Claimant<'_>, Option<&OsSpec>),
) -> Planned {
    let chosen: Vec<(Slot, Arc<Offer>)> = (accepted.slots.iter().enumerate())
        .filter_map(|(i, slot)| {
            let host = *host_of.get(&i)?;
            Some((slot.clone(), Arc::clone(&pool.catalog.offers[host])))
        })
        .collect();
    report.fits = true;
    report.assignments = chosen.iter().map(|one| assignment(one, who, os)).collect();
    report.hash = plan_hash(&report.assignments);
    let doubts = doubts(&chosen, who, pool.others);
    report.warnings.extend(doubts.iter().map(|doubt| doubt.message.clone()));
    Planned { report, accepted: Some(accepted), hosts: chosen, doubts, ..Planned::default() }
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
        let pool = Pool { catalog: &catalog, installs_os: true, bar: &bar, others, list_all: true };
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

/// What speaks against hosts, host by host.
fn refused<'a>(
    catalog: &'a Catalog,
    bars: &'a BTreeMap<usize, Ineligible>,
    who: Claimant<'a>,
) -> impl Iterator<Item = (&'a HostId, &'a Ineligible)> {
    catalog.offers.iter().enumerate().flat_map(move |(index, offer)| {
        // The mark that this very owner has set on the host says the same, and what to do.
        let marked = |bar: &&Ineligible| {
            let owner = bar.message.strip_prefix("is assigned to ");
            owner.is_some_and(|owner| offer.ineligible.iter().any(|i| i.message.contains(owner)))
        };
        let bar = bars.get(&index).filter(|bar| !marked(bar));
        bar.into_iter().chain(offer.refusals(who)).map(|refusal| (&offer.id, refusal))
    })
}

fn line(host: &HostId, refusal: &Ineligible) -> IneligibleReport {
    IneligibleReport {
        host: host.to_string(),
        reason: refusal.reason.id().to_owned(),
        message: refusal.message.clone(),
    }
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
