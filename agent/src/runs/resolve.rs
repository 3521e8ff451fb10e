//! From MAC to address: what the leases say, waited for where they say nothing yet.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use bpa_common::wire::v1::{EventBody, NodeState, Order, OrderNode};
use tokio::time::Instant;

use crate::leases::{LeaseFeed, LeaseView};
use crate::steps::{Journaled, NodeTarget, StepFailure};

/// The SSH port of every host.
const SSH: u16 = 22;

/// Waits until every node has an address, at most `limit`.
///
/// # Errors
/// Which nodes have none, or which two have the same.
pub(super) async fn resolve(
    order: &Order,
    mut leases: LeaseFeed,
    limit: Duration,
    voice: &dyn Journaled,
) -> Result<Vec<NodeTarget>, StepFailure> {
    let deadline = Instant::now() + limit;
    let mut found: BTreeMap<String, IpAddr> = BTreeMap::new();
    let mut waited = false;
    loop {
        let view = leases.borrow_and_update().clone();
        for node in &order.nodes {
            match address(node, &view) {
                Some((address, note)) if found.get(&node.name) != Some(&address) => {
                    found.insert(node.name.clone(), address);
                    voice.tell(at(node, NodeState::Resolved, Some(address), note));
                }
                Some(_) => {}
                None => {
                    found.remove(&node.name);
                    if !waited {
                        let message =
                            format!("{}; waiting up to {} s", why(node, &view), limit.as_secs());
                        voice.tell(at(node, NodeState::WaitingForLease, None, message));
                    }
                }
            }
        }
        waited = true;
        if found.len() == order.nodes.len() {
            return targets(order, &found);
        }
        tokio::select! {
            changed = leases.changed() => {
                if changed.is_err() {
                    // The followers are gone: the agent is ending. The next one goes on.
                    std::future::pending::<()>().await;
                }
            }
            () = tokio::time::sleep_until(deadline) => return Err(missing(order, &found, &view, limit)),
        }
    }
}

/// The targets that can be had now, without waiting.
pub(super) fn resolve_now(order: &Order, leases: &LeaseFeed) -> Vec<NodeTarget> {
    let view = leases.borrow().clone();
    let now = |node| address(node, &view).map(|(address, _)| target(node, address));
    order.nodes.iter().filter_map(now).collect()
}

/// The node's address, and what is worth saying about it. The order's own address wins; then the
/// lease of the named MAC; then that of any other MAC of the host.
fn address(node: &OrderNode, view: &LeaseView) -> Option<(IpAddr, String)> {
    if let Some(address) = node.address {
        return Some((address, "address of the order".to_owned()));
    }
    let others = node.macs.iter().filter(|mac| **mac != node.mac);
    std::iter::once(&node.mac).chain(others).find_map(|mac| {
        let answer = view.answer(*mac);
        let address = answer.address?;
        let note = if answer.ambiguous {
            let all: Vec<String> = answer.all.iter().map(|l| l.address.to_string()).collect();
            format!("{mac} has several leases ({}); the newest is used", all.join(", "))
        } else {
            format!("lease of {mac}")
        };
        Some((address, note))
    })
}

fn why(node: &OrderNode, view: &LeaseView) -> String {
    let mac = node.mac;
    match view.ended(mac).last() {
        Some((_, record)) => format!("the lease of {mac} ({}) has ended", record.address),
        None => format!("no lease for {mac}"),
    }
}

fn at(node: &OrderNode, state: NodeState, address: Option<IpAddr>, message: String) -> EventBody {
    EventBody::Node { node: node.name.clone(), state, address, message }
}

fn targets(
    order: &Order,
    found: &BTreeMap<String, IpAddr>,
) -> Result<Vec<NodeTarget>, StepFailure> {
    let mut targets: Vec<NodeTarget> = Vec::new();
    for node in &order.nodes {
        let Some(address) = found.get(&node.name) else { continue };
        if let Some(twin) = targets.iter().find(|t| t.address == *address) {
            return Err(StepFailure {
                reason: "SameAddress",
                node: Some(node.name.clone()),
                message: format!("{} and {} both have the address {address}", twin.name, node.name),
                fix: "look at the leases of both MACs (`bpa-agent leases`): one is stale".into(),
            });
        }
        targets.push(target(node, *address));
    }
    Ok(targets)
}

