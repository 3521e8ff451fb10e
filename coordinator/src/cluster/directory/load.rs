//! Manifests from given files, without an objects directory and without state (`plan`, `apply`).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::Value;

use super::assemble::{self, Merged};
use super::ledger::Ledger;
use super::manifest::{self, Manifest, Parsed};
use super::scan;
use super::state::io_error;
use crate::cluster::files;
use crate::cluster::kind::ObjectId;
use crate::cluster::neighbours::Neighbour;
use crate::cluster::port::{ObjectProblem, Snapshot, WorldError};

/// What given files hold.
#[derive(Debug, Default)]
pub struct Loaded {
    manifests: Vec<Manifest>,
    /// Documents that can't be used.
    pub problems: Vec<ObjectProblem>,
    /// What objects of others say about hosts.
    pub neighbours: Vec<Neighbour>,
    /// Documents of kinds that are not ours.
    pub ignored: usize,
    /// Objects whose documents name no namespace.
    pub unplaced: BTreeSet<ObjectId>,
}

/// Reads these files; a directory stands for the manifests in it.
///
/// # Errors
/// When a file can't be read at all.
pub fn load_files(paths: &[PathBuf]) -> Result<Loaded, WorldError> {
    let mut loaded = Loaded::default();
    for path in paths {
        if path.is_dir() {
            for (name, inner) in scan::list(path)? {
                loaded.add(&path.join(name).display().to_string(), &inner)?;
            }
        } else {
            loaded.add(&path.display().to_string(), path)?;
        }
    }
    loaded.mark_duplicates();
    Ok(loaded)
}

/// Reads manifests from a text, such as standard input.
pub fn load_text(name: &str, text: &str) -> Loaded {
    let mut loaded = Loaded::default();
    loaded.take(manifest::parse(name, text));
    loaded.mark_duplicates();
    loaded
}

impl Loaded {
    /// Puts what another source holds to this.
    pub fn merge(&mut self, other: Self) {
        self.manifests.extend(other.manifests);
        self.problems.extend(other.problems);
        self.neighbours.extend(other.neighbours);
        self.ignored += other.ignored;
        self.unplaced.extend(other.unplaced);
        self.mark_duplicates();
    }

    fn add(&mut self, name: &str, path: &Path) -> Result<(), WorldError> {
        let problem = |source| io_error("read", path, source);
        let bytes = files::read_limited(path, manifest::MAX_FILE).map_err(problem)?;
        let bytes = bytes.ok_or_else(|| {
            problem(std::io::Error::new(std::io::ErrorKind::NotFound, "there is no such file"))
        })?;
        let text = String::from_utf8(bytes).map_err(|_| {
            problem(std::io::Error::new(std::io::ErrorKind::InvalidData, "it is not UTF-8 text"))
        })?;
        self.take(manifest::parse(name, &text));
        Ok(())
    }

    fn take(&mut self, parsed: Parsed) {
        self.problems.extend(parsed.problems);
        self.neighbours.extend(parsed.neighbours);
        self.ignored += parsed.ignored;
        self.unplaced.extend(parsed.unplaced);
        for manifest in parsed.manifests {
            match assemble::check(&merged(&manifest)) {
                Ok(()) => self.manifests.push(manifest),
                Err(problem) => self.problems.push(problem),
            }
        }
    }

    /// One object twice: neither can be meant.
    fn mark_duplicates(&mut self) {
        self.manifests.sort_by(|a, b| (&a.id, &a.place).cmp(&(&b.id, &b.place)));
        let twice: Vec<ObjectId> = self
            .manifests
            .windows(2)
            .filter(|pair| pair[0].id == pair[1].id)
            .map(|pair| pair[1].id.clone())
            .collect();
        for id in &twice {
            let places: Vec<_> = self.manifests.iter().filter(|m| m.id == *id).collect();
            let list: Vec<String> = places.iter().map(|m| m.place.to_string()).collect();
            if let Some(first) = places.first() {
                let message = format!(
                    "this object stands in {} places ({}); leave only one",
                    list.len(),
                    list.join("; ")
                );
                self.problems.push(manifest::problem(&first.place, Some(id.clone()), message));
            }
            self.manifests.retain(|m| m.id != *id);
        }
    }

    /// The objects that are good, in the order of kind and name.
    pub fn objects(&self) -> impl Iterator<Item = (&ObjectId, &Value)> {
        self.manifests.iter().map(|manifest| (&manifest.id, &manifest.value))
    }

    /// All of it as a snapshot, as if the files were a world of their own.
    pub fn snapshot(&self, now: Timestamp) -> Snapshot {
        let mut ledger = Ledger::default();
        let complete = |manifest: &Manifest| {
            let mut merged = merged(manifest);
            ledger.complete(&manifest.id, &mut merged.value, now);
            merged
        };
        let objects = self.manifests.iter().map(complete).collect();
        let mut snapshot = assemble::snapshot(objects, self.problems.clone());
        self.neighbours.iter().cloned().for_each(|found| snapshot.put_neighbour(found));
        snapshot
    }
}

fn merged(manifest: &Manifest) -> Merged {
    Merged { id: manifest.id.clone(), place: manifest.place.clone(), value: manifest.value.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITE: &str = "apiVersion: bpa.akraino.org/v1alpha1\nkind: Site\nmetadata: {name: a}\n";

    #[test]
    fn files_and_directories_make_one_snapshot() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a.yaml"), SITE).unwrap();
        std::fs::write(dir.path().join("b.yaml"), SITE.replace("name: a", "name: b")).unwrap();
        let loaded = load_files(&[dir.path().to_owned()]).unwrap();
        let snapshot = loaded.snapshot(Timestamp::UNIX_EPOCH);
        assert_eq!(snapshot.sites.len(), 2);
        assert!(!snapshot.sites[0].metadata.uid.is_empty());
        let error = load_files(&[dir.path().join("none.yaml")]).unwrap_err().to_string();
        assert!(error.contains("none.yaml"), "{error}");
    }

    #[test]
    fn an_object_given_twice_is_used_from_neither_place() {
        let loaded = load_text(
            "-",
            &format!("{SITE}---\n{SITE}---\n{}", SITE.replace("name: a", "name: b")),
        );
        let names: Vec<String> = loaded.objects().map(|(id, _)| id.key.name.clone()).collect();
        assert_eq!(names, ["b"]);
        assert!(loaded.problems[0].message.contains("2 places"), "{:?}", loaded.problems);
    }

    #[test]
    fn an_object_that_does_not_fit_its_type_is_a_problem() {
        let loaded = load_text("-", &format!("{SITE}spec: {{approved: perhaps}}\n"));
        assert_eq!((loaded.objects().count(), loaded.problems.len()), (0, 1));
        assert!(loaded.problems[0].message.contains("spec.approved"), "{:?}", loaded.problems);
    }
}
