//! One object put together: manifest, edits, identity, status, finalizer.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::assemble::{self, Merged};
use super::core::{Core, Role};
use super::held::{FINALIZER, Held};
use super::ledger::Ledger;
use super::manifest::Manifest;
use super::overlay::Overlay;
use super::state;
use crate::cluster::kind::{Kind, ObjectId};
use crate::cluster::port::{ObjectProblem, WorldError};

impl Core {
    /// Merges an object; when a held one does not fit its type any more, its last good form.
    pub(super) fn merge_or_last(
        &self,
        manifest: &Manifest,
        kept: Option<&Held>,
        ledger: &mut Ledger,
        now: Timestamp,
        problems: &mut Vec<ObjectProblem>,
    ) -> Result<Merged, WorldError> {
        let Some(kept) = kept else { return self.merge(manifest, None, ledger, now) };
        let plain = Merged {
            id: manifest.id.clone(),
            place: manifest.place.clone(),
            value: manifest.value.clone(),
        };
        if let Err(problem) = assemble::check(&plain) {
            problems.push(problem);
            return self.merge(&kept.manifest(), Some(kept), ledger, now);
        }
        let merged = self.merge(manifest, Some(kept), ledger, now)?;
        if self.role == Role::Runner && kept.manifest() != *manifest {
            let renewed = Held { deleted: kept.deleted, ..Held::new(manifest, &kept.uid) };
            state::store(&self.state.held(&manifest.id), &renewed)?;
        }
        Ok(merged)
    }

    /// Manifest, edits, identity, status and finalizer of one object, put together.
    pub(super) fn merge(
        &self,
        manifest: &Manifest,
        kept: Option<&Held>,
        ledger: &mut Ledger,
        now: Timestamp,
    ) -> Result<Merged, WorldError> {
        let id = &manifest.id;
        let mut value = manifest.value.clone();
        if let Some(kept) = kept {
            value["metadata"]["uid"] = kept.uid.clone().into();
        }
        let given = value["metadata"]["uid"].as_str().map(str::to_owned);
        let uid = given.or_else(|| ledger.get(id).map(|entry| entry.uid.clone()));
        if let Some(overlay) = state::load::<Overlay>(&self.state.overlay(id))?
            && Some(&overlay.uid) == uid.as_ref()
        {
            overlay.apply(&mut value);
        }
        if matches!(id.kind, Kind::Provisioning | Kind::Site) {
            value["status"] = self.status(id, uid.as_deref())?;
        }
        if let Some(kept) = kept {
            add_finalizer(&mut value);
            if let Some(deleted) = kept.deleted {
                value["metadata"]["deletionTimestamp"] = deleted.to_string().into();
            }
        }
        ledger.complete(id, &mut value, now);
        Ok(Merged { id: id.clone(), place: manifest.place.clone(), value })
    }

    /// Status as our controllers wrote it; what a manifest says of status is not ours.
    fn status(&self, id: &ObjectId, uid: Option<&str>) -> Result<Value, WorldError> {
        let kept: Option<Value> = state::load(&self.state.status(id))?;
        let of_this = |kept: &Value| kept["uid"].as_str() == uid;
        Ok(kept.filter(of_this).map_or_else(|| json!({}), |mut kept| kept["status"].take()))
    }
}

fn add_finalizer(value: &mut Value) {
    let finalizers = &mut value["metadata"]["finalizers"];
    match finalizers {
        Value::Array(list) if list.iter().any(|f| f == FINALIZER) => {}
        Value::Array(list) => list.push(FINALIZER.into()),
        other => *other = json!([FINALIZER]),
    }
}
