//! Whether an order is taken: fencing first, then sense, then whether its machines are free.

use bpa_common::wire::v1::{BundleReport, Order, OrderNode, OrderRefusal, RunReport, RunState};

use super::wish;

/// A run of the journal, with the machines that it works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownRun {
    pub report: RunReport,
    pub nodes: Vec<OrderNode>,
}

/// What the agent knows besides its runs.
#[derive(Clone, Copy, Debug)]
pub struct Ground<'a> {
    /// The highest epoch that an order was accepted from.
    pub epoch_seen: u64,
    /// Whether the coordinator said that this site may take orders.
    pub approved: bool,
    pub bundles: &'a [BundleReport],
}

/// The answer to an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admit {
    Accept,
    /// This very run is in the journal.
    Known(RunState),
    Refuse(OrderRefusal),
}

/// Decides about an order. A run that is known is never refused: the coordinator only asks again.
pub fn admit(order: &Order, known: &[KnownRun], ground: Ground<'_>) -> Admit {
    if let Some(run) = known.iter().find(|k| k.report.run == order.run) {
        return Admit::Known(run.report.state);
    }
    match refusal(order, known, ground) {
        Some(refusal) => Admit::Refuse(refusal),
        None => Admit::Accept,
    }
}

fn refusal(order: &Order, known: &[KnownRun], ground: Ground<'_>) -> Option<OrderRefusal> {
    if order.epoch < ground.epoch_seen {
        return Some(OrderRefusal::OldEpoch { seen: ground.epoch_seen });
    }
    if !ground.approved {
        return Some(OrderRefusal::Quarantine);
    }
    let newest = known
        .iter()
        .filter(|k| k.report.provisioning.uid == order.provisioning.uid)
        .map(|k| k.report.generation)
        .max();
    if let Some(done) = newest.filter(|done| *done > order.generation) {
        return Some(OrderRefusal::OldGeneration { done });
    }
    if let Some(run) = busy(order, known) {
        return Some(OrderRefusal::Busy { run: run.report.run });
    }
    wish::check(order, ground.bundles)
        .err()
        .map(|wrong| OrderRefusal::Invalid { message: wrong.message, fix: wrong.fix })
}

/// An unfinished run of the same provisioning, of the same cluster's directory or on one of the
/// same machines.
fn busy<'a>(order: &Order, known: &'a [KnownRun]) -> Option<&'a KnownRun> {
    known.iter().filter(|k| !k.report.state.is_final()).find(|k| {
        k.report.provisioning.uid == order.provisioning.uid
            || k.nodes.iter().any(|taken| order.nodes.iter().any(|node| same_machine(node, taken)))
    })
}

fn same_machine(a: &OrderNode, b: &OrderNode) -> bool {
    let named = (&a.host.namespace, &a.host.name) == (&b.host.namespace, &b.host.name);
    named || a.mac == b.mac || a.macs.iter().any(|mac| b.macs.contains(mac))
}

#[cfg(test)]
pub(super) mod tests {
    use bpa_common::wire::v1::{ClusterPlan, ObjectId, OrderKind, RunId};
    use proptest::prelude::*;

    use super::*;

    pub(in crate::orders) fn node(name: &str, n: u8) -> OrderNode {
        let mac = format!("52:54:00:00:00:{n:02x}").parse().unwrap();
        OrderNode {
            name: name.into(),
            control_plane: n == 1,
            worker: n != 1,
            etcd: n == 1,
            host: ObjectId {
                namespace: "metal3".into(),
                name: format!("host{n}"),
                uid: format!("h{n}"),
            },
            mac,
            macs: vec![mac],
            address: None,
            installation: "i1".into(),
            serial: None,
            cpu: None,
            memory_bytes: None,
            disk_bytes: None,
        }
    }

    pub(in crate::orders) fn order(run: u8, uid: &str, generation: u64, epoch: u64) -> Order {
        Order {
            run: RunId([run; 16]),
            provisioning: ObjectId { namespace: "a".into(), name: uid.into(), uid: uid.into() },
            generation,
            epoch,
            kind: OrderKind::Install,
            cluster: ClusterPlan { name: "edge".into(), ..ClusterPlan::default() },
            nodes: vec![node("cp1", 1), node("w1", 2)],
            kubeconfig_home: true,
        }
    }

