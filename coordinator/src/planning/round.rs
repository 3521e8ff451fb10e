//! All provisionings at one moment, oldest first.

use std::collections::BTreeMap;
use std::sync::Arc;

use bpa_common::api::{ObjectKey, Provisioning, ProvisioningStatus, Site};
use bpa_common::wire::v1::RunId;
use jiff::Timestamp;
use sha2::{Digest, Sha256};

use super::action::Decision;
use super::draft::Draft;
use super::memory::Memory;
use super::stage::{Stage, stage};
use super::view::{Hosts, View, host_id};
use super::{claims, deletion, install};
use crate::cluster::HostRecord;
use crate::matching::{HostId, Planned, accept, plan_one};
use crate::runs::RunFacts;
use crate::sites::SiteView;

/// What is seen at one moment. Statuses of provisionings are the ones that were written last.
pub struct Round<'a> {
    pub now: Timestamp,
    pub epoch: u64,
    pub provisionings: &'a [Arc<Provisioning>],
    pub hosts: &'a [Arc<HostRecord>],
    pub sites: &'a [Site],
    pub fleet: &'a BTreeMap<String, SiteView>,
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
/// chosen, are out of reach for all others.
pub fn decide_round(round: &Round<'_>) -> Vec<Decided> {
    let hosts: Hosts<'_> = round.hosts.iter().map(|record| (host_id(record), &**record)).collect();
    let mut order: Vec<&Provisioning> = round.provisionings.iter().map(|p| &**p).collect();
    order.sort_by_key(|p| (p.metadata.creation_timestamp, p.metadata.key(), &p.metadata.uid));
    let mut held: BTreeMap<HostId, &Provisioning> = BTreeMap::new();
    for provisioning in &order {
        for node in &provisioning.status.nodes {
            held.entry(claims::host_of(node)).or_insert(provisioning);
        }
    }
    let mut decided = Vec::new();
    for (index, provisioning) in order.iter().enumerate() {
        let one = decide_one(round, &hosts, &order[..index], provisioning, &held);
        for node in &one.decision.status.nodes {
            held.entry(claims::host_of(node)).or_insert(provisioning);
        }
        decided.push(one);
    }
    decided
}

fn decide_one(
    round: &Round<'_>,
    hosts: &Hosts<'_>,
    older: &[&Provisioning],
    provisioning: &Provisioning,
    held: &BTreeMap<HostId, &Provisioning>,
) -> Decided {
    let nothing = Memory::default();
    let metadata = &provisioning.metadata;
    let memory = round.memories.get(&metadata.uid).unwrap_or(&nothing);
    let mut view = View {
        now: round.now,
        epoch: round.epoch,
        provisioning,
        plan: Planned::default(),
        clash: clash(provisioning, older),
        hosts,
        sites: round.sites,
        fleet: round.fleet,
        runs: round.runs,
        memory,
        fresh_run: fresh_run(round.seed, &metadata.uid),
    };
    let needs_hosts = !metadata.is_deleting() && matches!(stage(&view), Stage::Preparing(_));
    view.plan = if needs_hosts {
        let pairs: Vec<_> = round.hosts.iter().map(|r| (&r.host, r.hardware.as_ref())).collect();
        plan_one(provisioning, &pairs, &out_of_reach(&view, held))
    } else {
        accepted_only(provisioning)
    };
    let mut draft = Draft::new(&view);
    if metadata.is_deleting() {
        deletion::decide(&mut draft);
    } else {
        install::decide(&mut draft);
    }
    Decided {
        key: metadata.key(),
        uid: metadata.uid.clone(),
        old: provisioning.status.clone(),
        decision: draft.done(),
    }
}

/// Hosts that this provisioning can't have, and why, in words that follow "is assigned to".
fn out_of_reach(
    view: &View<'_>,
    held: &BTreeMap<HostId, &Provisioning>,
) -> BTreeMap<HostId, String> {
    let uid = &view.provisioning.metadata.uid;
    let mut taken: BTreeMap<HostId, String> = held
        .iter()
        .filter(|(_, other)| other.metadata.uid != *uid)
        .map(|(host, other)| (host.clone(), format!("Provisioning {}", other.metadata.key())))
        .collect();
    for lost in claims::lost(view.provisioning, view.hosts) {
        let id = HostId { namespace: lost.namespace, name: lost.name, uid: lost.uid };
        taken.insert(id, "someone else since it was ours".to_owned());
    }
    // A claim that was refused stands until the host changes: our view may lag behind.
    for (host, (version, by)) in &view.memory.refused {
        let same =
            view.hosts.get(host).is_some_and(|h| h.host.metadata.resource_version == *version);
        if same {
            taken.insert(host.clone(), by.clone());
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

/// An older provisioning of the same namespace that makes a cluster of the same name.
fn clash(provisioning: &Provisioning, older: &[&Provisioning]) -> Option<ObjectKey> {
    let name = cluster_of(provisioning);
    let same = |other: &&&Provisioning| {
        other.metadata.namespace == provisioning.metadata.namespace && cluster_of(other) == name
    };
    older.iter().find(same).map(|other| other.metadata.key())
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
