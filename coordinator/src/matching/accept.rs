//! From a spec to slots, or the reasons against it. What a legacy CR may look like: facts on the
//! original, section 2.5; the numbers in the tests are its statements.

use bpa_common::api::{Provisioning, ProvisioningSpec};

use super::Slot;

mod names;
mod nodes;
mod os;

use names::shown;
pub use names::{check_cluster_name, check_node_name, check_plugin, check_version};

/// Of each kind of message no more are told: a status has limits, and so have readers.
const MOST_TOLD: usize = 20;

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
    if let Some(problem) = &spec.unreadable {
        return Err(Rejection { problems: vec![problem.clone()] });
    }
    let mut problems = Vec::new();
    let mut warnings = Vec::new();
    let cluster =
        provisioning.metadata.labels.get("cluster").unwrap_or(&provisioning.metadata.name).clone();
    problems.extend(check_cluster_name(&cluster).err());
    unknown_fields(spec, &mut problems, &mut warnings);
    if provisioning.metadata.labels.get("cluster-type").is_some_and(|kind| kind == "virtlet-vm") {
        warnings.push("label cluster-type: virtlet-vm means nothing here: pods with virtual machines are not looked up, each node needs a BareMetalHost with its MAC".to_owned());
    }
    let slots = nodes::slots(spec, &mut problems);
    let control_planes = slots.iter().filter(|s| s.control_plane).count();
    if control_planes == 0 && problems.is_empty() {
        problems.push(NO_MASTERS.to_owned());
    }
    if control_planes > 0 && control_planes.is_multiple_of(2) {
        warnings.push(format!(
            "spec.masters has {control_planes} nodes: etcd needs an odd number of members, so it runs on {} of them; write {} or {} to use or save a machine",
            control_planes - 1,
            control_planes + 1,
            control_planes - 1,
        ));
    }
    let subnets = subnets(spec, &mut problems);
    let version = spec.kubernetes.version.as_ref().map(|v| v.trim_start_matches('v').to_owned());
    problems.extend(version.as_deref().and_then(|v| check_version(v).err()));
    problems.extend(spec.plugins.iter().filter_map(|p| check_plugin(p).err()));
    problems.extend(spec.os.iter().flat_map(os::problems));
    if !problems.is_empty() {
        return Err(Rejection { problems: most(problems) });
    }
    Ok(Accepted {
        cluster,
        slots,
        pod_subnet: subnets.0,
        service_subnet: subnets.1,
        kubernetes_version: version,
        warnings: most(warnings),
    })
}

const NO_MASTERS: &str = "spec.masters is empty: at least one control plane node is needed; write `masters:` as a list, each item `- NAME: {cpu: 8, memory: 16Gi}`";

/// The first of many, and how many more there are.
fn most(mut told: Vec<String>) -> Vec<String> {
    let more = told.len().saturating_sub(MOST_TOLD);
    if more > 0 {
        told.truncate(MOST_TOLD);
        told.push(format!("and {more} more"));
    }
    told
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
            let field = shown(field);
            warnings.push(format!("spec.{field} is not known and is ignored; check its spelling"));
        }
    }
    for (list, table) in [("masters", &spec.masters), ("workers", &spec.workers)] {
        for (name, need) in table.iter().flatten() {
            for field in need.iter().flat_map(|n| n.unknown.keys()) {
                let (name, field) = (shown(name), shown(field));
                warnings.push(format!(
                    "spec.{list}.{name}.{field} is not known and is ignored; check its spelling"
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
                problems.push(format!(
                    "{field} is `{}`: wanted a network such as 10.244.64.0/18",
                    shown(text)
                ));
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
            "the pod network {pods} and the service network {services} overlap; write two apart, such as 10.244.0.0/16 and 10.96.0.0/16"
        ));
    }
    (pods.map(|n| n.to_string()), services.map(|n| n.to_string()))
}

#[cfg(test)]
mod tests;
