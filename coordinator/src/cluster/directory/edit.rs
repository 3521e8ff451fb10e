//! Edits beside the manifests, and what an edit needs to know of an object.

use std::time::SystemTime;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::assemble::Merged;
use super::core::Core;
use super::held::Held;
use super::ledger::Ledger;
use super::manifest::Manifest;
use super::overlay::Overlay;
use super::state;
use crate::cluster::files;
use crate::cluster::kind::ObjectId;
use crate::cluster::port::WorldError;

impl Core {
    /// Changes an object's overlay as `change` says (a merge patch).
    ///
    /// # Errors
    /// [`WorldError::NotFound`] when the object is not there, or an I/O error.
    pub fn edit(
        &mut self,
        id: &ObjectId,
        change: &Value,
        released: Option<Value>,
        now: Timestamp,
    ) -> Result<(), WorldError> {
        let read = self.read(now)?;
        let Some(merged) = read.objects.get(id) else {
            return Err(WorldError::NotFound { kind: id.kind.name(), key: id.key.clone() });
        };
        let _lock = self.state.edit_lock()?;
        self.keep_identity(id, merged, now)?;
        let uid = merged.value["metadata"]["uid"].as_str().unwrap_or_default();
        let path = self.state.overlay(id);
        let old: Option<Overlay> = state::load(&path)?;
        let mut overlay = old.filter(|old| old.uid == uid).unwrap_or_else(|| Overlay::new(uid));
        let base = self.manifest(id)?.map_or_else(|| json!({}), |manifest| manifest.value);
        overlay.edit(change, &base);
        if released.is_some() {
            overlay.released = released;
        }
        if overlay.is_empty() {
            return files::remove(&path).map_err(|source| state::io_error("remove", &path, source));
        }
        state::store(&path, &overlay).map(drop)
    }

    /// The manifest of an object as its file (or what is held of it) has it.
    ///
    /// # Errors
    /// When a directory can't be read.
    pub fn manifest(&mut self, id: &ObjectId) -> Result<Option<Manifest>, WorldError> {
        let scan = self.scanner.scan(SystemTime::now())?;
        match scan.manifests.get(id) {
            Some(manifest) => Ok(Some(Manifest::clone(manifest))),
            None => Ok(self.load_held()?.remove(id).map(|held| held.manifest())),
        }
    }

    /// The uid of an object, as the last read left it (a status is written too often to read all).
    ///
    /// # Errors
    /// When a state file can't be read.
    pub fn uid(&self, id: &ObjectId) -> Result<Option<String>, WorldError> {
        if let Some(held) = state::load::<Held>(&self.state.held(id))? {
            return Ok(Some(held.uid));
        }
        let ledger: Ledger = state::load(&self.state.ledger())?.unwrap_or_default();
        Ok(ledger.get(id).map(|entry| entry.uid.clone()))
    }

    /// A reader may be the first to see an object: its uid must last when an edit is bound to it.
    fn keep_identity(
        &self,
        id: &ObjectId,
        merged: &Merged,
        now: Timestamp,
    ) -> Result<(), WorldError> {
        let mut ledger: Ledger = state::load(&self.state.ledger())?.unwrap_or_default();
        if ledger.get(id).is_none() {
            let mut value = merged.value.clone();
            ledger.complete(id, &mut value, now);
            state::store(&self.state.ledger(), &ledger)?;
        }
        Ok(())
    }
}
