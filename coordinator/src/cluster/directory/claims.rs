//! Claims and finalizers in the directory world.

use bpa_common::api::metal3::{BareMetalHost, ConsumerRef};
use bpa_common::api::{DeletionPolicy, ObjectKey, Provisioning};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::assemble::{self, Merged};
use super::core::Core;
use super::held::Held;
use super::ledger::Ledger;
use super::state;
use crate::cluster::files;
use crate::cluster::kind::{Kind, ObjectId};
use crate::cluster::port::{ClaimOutcome, HostRef, WorldError};

impl Core {
    /// Marks a host as ours when it is free and still as it was read.
    ///
    /// # Errors
    /// When it can't be read or written; the host is untouched then.
    pub fn claim(
        &mut self,
        host: &HostRef,
        resource_version: &str,
        consumer: &ConsumerRef,
        now: Timestamp,
    ) -> Result<ClaimOutcome, WorldError> {
        let Some(current) = self.host(host, now)? else { return Ok(ClaimOutcome::Changed) };
        match consumer_of(&current.value) {
            Some(found) if found == *consumer => return Ok(ClaimOutcome::Ours),
            Some(found) => return Ok(ClaimOutcome::Taken(found)),
            None => {}
        }
        if current.value["metadata"]["resourceVersion"] != resource_version {
            return Ok(ClaimOutcome::Changed);
        }
        self.edit(&current.id, &json!({"spec": {"consumerRef": consumer}}), None, now)?;
        // What counts is what is read after the write: the manifest may say something else by now.
        let Some(after) = self.host(host, now)? else { return Ok(ClaimOutcome::Changed) };
        Ok(match consumer_of(&after.value) {
            Some(found) if found == *consumer => ClaimOutcome::Ours,
            Some(found) => ClaimOutcome::Taken(found),
            None => ClaimOutcome::Changed,
        })
    }

    /// Takes our mark off a host; another's mark stays.
    ///
    /// # Errors
    /// When it can't be read or written.
    pub fn release(
        &mut self,
        host: &HostRef,
        consumer: &ConsumerRef,
        now: Timestamp,
    ) -> Result<(), WorldError> {
        let Some(current) = self.host(host, now)? else { return Ok(()) };
        if consumer_of(&current.value).as_ref() != Some(consumer) {
            return Ok(());
        }
        let mark = current.value["spec"]["consumerRef"].clone();
        self.edit(&current.id, &json!({"spec": {"consumerRef": null}}), Some(mark), now)
    }

    /// The host as its manifest and our marks have it now.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn fresh(
        &mut self,
        host: &HostRef,
        now: Timestamp,
    ) -> Result<Option<BareMetalHost>, WorldError> {
        let Some(found) = self.host(host, now)? else { return Ok(None) };
        let typed = assemble::typed(&found).map_err(|problem| WorldError::Corrupt {
            what: format!("BareMetalHost {}", host.key),
            message: problem.message,
        })?;
        Ok(Some(typed))
    }

    fn host(&mut self, host: &HostRef, now: Timestamp) -> Result<Option<Merged>, WorldError> {
        let id = ObjectId::new(Kind::Host, host.key.clone());
        let found = self.read(now)?.objects.remove(&id);
        Ok(found.filter(|found| found.value["metadata"]["uid"] == *host.uid))
    }

    /// Holds a Provisioning, or lets it go: then, if it is deleted, all that was kept of it goes.
    ///
    /// # Errors
    /// [`WorldError::NotFound`] when it is to be held and is not there, or an I/O error.
    pub fn set_finalizer(
        &mut self,
        key: &ObjectKey,
        present: bool,
        now: Timestamp,
    ) -> Result<(), WorldError> {
        let id = ObjectId::new(Kind::Provisioning, key.clone());
        let path = self.state.held(&id);
        let held: Option<Held> = state::load(&path)?;
        match (present, held) {
            (true, Some(_)) | (false, None) => Ok(()),
            (true, None) => {
                let read = self.read(now)?;
                let Some(merged) = read.objects.get(&id) else {
                    return Err(WorldError::NotFound { kind: id.kind.name(), key: id.key });
                };
                let uid = merged.value["metadata"]["uid"].as_str().unwrap_or_default();
                let manifest = self.manifest(&id)?.ok_or_else(|| WorldError::NotFound {
                    kind: id.kind.name(),
                    key: id.key.clone(),
                })?;
                state::store(&path, &Held::new(&manifest, uid)).map(drop)
            }
            (false, Some(held)) => {
                let _lock = self.state.edit_lock()?;
                if held.deleted.is_some() {
                    self.forget(&held)?;
                }
                files::remove(&path).map_err(|source| state::io_error("remove", &path, source))
            }
        }
    }

    /// Drops what was kept of a deleted Provisioning. Its kubeconfig stays while its cluster does.
    fn forget(&self, held: &Held) -> Result<(), WorldError> {
        let id = held.id();
        let path = self.state.kubeconfig(&id);
        if deletion_policy(held) == DeletionPolicy::Reset {
            for path in [&path, &self.state.configmap(&id)] {
                files::remove(path).map_err(|source| state::io_error("remove", path, source))?;
            }
        } else if path.exists() {
            tracing::info!(object = %id, kubeconfig = %path.display(), "the cluster was kept, and so is its kubeconfig");
        }
        self.remove_files(&id)?;
        let mut ledger: Ledger = state::load(&self.state.ledger())?.unwrap_or_default();
        ledger.forget(&id);
        state::store(&self.state.ledger(), &ledger).map(drop)
    }
}

/// What the last known manifest says; when it can't be read, the choice that destroys nothing.
fn deletion_policy(held: &Held) -> DeletionPolicy {
    let manifest = held.manifest();
    let merged = Merged { id: manifest.id, place: manifest.place, value: manifest.value };
    assemble::typed::<Provisioning>(&merged)
        .map_or(DeletionPolicy::Retain, |p| p.spec.deletion_policy)
}

/// The mark on a host; one that can't be read is still a mark of someone.
fn consumer_of(host: &Value) -> Option<ConsumerRef> {
    let mark = host["spec"].get("consumerRef").filter(|mark| !mark.is_null())?;
    Some(serde_json::from_value(mark.clone()).unwrap_or_else(|_| ConsumerRef {
        name: format!("(unreadable: {mark})"),
        ..ConsumerRef::default()
    }))
}
