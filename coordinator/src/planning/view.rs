//! All that one decision looks at, as values.

use std::collections::BTreeMap;
use std::sync::Arc;

use bpa_common::api::metal3::ConsumerRef;
use bpa_common::api::{ObjectKey, Provisioning, Site};
use bpa_common::wire::v1::{RunId, RunReport};
use jiff::Timestamp;

use super::index::HostIndex;
use super::memory::Memory;
use crate::cluster::{HostRecord, HostRef};
use crate::matching::{HostId, Planned};
use crate::runs::RunFacts;
use crate::sites::FleetView;

/// What one decision looks at. The status is the one that was written last.
pub struct View<'a> {
    pub now: Timestamp,
    pub epoch: u64,
    pub provisioning: &'a Provisioning,
    /// Matching's answer. Assignments are only looked for before a run.
    pub plan: Arc<Planned>,
    /// An older provisioning that makes a cluster of the same name.
    pub clash: Option<ObjectKey>,
    pub hosts: &'a HostIndex,
    /// There is somebody (Metal3) who installs operating systems.
    pub installs_os: bool,
    pub sites: &'a [Site],
    pub fleet: &'a FleetView,
    pub runs: &'a BTreeMap<RunId, RunFacts>,
    pub memory: &'a Memory,
    /// The name of the next run, should one be needed.
    pub fresh_run: RunId,
}

impl View<'_> {
    /// The mark that this provisioning puts on hosts.
    pub fn consumer(&self) -> ConsumerRef {
        crate::matching::consumer_of(self.provisioning)
    }

    /// True when the host is there and its mark is exactly ours.
    pub fn is_ours(&self, host: &HostId) -> bool {
        let consumer = self.consumer();
        self.hosts.get(host).is_some_and(|h| h.host.spec.consumer_ref.as_ref() == Some(&consumer))
    }

    /// All hosts that carry our mark.
    pub fn our_hosts(&self) -> Vec<HostRef> {
        self.hosts.of_consumer(&self.consumer()).map(host_ref).collect()
    }

    /// An annotation of the provisioning; empty is none.
    pub fn annotation(&self, name: &str) -> Option<&str> {
        let value = self.provisioning.metadata.annotations.get(name)?.trim();
        (!value.is_empty()).then_some(value)
    }

    /// What the site's agent said of this run in its last hello. None when it is not connected;
    /// Some(None) when it did not name the run.
    pub fn standing(&self, site: &str, run: RunId) -> Option<Option<&RunReport>> {
        let view = self.fleet.get(site).filter(|view| view.connected)?;
        Some(view.standing.iter().find(|report| report.run == run))
    }

    /// What is kept of a run.
    pub fn facts(&self, run: RunId) -> Option<&RunFacts> {
        self.runs.get(&run)
    }
}

/// Who a host is exactly, for the world.
pub fn host_ref(record: &HostRecord) -> HostRef {
    HostRef { key: record.host.metadata.key(), uid: record.host.metadata.uid.clone() }
}

/// Who a host is exactly, for matching.
pub fn host_id(record: &HostRecord) -> HostId {
    let metadata = &record.host.metadata;
    HostId {
        namespace: metadata.namespace.clone(),
        name: metadata.name.clone(),
        uid: metadata.uid.clone(),
    }
}
