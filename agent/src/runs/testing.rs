//! Orders, leases and listeners for tests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use bpa_common::net::MacAddress;
use bpa_common::wire::v1::{
    ClusterPlan, EventBody, NodeState, ObjectId, Order, OrderKind, OrderNode, RunId,
};
use tokio::sync::watch;

use crate::leases::{LeaseFeed, LeaseView, Record, SourceKind, SourceTable, SourceView};
use crate::steps::Journaled;

/// An install of one control plane and one worker.
pub(crate) fn order(n: u8) -> Order {
    let node = |name: &str, at: u8| {
        let mac: MacAddress = format!("52:54:00:00:{n:02x}:{at:02x}").parse().unwrap();
        OrderNode {
            name: name.into(),
            control_plane: at == 1,
            worker: at != 1,
            etcd: at == 1,
            host: ObjectId {
                namespace: "metal3".into(),
                name: format!("host{n}-{at}"),
                uid: format!("h{n}-{at}"),
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
    };
    Order {
        run: RunId([n; 16]),
        provisioning: ObjectId {
            namespace: "default".into(),
            name: format!("edge{n}"),
            uid: format!("uid-{n}"),
        },
        generation: 1,
        epoch: 1,
        kind: OrderKind::Install,
        cluster: ClusterPlan { name: "edge".into(), ..ClusterPlan::default() },
        nodes: vec![node("cp1", 1), node("w1", 2)],
        kubeconfig_home: true,
    }
}

/// A view in which these MACs have these addresses.
pub(crate) fn view(leases: &[(MacAddress, &str)]) -> Arc<LeaseView> {
    let mut source = SourceView::unread(SourceKind::Dnsmasq, "/leases");
    let mut table = SourceTable::default();
    for (mac, address) in leases {
        let mut record = Record::bound(address.parse().unwrap());
        record.mac = Some(*mac);
        table.records.push(record);
    }
    source.table = Arc::new(table);
    source.error = None;
    source.good_at = Some(1);
    Arc::new(LeaseView::evaluate(vec![source], 1))
}

/// A feed that shows this view until another is sent.
pub(crate) fn feed(leases: &[(MacAddress, &str)]) -> (watch::Sender<Arc<LeaseView>>, LeaseFeed) {
    watch::channel(view(leases))
}

/// Hears what is told.
#[derive(Default)]
pub(crate) struct Ear(pub Mutex<Vec<EventBody>>);

impl Journaled for Ear {
    fn tell(&self, body: EventBody) {
        self.0.lock().unwrap().push(body);
    }
}

impl Ear {
    /// Nodes and states, in the order in which they were told.
    pub(crate) fn states(&self) -> Vec<(&'static str, NodeState)> {
        let names: BTreeMap<&str, &'static str> =
            [("cp1", "cp1"), ("w1", "w1")].into_iter().collect();
        let bodies = self.0.lock().unwrap();
        bodies
            .iter()
            .filter_map(|body| match body {
                EventBody::Node { node, state, .. } => Some((names[node.as_str()], *state)),
                _ => None,
            })
            .collect()
    }
}
