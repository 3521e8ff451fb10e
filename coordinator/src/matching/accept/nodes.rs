//! From the lists of nodes to slots: names, counts, both roles, MACs.

use std::collections::BTreeMap;

use bpa_common::api::{NodeNeed, NodeTable, ProvisioningSpec};
use bpa_common::net::MacAddress;

use super::names::{check_node_name, shown};
use crate::matching::{Need, Slot};

/// More nodes than one kubespray run handles; also a guard against absurd counts.
const MOST_SLOTS: usize = 1000;

/// The slots of a spec, control plane first.
pub fn slots(spec: &ProvisioningSpec, problems: &mut Vec<String>) -> Vec<Slot> {
    let asked = asked(spec);
    if asked > 2 * MOST_SLOTS as u64 {
        // A node in both roles is counted twice. What is far beyond is not even looked at.
        problems.push(too_many(asked));
        return Vec::new();
    }
    let mut slots = Vec::new();
    let mut place: BTreeMap<String, usize> = BTreeMap::new();
    for (name, entry) in entries("masters", &spec.masters, None, problems) {
        for slot in expand(&name, entry, spec, true, problems) {
            if place.insert(slot.name.clone(), slots.len()).is_some() {
                problems.push(format!(
                    "spec.masters names `{}` twice; names must be unique",
                    shown(&slot.name)
                ));
            }
            slots.push(slot);
        }
    }
    let masters = slots.len();
    let only_master = match (spec.masters.as_slice(), masters) {
        ([item], 1) => item.keys().next().map(String::as_str),
        _ => None,
    };
    for (name, entry) in entries("workers", &spec.workers, only_master, problems) {
        for slot in expand(&name, entry, spec, false, problems) {
            match place.get(&slot.name) {
                Some(&at) if at < masters => join_roles(&mut slots[at], slot, problems),
                Some(_) => problems.push(format!(
                    "spec.workers names `{}` twice; names must be unique",
                    shown(&slot.name)
                )),
                None => {
                    place.insert(slot.name.clone(), slots.len());
                    slots.push(slot);
                }
            }
        }
    }
    if slots.iter().all(|s| !s.worker) {
        // No workers at all: every master is a worker too.
        slots.iter_mut().for_each(|s| s.worker = true);
    }
    if slots.len() > MOST_SLOTS {
        problems.push(too_many(slots.len() as u64));
        slots.truncate(MOST_SLOTS);
    }
    same_mac(&slots, problems);
    slots
}

/// How many nodes a spec asks for, one in both lists counted twice.
fn asked(spec: &ProvisioningSpec) -> u64 {
    let count = |need: &Option<NodeNeed>| need.as_ref().and_then(|n| n.count).unwrap_or(1);
    let items = spec.masters.iter().chain(&spec.workers).flat_map(BTreeMap::values);
    items.map(|need| u64::from(count(need))).fold(0, u64::saturating_add)
}

fn too_many(asked: u64) -> String {
    format!(
        "{asked} nodes are asked for; at most {MOST_SLOTS} are possible in one cluster: write fewer, or several Provisionings"
    )
}

/// The one-key maps of a table, in order. An item without a key is what `kubectl apply` sends for a
/// name without a value: it can only mean `meant`, if there is just one to mean.
fn entries<'a>(
    field: &str,
    table: &'a NodeTable,
    meant: Option<&str>,
    problems: &mut Vec<String>,
) -> Vec<(String, Option<&'a NodeNeed>)> {
    let mut found = Vec::new();
    for (index, item) in table.iter().enumerate() {
        if item.len() == 1 {
            found.extend(item.iter().map(|(name, need)| (name.clone(), need.as_ref())));
        } else if let (true, Some(name)) = (item.is_empty(), meant) {
            found.push((name.to_owned(), None));
        } else if item.is_empty() {
            problems.push(format!(
                "spec.{field}[{index}] has no node name; `kubectl apply` drops a name without a value: write `- NAME: {{}}`, or use `kubectl apply --server-side`"
            ));
        } else {
            let keys: Vec<String> = item.keys().take(4).map(|key| shown(key)).collect();
            problems.push(format!(
                "spec.{field}[{index}] has {} keys ({}): wanted one node name per list item; write each as an item of its own, `- NAME: {{...}}`",
                item.len(),
                keys.join(", ")
            ));
        }
    }
    found
}

/// One entry as its slots: one, or `name-0` to `name-(count-1)`.
fn expand(
    name: &str,
    entry: Option<&NodeNeed>,
    spec: &ProvisioningSpec,
    master: bool,
    problems: &mut Vec<String>,
) -> Vec<Slot> {
    let empty = NodeNeed::default();
    let entry = entry.unwrap_or(&empty);
    let shared = spec.host_selector.as_ref();
    let list = if master { "spec.masters" } else { "spec.workers" };
    let field = format!("{list}.{}", shown(name));
    let slot = |name: String| Slot {
        name,
        control_plane: master,
        worker: !master,
        need: Need::from_entry(entry, shared),
        address: entry.address,
    };
    if let Some(mac) = entry.mac_address.0.iter().find(|m| !m.is_unicast()) {
        problems.push(format!(
            "{field}.mac-address: {mac} is no address of one network card (zero, group or broadcast); write the one that the host shows"
        ));
    }
    let Some(count) = entry.count else {
        problems.extend(check_node_name(name).err().map(|problem| format!("{list}: {problem}")));
        return vec![slot(name.to_owned())];
    };
    if count > 1 && (!entry.mac_address.is_empty() || entry.address.is_some()) {
        problems.push(format!(
            "{field}: count {count} with one mac-address or address; write one item per machine"
        ));
    }
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    if count > MOST_SLOTS {
        problems.push(format!(
            "{field}.count: found {count}, at most {MOST_SLOTS} nodes are possible in one cluster"
        ));
    }
    let first = check_node_name(&format!("{name}-0"));
    problems.extend(first.err().map(|problem| format!("{list}: {problem}")));
    (0..count.min(MOST_SLOTS)).map(|n| slot(format!("{name}-{n}"))).collect()
}

/// A worker of a master's name is the same node in both roles.
fn join_roles(master: &mut Slot, worker: Slot, problems: &mut Vec<String>) {
    if master.worker {
        problems.push(format!("spec.workers names `{}` twice; names must be unique", worker.name));
        return;
    }
    match master.need.clone().both(worker.need) {
        Some(need) => {
            master.need = need;
            master.worker = true;
            master.address = master.address.or(worker.address);
        }
        None => problems.push(format!(
            "`{}` is in masters and in workers with different needs that contradict each other; leave the worker's value empty",
            worker.name
        )),
    }
}

fn same_mac(slots: &[Slot], problems: &mut Vec<String>) {
    let mut seen: BTreeMap<MacAddress, &str> = BTreeMap::new();
    for slot in slots {
        for mac in &slot.need.macs {
            if let Some(other) = seen.insert(*mac, &slot.name) {
                problems.push(format!(
                    "{mac} is asked for by `{other}` and `{}`: one machine can't be two nodes; for both roles use one name in masters and workers",
                    slot.name
                ));
            }
        }
    }
}
