//! Reads the credentials from disk, at each use, and only when nobody else can.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use bpa_common::net::MacAddress;
use secrecy::zeroize::Zeroizing;

use super::entry::Credential;
use super::select::Credentials;
use super::{CredentialsError, parse};

/// A file of 1 MiB holds some ten thousand entries.
const LIMIT: u64 = 1 << 20;

/// Where the credentials are. Holds no secret itself.
#[derive(Clone, Debug)]
pub struct CredentialSource {
    path: Option<PathBuf>,
}

impl CredentialSource {
    /// Credentials in this file, or in the `*.toml` files of this directory; none = there are none,
    /// and only the site's own key is tried.
    pub fn new(path: Option<PathBuf>) -> Self {
        Self { path }
    }

    /// Where the credentials are, for messages.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Reads everything. Blocking, a few milliseconds.
    ///
    /// # Errors
    /// When a file can't be read, is open to others, or is wrong.
    pub fn load(&self) -> Result<Credentials, CredentialsError> {
        let Some(path) = &self.path else { return Ok(Credentials::default()) };
        let is_dir = fs::metadata(path).map_err(|e| unreadable(path, e))?.is_dir();
        if !is_dir {
            return read_file(path);
        }
        let directory = File::open(path).map_err(|e| unreadable(path, e))?;
        only_ours(path, &directory, 0o700)?;
        let mut all = Credentials::default();
        for file in toml_files(path)? {
            all.entries.extend(read_file(&file)?.entries);
        }
        all.refuse_doubles()?;
        Ok(all)
    }

    /// The entry for one host, read now.
    ///
    /// # Errors
    /// As [`CredentialSource::load`].
    pub fn select(
        &self,
        host: &str,
        macs: &[MacAddress],
    ) -> Result<Option<Credential>, CredentialsError> {
        Ok(self.load()?.select(host, macs).cloned())
    }
}

fn toml_files(directory: &Path) -> Result<Vec<PathBuf>, CredentialsError> {
    let mut files = Vec::new();
    for item in fs::read_dir(directory).map_err(|e| unreadable(directory, e))? {
        let path = item.map_err(|e| unreadable(directory, e))?.path();
        let hidden = path.file_name().is_some_and(|n| n.as_encoded_bytes().starts_with(b"."));
        if !hidden && path.extension().is_some_and(|e| e == "toml") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn read_file(path: &Path) -> Result<Credentials, CredentialsError> {
    let text = read_private(path, LIMIT)?;
    let origin = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    parse(&text, &origin)
}

/// Reads a small file that holds a secret, after making sure that it is private.
///
/// # Errors
/// When it can't be read, is too large, or others may read it.
pub(crate) fn read_private(path: &Path, limit: u64) -> Result<Zeroizing<String>, CredentialsError> {
    let file = File::open(path).map_err(|e| unreadable(path, e))?;
    // Asked of the open file: the name could lead elsewhere a moment later.
    only_ours(path, &file, 0o600)?;
    let mut text = Zeroizing::new(String::new());
    file.take(limit + 1).read_to_string(&mut text).map_err(|e| unreadable(path, e))?;
    if text.len() as u64 > limit {
        return Err(CredentialsError::TooLarge { path: path.to_owned(), limit });
    }
    Ok(text)
}

fn only_ours(path: &Path, file: &File, wanted: u32) -> Result<(), CredentialsError> {
    let metadata = file.metadata().map_err(|e| unreadable(path, e))?;
    let mode = metadata.permissions().mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(CredentialsError::OpenToOthers { path: path.to_owned(), mode, wanted });
    }
    let us = rustix::process::geteuid().as_raw();
    let owner = metadata.uid();
    // Root may look at what is the service's: `bpa-agent keys` on the command line.
    if owner != us && owner != 0 && us != 0 {
        return Err(CredentialsError::WrongOwner { path: path.to_owned(), owner, wanted: us });
    }
    Ok(())
}

fn unreadable(path: &Path, source: std::io::Error) -> CredentialsError {
    CredentialsError::Read { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str, mode: u32) {
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_file_that_others_may_read_is_refused_with_the_command_that_mends_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("c.toml");
        for mode in [0o644, 0o640, 0o604, 0o620] {
            write(&path, "[default]\n", mode);
            let message = CredentialSource::new(Some(path.clone())).load().unwrap_err().to_string();
            let fix = format!("run: chmod 600 {}", path.display());
            assert!(message.ends_with(&fix), "{message}");
        }
        write(&path, "[default]\n", 0o600);
        assert_eq!(CredentialSource::new(Some(path)).load().unwrap().len(), 1);
    }

    #[test]
    fn a_mended_password_is_seen_at_the_next_use() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("c.toml");
        let source = CredentialSource::new(Some(path.clone()));
        assert!(source.select("h", &[]).unwrap_err().to_string().contains("can't read"));
        write(&path, "[default]\nuser = \"a\"\n", 0o600);
        assert_eq!(source.select("h", &[]).unwrap().unwrap().user, "a");
        write(&path, "[default]\nuser = \"b\"\n", 0o600);
        assert_eq!(source.select("h", &[]).unwrap().unwrap().user, "b");
    }

    #[test]
    fn a_directory_is_read_file_by_file_and_doubles_are_found_across_them() {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o700)).unwrap();
        write(&dir.path().join("b.toml"), "[[host]]\nname = \"h\"\nuser = \"b\"\n", 0o600);
        write(&dir.path().join("a.toml"), "[default]\nuser = \"a\"\n", 0o400);
        write(&dir.path().join("notes.txt"), "not ours", 0o644);
        let source = CredentialSource::new(Some(dir.path().to_owned()));
        assert_eq!(source.load().unwrap().len(), 2);
        write(&dir.path().join("c.toml"), "[[host]]\nname = \"h\"\n", 0o600);
        let message = source.load().unwrap_err().to_string();
        assert!(
            message.contains("c.toml line 1") && message.contains("b.toml line 1"),
            "{message}"
        );
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o750)).unwrap();
        assert!(source.load().unwrap_err().to_string().contains("chmod 700"));
    }

    #[test]
    fn no_path_means_no_credentials() {
        assert!(CredentialSource::new(None).load().unwrap().is_empty());
    }
}
