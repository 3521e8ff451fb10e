//! The directory world without its async face: reads, merges, and decides what is gone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::assemble::{self, Merged};
use super::held::{self, Held};
use super::ledger::Ledger;
use super::manifest;
use super::scan::{Scan, Scanner};
use super::state::{self, StateDir};
use super::tracker::{GRACE, Tracker, View};
use crate::cluster::kind::ObjectId;
use crate::cluster::neighbours::Neighbour;
use crate::cluster::port::{ObjectProblem, Snapshot, WorldError};
use jiff::Timestamp;

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
    pub(super) objects: PathBuf,
    pub(super) role: Role,
    pub(super) scanner: Scanner,
    tracker: Tracker,
    pub(super) started: Instant,
    pub(super) reads: u64,
    /// As they were read last.
    neighbours: Vec<Neighbour>,
}

/// One read of everything, before types.
#[derive(Debug, Default)]
pub struct Read {
    pub objects: BTreeMap<ObjectId, Merged>,
    pub problems: Vec<ObjectProblem>,
    /// What objects of others say about hosts.
    pub neighbours: Vec<Neighbour>,
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
            neighbours: Vec::new(),
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

        let neighbours = self.neighbours_of(&scan, &view);
        let mut read = Read { problems: scan.problems, neighbours, ..Read::default() };
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
            match self.merge_or_last(manifest, kept, &mut ledger, now, &mut read.problems) {
                Ok(object) => {
                    read.objects.insert(id.clone(), object);
                }
                // A state file that can't be read makes its object unusable, and no other.
                Err(error) => {
                    let (id, message) = (Some(id.clone()), error.to_string());
                    read.problems.push(manifest::problem(&manifest.place, id, message));
                }
            }
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
        let mut snapshot = assemble::snapshot(objects, read.problems);
        read.neighbours.into_iter().for_each(|found| snapshot.put_neighbour(found));
        Ok((snapshot, read.again))
    }

    /// What others say about hosts. While a file can't be read, what it said before holds: a host
    /// must not become free by an accident.
    fn neighbours_of(&mut self, scan: &Scan, view: &View) -> Vec<Neighbour> {
        let mut now = scan.neighbours.clone();
        if view.vanished || !scan.troubled.is_empty() {
            let lost = self.neighbours.iter().filter(|old| !scan.neighbours.contains(old));
            now.extend(lost.cloned());
        }
        self.neighbours.clone_from(&now);
        now
    }

    pub(super) fn load_held(&self) -> Result<BTreeMap<ObjectId, Held>, WorldError> {
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
}
