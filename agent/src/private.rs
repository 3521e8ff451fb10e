//! Files that only the agent may read, written so that nobody ever sees half of one.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::Path;

/// Makes a directory, and its parents, that only the agent may enter (0700).
///
/// # Errors
/// When it can't be made, or can't be closed to others.
pub fn make_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    if fs::metadata(path)?.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Replaces a file as a whole (0600): after a crash there is the old content or the new one.
///
/// # Errors
/// When it can't be written; the old content stays then.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let aside = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let written = write_aside(&aside, content).and_then(|()| fs::rename(&aside, path));
    if written.is_err() {
        let _ = fs::remove_file(&aside);
    }
    written?;
    // The new name lasts only once the directory is on the disk.
    File::open(room_of(path))?.sync_all()
}

/// Opens a file to lock it, and makes it when there is none.
///
/// # Errors
/// When it can't be opened.
pub fn open_lock(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(false).mode(0o600).open(path)?;
    give_to_owner(&file, path)?;
    Ok(file)
}

fn write_aside(aside: &Path, content: &[u8]) -> io::Result<()> {
    // What an earlier crash left must not lend its mode to the new file.
    match fs::remove_file(aside) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(aside)?;
    give_to_owner(&file, aside)?;
    file.write_all(content)?;
    file.sync_all()
}

/// A file in the agent's directory is the agent's, though root wrote it on the command line.
fn give_to_owner(file: &File, path: &Path) -> io::Result<()> {
    let room = fs::metadata(room_of(path))?;
    let us = rustix::process::geteuid();
    if us.is_root() && room.uid() != us.as_raw() {
        fchown(file, Some(room.uid()), Some(room.gid()))?;
    }
    Ok(())
}

fn room_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::chown;

    use super::*;

    #[test]
    fn a_file_is_private_and_replaced_whole() {
        let dir = tempfile::tempdir().unwrap();
        let room = dir.path().join("a/b");
        make_dir(&room).unwrap();
        let path = room.join("pins.json");
        fs::write(&path, "open to all").unwrap();
        write(&path, b"mine").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"mine");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(&room).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(fs::read_dir(&room).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn a_directory_that_stood_open_is_closed() {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        make_dir(dir.path()).unwrap();
        assert_eq!(fs::metadata(dir.path()).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn what_root_writes_in_the_agents_directory_is_the_agents() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        chown(dir.path(), Some(4242), Some(4243)).unwrap();
        let path = dir.path().join("pins.json");
        write(&path, b"x").unwrap();
        let owner = |path: &Path| {
            let metadata = fs::metadata(path).unwrap();
            (metadata.uid(), metadata.gid())
        };
        assert_eq!(owner(&path), (4242, 4243));
        drop(open_lock(&dir.path().join("lock")).unwrap());
        assert_eq!(owner(&dir.path().join("lock")), (4242, 4243));
    }
}
