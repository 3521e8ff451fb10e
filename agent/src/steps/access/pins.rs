//! Host keys that were seen and are trusted: one per host and OS installation.
//!
//! `<state_dir>/pins.json` is read at each use, under a file lock, because `bpa-agent keys` changes
//! it from another process.

use std::fs::File;
use std::path::{Path, PathBuf};

use russh::keys::{HashAlg, PublicKey};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::private;

const SCHEMA: u32 = 1;
/// Some thirty thousand hosts.
const LIMIT: u64 = 16 << 20;

/// The host key of one installation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pin {
    pub host_uid: String,
    pub installation: String,
    /// Metal3 host name, for people.
    pub host: String,
    /// `ssh-ed25519 AAAA…`
    pub key: String,
    /// The account that has the site's key.
    pub user: String,
}

impl Pin {
    /// `SHA256:…`, as ssh-keygen prints it.
    pub fn fingerprint(&self) -> String {
        PublicKey::from_openssh(&self.key)
            .map_or_else(|_| "an unreadable key".to_owned(), |key| fingerprint(&key))
    }
}

pub(super) fn fingerprint(key: &PublicKey) -> String {
    key.fingerprint(HashAlg::Sha256).to_string()
}

#[derive(Serialize, Deserialize)]
struct Stored {
    schema: u32,
    pins: Vec<Pin>,
}

/// Why the pins can't be used. Never a reason to trust a key anew.
#[derive(Debug, thiserror::Error)]
pub enum PinsError {
    #[error("can't read or write the pinned host keys {}: {source}; wanted a state directory that the agent may write", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error("the pinned host keys {} are damaged ({message}); restore the file, or move it away to trust every host's key anew", path.display())]
    Damaged { path: PathBuf, message: String },
}

/// The file of pins.
#[derive(Clone, Debug)]
pub struct Pins {
    path: PathBuf,
}

impl Pins {
    /// The pins of this state directory; the file need not exist.
    pub fn new(state_dir: &Path) -> Self {
        Self { path: state_dir.join("pins.json") }
    }

    /// All pins.
    ///
    /// # Errors
    /// When the file can't be read or is damaged.
    pub fn all(&self) -> Result<Vec<Pin>, PinsError> {
        let _lock = self.lock()?;
        self.read()
    }

    /// The pin of this installation.
    ///
    /// # Errors
    /// As [`Pins::all`].
    pub fn find(&self, host_uid: &str, installation: &str) -> Result<Option<Pin>, PinsError> {
        let fits = |pin: &Pin| pin.host_uid == host_uid && pin.installation == installation;
        Ok(self.all()?.into_iter().find(fits))
    }

    /// Remembers a pin, in place of any other of the same host; gives those back.
    ///
    /// # Errors
    /// As [`Pins::all`], and when it can't be written.
    pub fn save(&self, pin: Pin) -> Result<Vec<Pin>, PinsError> {
        let _lock = self.lock()?;
        let (old, mut kept): (Vec<_>, Vec<_>) =
            self.read()?.into_iter().partition(|p| p.host_uid == pin.host_uid);
        kept.push(pin);
        self.write(kept)?;
        Ok(old)
    }

    /// Forgets the pins of a host, by its name or uid; gives them back.
    ///
    /// # Errors
    /// As [`Pins::save`].
    pub fn forget(&self, host: &str) -> Result<Vec<Pin>, PinsError> {
        let _lock = self.lock()?;
        let (gone, kept): (Vec<_>, Vec<_>) =
            self.read()?.into_iter().partition(|p| p.host == host || p.host_uid == host);
        if !gone.is_empty() {
            self.write(kept)?;
        }
        Ok(gone)
    }

    fn lock(&self) -> Result<File, PinsError> {
        let path = self.path.with_extension("lock");
        let file = private::open_lock(&path).map_err(|e| self.io(e))?;
        flock(&file, FlockOperation::LockExclusive).map_err(|e| self.io(e.into()))?;
        Ok(file)
    }

