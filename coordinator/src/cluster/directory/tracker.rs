//! Tells "gone" from "gone for a moment". Pure: time comes in as a value.
//!
//! An object is gone when two reads at least [`GRACE`] apart miss it and the file that it stood in
//! was readable (or removed) all the while. Until then what it said last holds. A directory that
//! held several files and holds none now was more likely unmounted than emptied: nothing is gone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::manifest::Manifest;
use super::scan::Scan;
use crate::cluster::kind::ObjectId;

/// How long an object must be missing.
pub const GRACE: Duration = Duration::from_secs(1);

/// What is known of the objects of earlier reads.
#[derive(Debug, Default)]
pub struct Tracker {
    known: BTreeMap<ObjectId, Known>,
}

#[derive(Debug)]
struct Known {
    manifest: Arc<Manifest>,
    /// When a read missed it for the first time in a row.
    missed: Option<Duration>,
}

/// The objects as they count now.
#[derive(Debug, Default)]
pub struct View {
    pub manifests: BTreeMap<ObjectId, Arc<Manifest>>,
    /// Surely gone since the last read.
    pub gone: Vec<Arc<Manifest>>,
    /// Something is missing but not surely gone: read again after [`GRACE`].
    pub pending: bool,
    /// All files went at once: what they said last holds.
    pub vanished: bool,
}

impl Tracker {
    /// Makes an object known that an earlier process saw.
    pub fn remember(&mut self, manifest: Arc<Manifest>) {
        self.known.entry(manifest.id.clone()).or_insert(Known { manifest, missed: None });
    }

    /// Takes a new read at `now`, any clock that only goes forward.
    pub fn observe(&mut self, scan: &Scan, now: Duration) -> View {
        let vanished = scan.files == 0 && self.files() > 1;
        let mut view = View { pending: scan.unsettled, vanished, ..View::default() };
        for (id, manifest) in &scan.manifests {
            let known = Known { manifest: Arc::clone(manifest), missed: None };
            self.known.insert(id.clone(), known);
        }
        self.known.retain(|id, known| {
            if !scan.manifests.contains_key(id) {
                if vanished || scan.troubled.contains(&known.manifest.place.file) {
                    known.missed = None;
                } else {
                    let since = *known.missed.get_or_insert(now);
                    if now.saturating_sub(since) >= GRACE {
                        view.gone.push(Arc::clone(&known.manifest));
                        return false;
                    }
                    view.pending = true;
                }
            }
            view.manifests.insert(id.clone(), Arc::clone(&known.manifest));
            true
        });
        view
    }

    /// In how many files the known objects stood.
    fn files(&self) -> usize {
        let files: BTreeSet<&str> =
            self.known.values().map(|known| known.manifest.place.file.as_str()).collect();
        files.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::manifest;
    use super::*;

    fn scan(files: &[(&str, &[&str])], troubled: &[&str]) -> Scan {
        let mut scan = Scan { files: files.len(), ..Scan::default() };
        for (file, names) in files {
            for name in *names {
                let text = format!(
                    "apiVersion: bpa.akraino.org/v1alpha1\nkind: Site\nmetadata: {{name: {name}}}\n"
                );
                for m in manifest::parse(file, &text).manifests {
                    scan.manifests.insert(m.id.clone(), Arc::new(m));
                }
            }
        }
        scan.troubled = troubled.iter().map(|&file| file.to_owned()).collect();
        scan
    }

    fn at(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn an_object_is_gone_when_two_reads_a_second_apart_miss_it() {
        let mut tracker = Tracker::default();
        tracker.observe(&scan(&[("a.yaml", &["a", "b"])], &[]), at(0));
        let view = tracker.observe(&scan(&[("a.yaml", &["a"])], &[]), at(5000));
        assert!(view.pending && view.gone.is_empty() && view.manifests.len() == 2);
        let view = tracker.observe(&scan(&[("a.yaml", &["a"])], &[]), at(5999));
        assert!(view.pending && view.gone.is_empty());
        let view = tracker.observe(&scan(&[("a.yaml", &["a"])], &[]), at(6000));
        assert_eq!(view.gone.len(), 1);
        assert!(!view.pending && view.manifests.len() == 1);
    }

    #[test]
    fn coming_back_in_between_starts_the_count_again() {
        let mut tracker = Tracker::default();
        let (there, empty) = (scan(&[("a.yaml", &["a"])], &[]), scan(&[], &[]));
        tracker.observe(&there, at(0));
        tracker.observe(&empty, at(100));
        tracker.observe(&there, at(600));
        assert!(tracker.observe(&empty, at(1200)).gone.is_empty());
        assert!(tracker.observe(&empty, at(2100)).gone.is_empty());
        assert_eq!(tracker.observe(&empty, at(2200)).gone.len(), 1);
    }

    #[test]
    fn what_stood_in_a_file_that_cannot_be_read_now_is_not_gone() {
        let mut tracker = Tracker::default();
        tracker.observe(&scan(&[("a.yaml", &["a"])], &[]), at(0));
        for time in [1000, 5000, 60_000] {
            let view = tracker.observe(&scan(&[], &["a.yaml"]), at(time));
            assert!(view.gone.is_empty() && view.manifests.len() == 1 && !view.pending);
        }
    }

    #[test]
    fn an_object_moved_to_another_file_is_not_gone() {
        let mut tracker = Tracker::default();
        tracker.observe(&scan(&[("a.yaml", &["a"])], &[]), at(0));
        tracker.observe(&scan(&[("b.yaml", &["a"])], &[]), at(10));
        let view = tracker.observe(&scan(&[("b.yaml", &["a"])], &["a.yaml"]), at(5000));
        assert_eq!(view.manifests.len(), 1);
        assert!(view.gone.is_empty());
    }

    #[test]
    fn a_directory_that_lost_all_its_files_at_once_deletes_nothing() {
        let mut tracker = Tracker::default();
        tracker.observe(&scan(&[("a.yaml", &["a"]), ("b.yaml", &["b"])], &[]), at(0));
        for time in [1000, 9000] {
            let view = tracker.observe(&scan(&[], &[]), at(time));
            assert!(view.vanished && view.gone.is_empty() && view.manifests.len() == 2);
        }
        let one_empty_file = scan(&[("c.yaml", &[])], &[]);
        tracker.observe(&one_empty_file, at(10_000));
        assert_eq!(tracker.observe(&one_empty_file, at(11_000)).gone.len(), 2);
    }

    proptest! {
        /// Whatever the reads say: nothing is gone that a read saw less than the grace ago.
        #[test]
        fn nothing_seen_lately_is_gone(reads in proptest::collection::vec((any::<bool>(), 0u64..700), 1..30)) {
            let mut tracker = Tracker::default();
            let (mut now, mut seen) = (0, None);
            for (there, step) in reads {
                now += step;
                let scan = if there { scan(&[("a.yaml", &["a"])], &[]) } else { scan(&[], &[]) };
                if there { seen = Some(now); }
                let view = tracker.observe(&scan, at(now));
                if !view.gone.is_empty() {
                    let last = seen.take().unwrap();
                    prop_assert!(now - last >= 1000);
                }
                prop_assert_eq!(view.manifests.len(), usize::from(seen.is_some()));
            }
        }
    }
}
