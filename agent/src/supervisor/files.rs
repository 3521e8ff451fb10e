//! The files between the agent and the supervisor, all 0600, written aside and renamed.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::process::ProcessId;
use crate::private;

pub(super) const JOB: &str = "job.json";
pub(super) const STARTED: &str = "supervisor.json";
pub(super) const EXIT: &str = "exit.json";
pub(super) const LOCK: &str = "lock";
pub(super) const CANCEL: &str = "cancel";
pub(super) const MESSAGES: &str = "supervisor.log";

/// What is to be run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Program and arguments; never a secret among them.
    pub argv: Vec<String>,
    pub directory: PathBuf,
    /// The whole environment: nothing is inherited.
    pub environment: BTreeMap<String, String>,
    /// Output is appended here.
    pub log: PathBuf,
    /// Files whose content must not appear in the log.
    pub secret_files: Vec<PathBuf>,
    /// SSH connections that outlive the playbook lie here; they are closed at the end.
    pub mux_directory: Option<PathBuf>,
}

/// Written once the program runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    pub supervisor: ProcessId,
    /// The leader of the program's process group.
    pub program: ProcessId,
}

/// How the program ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// Exit code; none when a signal ended it, or when it could not be started.
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// Why it could not be started.
    pub error: Option<String>,
    /// True when it was stopped because the agent asked for it.
    pub cancelled: bool,
}

/// Opens the lock that all attempts of a run share: it lies beside their directories.
pub(super) fn open_lock(attempt: &Path) -> io::Result<std::fs::File> {
    let path = attempt.parent().unwrap_or(attempt).join(LOCK);
    std::fs::OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

pub(super) fn write_json(path: &Path, value: &impl Serialize) -> io::Result<()> {
    private::write(path, &serde_json::to_vec_pretty(value).map_err(io::Error::other)?)
}

/// None when there is no such file.
pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> io::Result<Option<T>> {
    match std::fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(io::Error::other),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}
