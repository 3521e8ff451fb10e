//! What is kept of objects that go: deletions are written down, the rest is forgotten.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::core::{Core, Role};
use super::held::Held;
use super::ledger::Ledger;
use super::scan::Scan;
use super::state;
use super::tracker::{GRACE, View};
use crate::cluster::files;
use crate::cluster::kind::ObjectId;
use crate::cluster::port::{ObjectProblem, WorldError};

impl Core {
    /// Writes down that held objects are to be deleted, before anyone acts on it.
    pub(super) fn note_deletions(
        &self,
        view: &View,
        held: &mut BTreeMap<ObjectId, Held>,
        now: Timestamp,
    ) -> Result<(), WorldError> {
        for gone in &view.gone {
            if let Some(kept) = held.get_mut(&gone.id)
                && kept.deleted.is_none()
            {
                kept.deleted = Some(now);
                state::store(&self.state.held(&gone.id), kept)?;
                tracing::info!(object = %gone.id, file = %gone.place.file, "the manifest is gone: deleting");
            }
        }
        Ok(())
    }

    /// Forgets what was known of objects that are surely gone and that nothing holds.
    pub(super) fn prune(
        &self,
        scan: &Scan,
        view: &View,
        held: &BTreeMap<ObjectId, Held>,
        ledger: &mut Ledger,
    ) -> Result<(), WorldError> {
        let sure = self.role == Role::Runner
            && self.reads > 0
            && self.started.elapsed() > GRACE
            && !view.pending
            && !view.vanished
            && scan.troubled.is_empty()
            && scan.files > 0;
        if !sure {
            return Ok(());
        }
        let present: BTreeSet<String> =
            view.manifests.keys().chain(held.keys()).map(ToString::to_string).collect();
        for id in ledger.missing(&present) {
            ledger.forget(&id);
            self.remove_files(&id)?;
        }
        Ok(())
    }

    /// Removes overlay and status of an object that is gone.
    ///
    /// # Errors
    /// When a file can't be removed.
    pub fn remove_files(&self, id: &ObjectId) -> Result<(), WorldError> {
        for path in [self.state.overlay(id), self.state.status(id)] {
            files::remove(&path).map_err(|source| state::io_error("remove", &path, source))?;
        }
        Ok(())
    }

    pub(super) fn vanished(&self) -> ObjectProblem {
        ObjectProblem {
            place: self.objects.display().to_string(),
            kind: String::new(),
            key: None,
            message: "all manifests went at once, as when a disk is not mounted; nothing is taken for deleted until the directory holds at least one file (an empty one named x.yaml will do)".to_owned(),
        }
    }
}
