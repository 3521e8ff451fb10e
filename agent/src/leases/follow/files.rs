//! The files of a source, opened and read as one consistent set.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::leases::kind::SourceKind;

/// What tells one state of a file from another. networkd's replaced files keep their inode number,
/// so the number alone says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    device: u64,
    inode: u64,
    pub size: u64,
    modified: (i64, i64),
}

impl Stamp {
    fn of(meta: &std::fs::Metadata) -> Self {
        Self {
            device: meta.dev(),
            inode: meta.ino(),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
        }
    }

    /// Seconds since 1970 of the last change.
    pub fn written(&self) -> i64 {
        self.modified.0
    }
}

/// One reading of a source: its files in reading order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    pub parts: Vec<Vec<u8>>,
    pub stamps: Vec<Stamp>,
    /// False when a file changed while it was read.
    pub settled: bool,
}

/// Why the files can't be read now.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("{} does not exist; is the path right, and has the DHCP server been started?", path.display())]
    Missing { path: PathBuf },
    #[error("{} is not a file; name the lease file itself", path.display())]
    NotAFile { path: PathBuf },
    #[error("{} may not be read by this service; add its user to the group of the file, or give it read permission", path.display())]
    Forbidden { path: PathBuf },
    #[error("{} holds {size} bytes and at most {limit} are read; let the server clean up its leases", path.display())]
    TooLarge { path: PathBuf, size: u64, limit: usize },
    #[error("can't read {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("the files beside {} are replaced all the time; they are read again soon", path.display())]
    Restless { path: PathBuf },
}

/// How often a set of files that changes under the reader is opened again.
const ATTEMPTS: usize = 5;

/// The stamps of a source's files as they are now, in reading order.
pub fn stamps(kind: SourceKind, path: &Path) -> Result<Vec<Stamp>, ReadError> {
    set(kind, path)
        .iter()
        .map(|file| match std::fs::metadata(file) {
            Ok(meta) => Ok(Stamp::of(&meta)),
            Err(source) => Err(error(file, source)),
        })
        .collect()
}

/// Reads all files of a source. At most `limit` bytes in all.
pub fn read(kind: SourceKind, path: &Path, limit: usize) -> Result<Reading, ReadError> {
    for _ in 0..ATTEMPTS {
        let names = set(kind, path);
        let mut open = Vec::with_capacity(names.len());
        for name in &names {
            match open_file(name) {
                Ok(file) => open.push(file),
                // Renamed between the look and the opening; the current file must be there.
                Err(ReadError::Missing { .. }) if name != path => break,
                Err(error) => return Err(error),
            }
        }
        // Only if the same files still stand under the same names do they belong together.
        if open.len() == names.len() && same_files(&names, &open, kind, path) {
            return contents(&names, open, limit);
        }
    }
    Err(ReadError::Restless { path: path.to_owned() })
}

/// The names of a source's files, in reading order. Only Kea has more than one: while it cleans up,
/// what came before the current file is in `.completed`, else in `.2` and then `.1`.
fn set(kind: SourceKind, path: &Path) -> Vec<PathBuf> {
    if kind != SourceKind::Kea {
        return vec![path.to_owned()];
    }
    let beside = |suffix: &str| {
        let mut name = OsString::from(path);
        name.push(suffix);
        Some(PathBuf::from(name)).filter(|p| p.is_file())
    };
    let older = match beside(".completed") {
        Some(completed) => vec![completed],
        None => [beside(".2"), beside(".1")].into_iter().flatten().collect(),
    };
    older.into_iter().chain([path.to_owned()]).collect()
}

fn open_file(path: &Path) -> Result<(File, Stamp), ReadError> {
    // Looked at before it is opened: to open a FIFO would block.
    let meta = std::fs::metadata(path).map_err(|source| error(path, source))?;
    if !meta.is_file() {
        return Err(ReadError::NotAFile { path: path.to_owned() });
    }
    let file = File::open(path).map_err(|source| error(path, source))?;
    let meta = file.metadata().map_err(|source| error(path, source))?;
    Ok((file, Stamp::of(&meta)))
}

fn same_files(names: &[PathBuf], open: &[(File, Stamp)], kind: SourceKind, path: &Path) -> bool {
    let same = |name: &PathBuf, stamp: &Stamp| {
        std::fs::metadata(name)
            .is_ok_and(|meta| (meta.dev(), meta.ino()) == (stamp.device, stamp.inode))
    };
    set(kind, path) == names && names.iter().zip(open).all(|(name, (_, stamp))| same(name, stamp))
}

fn contents(
    names: &[PathBuf],
    open: Vec<(File, Stamp)>,
    limit: usize,
) -> Result<Reading, ReadError> {
    let mut reading = Reading { parts: Vec::new(), stamps: Vec::new(), settled: true };
    let mut left = limit as u64;
    for (name, (file, stamp)) in names.iter().zip(open) {
        let mut bytes = Vec::with_capacity(stamp.size.min(left) as usize);
        let io = |source| error(name, source);
        (&file).take(left + 1).read_to_end(&mut bytes).map_err(io)?;
        if bytes.len() as u64 > left {
            return Err(ReadError::TooLarge { path: name.clone(), size: stamp.size, limit });
        }
        left -= bytes.len() as u64;
        let after = Stamp::of(&file.metadata().map_err(io)?);
        reading.settled &= after == stamp && bytes.len() as u64 == stamp.size;
        reading.parts.push(bytes);
        reading.stamps.push(stamp);
    }
    Ok(reading)
}

fn error(path: &Path, source: io::Error) -> ReadError {
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => ReadError::Missing { path },
        io::ErrorKind::PermissionDenied => ReadError::Forbidden { path },
        io::ErrorKind::IsADirectory => ReadError::NotAFile { path },
        _ => ReadError::Io { path, source },
    }
}
