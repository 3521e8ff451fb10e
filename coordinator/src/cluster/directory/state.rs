//! The state directory: where each thing is, locks, and small JSON files.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::cluster::files;
use crate::cluster::kind::ObjectId;
use crate::cluster::port::WorldError;

/// No state file of ours is larger.
const MAX_STATE_FILE: u64 = 64 << 20;

/// Paths below the state directory.
#[derive(Clone, Debug)]
pub struct StateDir {
    root: PathBuf,
}

/// Holds a lock until it is dropped.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl StateDir {
    /// The state directory at this path; it need not exist.
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Makes the directory and its parts, private to this user.
    ///
    /// # Errors
    /// When that can't be done.
    pub fn create(&self) -> Result<(), WorldError> {
        for part in ["", "overlay", "status", "held", "kubeconfigs", "configmaps"] {
            let path = self.root.join(part);
            files::private_dir(&path).map_err(|source| io_error("make", &path, source))?;
        }
        Ok(())
    }

    pub fn ledger(&self) -> PathBuf {
        self.root.join("ledger.json")
    }

    pub fn events(&self) -> PathBuf {
        self.root.join("events.jsonl")
    }

    pub fn overlay(&self, id: &ObjectId) -> PathBuf {
        self.root.join("overlay").join(format!("{}.json", id.file_stem()))
    }

    pub fn status(&self, id: &ObjectId) -> PathBuf {
        self.root.join("status").join(format!("{}.json", id.file_stem()))
    }

    pub fn held_dir(&self) -> PathBuf {
        self.root.join("held")
    }

    pub fn held(&self, id: &ObjectId) -> PathBuf {
        self.held_dir().join(format!("{}.json", id.file_stem()))
    }

    /// Where a Provisioning's kubeconfig is kept.
    pub fn kubeconfig(&self, id: &ObjectId) -> PathBuf {
        self.root.join("kubeconfigs").join(format!("{}.yaml", short_stem(id)))
    }

    /// Where the addresses of a cluster's nodes are kept, as a ConfigMap.
    pub fn configmap(&self, id: &ObjectId) -> PathBuf {
        self.root.join("configmaps").join(format!("{}.json", short_stem(id)))
    }

    /// Waits for the lock that guards reading, changing and writing back any of these files.
    ///
    /// # Errors
    /// When the lock file can't be opened.
    pub fn edit_lock(&self) -> Result<Lock, WorldError> {
        let path = self.root.join("edit.lock");
        let file = open_lock(&path).map_err(|source| io_error("open", &path, source))?;
        flock(&file, FlockOperation::LockExclusive)
            .map_err(|error| io_error("lock", &path, error.into()))?;
        Ok(Lock { _file: file })
    }

    /// Takes the lock of the one `run` of this state directory.
    ///
    /// # Errors
    /// [`WorldError::Corrupt`] with the other's process id when there is one.
    pub fn run_lock(&self) -> Result<Lock, WorldError> {
        let path = self.root.join("run.lock");
        let mut file = open_lock(&path).map_err(|source| io_error("open", &path, source))?;
        if !wait_for_lock(&file) {
            let mut pid = String::new();
            let _ = (&file).take(20).read_to_string(&mut pid);
            return Err(WorldError::InUse {
                path: self.root.display().to_string(),
                pid: pid.trim().to_owned(),
            });
        }
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{}", std::process::id()))
            .map_err(|source| io_error("write", &path, source))?;
        Ok(Lock { _file: file })
    }
}

/// A command that asks whether somebody runs holds the lock for a moment: try a little longer.
fn wait_for_lock(file: &File) -> bool {
    (0..10).any(|attempt| {
        if attempt > 0 {
            std::thread::sleep(std::time::Duration::from_millis(30));
        }
        flock(file, FlockOperation::NonBlockingLockExclusive).is_ok()
    })
}

/// The directory says what it is: only namespace and name are left.
fn short_stem(id: &ObjectId) -> String {
    let stem = id.file_stem();
    stem.split_once('.').map_or(stem.clone(), |(_, rest)| rest.to_owned())
}

/// Makes a state directory, and takes it for one `run` of another world.
///
/// # Errors
/// [`WorldError::InUse`] when another has it, or why it can't be made.
pub fn lock_for_run(state_dir: &Path) -> Result<Lock, WorldError> {
    files::private_dir(state_dir).map_err(|source| io_error("make", state_dir, source))?;
    StateDir::at(state_dir).run_lock()
}

/// Whether a `run` has this state directory now.
pub fn running(state_dir: &Path) -> bool {
    File::open(state_dir.join("run.lock"))
        .is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockShared).is_err())
}

fn open_lock(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// An I/O error with the path that it is about.
pub fn io_error(action: &'static str, path: &Path, source: io::Error) -> WorldError {
    WorldError::Io { action, path: path.display().to_string(), source }
}

/// Reads a JSON file of ours; none when there is none.
///
/// # Errors
/// When it can't be read or is not what we write.
pub fn load<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, WorldError> {
    let bytes = files::read_limited(path, MAX_STATE_FILE)
        .map_err(|source| io_error("read", path, source))?;
    let Some(bytes) = bytes else { return Ok(None) };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| WorldError::Corrupt {
        what: path.display().to_string(),
        message: format!("{error}; restore it from a backup, or remove it to start without it"),
    })
}

/// Writes a JSON file of ours, unless it says the same already. True when it was written.
///
/// # Errors
/// When it can't be written.
pub fn store<T: Serialize>(path: &Path, value: &T) -> Result<bool, WorldError> {
    let bytes =
        serde_json::to_vec_pretty(value).map_err(|error| io_error("write", path, error.into()))?;
    if fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(false);
    }
    files::write_private(path, &bytes).map_err(|source| io_error("write", path, source))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_run_is_told_who_has_the_directory() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::at(dir.path());
        state.create().unwrap();
        let held = state.run_lock().unwrap();
        let error = state.run_lock().unwrap_err().to_string();
        assert!(error.contains(&format!("process {}", std::process::id())), "{error}");
        assert!(running(dir.path()));
        drop(held);
        assert!(!running(dir.path()));
        state.run_lock().unwrap();
    }

    #[test]
    fn only_what_changed_is_written_and_what_is_torn_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.json");
        assert_eq!(load::<Vec<u8>>(&path).unwrap(), None);
        assert!(store(&path, &vec![1]).unwrap());
        assert!(!store(&path, &vec![1]).unwrap());
        assert_eq!(load::<Vec<u8>>(&path).unwrap(), Some(vec![1]));
        fs::write(&path, "[1,").unwrap();
        let error = load::<Vec<u8>>(&path).unwrap_err().to_string();
        assert!(error.contains("x.json") && error.contains("backup"), "{error}");
    }
}
