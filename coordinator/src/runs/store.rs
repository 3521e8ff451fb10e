//! The store of runs: what sessions put in, and what controllers read.
//!
//! Files are written on threads that may block, one lane per site. What is known is kept in memory
//! too and published only after it is durable.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use bpa_common::wire::v1::{Event, Order, RunId};
use secrecy::SecretString;
use tokio::sync::watch;

use super::fold;
use super::folder::{Folder, root};
use super::lanes::Lanes;
use super::log::LogMark;
use super::record::{OrderSummary, RunRecord};
use crate::cluster::files;
use crate::sites::{RunSink, SinkError};

/// Most runs of one site that were not ordered here (an agent of another coordinator's time).
const MAX_UNKNOWN_RUNS: usize = 256;

/// Why the store can't be used.
#[derive(Debug, thiserror::Error)]
#[error(
    "can't {action} the run folder {path}: {source}; check that the state directory exists, belongs to this user and has space"
)]
pub struct RunStoreError {
    action: &'static str,
    path: String,
    #[source]
    source: io::Error,
}

/// One run as a decision looks at it.
#[derive(Clone, Debug, Default)]
pub struct RunFacts {
    pub record: Arc<RunRecord>,
    /// The order as it is sent; none when it was not made here.
    pub order: Option<Arc<Order>>,
    /// The newest line of the log.
    pub last_line: String,
    /// A kubeconfig waits here to be saved.
    pub has_kubeconfig: bool,
}

/// All runs that this coordinator knows. Clones share one store.
#[derive(Clone, Debug)]
pub struct RunStore(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    root: PathBuf,
    known: RwLock<Known>,
    lanes: Lanes,
    changes: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Known {
    runs: BTreeMap<RunId, Entry>,
    /// Highest sequence number that is kept, by site.
    seen: BTreeMap<String, u64>,
}

#[derive(Clone, Debug, Default)]
struct Entry {
    record: Arc<RunRecord>,
    order: Option<Arc<Order>>,
    log: LogMark,
    has_kubeconfig: bool,
}

impl RunStore {
    /// Opens the store below the coordinator's state directory and reads what it holds. Blocks.
    ///
    /// # Errors
    /// When the directory can't be made or read. A run that can't be read is left out with a
    /// warning: it affects only itself.
    pub fn open(state: &Path) -> Result<Self, RunStoreError> {
        let root = root(state);
        let fail =
            |action, source| RunStoreError { action, path: root.display().to_string(), source };
        files::private_dir(&root).map_err(|e| fail("make", e))?;
        let mut known = Known::default();
        for item in std::fs::read_dir(&root).map_err(|e| fail("read", e))? {
            let name = item.map_err(|e| fail("read", e))?.file_name();
            if let Some(run) = name.to_str().and_then(|n| n.parse().ok()) {
                known.load(&root, run);
            }
        }
        let (known, changes) = (RwLock::new(known), watch::Sender::new(0));
        Ok(Self(Arc::new(Shared { root, known, lanes: Lanes::default(), changes })))
    }

    /// Keeps an order before it is sent. The first one of a run stands: that is returned.
    ///
    /// # Errors
    /// When the folder can't be written; the order must not be sent then.
    pub async fn begin(&self, site: &str, order: Order) -> Result<Arc<Order>, RunStoreError> {
        let site = site.to_owned();
        self.blocking(order.run, "write", move |shared| shared.begin(&site, order)).await
    }

    /// All runs as they are now.
    pub fn facts(&self) -> BTreeMap<RunId, RunFacts> {
        let facts = |entry: &Entry| RunFacts {
            record: Arc::clone(&entry.record),
            order: entry.order.clone(),
            last_line: entry.log.last_line.clone(),
            has_kubeconfig: entry.has_kubeconfig,
        };
        self.0.read(|known| known.runs.iter().map(|(run, entry)| (*run, facts(entry))).collect())
    }

    /// Counts changes.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.changes.subscribe()
    }

    /// The kubeconfig of a run while it waits here to be saved.
    ///
    /// # Errors
    /// When it can't be read or is not text.
    pub async fn kubeconfig(&self, run: RunId) -> Result<Option<SecretString>, RunStoreError> {
        self.blocking(run, "read the kubeconfig in", move |shared| {
            let Some(bytes) = Folder::of(&shared.root, run).read_kubeconfig()? else {
                return Ok(None);
            };
            let text = String::from_utf8(bytes)
                .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))?;
            Ok(Some(SecretString::from(text)))
        })
        .await
    }

    /// Removes the kubeconfig of a run once it is saved elsewhere. Idempotent.
    ///
    /// # Errors
    /// When the file can't be removed.
    pub async fn forget_kubeconfig(&self, run: RunId) -> Result<(), RunStoreError> {
        self.blocking(run, "remove the kubeconfig in", move |shared| {
            Folder::of(&shared.root, run).remove_kubeconfig()?;
            shared.publish(|known| {
                if let Some(entry) = known.runs.get_mut(&run) {
                    entry.has_kubeconfig = false;
                }
            });
            Ok(())
        })
        .await
    }

    async fn blocking<T: Send + 'static>(
        &self,
        run: RunId,
        action: &'static str,
        work: impl FnOnce(&Shared) -> io::Result<T> + Send + 'static,
    ) -> Result<T, RunStoreError> {
        let shared = Arc::clone(&self.0);
        let done = tokio::task::spawn_blocking(move || work(&shared)).await;
        done.unwrap_or_else(|e| Err(io::Error::other(e))).map_err(|source| RunStoreError {
            action,
            path: Folder::of(&self.0.root, run).log().with_file_name("").display().to_string(),
            source,
        })
    }

    async fn told(
        &self,
        site: &str,
        work: impl FnOnce(&Shared, &str) -> io::Result<()> + Send + 'static,
    ) -> Result<(), SinkError> {
        let (shared, name) = (Arc::clone(&self.0), site.to_owned());
        let done =
            tokio::task::spawn_blocking(move || shared.lanes.run(&name, || work(&shared, &name)));
        done.await.unwrap_or_else(|e| Err(io::Error::other(e))).map_err(|source| SinkError {
            site: site.to_owned(),
            message: format!("{source}; check the coordinator's state directory and its space"),
        })
    }
}

