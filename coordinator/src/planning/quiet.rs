//! Clusters that stand and of which nothing has changed are not decided about again: at a thousand of
//! them they would be most of the work of each pass.
//!
//! Only for the stage in which a decision looks at few things: all of them are kept here, shared, so
//! that the same pointer means the same content.

use std::collections::BTreeMap;
use std::sync::Arc;

use bpa_common::api::{ObjectKey, Provisioning};
use bpa_common::wire::v1::{RunId, RunState};

use super::action::Decision;
use super::claims::host_of;
use super::stage::{Stage, stage};
use super::view::View;
use crate::cluster::HostRecord;
use crate::runs::RunRecord;
use crate::sites::SiteView;

/// What was looked at when nothing was to be done, by uid. Forgetting it costs time and nothing else.
#[derive(Debug, Default)]
pub struct Quiet(BTreeMap<String, Seen>);

/// Everything that a decision about a standing cluster looks at.
#[derive(Debug)]
struct Seen {
    provisioning: Arc<Provisioning>,
    clash: Option<ObjectKey>,
    memory: u64,
    site: Option<Arc<SiteView>>,
    record: Option<Arc<RunRecord>>,
    last_line: String,
    has_kubeconfig: bool,
    /// Those of its nodes, then those that carry its mark.
    hosts: Vec<Option<Arc<HostRecord>>>,
}

impl Seen {
    /// None: it is at another stage, or a decision would look at more.
    fn of(view: &View<'_>, provisioning: &Arc<Provisioning>) -> Option<Self> {
        let status = &provisioning.status;
        let run: RunId = status.run.as_ref()?.id.parse().ok()?;
        if !status.lost_hosts.is_empty() || provisioning.metadata.is_deleting() {
            return None;
        }
        let facts = view.facts(run);
        let nodes = status.nodes.iter().map(|node| view.hosts.shared(&host_of(node)).cloned());
        let marked = view.hosts.marked_for(&provisioning.metadata.uid).map(Some);
        Some(Self {
            provisioning: Arc::clone(provisioning),
            clash: view.clash.clone(),
            memory: view.memory.revision,
            site: status.site.as_ref().and_then(|site| view.fleet.get(site)).cloned(),
            record: facts.map(|facts| Arc::clone(&facts.record)),
            last_line: facts.map(|facts| facts.last_line.clone()).unwrap_or_default(),
            has_kubeconfig: facts.is_some_and(|facts| facts.has_kubeconfig),
            hosts: nodes.chain(marked).collect(),
        })
    }

    fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.provisioning, &other.provisioning)
            && self.clash == other.clash
            && self.memory == other.memory
            && same(self.site.as_ref(), other.site.as_ref())
            && same(self.record.as_ref(), other.record.as_ref())
            && self.last_line == other.last_line
            && self.has_kubeconfig == other.has_kubeconfig
            && self.hosts.len() == other.hosts.len()
            && self.hosts.iter().zip(&other.hosts).all(|(a, b)| same(a.as_ref(), b.as_ref()))
    }
}

fn same<T>(a: Option<&Arc<T>>, b: Option<&Arc<T>>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        (a, b) => a.is_none() && b.is_none(),
    }
}

impl Quiet {
    /// Whether all is as it was when nothing was to be done.
    pub fn holds(&self, view: &View<'_>, provisioning: &Arc<Provisioning>) -> bool {
        let Some(before) = self.0.get(&provisioning.metadata.uid) else { return false };
        Seen::of(view, provisioning).is_some_and(|now| before.is_same(&now))
    }

    /// Notes what was looked at, if nothing came of it.
    pub fn note(&mut self, view: &View<'_>, provisioning: &Arc<Provisioning>, made: &Decision) {
        let nothing =
            made.status == provisioning.status && made.actions.is_empty() && made.recheck.is_none();
        let stands = nothing && matches!(stage(view), Stage::After(_, RunState::Succeeded));
        match Seen::of(view, provisioning).filter(|_| stands) {
            Some(seen) => drop(self.0.insert(provisioning.metadata.uid.clone(), seen)),
            None => drop(self.0.remove(&provisioning.metadata.uid)),
        }
    }

    /// Forgets those that are gone.
    pub fn retain(&mut self, is_there: impl Fn(&str) -> bool) {
        self.0.retain(|uid, _| is_there(uid));
    }

    /// How many are quiet.
    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.0.len()
    }
}
