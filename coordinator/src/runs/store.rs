//! The store of runs: what sessions put in, and what controllers read.
//!
//! Files are written on threads that may block, one lane per site. What is known is kept in memory
//! too and published only after it is durable.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use bpa_common::wire::v1::{Order, RunId};
use secrecy::SecretString;
use tokio::sync::watch;

use super::folder::{Folder, GONE, root};
use super::lanes::Lanes;
use super::log::LogMark;
use super::record::{OrderSummary, RunRecord};
use crate::cluster::files;

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
pub struct RunStore(pub(super) Arc<Shared>);

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) root: PathBuf,
    known: RwLock<Known>,
    pub(super) lanes: Lanes,
    changes: watch::Sender<u64>,
}

#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) runs: BTreeMap<RunId, Entry>,
    /// Highest sequence number that is kept, by site.
    pub(super) seen: BTreeMap<String, u64>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Entry {
    pub(super) record: Arc<RunRecord>,
    pub(super) order: Option<Arc<Order>>,
    pub(super) log: LogMark,
    pub(super) has_kubeconfig: bool,
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
            if name.to_str().is_some_and(|name| name.starts_with(GONE)) {
                // A removal that a crash has cut short.
                std::fs::remove_dir_all(root.join(&name)).map_err(|e| fail("remove", e))?;
            } else if let Some(run) = name.to_str().and_then(|n| n.parse().ok()) {
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

    /// Forgets a run and removes its folder. Idempotent.
    ///
    /// # Errors
    /// When the folder can't be removed.
    pub async fn remove(&self, run: RunId) -> Result<(), RunStoreError> {
        self.blocking(run, "remove", move |shared| {
            let site = shared.read(|known| known.runs.get(&run).map(|e| e.record.site.clone()));
            // In the lane of its site: nothing is written to it meanwhile.
            shared.lanes.run(&site.unwrap_or_default(), || {
                Folder::of(&shared.root, run).remove()?;
                shared.publish(|known| drop(known.runs.remove(&run)));
                Ok(())
            })
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
}

impl Shared {
    pub(super) fn read<T>(&self, look: impl FnOnce(&Known) -> T) -> T {
        // Published values are whole even if a panic happened elsewhere.
        look(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn publish(&self, change: impl FnOnce(&mut Known)) {
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
}