impl RunSink for RunStore {
    fn events_seen(&self, site: &str) -> u64 {
        self.0.read(|known| known.seen.get(site).copied().unwrap_or(0))
    }

    async fn append_events(&self, site: &str, events: Vec<Event>) -> Result<(), SinkError> {
        self.told(site, move |shared, site| shared.keep_events(site, &events)).await
    }

    fn log_len(&self, run: RunId) -> u64 {
        self.0.read(|known| known.runs.get(&run).map_or(0, |entry| entry.log.seen))
    }

    async fn append_log(
        &self,
        site: &str,
        run: RunId,
        offset: u64,
        piece: Vec<u8>,
    ) -> Result<(), SinkError> {
        self.told(site, move |shared, site| shared.keep_log(site, run, offset, &piece)).await
    }
}

impl Known {
    fn load(&mut self, root: &Path, run: RunId) {
        match Folder::of(root, run).read() {
            Ok(found) => {
                if found.unreadable_lines > 0 {
                    tracing::warn!(%run, lines = found.unreadable_lines, "events that can't be read are left out");
                }
                let site = found.record.site.clone();
                let seen = self.seen.entry(site).or_default();
                *seen = (*seen).max(found.record.progress.last_seq);
                let entry = Entry {
                    record: Arc::new(found.record),
                    order: found.order.map(Arc::new),
                    log: found.log,
                    has_kubeconfig: found.has_kubeconfig,
                };
                self.runs.insert(run, entry);
            }
            Err(error) => tracing::warn!(%run, %error, "a run can't be read and is left out"),
        }
    }

    /// Whether this site may tell about this run.
    fn may_tell(&self, site: &str, run: RunId) -> bool {
        match self.runs.get(&run) {
            // A folder that a crash left empty belongs to nobody yet.
            Some(entry) if !entry.record.site.is_empty() => entry.record.site == site,
            _ => {
                let unknown = |e: &&Entry| e.record.site == site && e.record.order.is_none();
                self.runs.values().filter(unknown).count() < MAX_UNKNOWN_RUNS
            }
        }
    }
}

