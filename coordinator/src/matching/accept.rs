//! From a spec to slots, or the reasons against it. What a legacy CR may look like: facts on the
//! original, section 2.5; the numbers in the tests are its statements.

use std::collections::BTreeMap;

use bpa_common::api::{NodeNeed, NodeTable, Provisioning, ProvisioningSpec};
use bpa_common::net::MacAddress;

use super::{Need, Slot};

mod names;

pub use names::{check_cluster_name, check_node_name, check_plugin, check_version};

/// More nodes than one kubespray run handles; also a guard against absurd counts.
const MOST_SLOTS: usize = 1000;

/// A spec that can be worked on.
#[derive(Clone, Debug, PartialEq)]
pub struct Accepted {
    /// Label `cluster`, else the object's name.
    pub cluster: String,
    /// Control plane first, each in the order of the spec.
    pub slots: Vec<Slot>,
    pub pod_subnet: Option<String>,
    pub service_subnet: Option<String>,
    pub kubernetes_version: Option<String>,
    pub warnings: Vec<String>,
}

/// Why a spec is refused: everything that is wrong with it, at once.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", problems.join("; "))]
pub struct Rejection {
    pub problems: Vec<String>,
}

/// Fields of the original that no longer mean anything.
const REMOVED: [&str; 4] = ["hostfile", "kudInstallerPath", "dhcpLeaseFile", "multiClusterDir"];
/// Fields of a first draft that would silently mean nothing.
const DRAFT: [&str; 3] = ["master", "worker", "replicas"];

/// Reads a provisioning's spec into slots.
pub fn accept(provisioning: &Provisioning) -> Result<Accepted, Rejection> {
    let spec = &provisioning.spec;
    let mut problems = Vec::new();
    let mut warnings = Vec::new();
    let cluster =
        provisioning.metadata.labels.get("cluster").unwrap_or(&provisioning.metadata.name).clone();
    problems.extend(check_cluster_name(&cluster).err());
    unknown_fields(spec, &mut problems, &mut warnings);
    let slots = slots(spec, &mut problems);
    same_mac(&slots, &mut problems);
    let control_planes = slots.iter().filter(|s| s.control_plane).count();
    if control_planes == 0 && problems.is_empty() {
        problems
            .push("spec.masters is empty: at least one control plane node is needed".to_owned());
    }
    if control_planes > 0 && control_planes.is_multiple_of(2) {
        warnings.push(format!(
            "{control_planes} masters: etcd needs an odd number of members, so it runs on {} of them",
            control_planes - 1
        ));
    }
    let subnets = subnets(spec, &mut problems);
    let version = spec.kubernetes.version.as_ref().map(|v| v.trim_start_matches('v').to_owned());
    problems.extend(version.as_deref().and_then(|v| check_version(v).err()));
    problems.extend(spec.plugins.iter().filter_map(|p| check_plugin(p).err()));
    if !problems.is_empty() {
        return Err(Rejection { problems });
    }
    Ok(Accepted {
        cluster,
        slots,
        pod_subnet: subnets.0,
        service_subnet: subnets.1,
        kubernetes_version: version,
        warnings,
    })
}

fn unknown_fields(spec: &ProvisioningSpec, problems: &mut Vec<String>, warnings: &mut Vec<String>) {
    for field in spec.unknown.keys() {
        if DRAFT.contains(&field.as_str()) {
            problems.push(format!(
                "spec.{field} is not a field: write `masters:` and `workers:` as lists, each item `- NAME: {{cpu: 10, memory: 4Gi}}`; several alike with `count: N`"
            ));
        } else if REMOVED.contains(&field.as_str()) {
            warnings.push(format!(
                "spec.{field} was removed long ago and is ignored; you may delete it"
            ));
        } else {
            warnings.push(format!("spec.{field} is not known and is ignored; check its spelling"));
        }
    }
    for (name, need) in spec.masters.iter().chain(&spec.workers).flatten() {
        for field in need.iter().flat_map(|n| n.unknown.keys()) {
            warnings
                .push(format!("{name}: {field} is not known and is ignored; check its spelling"));
        }
    }
}

fn slots(spec: &ProvisioningSpec, problems: &mut Vec<String>) -> Vec<Slot> {
    let mut slots = Vec::new();
    let mut place: BTreeMap<String, usize> = BTreeMap::new();
    for (name, entry) in entries("masters", &spec.masters, None, problems) {
        for slot in expand(&name, entry, spec, true, problems) {
            if place.insert(slot.name.clone(), slots.len()).is_some() {
                problems.push(format!(
                    "spec.masters names `{}` twice; names must be unique",
                    slot.name
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
                    slot.name
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
        problems.push(format!(
            "{} nodes are asked for; at most {MOST_SLOTS} are possible in one cluster",
            slots.len()
        ));
        slots.truncate(MOST_SLOTS);
    }
    slots
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
            let keys: Vec<&str> = item.keys().map(String::as_str).collect();
            problems.push(format!(
                "spec.{field}[{index}] has {} keys ({}): wanted one node name per list item",
                keys.len(),
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
    let slot = |name: String| Slot {
        name,
        control_plane: master,
        worker: !master,
        need: Need::from_entry(entry, shared),
        address: entry.address,
    };
    if let Some(mac) = entry.mac_address.0.iter().find(|m| !m.is_unicast()) {
        problems.push(format!("{name}: {mac} is no address of one network card"));
    }
    let Some(count) = entry.count else {
        problems.extend(check_node_name(name).err());
        return vec![slot(name.to_owned())];
    };
    if count > 1 && (!entry.mac_address.is_empty() || entry.address.is_some()) {
        problems.push(format!(
            "{name}: count {count} with one mac-address or address; write one item per machine"
        ));
    }
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    if count > MOST_SLOTS {
        problems.push(format!(
            "{name}: count {count}; at most {MOST_SLOTS} nodes are possible in one cluster"
        ));
    }
    problems.extend(check_node_name(&format!("{name}-0")).err());
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

/// Pod and service network: CIDRs that don't overlap.
fn subnets(
    spec: &ProvisioningSpec,
    problems: &mut Vec<String>,
) -> (Option<String>, Option<String>) {
    let mut read = |field: &str, text: Option<&String>| -> Option<ipnet::IpNet> {
        let text = text?;
        match text.trim().parse::<ipnet::IpNet>() {
            Ok(net) => Some(net.trunc()),
            Err(_) => {
                problems
                    .push(format!("{field} is `{text}`: wanted a network such as 10.244.64.0/18"));
                None
            }
        }
    };
    let pods = read("spec.kubernetes.podSubnet", spec.kubernetes.pod_subnet.as_ref())
        .or_else(|| read("spec.PodSubnet", spec.legacy_pod_subnet.as_ref()));
    let services = read("spec.kubernetes.serviceSubnet", spec.kubernetes.service_subnet.as_ref());
    if let (Some(pods), Some(services)) = (pods, services)
        && (pods.contains(&services) || services.contains(&pods))
    {
        problems.push(format!(
            "the pod network {pods} and the service network {services} overlap; choose two apart"
        ));
    }
    (pods.map(|n| n.to_string()), services.map(|n| n.to_string()))
}

#[cfg(test)]
mod tests;
