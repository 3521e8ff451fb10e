//! From a plan to an order.

use bpa_common::api::{KubeconfigPlace, Provisioning};
use bpa_common::wire::v1::{ClusterPlan, ObjectId, Order, OrderKind, OrderNode, RunId};

use super::addresses::macs_of;
use super::draft::{Draft, Held};
use super::words::condition;
use crate::matching::{Accepted, Offer, Slot};

/// Most bytes of `kubernetes.vars` as JSON.
const MAX_VARS: usize = 256 * 1024;

/// The cluster that the spec asks for.
pub fn cluster_plan(provisioning: &Provisioning, accepted: &Accepted) -> ClusterPlan {
    let kubernetes = &provisioning.spec.kubernetes;
    ClusterPlan {
        name: accepted.cluster.clone(),
        bundle: provisioning.spec.bundle.clone(),
        kubernetes_version: accepted.kubernetes_version.clone(),
        network_plugin: kubernetes.network_plugin.clone(),
        pod_subnet: accepted.pod_subnet.clone(),
        service_subnet: accepted.service_subnet.clone(),
        endpoint: kubernetes.endpoint.as_ref().map(|e| (e.host.clone(), e.port)),
        vars_json: serde_json::Value::Object(kubernetes.vars.clone().into_iter().collect())
            .to_string(),
        plugins: provisioning.spec.plugins.clone(),
    }
}

/// What can't go into an order, whatever the site says; matching has checked the rest.
pub fn problems(provisioning: &Provisioning) -> Vec<String> {
    let spec = &provisioning.spec;
    let mut problems = Vec::new();
    let mut name = |field: &str, value: Option<&String>| {
        if let Some(value) = value.filter(|v| !is_plain_name(v)) {
            problems.push(format!(
                "{field} is `{}`: wanted lower-case letters, digits, `-`, `_` and `.`, at most 63",
                value.chars().take(80).collect::<String>()
            ));
        }
    };
    name("spec.bundle", spec.bundle.as_ref());
    name("spec.kubernetes.networkPlugin", spec.kubernetes.network_plugin.as_ref());
    if let Some(endpoint) = &spec.kubernetes.endpoint {
        let host = &endpoint.host;
        if host.parse::<std::net::IpAddr>().is_err() && !is_dns_name(host) {
            problems.push(format!(
                "spec.kubernetes.endpoint.host is `{}`: wanted an address or a DNS name",
                host.chars().take(80).collect::<String>()
            ));
        }
    }
    let vars = serde_json::to_string(&spec.kubernetes.vars).map_or(usize::MAX, |text| text.len());
    if vars > MAX_VARS {
        problems.push(format!("spec.kubernetes.vars has {vars} bytes as JSON, at most {MAX_VARS}"));
    }
    problems
}

fn is_plain_name(text: &str) -> bool {
    (1..=63).contains(&text.len())
        && text.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        && text
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '.'))
}

fn is_dns_name(text: &str) -> bool {
    text.len() <= 253
        && text.split('.').all(|label| {
            (1..=63).contains(&label.len())
                && label.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
                && !label.starts_with('-')
                && !label.ends_with('-')
        })
}

/// The install order of a plan whose addresses are known.
pub fn install(draft: &mut Draft<'_>, accepted: &Accepted, run: RunId) -> Result<Order, Held> {
    let view = draft.view;
    let mut nodes = Vec::new();
    for ((slot, offer), node) in view.plan.hosts.iter().zip(&draft.status.nodes) {
        let mac = node.mac.or_else(|| macs_of(slot, offer).first().copied());
        match mac {
            Some(mac) => nodes.push(order_node(slot, offer, mac)),
            None => {
                let message = format!(
                    "host {} shows no MAC, so the agent can't tell whether a machine is the right one; set bootMACAddress of the BareMetalHost",
                    node.host
                );
                return Err(draft.held(condition::ADDRESSES_KNOWN, "NoMac", message));
            }
        }
    }
    nodes.sort_by_key(|node| !node.control_plane);
    mark_etcd(&mut nodes);
    let provisioning = view.provisioning;
    Ok(Order {
        run,
        provisioning: object_id(provisioning),
        generation: provisioning.metadata.generation,
        epoch: view.epoch,
        kind: OrderKind::Install,
        cluster: cluster_plan(provisioning, accepted),
        nodes,
        kubeconfig_home: provisioning.spec.kubeconfig == KubeconfigPlace::Secret,
    })
}

/// The provisioning, exactly.
pub fn object_id(provisioning: &Provisioning) -> ObjectId {
    let metadata = &provisioning.metadata;
    ObjectId {
        namespace: metadata.namespace.clone(),
        name: metadata.name.clone(),
        uid: metadata.uid.clone(),
    }
}

fn order_node(slot: &Slot, offer: &Offer, mac: bpa_common::net::MacAddress) -> OrderNode {
    OrderNode {
        name: slot.name.clone(),
        control_plane: slot.control_plane,
        worker: slot.worker,
        etcd: false,
        host: ObjectId {
            namespace: offer.id.namespace.clone(),
            name: offer.id.name.clone(),
            uid: offer.id.uid.clone(),
        },
        mac,
        macs: offer.macs.clone(),
        address: slot.address,
        installation: offer.installation.clone(),
        serial: offer.serial.clone(),
        cpu: offer.cpu,
        memory_bytes: offer.memory,
        disk_bytes: offer.disk,
    }
}

/// etcd needs an odd number of members: the largest odd subset of the control plane, first ones
/// first.
fn mark_etcd(nodes: &mut [OrderNode]) {
    let masters = nodes.iter().filter(|n| n.control_plane).count();
    let members = if masters.is_multiple_of(2) { masters.saturating_sub(1) } else { masters };
    nodes.iter_mut().filter(|n| n.control_plane).take(members).for_each(|n| n.etcd = true);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn etcd_is_the_largest_odd_subset_of_the_control_plane() {
        for (masters, members) in [(1, 1), (2, 1), (3, 3), (4, 3), (5, 5)] {
            let (slot, offer) = crate::planning::testing::slot_and_offer("m");
            let mac = offer.macs[0];
            let mut nodes = vec![order_node(&slot, &offer, mac); masters];
            mark_etcd(&mut nodes);
            assert_eq!(nodes.iter().filter(|n| n.etcd).count(), members, "{masters} masters");
            assert!(nodes[0].etcd);
        }
    }

    #[test]
    fn only_plain_names_and_hosts_get_into_an_order() {
        let mut provisioning = crate::planning::testing::provisioning("edge", &["m"]);
        assert_eq!(problems(&provisioning), Vec::<String>::new());
        provisioning.spec.bundle = Some("../etc".into());
        provisioning.spec.kubernetes.network_plugin = Some("cali co".into());
        provisioning.spec.kubernetes.endpoint =
            Some(bpa_common::api::Endpoint { host: "{{ x }}".into(), port: 6443 });
        let found = problems(&provisioning);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].contains("spec.bundle is `../etc`"), "{found:?}");
    }
}