fn target(node: &OrderNode, address: IpAddr) -> NodeTarget {
    let mut macs = node.macs.clone();
    if !macs.contains(&node.mac) {
        macs.insert(0, node.mac);
    }
    NodeTarget {
        name: node.name.clone(),
        host: node.host.name.clone(),
        address,
        port: SSH,
        macs,
        serial: node.serial.clone(),
        host_uid: node.host.uid.clone(),
        installation: node.installation.clone(),
        control_plane: node.control_plane,
        cpu: node.cpu,
        memory_bytes: node.memory_bytes,
        disk_bytes: node.disk_bytes,
    }
}

fn missing(
    order: &Order,
    found: &BTreeMap<String, IpAddr>,
    view: &LeaseView,
    limit: Duration,
) -> StepFailure {
    let without: Vec<&OrderNode> =
        order.nodes.iter().filter(|n| !found.contains_key(&n.name)).collect();
    let list: Vec<String> =
        without.iter().map(|n| format!("{} ({})", n.name, why(n, view))).collect();
    let broken: Vec<String> = view
        .sources()
        .iter()
        .filter_map(|s| s.error.as_ref().map(|e| format!("; {}: {e}", s.path)))
        .collect();
    StepFailure {
        reason: "NoLease",
        node: without.first().map(|n| n.name.clone()),
        message: format!(
            "no address within {} s for: {}{}",
            limit.as_secs(),
            list.join(", "),
            broken.concat()
        ),
        fix: "see that the host is on and in the DHCP server's network, and that its MAC is right \
              (`bpa-agent leases` shows what there is)"
            .into(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Ear, feed, order};
    use super::*;

    #[tokio::test]
    async fn addresses_come_from_the_leases_and_from_the_order() {
        let mut order = order(1);
        order.nodes[1].address = Some("10.77.0.99".parse().unwrap());
        let (_sender, leases) = feed(&[(order.nodes[0].mac, "10.77.0.50")]);
        let ear = Ear::default();
        let targets = resolve(&order, leases, Duration::from_secs(1), &ear).await.unwrap();
        let seen: Vec<String> = targets.iter().map(|t| t.address.to_string()).collect();
        assert_eq!(seen, ["10.77.0.50", "10.77.0.99"]);
        assert_eq!(ear.states(), [("cp1", NodeState::Resolved), ("w1", NodeState::Resolved)]);
    }

    #[tokio::test]
    async fn a_lease_that_comes_later_is_waited_for_visibly() {
        let order = order(1);
        let (sender, leases) = feed(&[(order.nodes[0].mac, "10.77.0.50")]);
        let ear = Ear::default();
        let later = async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            sender.send_replace(super::super::testing::view(&[
                (order.nodes[0].mac, "10.77.0.50"),
                (order.nodes[1].mac, "10.77.0.51"),
            ]));
        };
        let (targets, ()) =
            tokio::join!(resolve(&order, leases, Duration::from_secs(5), &ear), later);
        assert_eq!(targets.unwrap().len(), 2);
        let wanted = [
            ("cp1", NodeState::Resolved),
            ("w1", NodeState::WaitingForLease),
            ("w1", NodeState::Resolved),
        ];
        assert_eq!(ear.states(), wanted);
    }

    #[tokio::test]
    async fn no_lease_is_a_failure_that_names_node_and_mac() {
        let order = order(1);
        let (_sender, leases) = feed(&[(order.nodes[0].mac, "10.77.0.50")]);
        let limit = Duration::from_millis(50);
        let failure = resolve(&order, leases, limit, &Ear::default()).await.unwrap_err();
        assert_eq!((failure.reason, failure.node.as_deref()), ("NoLease", Some("w1")));
        assert!(failure.message.contains(&order.nodes[1].mac.to_string()), "{failure}");
    }

    #[tokio::test]
    async fn two_nodes_on_one_address_stop_the_run() {
        let order = order(1);
        let same = "10.77.0.50";
        let (_sender, leases) = feed(&[(order.nodes[0].mac, same), (order.nodes[1].mac, same)]);
        let limit = Duration::from_millis(50);
        let failure = resolve(&order, leases, limit, &Ear::default()).await.unwrap_err();
        // The lease table itself may give the address to the newer one alone.
        assert!(matches!(failure.reason, "SameAddress" | "NoLease"), "{failure}");
    }
}
