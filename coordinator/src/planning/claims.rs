//! Claims: hosts are marked as ours, looked at again, and never taken back once lost.

use bpa_common::api::{LostHost, NodeStatus};

use super::action::Action;
use super::draft::{Draft, Held};
use super::holding::hold_off;
use super::index::HostIndex;
use super::os::{Leave, leave};
use super::view::{View, host_ref};
use super::words::{OUR_FINALIZERS, condition, node_state};
use crate::cluster::{HostRecord, HostRef};
use crate::matching::{HostId, consumer_of};

/// The host of a node, exactly.
pub fn host_of(node: &NodeStatus) -> HostId {
    HostId {
        namespace: node.host_namespace.clone(),
        name: node.host.clone(),
        uid: node.host_uid.clone(),
    }
}

/// True once the host of this node was seen with our mark.
pub fn was_claimed(node: &NodeStatus) -> bool {
    !matches!(node.state.as_str(), "" | node_state::SELECTED | node_state::LOST)
}

/// Hosts that are not ours any more although they were: those known, and those found now.
/// A host that is gone altogether is not lost to anyone.
pub fn lost(provisioning: &bpa_common::api::Provisioning, hosts: &HostIndex) -> Vec<LostHost> {
    let consumer = consumer_of(provisioning);
    let status = &provisioning.status;
    let mut lost = status.lost_hosts.clone();
    for node in status.nodes.iter().filter(|n| was_claimed(n)) {
        let id = host_of(node);
        let taken =
            hosts.get(&id).is_some_and(|h| h.host.spec.consumer_ref.as_ref() != Some(&consumer));
        let entry = LostHost { namespace: id.namespace, name: id.name, uid: id.uid };
        if taken && !lost.contains(&entry) {
            lost.push(entry);
        }
    }
    // One that is ours again was given back by a person.
    lost.retain(|entry| {
        let id = HostId {
            namespace: entry.namespace.clone(),
            name: entry.name.clone(),
            uid: entry.uid.clone(),
        };
        hosts.get(&id).is_some_and(|h| h.host.spec.consumer_ref.as_ref() != Some(&consumer))
    });
    lost
}

/// Who has the hosts of these nodes that are not ours, in words; empty when all are ours.
pub fn not_ours(view: &View<'_>, nodes: &[NodeStatus]) -> Vec<String> {
    let mut words = Vec::new();
    for node in nodes.iter().filter(|node| !view.is_ours(&host_of(node))) {
        let id = host_of(node);
        let what = match view.hosts.get(&id) {
            None => "is gone".to_owned(),
            Some(record) => match &record.host.spec.consumer_ref {
                None => "has lost our mark (its consumerRef is empty)".to_owned(),
                Some(other) => {
                    format!("is held by {} {}/{}", other.kind, other.namespace, other.name)
                }
            },
        };
        words.push(format!("{} of node {} {what}", node.host, node.name));
    }
    words
}

/// Marks the chosen hosts as ours, in two phases: the mark is written, and after a while a live
/// look must show it unharmed. Held until that is so of all of them.
pub fn claim(draft: &mut Draft<'_>) -> Result<(), Held> {
    const KIND: &str = condition::HOSTS_CLAIMED;
    let view = draft.view;
    let chosen: Vec<HostId> = draft.status.nodes.iter().map(host_of).collect();
    let mut waiting = Vec::new();
    let mut actions = Vec::new();
    for (index, id) in chosen.iter().enumerate() {
        let Some(record) = view.hosts.get(id) else { continue };
        let known = view.memory.claims.get(id);
        let confirmed = known.is_some_and(|claim| claim.confirmed);
        if view.is_ours(id) && confirmed {
            let node = &mut draft.status.nodes[index];
            if node.state == node_state::SELECTED {
                node.state = node_state::CLAIMED.to_owned();
            }
            continue;
        }
        waiting.push(id);
        let (host, consumer) = (host_ref(record), view.consumer());
        match known {
            // Marked before our start: nobody who read before that still writes.
            None if view.is_ours(id) => actions.push(Action::Confirm { host, consumer }),
            // Our view lags behind what the second look has shown.
            Some(_) if confirmed && view_is_old(record, view) => {}
            Some(claim) if !confirmed => {
                let time = claim.written + hold_off(&record.host);
                if time <= view.now {
                    actions.push(Action::Confirm { host, consumer });
                } else {
                    draft.look_again_at(time);
                }
            }
            _ => actions.push(Action::Claim {
                host,
                resource_version: record.host.metadata.resource_version.clone(),
                consumer,
            }),
        }
    }
    if waiting.is_empty() {
        draft.yes(KIND, "Claimed", format!("{} of {} hosts are ours", chosen.len(), chosen.len()));
        return Ok(());
    }
    if !actions.is_empty() && draft.may_act() {
        let held =
            view.provisioning.metadata.finalizers.iter().any(|f| f.starts_with(OUR_FINALIZERS));
        if !held {
            draft.actions.push(Action::SetFinalizer);
        }
        draft.actions.extend(actions);
    }
    let names: Vec<&str> = waiting.iter().map(|id| id.name.as_str()).collect();
    let mut message = format!(
        "{} of {} hosts are ours; claiming {}",
        chosen.len() - waiting.len(),
        chosen.len(),
        names.join(", ")
    );
    if let Some(trouble) = &view.memory.trouble {
        message.push_str(&format!("; last try to {}: {}", trouble.action, trouble.message));
    }
    Err(draft.held(KIND, "Claiming", message))
}

