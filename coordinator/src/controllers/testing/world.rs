//! A world of objects in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use bpa_common::api::metal3::{BareMetalHost, ConsumerRef};
use bpa_common::api::{ObjectKey, OsSpec, Provisioning, ProvisioningStatus, SiteStatus};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::watch;

use super::fuse::Fuse;
use crate::cluster::directory::merge;
use crate::cluster::{
    ClaimOutcome, HostRecord, HostRef, ObjectEvent, Snapshot, World, WorldError, os_patch,
};
use crate::matching::consumer_of;
use crate::planning::was_claimed;

/// A new version of a host.
pub fn bump(record: &mut HostRecord) {
    let version = &mut record.host.metadata.resource_version;
    *version = (version.parse::<u64>().unwrap() + 1).to_string();
}

/// Applies a merge patch, as an API server does.
fn patched(record: &mut HostRecord, patch: &serde_json::Value) {
    let mut value = serde_json::to_value(&record.host).unwrap();
    merge::apply(&mut value, patch);
    record.host = serde_json::from_value(value).unwrap();
    bump(record);
}

/// The world in memory.
pub struct FakeWorld {
    state: Mutex<WorldState>,
    changes: watch::Sender<u64>,
    fuse: Arc<Fuse>,
}

#[derive(Default)]
pub struct WorldState {
    pub snapshot: Snapshot,
    pub events: Vec<ObjectEvent>,
    pub kubeconfigs: BTreeMap<String, String>,
    /// The next claim finds that someone else was faster.
    pub thief: Option<ConsumerRef>,
    /// Writes fail with this.
    pub broken: Option<String>,
    /// Hosts of others that we tried to claim or to release although they were seen to be theirs.
    pub foreign_touched: Vec<String>,
    /// Hosts that one of ours has marked again after it had lost them for good.
    pub written_back: Vec<String>,
    /// Hosts, by uid, whose image was taken away, and for whom.
    pub cleared: Vec<(String, String)>,
    /// Hosts, by uid, that were let go with the image of ours still on them, and by whom.
    pub left_installed: Vec<(String, String)>,
    /// Hosts that were known to be lost, by uid, and for whom.
    lost: std::collections::BTreeSet<(String, String)>,
    writes: usize,
    /// What the view still shows of hosts.
    old_view: Option<Snapshot>,
}

impl WorldState {
    /// Whether our view shows the host as somebody else's.
    fn is_seen_foreign(&self, host: &HostRef, ours: &ConsumerRef) -> bool {
        let view = self.old_view.as_ref().unwrap_or(&self.snapshot);
        let found = view.hosts.iter().find(|h| h.host.metadata.uid == host.uid);
        let holder = found.and_then(|record| record.host.spec.consumer_ref.as_ref());
        holder.is_some_and(|holder| holder != ours)
    }
}

impl FakeWorld {
    /// A world of these objects.
    pub fn new(snapshot: Snapshot, fuse: Arc<Fuse>) -> Self {
        let state = Mutex::new(WorldState { snapshot, ..WorldState::default() });
        Self { state, changes: watch::Sender::new(0), fuse }
    }

