//! Objects that are held back from going away: the last known manifest, kept with our finalizer.

use std::fs;

use bpa_common::api::ObjectKey;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::manifest::{Manifest, Place};
use super::state::{self, StateDir};
use crate::cluster::kind::{Kind, ObjectId};
use crate::cluster::port::WorldError;

/// The finalizer that Provisionings get while work on them must be undone first.
pub const FINALIZER: &str = "bpa.akraino.org/provisioning";

/// A held Provisioning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Held {
    pub namespace: String,
    pub name: String,
    pub uid: String,
    pub file: String,
    pub document: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<usize>,
    /// The manifest as it was last, without our edits.
    pub object: Value,
    /// When its deletion was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted: Option<Timestamp>,
}

impl Held {
    /// Holds this manifest.
    pub fn new(manifest: &Manifest, uid: &str) -> Self {
        Self {
            namespace: manifest.id.key.namespace.clone(),
            name: manifest.id.key.name.clone(),
            uid: uid.to_owned(),
            file: manifest.place.file.clone(),
            document: manifest.place.document,
            item: manifest.place.item,
            object: manifest.value.clone(),
            deleted: None,
        }
    }

    pub fn id(&self) -> ObjectId {
        let key = ObjectKey::new(&self.namespace, &self.name);
        ObjectId::new(Kind::Provisioning, key)
    }

    /// The manifest that it was.
    pub fn manifest(&self) -> Manifest {
        let place = Place { file: self.file.clone(), document: self.document, item: self.item };
        Manifest { id: self.id(), place, value: self.object.clone() }
    }
}

/// All held objects. One that can't be read is an error: without it a deletion could be missed.
///
/// # Errors
/// When the directory or a file of it can't be read.
pub fn load_all(state: &StateDir) -> Result<Vec<Held>, WorldError> {
    let dir = state.held_dir();
    let entries = match fs::read_dir(&dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(state::io_error("read", &dir, error)),
    };
    let mut all = Vec::new();
    for entry in entries {
        let path = entry.map_err(|source| state::io_error("read", &dir, source))?.path();
        if path.extension().is_some_and(|end| end == "json") {
            all.extend(state::load::<Held>(&path)?);
        }
    }
    Ok(all)
}
