//! Reads the objects directory: every manifest file, one level of folders deep, with a cache.
//!
//! A file that changed a moment ago is not believed yet (an editor may still be writing it): what it
//! said before holds until it rests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::manifest::{self, MAX_FILE, Manifest, Parsed};
use crate::cluster::files;
use crate::cluster::kind::ObjectId;
use crate::cluster::neighbours::Neighbour;
use crate::cluster::port::{ObjectProblem, WorldError};

/// Most files that are read.
const MAX_FILES: usize = 20_000;
/// Most objects that are kept.
pub const MAX_OBJECTS: usize = 100_000;
/// A change younger than this may be followed by another within the clock tick of the file system.
const RACY: Duration = Duration::from_secs(2);

/// What the objects directory says now.
#[derive(Debug, Default)]
pub struct Scan {
    pub manifests: BTreeMap<ObjectId, Arc<Manifest>>,
    pub problems: Vec<ObjectProblem>,
    /// What objects of others say about hosts.
    pub neighbours: Vec<Neighbour>,
    /// Files of which something could not be read: what they held before is not gone.
    pub troubled: BTreeSet<String>,
    /// A file has not come to rest: look again soon.
    pub unsettled: bool,
    /// Number of manifest files.
    pub files: usize,
}

/// Reads the directory again and again, parsing only what changed.
#[derive(Debug)]
pub struct Scanner {
    root: PathBuf,
    /// How long a file must rest before it is believed.
    settle: Duration,
    cache: BTreeMap<String, Cached>,
}

#[derive(Debug)]
struct Cached {
    stamp: Stamp,
    /// The file was read soon after its change: the same stamp may hide another change.
    racy: bool,
    parsed: Arc<Parsed>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    size: u64,
    seconds: i64,
    nanoseconds: i64,
}

impl Scanner {
    /// A scanner of this directory.
    pub fn new(root: PathBuf, settle: Duration) -> Self {
        Self { root, settle, cache: BTreeMap::new() }
    }

    /// Reads what is there.
    ///
    /// # Errors
    /// When the directory itself can't be read: that is never taken for "all objects are gone".
    pub fn scan(&mut self, now: SystemTime) -> Result<Scan, WorldError> {
        let paths = list(&self.root)?;
        let mut scan = Scan { files: paths.len(), ..Scan::default() };
        if paths.len() > MAX_FILES {
            let message = format!(
                "more than {MAX_FILES} manifest files; put objects together in fewer files"
            );
            scan.problems.push(file_problem("the objects directory", message));
        }
        let mut parsed = BTreeMap::new();
        for (name, path) in paths.into_iter().take(MAX_FILES) {
            match self.read(&name, &path, now, &mut scan.unsettled) {
                Ok(Some(content)) => {
                    parsed.insert(name, content);
                }
                Ok(None) => {}
                Err(error) => {
                    let message = format!("can't be read: {error}; check its mode and owner");
                    scan.problems.push(file_problem(&name, message));
                    scan.troubled.insert(name);
                }
            }
        }
        self.cache.retain(|name, _| parsed.contains_key(name));
        collect(&mut scan, &parsed);
        Ok(scan)
    }

    fn read(
        &mut self,
        name: &str,
        path: &Path,
        now: SystemTime,
        unsettled: &mut bool,
    ) -> io::Result<Option<Arc<Parsed>>> {
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let stamp = Stamp {
            inode: metadata.ino(),
            size: metadata.size(),
            seconds: metadata.mtime(),
            nanoseconds: metadata.mtime_nsec(),
        };
        // A time in the future is a wrong clock, not a file that is being written.
        let age = metadata.modified().ok().and_then(|time| now.duration_since(time).ok());
        let cached = self.cache.get(name);
        if let Some(cached) = cached.filter(|cached| cached.stamp == stamp && !cached.racy) {
            return Ok(Some(Arc::clone(&cached.parsed)));
        }
        if age.is_some_and(|age| age < self.settle) {
            *unsettled = true;
            return Ok(cached.map(|cached| Arc::clone(&cached.parsed)));
        }
        let Some(bytes) = files::read_limited(path, MAX_FILE)? else { return Ok(None) };
        let text = String::from_utf8(bytes)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))?;
        let parsed = Arc::new(manifest::parse(name, &text));
        let racy = age.is_some_and(|age| age < RACY);
        self.cache.insert(name.to_owned(), Cached { stamp, racy, parsed: Arc::clone(&parsed) });
        Ok(Some(parsed))
    }
}

/// Puts the files together: one object stands in one place.
fn collect(scan: &mut Scan, files: &BTreeMap<String, Arc<Parsed>>) {
    let mut places: BTreeMap<&ObjectId, Vec<&Manifest>> = BTreeMap::new();
    for (name, parsed) in files {
        if !parsed.problems.is_empty() {
            scan.troubled.insert(name.clone());
            scan.problems.extend(parsed.problems.iter().cloned());
        }
        scan.neighbours.extend(parsed.neighbours.iter().cloned());
        for manifest in &parsed.manifests {
            places.entry(&manifest.id).or_default().push(manifest);
        }
    }
    if places.len() > MAX_OBJECTS {
        let message = format!("more than {MAX_OBJECTS} objects; the rest is not read");
        scan.problems.push(file_problem("the objects directory", message));
    }
    for (id, manifests) in places.into_iter().take(MAX_OBJECTS) {
        match manifests.as_slice() {
            [only] => {
                scan.manifests.insert(id.clone(), Arc::new((*only).clone()));
            }
            several => {
                let list: Vec<String> = several.iter().map(|m| m.place.to_string()).collect();
                let message = format!(
                    "this object stands in {} places ({}); none of them is used until only one is left",
                    list.len(),
                    list.join("; ")
                );
                scan.problems.push(manifest::problem(&several[0].place, Some(id.clone()), message));
                scan.troubled.extend(several.iter().map(|m| m.place.file.clone()));
            }
        }
    }
}

fn file_problem(name: &str, message: String) -> ObjectProblem {
    ObjectProblem {
        place: name.escape_debug().to_string(),
        kind: String::new(),
        key: None,
        message,
    }
}

/// Manifest files by name relative to `root`, folders one level deep.
///
/// # Errors
/// When a directory can't be read.
pub fn list(root: &Path) -> Result<BTreeMap<String, PathBuf>, WorldError> {
    let mut found = BTreeMap::new();
    for (name, path) in entries(root)? {
        if path.is_dir() {
            for (inner, path) in entries(&path)? {
                if is_manifest(&inner) && !path.is_dir() {
                    found.insert(format!("{name}/{inner}"), path);
                }
            }
        } else if is_manifest(&name) {
            found.insert(name, path);
        }
    }
    Ok(found)
}

fn entries(dir: &Path) -> Result<Vec<(String, PathBuf)>, WorldError> {
    let path = dir.display().to_string();
    let problem = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => WorldError::NoObjects { path: path.clone() },
        _ => WorldError::Io { action: "read the objects directory", path: path.clone(), source },
    };
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(problem)? {
        let entry = entry.map_err(problem)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // Editors' swap files and files written aside begin with a dot.
        if !name.starts_with('.') {
            found.push((name, entry.path()));
        }
    }
    Ok(found)
}

fn is_manifest(name: &str) -> bool {
    [".yaml", ".yml", ".json"].iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;