/// True while the view shows a host as it was before we marked it: free.
fn view_is_old(record: &HostRecord, view: &View<'_>) -> bool {
    let claim = view.memory.claims.get(&super::view::host_id(record));
    let lag = jiff::SignedDuration::from_secs(5);
    record.host.spec.consumer_ref.is_none()
        && claim.is_some_and(|claim| view.now.duration_since(claim.written) < lag)
}

/// Hosts that carry our mark but have no slot any more go free, also while nothing fits. Nothing is
/// released before hosts were chosen once: a status that was lost says nothing about its hosts.
pub fn release_others(draft: &mut Draft<'_>) {
    let chosen: Vec<HostId> = draft.status.nodes.iter().map(host_of).collect();
    if chosen.is_empty() {
        return;
    }
    let wipe = super::deletion::may_wipe(draft);
    for host in draft.view.our_hosts() {
        if !chosen.contains(&id_of(&host)) {
            drop(give_back(draft, host, wipe));
        }
    }
}

/// The next step of giving a host back. Returns what it waits for, in words.
pub fn give_back(draft: &mut Draft<'_>, host: HostRef, wipe: bool) -> Option<String> {
    let (view, consumer) = (draft.view, draft.view.consumer());
    let record = view.hosts.get(&id_of(&host));
    if let Some(Leave::Wait(words)) = record.map(|r| leave(&r.host, &consumer.uid, wipe)) {
        return Some(format!("{} {words}", host.key.name));
    }
    if draft.may_act() {
        draft.actions.push(Action::Release { host, consumer, wipe });
    }
    None
}

fn id_of(host: &HostRef) -> HostId {
    HostId {
        namespace: host.key.namespace.clone(),
        name: host.key.name.clone(),
        uid: host.uid.clone(),
    }
}

/// Hosts that may carry our mark although our view does not show it (yet): we wrote it, or were
/// about to. To release them is harmless: only exactly our mark is ever removed.
pub fn perhaps_ours(view: &View<'_>) -> Vec<HostRef> {
    let chosen = view.provisioning.status.nodes.iter().map(host_of);
    let ids: std::collections::BTreeSet<HostId> =
        chosen.chain(view.memory.claims.keys().cloned()).collect();
    let unmarked = |id: &HostId| {
        view.hosts.get(id).filter(|record| record.host.spec.consumer_ref.is_none()).map(host_ref)
    };
    ids.iter().filter_map(unmarked).collect()
}

/// Says whether all hosts of a run are still ours.
pub fn verify(draft: &mut Draft<'_>) -> Result<(), Held> {
    const KIND: &str = condition::HOSTS_CLAIMED;
    let missing = not_ours(draft.view, &draft.status.nodes);
    let all = draft.status.nodes.len();
    if missing.is_empty() {
        draft.yes(KIND, "Claimed", format!("{all} of {all} hosts are ours"));
        return Ok(());
    }
    Err(draft.held(
        KIND,
        "ClaimLost",
        format!(
            "{}; nothing more is started on it and the mark is not written back; find out who changed spec.consumerRef",
            missing.join("; ")
        ),
    ))
}
