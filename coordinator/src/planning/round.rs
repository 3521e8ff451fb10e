//! All provisionings at one moment, oldest first.

use std::collections::BTreeMap;
use std::sync::Arc;

use bpa_common::api::{ObjectKey, Provisioning, ProvisioningStatus, Site};
use bpa_common::wire::v1::RunId;
use jiff::Timestamp;
use sha2::{Digest, Sha256};

use super::action::Decision;
use super::draft::Draft;
use super::index::HostIndex;
use super::memory::Memory;
use super::plans::Plans;
use super::quiet::Quiet;
use super::stage::{Stage, stage};
use super::view::View;
use super::{claims, deletion, install, os};
use crate::matching::{HostId, Ineligible, Others, Planned, Pool, accept, assigned_to, plan_one};
use crate::runs::RunFacts;
use crate::sites::FleetView;

/// What is seen at one moment. Statuses of provisionings are the ones that were written last.
pub struct Round<'a> {
    pub now: Timestamp,
    pub epoch: u64,
    pub provisionings: &'a [Arc<Provisioning>],
    pub hosts: &'a HostIndex,
    /// There is somebody (Metal3) who installs operating systems.
    pub installs_os: bool,
    /// Who else may want hosts.
    pub others: Others<'a>,
    pub sites: &'a [Site],
    pub fleet: &'a FleetView,
    pub runs: &'a BTreeMap<RunId, RunFacts>,
    /// By uid of the provisioning.
    pub memories: &'a BTreeMap<String, Memory>,
    /// Random: the names of new runs are made from it.
    pub seed: [u8; 16],
}

/// The decision about one provisioning.
#[derive(Clone, Debug, PartialEq)]
pub struct Decided {
    pub key: ObjectKey,
    pub uid: String,
    pub old: ProvisioningStatus,
    pub decision: Decision,
}

/// Decides about all provisionings, in the order of their creation. Hosts that one has, or has
/// chosen, are out of reach for all others. What stands and has not changed has no decision.
pub fn decide_round(round: &Round<'_>, plans: &mut Plans, quiet: &mut Quiet) -> Vec<Decided> {
    let mut order: Vec<&Arc<Provisioning>> = round.provisionings.iter().collect();
    order.sort_by_key(|p| (p.metadata.creation_timestamp, p.metadata.key(), &p.metadata.uid));
    let mut held: BTreeMap<HostId, &Provisioning> = BTreeMap::new();
    for provisioning in &order {
        for node in &provisioning.status.nodes {
            held.entry(claims::host_of(node)).or_insert(provisioning);
        }
    }
    let owners = held.iter().map(|(host, owner)| (host.clone(), owner.metadata.uid.clone()));
    plans.begin(round.hosts, owners.collect());
    let mut clusters: BTreeMap<(&str, &str), &Provisioning> = BTreeMap::new();
    let mut decided = Vec::new();
    for provisioning in &order {
        let name = (provisioning.metadata.namespace.as_str(), cluster_of(provisioning));
        let clash = clusters.get(&name).map(|older| older.metadata.key());
        clusters.entry(name).or_insert(provisioning);
        let Some((one, reserved)) = decide_one(round, clash, provisioning, &held, (plans, quiet))
        else {
            continue;
        };
        let chosen = one.decision.status.nodes.iter().map(claims::host_of);
        let chosen: Vec<HostId> = chosen.collect();
        for host in &chosen {
            plans.chosen(host.clone(), &provisioning.metadata.uid);
        }
        for host in chosen.into_iter().chain(reserved) {
            held.entry(host).or_insert(provisioning);
        }
        decided.push(one);
    }
    decided
}

