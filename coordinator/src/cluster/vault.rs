//! A small store of secrets: the CA's key, enrolments, the epoch.
//!
//! One secret per file, 0600, in a directory of mode 0700. Whoever can read these files can speak
//! for the coordinator, so they never leave the state directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use super::files;

/// No secret of ours is larger.
const MAX_SECRET: u64 = 1 << 20;
/// Parts of a name, `sites/north/enrolment` has three.
const MAX_PARTS: usize = 4;

/// Keeps secrets by name. Names are parts of letters, digits, `-`, `_` and `.`, joined by `/`.
pub trait Vault: Send + Sync + 'static {
    /// The secret of this name, if there is one.
    ///
    /// # Errors
    /// When the name is not allowed or the store can't be read.
    fn get(&self, name: &str) -> io::Result<Option<Zeroizing<Vec<u8>>>>;

    /// Keeps a secret, in the place of an older one of this name. Durable when it returns.
    ///
    /// # Errors
    /// When the name is not allowed or the store can't be written.
    fn put(&self, name: &str, secret: &[u8]) -> io::Result<()>;

    /// Keeps a secret unless there is one of this name: false then. Atomic among processes.
    ///
    /// # Errors
    /// As [`Vault::put`].
    fn create(&self, name: &str, secret: &[u8]) -> io::Result<bool>;

    /// Forgets a secret; one that is not there is no error.
    ///
    /// # Errors
    /// As [`Vault::put`].
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Names that begin with `prefix` (any text, `""` for all), in order.
    ///
    /// # Errors
    /// When the store can't be read.
    fn list(&self, prefix: &str) -> io::Result<Vec<String>>;
}

/// A [`Vault`] of files below `<state>/vault`.
#[derive(Clone, Debug)]
pub struct FileVault {
    root: PathBuf,
}

impl FileVault {
    /// Opens the vault of a state directory, and makes it when it is not there.
    ///
    /// # Errors
    /// When the directory can't be made private to this user.
    pub fn open(state_dir: &Path) -> io::Result<Self> {
        let root = state_dir.join("vault");
        files::private_dir(&root)?;
        Ok(Self { root })
    }

    fn path(&self, name: &str) -> io::Result<PathBuf> {
        let parts: Vec<&str> = name.split('/').collect();
        if parts.len() > MAX_PARTS || !parts.iter().all(|part| is_part(part)) {
            let message = format!(
                "`{}` can't name a secret: wanted at most {MAX_PARTS} parts of letters, digits, `-`, `_` and `.`, joined by `/`",
                name.escape_debug()
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        Ok(parts.iter().fold(self.root.clone(), |path, part| path.join(part)))
    }

    fn path_for_writing(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.path(name)?;
        if let Some(parent) = path.parent() {
            files::private_dir(parent)?;
        }
        Ok(path)
    }
}

/// A part can't begin with a dot: no way up, and no clash with files written aside.
fn is_part(part: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !part.is_empty() && part.len() <= 253 && !part.starts_with('.') && part.chars().all(allowed)
}

impl Vault for FileVault {
    fn get(&self, name: &str) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
        Ok(files::read_limited(&self.path(name)?, MAX_SECRET)?.map(Zeroizing::new))
    }

    fn put(&self, name: &str, secret: &[u8]) -> io::Result<()> {
        files::write_private(&self.path_for_writing(name)?, secret)
    }

    fn create(&self, name: &str, secret: &[u8]) -> io::Result<bool> {
        files::create_private(&self.path_for_writing(name)?, secret)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        files::remove(&self.path(name)?)
    }

    fn list(&self, prefix: &str) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        collect(&self.root, "", MAX_PARTS, &mut names)?;
        names.retain(|name| name.starts_with(prefix));
        names.sort();
        Ok(names)
    }
}

fn collect(dir: &Path, before: &str, depth: usize, names: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let Ok(part) = entry.file_name().into_string() else { continue };
        if !is_part(&part) {
            continue;
        }
        let name = if before.is_empty() { part } else { format!("{before}/{part}") };
        match entry.file_type()? {
            kind if kind.is_dir() && depth > 1 => {
                collect(&entry.path(), &name, depth - 1, names)?;
            }
            kind if kind.is_file() => names.push(name),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_secret_is_kept_replaced_listed_and_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let vault = FileVault::open(dir.path()).unwrap();
        assert!(vault.get("ca/key.pem").unwrap().is_none());
        vault.put("ca/key.pem", b"one").unwrap();
        vault.put("ca/key.pem", b"two").unwrap();
        vault.put("sites/north/enrolment", b"x").unwrap();
        vault.put("epoch", b"7").unwrap();
        assert_eq!(*vault.get("ca/key.pem").unwrap().unwrap(), b"two");
        assert_eq!(vault.list("").unwrap(), ["ca/key.pem", "epoch", "sites/north/enrolment"]);
        assert_eq!(vault.list("sites/").unwrap(), ["sites/north/enrolment"]);
        vault.remove("epoch").unwrap();
        vault.remove("epoch").unwrap();
        assert!(vault.get("epoch").unwrap().is_none());
    }

    #[test]
    fn only_the_first_creator_wins() {
        let dir = tempfile::tempdir().unwrap();
        let vault = FileVault::open(dir.path()).unwrap();
        assert!(vault.create("ca/key.pem", b"first").unwrap());
        assert!(!vault.create("ca/key.pem", b"second").unwrap());
        assert_eq!(*vault.get("ca/key.pem").unwrap().unwrap(), b"first");
    }

    #[test]
    fn nobody_else_can_read_it() {
        let dir = tempfile::tempdir().unwrap();
        let vault = FileVault::open(dir.path()).unwrap();
        vault.put("sites/north", b"x").unwrap();
        let mode =
            |path: &str| fs::metadata(dir.path().join(path)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode("vault"), 0o700);
        assert_eq!(mode("vault/sites"), 0o700);
        assert_eq!(mode("vault/sites/north"), 0o600);
    }

    proptest! {
        #[test]
        fn no_name_leaves_the_vault(name in ".{0,40}") {
            let vault = FileVault { root: PathBuf::from("/v") };
            if let Ok(path) = vault.path(&name) {
                let up = path.components().any(|c| c == std::path::Component::ParentDir);
                prop_assert!(path.starts_with("/v") && !up, "{path:?}");
            }
        }
    }
}