    /// The state.
    pub fn lock(&self) -> MutexGuard<'_, WorldState> {
        self.state.lock().unwrap()
    }

    /// Somebody takes a host, and our view does not show it yet.
    pub fn steal_unseen(&self, name: &str, thief: ConsumerRef) {
        let mut state = self.lock();
        let seen = state.snapshot.clone();
        state.old_view.get_or_insert(seen);
        let mut hosts = state.snapshot.hosts.iter_mut();
        let record = hosts.find(|h| h.host.metadata.name == name).map(Arc::make_mut).unwrap();
        record.host.spec.consumer_ref = Some(thief);
        bump(record);
    }

    /// Notes by itself, for the judge, which claims are lost by now: a pass has seen the truth.
    /// What a status tells as lost is noted when it is written.
    pub fn note_lost(&self) {
        let mut state = self.lock();
        if state.old_view.is_some() {
            return;
        }
        let mut lost = Vec::new();
        for object in &state.snapshot.provisionings {
            let ours = consumer_of(object);
            let claimed = object.status.nodes.iter().filter(|n| was_claimed(n));
            for node in claimed {
                let found =
                    state.snapshot.hosts.iter().find(|h| h.host.metadata.uid == node.host_uid);
                let mark = found.and_then(|record| record.host.spec.consumer_ref.as_ref());
                if found.is_some() && mark != Some(&ours) {
                    lost.push((node.host_uid.clone(), object.metadata.uid.clone()));
                }
            }
        }
        state.lost.extend(lost);
    }

    /// From now on our view shows hosts as they are at this moment.
    pub fn freeze(&self) {
        let mut state = self.lock();
        let seen = state.snapshot.clone();
        state.old_view.get_or_insert(seen);
    }

    /// Our view shows again what is so.
    pub fn show(&self) {
        self.lock().old_view = None;
    }

    /// How often something was written.
    pub fn writes(&self) -> usize {
        self.lock().writes
    }

    /// Writes to a host that is ours, over exactly the version that was read.
    async fn change(
        &self,
        host: &BareMetalHost,
        consumer: &ConsumerRef,
        patch: Option<serde_json::Value>,
    ) -> Result<ClaimOutcome, WorldError> {
        let Some(patch) = patch else { return Ok(ClaimOutcome::Ours) };
        let write = || {
            self.write(|state| {
                let mut hosts = state.snapshot.hosts.iter_mut();
                let found = hosts.find(|h| h.host.metadata.uid == host.metadata.uid);
                let Some(record) = found.map(Arc::make_mut) else { return ClaimOutcome::Changed };
                let found = &record.host;
                if found.metadata.resource_version != host.metadata.resource_version {
                    return ClaimOutcome::Changed;
                }
                if found.spec.consumer_ref.as_ref() != Some(consumer) {
                    state.foreign_touched.push(found.metadata.key().to_string());
                    return ClaimOutcome::Changed;
                }
                patched(record, &patch);
                if record.host.spec.image.is_none() {
                    state.cleared.push((host.metadata.uid.clone(), consumer.uid.clone()));
                }
                ClaimOutcome::Ours
            })
        };
        self.fuse.pass(write).await
    }

    fn write<T>(&self, change: impl FnOnce(&mut WorldState) -> T) -> Result<T, WorldError> {
        let mut state = self.lock();
        if let Some(message) = state.broken.clone() {
            return Err(WorldError::Corrupt { what: "the world".into(), message });
        }
        state.writes += 1;
        let done = change(&mut state);
        drop(state);
        self.changes.send_modify(|count| *count += 1);
        Ok(done)
    }
}