/// The decision, and the hosts that no younger one may have meanwhile. None: all is as it was when
/// nothing was to be done.
fn decide_one(
    round: &Round<'_>,
    clash: Option<ObjectKey>,
    provisioning: &Arc<Provisioning>,
    held: &BTreeMap<HostId, &Provisioning>,
    (plans, quiet): (&mut Plans, &mut Quiet),
) -> Option<(Decided, Vec<HostId>)> {
    let no_memory = Memory::default();
    let metadata = &provisioning.metadata;
    let memory = round.memories.get(&metadata.uid).unwrap_or(&no_memory);
    let mut view = View {
        now: round.now,
        epoch: round.epoch,
        provisioning,
        plan: Arc::default(),
        clash,
        hosts: round.hosts,
        installs_os: round.installs_os,
        sites: round.sites,
        fleet: round.fleet,
        runs: round.runs,
        memory,
        fresh_run: fresh_run(round.seed, &metadata.uid),
    };
    let is_quiet = quiet.holds(&view, provisioning);
    if is_quiet && !cfg!(test) {
        return None;
    }
    let needs_hosts = !metadata.is_deleting() && matches!(stage(&view), Stage::Preparing(_));
    view.plan = if needs_hosts {
        plans.plan(provisioning, elsewhere(&view), |elsewhere| {
            let uid = &metadata.uid;
            let bar = |host: &HostId| {
                let by_wish = held.get(host).filter(|other| other.metadata.uid != *uid);
                let by_wish = by_wish
                    .map(|other| assigned_to(&format!("Provisioning {}", other.metadata.key())));
                elsewhere.get(host).cloned().or(by_wish)
            };
            let (catalog, installs_os) = (round.hosts.catalog(), round.installs_os);
            let others = round.others;
            plan_one(
                provisioning,
                Pool { catalog, installs_os, bar: &bar, others, list_all: false },
            )
        })
    } else {
        plans.drop_one(&metadata.uid);
        Arc::new(accepted_only(provisioning))
    };
    let reserved = view.plan.reserved.clone();
    let mut draft = Draft::new(&view);
    if metadata.is_deleting() {
        deletion::decide(&mut draft);
    } else {
        install::decide(&mut draft);
    }
    let decision = draft.done();
    // In tests each that would be left out is decided about all the same.
    #[cfg(test)]
    {
        let nothing = decision.status == provisioning.status && decision.actions.is_empty();
        assert!(!is_quiet || nothing, "something is to be done: {}", metadata.key());
    }
    quiet.note(&view, provisioning, &decision);
    let (key, uid, old) = (metadata.key(), metadata.uid.clone(), provisioning.status.clone());
    Some((Decided { key, uid, old, decision }, reserved))
}

/// Hosts that somebody outside of this house has, or that have failed too often.
fn elsewhere(view: &View<'_>) -> BTreeMap<HostId, Ineligible> {
    let mut taken = BTreeMap::new();
    for lost in claims::lost(view.provisioning, view.hosts) {
        let id = HostId { namespace: lost.namespace, name: lost.name, uid: lost.uid };
        taken.insert(id, assigned_to("someone else since it was ours"));
    }
    taken.extend(os::given_up(view).into_iter().map(|(id, failed)| (id, os::bar(&failed))));
    // A claim that was refused stands until the host changes: our view may lag behind.
    for (host, (version, by)) in &view.memory.refused {
        let same =
            view.hosts.get(host).is_some_and(|h| h.host.metadata.resource_version == *version);
        if same {
            taken.insert(host.clone(), assigned_to(by));
        }
    }
    taken
}

fn accepted_only(provisioning: &Provisioning) -> Planned {
    let mut planned = Planned::default();
    match accept(provisioning) {
        Ok(accepted) => {
            planned.report.accepted = true;
            planned.accepted = Some(accepted);
        }
        Err(rejection) => planned.report.problems = rejection.problems,
    }
    planned
}

fn cluster_of(provisioning: &Provisioning) -> &str {
    let metadata = &provisioning.metadata;
    metadata.labels.get("cluster").unwrap_or(&metadata.name)
}

/// The id of the next run: a UUID of version 4 in form, from the round's seed.
fn fresh_run(seed: [u8; 16], uid: &str) -> RunId {
    let hash = Sha256::new().chain_update(seed).chain_update(uid).finalize();
    let mut id = [0; 16];
    id.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
    id[6] = (id[6] & 0x0f) | 0x40;
    id[8] = (id[8] & 0x3f) | 0x80;
    RunId(id)
}