impl Shared {
    fn read<T>(&self, look: impl FnOnce(&Known) -> T) -> T {
        // Published values are whole even if a panic happened elsewhere.
        look(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn publish(&self, change: impl FnOnce(&mut Known)) {
        change(&mut self.known.write().unwrap_or_else(PoisonError::into_inner));
        self.changes.send_modify(|count| *count += 1);
    }

    fn begin(&self, site: &str, order: Order) -> io::Result<Arc<Order>> {
        self.lanes.run(site, || {
            let run = order.run;
            let old = self.read(|known| known.runs.get(&run).cloned()).unwrap_or_default();
            if let Some(order) = old.order {
                return Ok(order);
            }
            let mut record = (*old.record).clone();
            record.site = site.to_owned();
            record.order = Some(OrderSummary::of(&order));
            let folder = Folder::of(&self.root, run);
            folder.create()?;
            folder.write_order(site, &order)?;
            folder.write_record(&record)?;
            let order = Arc::new(order);
            self.publish(|known| {
                let entry = known.runs.entry(run).or_default();
                entry.record = Arc::new(record);
                entry.order = Some(Arc::clone(&order));
            });
            Ok(order)
        })
    }

    /// Keeps events in order: each stretch of one run is durable before the next begins, so that
    /// what is found after a crash is always a beginning of what was told.
    fn keep_events(&self, site: &str, events: &[Event]) -> io::Result<()> {
        let seen = self.read(|known| known.seen.get(site).copied().unwrap_or(0));
        let fresh: Vec<&Event> = events.iter().filter(|e| e.seq > seen).collect();
        if !fresh.is_sorted_by_key(|e| e.seq) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "events are out of order"));
        }
        for stretch in fresh.chunk_by(|a, b| a.run == b.run) {
            let owned: Vec<Event> = stretch.iter().map(|e| (*e).clone()).collect();
            self.keep_stretch(site, &owned)?;
        }
        Ok(())
    }

    fn keep_stretch(&self, site: &str, events: &[Event]) -> io::Result<()> {
        let (Some(first), Some(last)) = (events.first(), events.last()) else { return Ok(()) };
        let (run, last_seq) = (first.run, last.seq);
        if !self.read(|known| known.may_tell(site, run)) {
            tracing::warn!(%run, site, "a site tells about a run that is not its own; ignored");
            self.publish(|known| {
                known.seen.insert(site.to_owned(), last_seq);
            });
            return Ok(());
        }
        let old = self.read(|known| known.runs.get(&run).map(|e| Arc::clone(&e.record)));
        let known_steps = old.as_ref().map(|r| (r.progress.state(), r.progress.steps.clone()));
        let mut record = old.map_or_else(RunRecord::default, |r| (*r).clone());
        record.site = site.to_owned();
        let home = record.order.as_ref().is_none_or(|o| o.kubeconfig_home);
        let folder = Folder::of(&self.root, run);
        folder.create()?;
        let kept = folder.append(site, events, home)?;
        record = events.iter().fold(record, fold);
        // Only a copy for readers (after a restart the events tell), so not at every task.
        if known_steps != Some((record.progress.state(), record.progress.steps.clone())) {
            folder.write_record(&record)?;
        }
        self.publish(|known| {
            let entry = known.runs.entry(run).or_default();
            entry.record = Arc::new(record);
            entry.has_kubeconfig |= kept;
            known.seen.insert(site.to_owned(), last_seq);
        });
        Ok(())
    }

    fn keep_log(&self, site: &str, run: RunId, offset: u64, piece: &[u8]) -> io::Result<()> {
        if !self.read(|known| known.may_tell(site, run)) {
            let message = format!("run {run} is not of this site");
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
        }
        let mut entry = self.read(|known| known.runs.get(&run).cloned()).unwrap_or_default();
        let folder = Folder::of(&self.root, run);
        folder.create()?;
        entry.log.append(&folder.log(), offset, piece)?;
        self.publish(|known| {
            let known = known.runs.entry(run).or_default();
            if known.record.site.is_empty() {
                known.record =
                    Arc::new(RunRecord { site: site.to_owned(), ..RunRecord::default() });
            }
            known.log = entry.log;
        });
        Ok(())
    }
}