impl World for FakeWorld {
    async fn snapshot(&self) -> Result<Snapshot, WorldError> {
        let state = self.lock();
        let hosts = state.old_view.as_ref().unwrap_or(&state.snapshot).hosts.clone();
        Ok(Snapshot { hosts, ..state.snapshot.clone() })
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    async fn write_provisioning_status(
        &self,
        key: &ObjectKey,
        uid: &str,
        status: &ProvisioningStatus,
    ) -> Result<(), WorldError> {
        let write = || {
            self.write(|state| {
                let all = &mut state.snapshot.provisionings;
                if let Some(object) = all.iter_mut().find(|p| p.metadata.uid == uid) {
                    assert_eq!(object.metadata.key(), *key);
                    // What the status tells as lost is never ours again.
                    let lost = status.lost_hosts.iter().map(|l| (l.uid.clone(), uid.to_owned()));
                    state.lost.extend(lost);
                    Arc::make_mut(object).status = status.clone();
                }
            })
        };
        self.fuse.pass(write).await
    }

    async fn write_site_status(
        &self,
        key: &ObjectKey,
        status: &SiteStatus,
    ) -> Result<(), WorldError> {
        self.write(|state| {
            let site = state.snapshot.sites.iter_mut().find(|s| s.metadata.key() == *key).unwrap();
            site.status = status.clone();
        })
    }

    async fn set_finalizer(&self, key: &ObjectKey, present: bool) -> Result<(), WorldError> {
        let write = || {
            self.write(|state| {
                let all = &mut state.snapshot.provisionings;
                if let Some(object) = all.iter_mut().find(|p| p.metadata.key() == *key) {
                    Arc::make_mut(object).metadata.finalizers =
                        if present { vec!["bpa.akraino.org/provisioning".into()] } else { vec![] };
                }
                all.retain(|p| !p.metadata.is_deleting() || !p.metadata.finalizers.is_empty());
            })
        };
        self.fuse.pass(write).await
    }

    async fn fresh_host(&self, host: &HostRef) -> Result<Option<BareMetalHost>, WorldError> {
        let read = || {
            let state = self.lock();
            let found = state
                .snapshot
                .hosts
                .iter()
                .find(|h| h.host.metadata.key() == host.key && h.host.metadata.uid == host.uid);
            Ok(found.map(|record| record.host.clone()))
        };
        self.fuse.pass(read).await
    }

    async fn claim(
        &self,
        host: &HostRef,
        resource_version: &str,
        consumer: &ConsumerRef,
    ) -> Result<ClaimOutcome, WorldError> {
        let write = || {
            self.write(|state| {
                let thief = state.thief.take();
                let seen = state.is_seen_foreign(host, consumer);
                let found =
                    state.snapshot.hosts.iter_mut().find(|h| {
                        h.host.metadata.key() == host.key && h.host.metadata.uid == host.uid
                    });
                let Some(record) = found.map(Arc::make_mut) else { return ClaimOutcome::Changed };
                if seen {
                    state.foreign_touched.push(host.key.to_string());
                }
                if let Some(thief) = thief {
                    record.host.spec.consumer_ref = Some(thief);
                    bump(record);
                }
                match record.host.spec.consumer_ref.clone() {
                    Some(other) if other == *consumer => ClaimOutcome::Ours,
                    Some(other) => ClaimOutcome::Taken(other),
                    None if record.host.metadata.resource_version != resource_version => {
                        ClaimOutcome::Changed
                    }
                    None => {
                        if state.lost.contains(&(host.uid.clone(), consumer.uid.clone())) {
                            state.written_back.push(host.key.to_string());
                        }
                        record.host.spec.consumer_ref = Some(consumer.clone());
                        bump(record);
                        ClaimOutcome::Ours
                    }
                }
            })
        };
        self.fuse.pass(write).await
    }

    async fn write_os(
        &self,
        host: &BareMetalHost,
        consumer: &ConsumerRef,
        os: &OsSpec,
    ) -> Result<ClaimOutcome, WorldError> {
        self.change(host, consumer, Some(os_patch::install(host, &consumer.uid, os))).await
    }

    async fn clear_os(
        &self,
        host: &BareMetalHost,
        consumer: &ConsumerRef,
    ) -> Result<ClaimOutcome, WorldError> {
        self.change(host, consumer, os_patch::clear(host, &consumer.uid)).await
    }

    async fn release(&self, host: &HostRef, consumer: &ConsumerRef) -> Result<(), WorldError> {
        let write = || {
            self.write(|state| {
                let seen = state.is_seen_foreign(host, consumer);
                let found =
                    state.snapshot.hosts.iter_mut().find(|h| {
                        h.host.metadata.key() == host.key && h.host.metadata.uid == host.uid
                    });
                let Some(record) = found.map(Arc::make_mut) else { return };
                if record.host.spec.consumer_ref.as_ref() == Some(consumer) {
                    if os_patch::clear(&record.host, &consumer.uid).is_some() {
                        state.left_installed.push((host.uid.clone(), consumer.uid.clone()));
                    }
                    let patch = os_patch::release(&record.host, &consumer.uid);
                    patched(record, &patch);
                }
                if seen {
                    state.foreign_touched.push(host.key.to_string());
                }
            })
        };
        self.fuse.pass(write).await
    }

    async fn save_kubeconfig(
        &self,
        provisioning: &Provisioning,
        yaml: &SecretString,
    ) -> Result<String, WorldError> {
        let name = provisioning.metadata.name.clone();
        let text = yaml.expose_secret().to_owned();
        let place = format!("/state/{name}/kubeconfig");
        let write = || self.write(|state| drop(state.kubeconfigs.insert(name, text)));
        self.fuse.pass(write).await.map(|()| place)
    }

    async fn record_event(&self, event: ObjectEvent) -> Result<(), WorldError> {
        self.lock().events.push(event);
        Ok(())
    }
}
