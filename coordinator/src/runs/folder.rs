//! The folder of one run on the disk: directories 0700, files 0600.

use std::io;
use std::path::{Path, PathBuf};

use bpa_common::wire::v1::{Event, EventBody, Order, RunId};
use serde::{Deserialize, Serialize};

use super::log::LogMark;
use super::record::{OrderSummary, RunRecord};
use super::{events, fold};
use crate::cluster::files;

/// Largest `record.json` that is read.
const MAX_RECORD: u64 = 64 << 20;
/// Largest kubeconfig that is taken.
pub const MAX_KUBECONFIG: u64 = 1 << 20;

/// Where the log of a run is, for those who only want to read it.
pub fn log_path(state: &Path, run: RunId) -> PathBuf {
    root(state).join(run.to_string()).join("log")
}

/// The folder of all runs.
pub fn root(state: &Path) -> PathBuf {
    state.join("runs")
}

/// Begins the name of a folder that is being removed.
pub const GONE: &str = "gone-";

/// The folder of one run.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    run: RunId,
}

/// `order.json`.
#[derive(Debug, Serialize, Deserialize)]
struct Written {
    site: String,
    order: Order,
}

/// What a folder holds, at a start.
#[derive(Debug)]
pub struct Found {
    pub record: RunRecord,
    pub order: Option<Order>,
    pub log: LogMark,
    pub has_kubeconfig: bool,
    pub unreadable_lines: u64,
}

impl Folder {
    /// The folder of this run below `root`; nothing is made.
    pub fn of(root: &Path, run: RunId) -> Self {
        Self { path: root.join(run.to_string()), run }
    }

    /// Makes the folder.
    pub fn create(&self) -> io::Result<()> {
        files::private_dir(&self.path)
    }

    /// The log's file.
    pub fn log(&self) -> PathBuf {
        self.path.join("log")
    }

    fn order(&self) -> PathBuf {
        self.path.join("order.json")
    }

    fn kubeconfig(&self) -> PathBuf {
        self.path.join("kubeconfig")
    }

    fn events(&self) -> PathBuf {
        self.path.join("events.jsonl")
    }

    /// Reads all: the order from `order.json`, the state from the events.
    pub fn read(&self) -> io::Result<Found> {
        let written: Option<Written> = match files::read_limited(&self.order(), MAX_RECORD)? {
            Some(bytes) => Some(serde_json::from_slice(&bytes)?),
            None => None,
        };
        let tail = events::read(&self.events())?;
        let mut record = RunRecord::default();
        if let Some(written) = &written {
            record.site.clone_from(&written.site);
            record.order = Some(OrderSummary::of(&written.order));
        }
        for line in tail.lines {
            if record.site.is_empty() {
                record.site.clone_from(&line.site);
            }
            record = fold(record, &line.into_event(self.run));
        }
        Ok(Found {
            record,
            order: written.map(|w| w.order),
            log: LogMark::of(&self.log())?,
            has_kubeconfig: self.kubeconfig().exists(),
            unreadable_lines: tail.unreadable,
        })
    }

    /// Keeps the order, exactly as it is sent: a repeat sends the same.
    pub fn write_order(&self, site: &str, order: &Order) -> io::Result<()> {
        let written = Written { site: site.to_owned(), order: order.clone() };
        files::write_private(&self.order(), &serde_json::to_vec(&written)?)
    }

    /// Writes `record.json`, the copy for readers.
    pub fn write_record(&self, record: &RunRecord) -> io::Result<()> {
        files::write_private(&self.path.join("record.json"), &serde_json::to_vec(record)?)
    }

    /// Keeps events. A kubeconfig's bytes go to their own file first: once its event is on the
    /// disk it is acknowledged and never comes again.
    pub fn append(&self, site: &str, list: &[Event], keep_kubeconfig: bool) -> io::Result<bool> {
        let mut kept = false;
        for event in list {
            if let EventBody::Kubeconfig { pem, .. } = &event.body
                && keep_kubeconfig
                && pem.0.len() as u64 <= MAX_KUBECONFIG
            {
                files::write_private(&self.kubeconfig(), &pem.0)?;
                kept = true;
            }
        }
        events::append(&self.events(), site, list)?;
        Ok(kept)
    }

    /// The kubeconfig's bytes while they wait here.
    pub fn read_kubeconfig(&self) -> io::Result<Option<Vec<u8>>> {
        files::read_limited(&self.kubeconfig(), MAX_KUBECONFIG)
    }

    /// Removes the folder. A crash in the middle leaves one that counts as no run.
    pub fn remove(&self) -> io::Result<()> {
        let gone = self.path.with_file_name(format!("{GONE}{}", self.run));
        match std::fs::rename(&self.path, &gone) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            renamed => renamed?,
        }
        std::fs::remove_dir_all(gone)
    }

    /// Removes the kubeconfig.
    pub fn remove_kubeconfig(&self) -> io::Result<()> {
        files::remove(&self.kubeconfig())
    }
}
