//! The durable record: orders, run steps, events. SQLite, WAL, FULL, one writer.
//!
//! One state change is one commit, and a commit that returned is on the disk. Readers (the link,
//! `bpa-agent runs`) have their own connection and never wait for the writer. Bodies are JSON, so
//! that a person can read the file with any SQLite tool. The file is 0600: a kubeconfig lies in it
//! until the coordinator has acknowledged it.

mod counters;
mod events;
mod rows;
mod runs;
mod schema;
mod steps;
#[cfg(test)]
mod tests;
mod writer;

use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, OpenFlags};
use tokio::sync::watch;

pub use runs::StoredRun;
pub use steps::{StepEnded, StepRow};
use writer::Writer;

/// Name of the database file in the state directory.
pub const FILE_NAME: &str = "journal.sqlite";

/// Why the journal can't do what was asked. Nothing that was committed before is lost.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("can't open the journal {}: {message}; see that the directory exists and belongs to the agent", path.display())]
    Open { path: PathBuf, message: String },
    #[error(
        "the journal {} was written by a newer agent (schema {found}, this agent knows {known}); install that version again", path.display()
    )]
    Newer { path: PathBuf, found: i64, known: i64 },
    #[error("the disk of the journal is full; free some space (old runs lie in `runs/` beside it)")]
    Full,
    #[error("the journal failed: {0}")]
    Sqlite(rusqlite::Error),
    #[error("the journal holds a record that this agent can't read: {0}")]
    Damaged(String),
    #[error("the journal's writer has ended; restart the agent")]
    Stopped,
}

impl From<rusqlite::Error> for JournalError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DiskFull) => Self::Full,
            _ => Self::Sqlite(error),
        }
    }
}

/// The journal of one agent.
pub struct Journal {
    path: PathBuf,
    /// None for a reader from the command line.
    writer: Option<Writer>,
    reader: Mutex<Connection>,
    newest: watch::Sender<u64>,
}

impl Journal {
    /// Opens (or makes) the journal in `state_dir`, for the one agent that works there.
    ///
    /// # Errors
    /// When the file can't be opened, or was written by a newer agent.
    pub fn open(state_dir: &Path) -> Result<Self, JournalError> {
        let path = state_dir.join(FILE_NAME);
        let failed = |message: String| JournalError::Open { path: path.clone(), message };
        std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&path)
            .map_err(|e| failed(e.to_string()))?;
        let mut connection = Connection::open(&path).map_err(|e| failed(e.to_string()))?;
        schema::prepare(&mut connection, &path)?;
        let reader = read_only(&path)?;
        let newest = events::newest(&reader)?;
        let writer = Writer::start(connection).map_err(|e| failed(e.to_string()))?;
        Ok(Self {
            path,
            writer: Some(writer),
            reader: Mutex::new(reader),
            newest: watch::Sender::new(newest),
        })
    }

    /// Opens the journal to look at it, also while the agent works.
    ///
    /// # Errors
    /// When there is none, or it can't be read.
    pub fn open_read_only(state_dir: &Path) -> Result<Self, JournalError> {
        let path = state_dir.join(FILE_NAME);
        let reader = read_only(&path)?;
        let newest = events::newest(&reader)?;
        Ok(Self {
            path,
            writer: None,
            reader: Mutex::new(reader),
            newest: watch::Sender::new(newest),
        })
    }

    /// Where the journal lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn read<T>(
        &self,
        look: impl FnOnce(&Connection) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        let reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        look(&reader)
    }

    /// Runs `change` as one transaction on the writer's thread and waits for its commit.
    fn write<T: Send + 'static>(
        &self,
        change: impl FnOnce(&rusqlite::Transaction<'_>) -> Result<T, JournalError> + Send + 'static,
    ) -> Result<T, JournalError> {
        self.writer.as_ref().ok_or(JournalError::Stopped)?.commit(change)
    }

    /// Like [`Self::write`], for a change that appends events: wakes those who wait for them.
    fn write_events<T: Send + 'static>(
        &self,
        change: impl FnOnce(&rusqlite::Transaction<'_>) -> Result<T, JournalError> + Send + 'static,
    ) -> Result<T, JournalError> {
        let (value, newest) = self.write(move |tx| {
            let value = change(tx)?;
            Ok((value, events::newest(tx)?))
        })?;
        self.newest.send_if_modified(|seen| {
            let newer = newest > *seen;
            *seen = newest.max(*seen);
            newer
        });
        Ok(value)
    }
}

fn read_only(path: &Path) -> Result<Connection, JournalError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || -> rusqlite::Result<Connection> {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(std::time::Duration::from_secs(5))?;
        Ok(connection)
    };
    open().map_err(|e| JournalError::Open { path: path.to_owned(), message: e.to_string() })
}
