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
        let uid = self.keep_identity(id, merged, now)?;
        let path = self.state.overlay(id);
        let old: Option<Overlay> = state::load(&path)?;
        let mut overlay = old.filter(|old| old.uid == uid).unwrap_or_else(|| Overlay::new(&uid));
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

    /// The uid to which an edit is bound. A reader may be the first to see an object: then its uid
    /// must last. Or the runner has seen it between the read and the lock: then the runner's counts.
    fn keep_identity(
        &self,
        id: &ObjectId,
        merged: &Merged,
        now: Timestamp,
    ) -> Result<String, WorldError> {
        if let Some(uid) = self.uid(id)? {
            return Ok(uid);
        }
        let mut ledger: Ledger = state::load(&self.state.ledger())?.unwrap_or_default();
        let mut value = merged.value.clone();
        ledger.complete(id, &mut value, now);
        state::store(&self.state.ledger(), &ledger)?;
        Ok(value["metadata"]["uid"].as_str().unwrap_or_default().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bpa_common::api::ObjectKey;

    use super::super::core::Role;
    use super::super::state::StateDir;
    use super::*;
    use crate::cluster::kind::Kind;

    #[test]
    fn an_edit_is_bound_to_the_uid_that_the_runner_gave_meanwhile() {
        let dir = tempfile::tempdir().unwrap();
        let (objects, state) = (dir.path().join("objects"), dir.path().join("state"));
        std::fs::create_dir(&objects).unwrap();
        let text =
            "apiVersion: bpa.akraino.org/v1alpha1\nkind: Site\nmetadata: {name: a}\nspec: {}\n";
        std::fs::write(objects.join("a.yaml"), text).unwrap();
        let core = |role| {
            let state = StateDir::at(&state);
            state.create().unwrap();
            Core::new(&objects, state, role)
        };
        let (mut reader, mut runner) = (core(Role::Reader), core(Role::Runner));
        let id = ObjectId::new(Kind::Site, ObjectKey::new("default", "a"));
        let seen = reader.read(Timestamp::now()).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        let theirs = runner.read(Timestamp::now()).unwrap();
        let uid = |value: &Value| value["metadata"]["uid"].as_str().unwrap().to_owned();
        let (first, kept) = (uid(&seen.objects[&id].value), uid(&theirs.objects[&id].value));
        assert_ne!(first, kept);
        let bound = reader.keep_identity(&id, &seen.objects[&id], Timestamp::now()).unwrap();
        assert_eq!(bound, kept);
        reader.edit(&id, &json!({"spec": {"approved": true}}), None, Timestamp::now()).unwrap();
        let after = runner.read(Timestamp::now()).unwrap();
        assert_eq!(after.objects[&id].value["spec"]["approved"], true);
    }
}
