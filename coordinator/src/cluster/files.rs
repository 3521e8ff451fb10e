//! Private files, written so that a reader never sees a torn one.
//!
//! A file is written aside (mode 0600), flushed to the disk, and renamed over the old one; then the
//! directory is flushed too. After a crash there is the old content or the new one.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Names of files that are being written begin with this; readers skip them.
pub const ASIDE: &str = ".new-";

/// Makes a directory (and its parents) that only this user may enter.
///
/// # Errors
/// When it can't be made, or when its mode can't be set.
pub fn private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let mode = fs::metadata(path)?.permissions().mode();
    if mode & 0o077 != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Writes a whole file, private to this user.
///
/// # Errors
/// When writing, flushing or renaming fails; the old content is untouched then.
pub fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    write_with_mode(path, content, 0o600)
}

/// Writes a whole file with this mode (for files that are meant for others too).
///
/// # Errors
/// As [`write_private`].
pub fn write_with_mode(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let aside = write_aside(path, content, mode)?;
    fs::rename(&aside, path).inspect_err(|_| drop(fs::remove_file(&aside)))?;
    sync_parent(path)
}

/// Writes a whole file unless one of this name exists; says whether it was written.
///
/// # Errors
/// As [`write_private`].
pub fn create_private(path: &Path, content: &[u8]) -> io::Result<bool> {
    let aside = write_aside(path, content, 0o600)?;
    // A link fails when the name is taken: unlike a rename it can't replace what another wrote.
    let linked = fs::hard_link(&aside, path);
    let removed = fs::remove_file(&aside);
    match linked {
        Ok(()) => {
            removed?;
            sync_parent(path)?;
            Ok(true)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// Reads a file of at most `limit` bytes; none when there is none.
///
/// # Errors
/// When it can't be read or is larger.
pub fn read_limited(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut content = Vec::new();
    file.take(limit + 1).read_to_end(&mut content)?;
    if content.len() as u64 > limit {
        let message = format!("larger than {limit} bytes, the most that is read");
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    Ok(Some(content))
}

/// Removes a file; one that is gone already is no error.
///
/// # Errors
/// When it is there and can't be removed.
pub fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Ok(()) => sync_parent(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn write_aside(path: &Path, content: &[u8], mode: u32) -> io::Result<PathBuf> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let aside = path.with_file_name(format!("{ASIDE}{}-{count}", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(mode);
    let written = options.open(&aside).and_then(|mut file| {
        file.write_all(content)?;
        file.sync_all()
    });
    written.inspect_err(|_| drop(fs::remove_file(&aside)))?;
    Ok(aside)
}

/// A rename lasts only once the directory is on the disk.
fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => File::open(parent)?.sync_all(),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_private_whole_and_replaced_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("a/b");
        private_dir(&inner).unwrap();
        assert_eq!(fs::metadata(&inner).unwrap().permissions().mode() & 0o777, 0o700);
        let path = inner.join("x.json");
        write_private(&path, b"one").unwrap();
        write_private(&path, b"two").unwrap();
        assert_eq!(read_limited(&path, 10).unwrap().unwrap(), b"two");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(&inner).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn a_directory_that_was_open_to_others_is_closed() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("open");
        fs::create_dir(&inner).unwrap();
        fs::set_permissions(&inner, fs::Permissions::from_mode(0o755)).unwrap();
        private_dir(&inner).unwrap();
        assert_eq!(fs::metadata(&inner).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn only_the_first_of_two_creators_writes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("once");
        assert!(create_private(&path, b"first").unwrap());
        assert!(!create_private(&path, b"second").unwrap());
        assert_eq!(read_limited(&path, 10).unwrap().unwrap(), b"first");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn limits_and_missing_files_are_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("big");
        assert_eq!(read_limited(&path, 3).unwrap(), None);
        write_private(&path, b"four").unwrap();
        assert_eq!(read_limited(&path, 3).unwrap_err().kind(), io::ErrorKind::InvalidData);
        remove(&path).unwrap();
        remove(&path).unwrap();
    }
}