    fn read(&self) -> Result<Vec<Pin>, PinsError> {
        let size = match std::fs::metadata(&self.path) {
            Ok(metadata) => metadata.len(),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(self.io(e)),
        };
        if size > LIMIT {
            return Err(self.damaged(format!("{size} bytes, at most {LIMIT} are read")));
        }
        let text = std::fs::read(&self.path).map_err(|e| self.io(e))?;
        let stored: Stored =
            serde_json::from_slice(&text).map_err(|e| self.damaged(e.to_string()))?;
        if stored.schema != SCHEMA {
            return Err(self.damaged(format!("schema {}, wanted {SCHEMA}", stored.schema)));
        }
        Ok(stored.pins)
    }

    fn write(&self, mut pins: Vec<Pin>) -> Result<(), PinsError> {
        pins.sort_by(|a, b| (&a.host, &a.host_uid).cmp(&(&b.host, &b.host_uid)));
        let text = serde_json::to_vec_pretty(&Stored { schema: SCHEMA, pins })
            .map_err(|e| self.damaged(e.to_string()))?;
        private::write(&self.path, &text).map_err(|e| self.io(e))
    }

    fn io(&self, source: std::io::Error) -> PinsError {
        PinsError::Io { path: self.path.clone(), source }
    }

    fn damaged(&self, message: String) -> PinsError {
        PinsError::Damaged { path: self.path.clone(), message }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn pin(uid: &str, installation: &str, host: &str) -> Pin {
        Pin {
            host_uid: uid.into(),
            installation: installation.into(),
            host: host.into(),
            key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ"
                .into(),
            user: "root".into(),
        }
    }

    #[test]
    fn a_pin_is_of_one_installation_and_a_new_one_replaces_the_old() {
        let dir = tempfile::tempdir().unwrap();
        let pins = Pins::new(dir.path());
        assert_eq!(pins.find("u1", "i1").unwrap(), None);
        assert_eq!(pins.save(pin("u1", "i1", "host1")).unwrap(), []);
        assert_eq!(pins.save(pin("u2", "i1", "host2")).unwrap(), []);
        assert_eq!(pins.find("u1", "i1").unwrap(), Some(pin("u1", "i1", "host1")));
        assert_eq!(pins.find("u1", "i2").unwrap(), None);
        assert_eq!(pins.save(pin("u1", "i2", "host1")).unwrap(), [pin("u1", "i1", "host1")]);
        assert_eq!(pins.find("u1", "i1").unwrap(), None);
        assert_eq!(pins.all().unwrap().len(), 2);
        let mode = std::fs::metadata(dir.path().join("pins.json")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_host_is_forgotten_by_name_or_uid() {
        let dir = tempfile::tempdir().unwrap();
        let pins = Pins::new(dir.path());
        pins.save(pin("u1", "i1", "host1")).unwrap();
        pins.save(pin("u2", "i1", "host2")).unwrap();
        assert_eq!(pins.forget("host3").unwrap(), []);
        assert_eq!(pins.forget("host1").unwrap().len(), 1);
        assert_eq!(pins.forget("u2").unwrap().len(), 1);
        assert!(pins.all().unwrap().is_empty());
    }

    #[test]
    fn a_damaged_file_is_an_error_and_not_an_empty_one() {
        let dir = tempfile::tempdir().unwrap();
        let pins = Pins::new(dir.path());
        for text in ["", "{\"schema\":1", "{\"schema\":2,\"pins\":[]}", "[]"] {
            std::fs::write(dir.path().join("pins.json"), text).unwrap();
            assert!(pins.find("u", "i").unwrap_err().to_string().contains("damaged"), "{text}");
        }
    }

    #[test]
    fn two_writers_lose_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let write = |from: usize| {
            let pins = Pins::new(dir.path());
            move || {
                for n in from..from + 10 {
                    pins.save(pin(&format!("u{n}"), "i", &format!("host{n}"))).unwrap();
                }
            }
        };
        let threads = [0, 10, 20].map(write).map(std::thread::spawn);
        threads.into_iter().for_each(|t| t.join().unwrap());
        assert_eq!(Pins::new(dir.path()).all().unwrap().len(), 30);
    }

    #[test]
    fn the_fingerprint_is_the_one_that_people_compare() {
        assert!(pin("u", "i", "h").fingerprint().starts_with("SHA256:"));
        assert_eq!(
            Pin { key: "x".into(), ..pin("u", "i", "h") }.fingerprint(),
            "an unreadable key"
        );
    }
}
