//! The audit trail of the link: who was enrolled, refused, connected. Append-only JSON lines.
//!
//! Records are written by a thread of their own, so that a slow disk delays no connection. Chaining
//! them by hash is later work; a record has room for it because unknown fields are ignored.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use jiff::Timestamp;
use serde::Serialize;

/// Records that may wait for the disk.
const WAITING: usize = 1024;

/// What is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Action {
    Started,
    Enrolled,
    JoinRefused,
    Connected,
    ConnectRefused,
    Replaced,
    Disconnected,
    Order,
    Cancel,
    Approval,
}

/// One record. Holds no secret.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Record {
    pub at: Timestamp,
    pub action: Action,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub site: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fingerprint: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub remote: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

impl Record {
    /// A record of this moment.
    pub fn new(action: Action, site: impl ToString) -> Self {
        Self {
            at: Timestamp::now(),
            action,
            site: site.to_string(),
            fingerprint: String::new(),
            remote: String::new(),
            message: String::new(),
        }
    }

    pub fn key(mut self, fingerprint: impl ToString) -> Self {
        self.fingerprint = fingerprint.to_string();
        self
    }

    pub fn from(mut self, remote: impl ToString) -> Self {
        self.remote = remote.to_string();
        self
    }

    pub fn because(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }
}

/// Where records go: the log always, a file when there is one.
#[derive(Debug)]
pub(super) struct Audit {
    file: Option<SyncSender<Record>>,
}

impl Audit {
    /// Opens the trail; the file is made private to this user.
    pub fn open(path: Option<&Path>) -> io::Result<Self> {
        let Some(path) = path else { return Ok(Self { file: None }) };
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
        let (sender, receiver) = sync_channel(WAITING);
        std::thread::Builder::new()
            .name("audit".into())
            .spawn(move || write_all(file, &receiver))?;
        Ok(Self { file: Some(sender) })
    }

    /// Records. Refusals of strangers can come faster than a disk writes: then records are dropped,
    /// and the log says so.
    pub fn record(&self, record: Record) {
        tracing::info!(
            target: "bpa::audit",
            action = ?record.action,
            site = record.site,
            fingerprint = record.fingerprint,
            remote = record.remote,
            message = record.message,
        );
        let Some(file) = &self.file else { return };
        if let Err(TrySendError::Full(record)) = file.try_send(record) {
            tracing::error!(action = ?record.action, "an audit record was dropped: too many wait");
        }
    }
}

fn write_all(mut file: File, records: &Receiver<Record>) {
    while let Ok(record) = records.recv() {
        let written = serde_json::to_vec(&record).map_err(io::Error::from).and_then(|mut line| {
            line.push(b'\n');
            file.write_all(&line)?;
            file.sync_data()
        });
        if let Err(error) = written {
            tracing::error!(%error, "can't write the audit trail");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn records_are_appended_as_lines_to_a_private_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.jsonl");
        for site in ["north", "south"] {
            let audit = Audit::open(Some(&path)).unwrap();
            audit.record(Record::new(Action::Enrolled, site).key("ab").because("new"));
            drop(audit);
        }
        let begin = Instant::now();
        let text = loop {
            let text = std::fs::read_to_string(&path).unwrap();
            if text.lines().count() == 2 || begin.elapsed() > Duration::from_secs(5) {
                break text;
            }
        };
        let record: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!((&record["action"], &record["fingerprint"]), (&"enrolled".into(), &"ab".into()));
        assert!(text.contains("north") && text.contains("south"), "{text}");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
