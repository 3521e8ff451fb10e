//! What the running agent says about itself, for `doctor`: a small file beside the journal.

use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::link::LinkStatus;
use crate::private;

const FILE: &str = "status.json";

/// The link, as it was last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Status {
    pub connected: bool,
    /// For a person: to whom, or why not.
    pub text: String,
    /// Milliseconds since 1970.
    pub since_ms: i64,
}

impl Status {
    pub(super) fn of(link: &LinkStatus, since_ms: i64) -> Self {
        let (connected, text) = match link {
            LinkStatus::Starting => (false, "starting".to_owned()),
            LinkStatus::Stopped => (false, "stopped".to_owned()),
            LinkStatus::Waiting { why, .. } => (false, format!("not connected: {why}")),
            LinkStatus::Connected { coordinator, approved } => {
                let approval = if *approved { "approved" } else { "not yet approved" };
                (true, format!("connected to {coordinator}, {approval}"))
            }
        };
        Self { connected, text, since_ms }
    }

    pub(super) fn save(&self, state_dir: &Path) {
        let saved = serde_json::to_vec(self)
            .map_err(std::io::Error::other)
            .and_then(|text| private::write(&state_dir.join(FILE), &text));
        if let Err(error) = saved {
            tracing::debug!(%error, "can't write the status file");
        }
    }

    pub(super) fn load(state_dir: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(state_dir.join(FILE)).ok()?).ok()
    }
}

/// Held by the one agent that works in a state directory.
pub(super) struct Lock(
    #[expect(dead_code, reason = "the lock lasts as long as the file is open")] std::fs::File,
);

impl Lock {
    /// None when an agent works there.
    pub(super) fn take(state_dir: &Path) -> std::io::Result<Option<Self>> {
        let file = std::fs::OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(state_dir.join("agent.lock"))?;
        let operation = rustix::fs::FlockOperation::NonBlockingLockExclusive;
        Ok(rustix::fs::flock(&file, operation).is_ok().then_some(Self(file)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_link_is_kept_in_words() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Status::load(dir.path()), None);
        let link = LinkStatus::Connected { coordinator: "10.0.0.1:7443".into(), approved: false };
        let status = Status::of(&link, 5);
        status.save(dir.path());
        assert_eq!(Status::load(dir.path()), Some(status.clone()));
        assert!(status.connected && status.text.contains("not yet approved"));
        let waiting = Status::of(
            &LinkStatus::Waiting {
                why: "timed out".into(),
                retry: std::time::Duration::from_secs(1),
            },
            6,
        );
        assert!(!waiting.connected && waiting.text.contains("timed out"));
    }

    #[test]
    fn two_agents_never_work_in_one_directory() {
        let dir = tempfile::tempdir().unwrap();
        let first = Lock::take(dir.path()).unwrap();
        assert!(first.is_some());
        assert!(Lock::take(dir.path()).unwrap().is_none());
        drop(first);
        assert!(Lock::take(dir.path()).unwrap().is_some());
    }
}