    pub(in crate::orders) fn bundles() -> Vec<BundleReport> {
        vec![BundleReport {
            name: "kubeadm".into(),
            version: "1.0.0".into(),
            kubernetes_versions: vec!["1.35.4".into()],
            problems: Vec::new(),
        }]
    }

    fn known(order: &Order, state: RunState) -> KnownRun {
        KnownRun {
            report: RunReport {
                run: order.run,
                provisioning: order.provisioning.clone(),
                generation: order.generation,
                epoch: order.epoch,
                state,
            },
            nodes: order.nodes.clone(),
        }
    }

    fn ask(order: &Order, runs: &[KnownRun], epoch_seen: u64) -> Admit {
        admit(order, runs, Ground { epoch_seen, approved: true, bundles: &bundles() })
    }

    #[test]
    fn a_sound_order_is_accepted_and_the_same_one_is_known() {
        let order = order(1, "u", 1, 5);
        assert_eq!(ask(&order, &[], 5), Admit::Accept);
        let runs = [known(&order, RunState::Running)];
        assert_eq!(ask(&order, &runs, 9), Admit::Known(RunState::Running));
    }

    #[test]
    fn an_older_epoch_or_generation_is_refused_with_what_was_seen() {
        let refused = ask(&order(1, "u", 1, 4), &[], 5);
        assert_eq!(refused, Admit::Refuse(OrderRefusal::OldEpoch { seen: 5 }));
        let runs = [known(&order(1, "u", 7, 5), RunState::Succeeded)];
        let refused = ask(&order(2, "u", 6, 5), &runs, 5);
        assert_eq!(refused, Admit::Refuse(OrderRefusal::OldGeneration { done: 7 }));
        assert_eq!(ask(&order(2, "u", 7, 5), &runs, 5), Admit::Accept, "the same one again");
        assert_eq!(ask(&order(2, "v", 1, 5), &runs, 5), Admit::Accept, "another provisioning");
    }

    #[test]
    fn a_machine_is_in_one_run_at_a_time() {
        let running = known(&order(1, "u", 1, 5), RunState::Running);
        let refused = ask(&order(2, "v", 1, 5), std::slice::from_ref(&running), 5);
        assert_eq!(refused, Admit::Refuse(OrderRefusal::Busy { run: RunId([1; 16]) }));
        let mut other = order(2, "v", 1, 5);
        other.nodes = vec![node("cp1", 1)];
        other.nodes[0].host.name = "host9".into();
        let refused = ask(&other, std::slice::from_ref(&running), 5);
        assert!(matches!(refused, Admit::Refuse(OrderRefusal::Busy { .. })), "the same MAC");
        other.nodes[0].mac = "52:54:00:00:00:99".parse().unwrap();
        other.nodes[0].macs = vec![other.nodes[0].mac];
        assert_eq!(ask(&other, &[running], 5), Admit::Accept);
    }

    #[test]
    fn a_site_in_quarantine_takes_no_order() {
        let ground = Ground { epoch_seen: 0, approved: false, bundles: &bundles() };
        let refused = admit(&order(1, "u", 1, 5), &[], ground);
        assert_eq!(refused, Admit::Refuse(OrderRefusal::Quarantine));
    }

    proptest! {
        /// Whatever the journal holds, an order that is older than it is never accepted, and two
        /// unfinished runs never share a provisioning.
        #[test]
        fn the_fence_holds(
            seen in 0u64..5, epoch in 0u64..5, generation in 0u64..5,
            past in proptest::collection::vec((0u8..4, 0u64..5, any::<bool>()), 0..6),
        ) {
            let runs: Vec<KnownRun> = past.iter().enumerate().map(|(n, (uid, generation, over))| {
                let order = order(n as u8 + 10, &format!("u{uid}"), *generation, 1);
                known(&order, if *over { RunState::Failed } else { RunState::Running })
            }).collect();
            let wanted = order(1, "u0", generation, epoch);
            if ask(&wanted, &runs, seen) == Admit::Accept {
                prop_assert!(epoch >= seen);
                prop_assert!(runs.iter().all(|k| k.report.state.is_final()), "hosts are shared");
                prop_assert!(runs.iter().filter(|k| k.report.provisioning.uid == "u0")
                    .all(|k| k.report.generation <= generation));
            }
        }
    }
}
