//! The directory world without its async face: reads, merges, and decides what is gone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::assemble::{self, Merged};
use super::held::{self, FINALIZER, Held};
use super::ledger::Ledger;
use super::manifest::{self, Manifest};
use super::overlay::Overlay;
use super::scan::{Scan, Scanner};
use super::state::{self, StateDir};
use super::tracker::{GRACE, Tracker, View};
use crate::cluster::files;
use crate::cluster::kind::{Kind, ObjectId};
use crate::cluster::port::{ObjectProblem, Snapshot, WorldError};

/// Who reads the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The one process that decides what is gone.
    Runner,
    /// A command: reads what there is, edits overlays, decides nothing.
    Reader,
}

/// How long a file must rest before the runner believes it.
const SETTLE: Duration = Duration::from_millis(250);

/// The state of reading.
#[derive(Debug)]
pub struct Core {
    pub state: StateDir,
    objects: PathBuf,
    role: Role,
    scanner: Scanner,
    tracker: Tracker,
    started: Instant,
    reads: u64,
}

/// One read of everything, before types.
#[derive(Debug, Default)]
pub struct Read {
    pub objects: BTreeMap<ObjectId, Merged>,
    pub problems: Vec<ObjectProblem>,
    /// Read again after this long: something has not come to rest.
    pub again: Option<Duration>,
}

impl Core {
    pub fn new(objects: &Path, state: StateDir, role: Role) -> Self {
        let settle = if role == Role::Runner { SETTLE } else { Duration::ZERO };
        Self {
            state,
            objects: objects.to_owned(),
            role,
            scanner: Scanner::new(objects.to_owned(), settle),
            tracker: Tracker::default(),
            started: Instant::now(),
            reads: 0,
        }
    }

    /// Reads everything and keeps what must be kept (uids, generations, deletions).
    ///
    /// # Errors
    /// When a directory or a state file can't be read or written.
    pub fn read(&mut self, now: Timestamp) -> Result<Read, WorldError> {
        let scan = self.scanner.scan(SystemTime::now())?;
        let mut held = self.load_held()?;
        let view = self.observe(&scan, &held);
        let _lock = self.lock_if_writing()?;
        let mut ledger: Ledger = state::load(&self.state.ledger())?.unwrap_or_default();
        let before = ledger.clone();
        self.note_deletions(&view, &mut held, now)?;
        self.prune(&scan, &view, &held, &mut ledger)?;

        let mut read = Read { problems: scan.problems, ..Read::default() };
        read.again = view.pending.then_some(if scan.unsettled { SETTLE } else { GRACE });
        if view.vanished {
            read.problems.push(self.vanished());
        }
        for (id, manifest) in &view.manifests {
            let kept = held.get(id);
            if kept.is_some_and(|held| held.deleted.is_some()) {
                let message = "an earlier object of this name is still being deleted; this one is used when that is done".to_owned();
                read.problems.push(manifest::problem(&manifest.place, Some(id.clone()), message));
                continue;
            }
            let object =
                self.merge_or_last(manifest, kept, &mut ledger, now, &mut read.problems)?;
            read.objects.insert(id.clone(), object);
        }
        for (id, kept) in held.iter().filter(|(_, kept)| kept.deleted.is_some()) {
            let object = self.merge(&kept.manifest(), Some(kept), &mut ledger, now)?;
            read.objects.insert(id.clone(), object);
        }
        if ledger != before && self.role == Role::Runner {
            state::store(&self.state.ledger(), &ledger)?;
        }
        self.reads += 1;
        Ok(read)
    }

    /// Reads everything as types.
    ///
    /// # Errors
    /// As [`Core::read`].
    pub fn snapshot(&mut self, now: Timestamp) -> Result<(Snapshot, Option<Duration>), WorldError> {
        let read = self.read(now)?;
        let objects = read.objects.into_values().collect();
        Ok((assemble::snapshot(objects, read.problems), read.again))
    }

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

    fn load_held(&self) -> Result<BTreeMap<ObjectId, Held>, WorldError> {
        Ok(held::load_all(&self.state)?.into_iter().map(|held| (held.id(), held)).collect())
    }

    fn lock_if_writing(&self) -> Result<Option<state::Lock>, WorldError> {
        (self.role == Role::Runner).then(|| self.state.edit_lock()).transpose()
    }

    fn observe(&mut self, scan: &Scan, held: &BTreeMap<ObjectId, Held>) -> View {
        let alive = held.values().filter(|held| held.deleted.is_none());
        match self.role {
            Role::Runner => {
                if self.reads == 0 {
                    alive.for_each(|held| self.tracker.remember(Arc::new(held.manifest())));
                }
                self.tracker.observe(scan, self.started.elapsed())
            }
            Role::Reader => {
                let mut view = View { manifests: scan.manifests.clone(), ..View::default() };
                for held in alive {
                    let last = || Arc::new(held.manifest());
                    view.manifests.entry(held.id()).or_insert_with(last);
                }
                view
            }
        }
    }

    /// Writes down that held objects are to be deleted, before anyone acts on it.
    fn note_deletions(
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
    fn prune(
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

    fn vanished(&self) -> ObjectProblem {
        ObjectProblem {
            place: self.objects.display().to_string(),
            kind: String::new(),
            key: None,
            message: "all manifests went at once, as when a disk is not mounted; nothing is taken for deleted until the directory holds at least one file (an empty one named x.yaml will do)".to_owned(),
        }
    }

    /// Merges an object; when a held one does not fit its type any more, its last good form.
    fn merge_or_last(
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
    fn merge(
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
