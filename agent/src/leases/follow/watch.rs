//! Tells that something happened to a followed file. Folders are watched, not files: a server may
//! replace its file. What is missed here, the slow poll finds.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use notify::event::{AccessKind, AccessMode};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;

/// Watches the folders of some files.
pub struct Watch {
    /// None where the system has no watches left: then only the poll looks.
    watcher: Option<RecommendedWatcher>,
    folders: HashMap<PathBuf, Option<Identity>>,
}

/// Tells a folder from one that replaced it. File systems give a new folder the inode number of
/// the one that went, so the time of birth is part of it (where the file system has one).
#[derive(Clone, Copy, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    born: Option<SystemTime>,
}

impl Identity {
    fn of(meta: &Metadata) -> Self {
        Self { device: meta.dev(), inode: meta.ino(), born: meta.created().ok() }
    }
}

impl Watch {
    /// Watches the folders of these files, and of the files that they are links to.
    pub fn new(files: &[PathBuf], wake: Arc<Notify>) -> Self {
        let resolved = files.iter().filter_map(|f| f.canonicalize().ok());
        let all: Vec<PathBuf> = files.iter().cloned().chain(resolved).collect();
        let names: Vec<OsString> =
            all.iter().filter_map(|f| f.file_name().map(OsString::from)).collect();
        let heard = move |event: notify::Result<notify::Event>| {
            if event.map_or(true, |event| concerns(&event, &names)) {
                wake.notify_one();
            }
        };
        let watcher = notify::recommended_watcher(heard)
            .inspect_err(|error| tracing::warn!(%error, "lease files are polled: no file watch"))
            .ok();
        let folders = all.iter().map(|f| (folder(f), None)).collect();
        let mut watch = Self { watcher, folders };
        watch.refresh();
        watch
    }

    /// Watches folders that have come since, or were replaced.
    pub fn refresh(&mut self) {
        let Some(watcher) = &mut self.watcher else { return };
        for (folder, watched) in &mut self.folders {
            let now = std::fs::metadata(folder).ok().map(|meta| Identity::of(&meta));
            if now == *watched {
                continue;
            }
            if watched.take().is_some() {
                // The watch may have gone with the old folder; that is no failure.
                let _ = watcher.unwatch(folder);
            }
            if now.is_some() && watcher.watch(folder, RecursiveMode::NonRecursive).is_ok() {
                *watched = now;
            }
        }
    }
}

fn folder(file: &Path) -> PathBuf {
    match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Our own reading makes events too; they must not wake us, or we would never sleep again.
fn concerns(event: &notify::Event, names: &[OsString]) -> bool {
    if event.need_rescan() {
        return true;
    }
    match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => {}
        EventKind::Access(_) => return false,
        _ => {}
    }
    // Kea's and dhcpd's other files begin with the name of the lease file.
    let ours = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().as_bytes();
        names.iter().any(|wanted| name.starts_with(wanted.as_bytes()))
    };
    event.paths.is_empty() || event.paths.iter().any(ours)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    async fn woken(wake: &Notify) -> bool {
        tokio::time::timeout(Duration::from_millis(400), wake.notified()).await.is_ok()
    }

    #[tokio::test]
    async fn writing_and_replacing_wake_but_reading_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("leases");
        std::fs::write(&file, "a").unwrap();
        let wake = Arc::new(Notify::new());
        let mut watch = Watch::new(std::slice::from_ref(&file), wake.clone());
        assert!(!woken(&wake).await, "nothing happened");
        for _ in 0..3 {
            std::fs::read(&file).unwrap();
            std::fs::metadata(&file).unwrap();
        }
        assert!(!woken(&wake).await, "our own reading must not wake us");
        std::fs::write(folder.path().join("other"), "b").unwrap();
        assert!(!woken(&wake).await, "another file is not ours");
        std::fs::write(&file, "b").unwrap();
        assert!(woken(&wake).await);
        while woken(&wake).await {}
        std::fs::write(folder.path().join("leases.new"), "c").unwrap();
        std::fs::rename(folder.path().join("leases.new"), &file).unwrap();
        assert!(woken(&wake).await);
        while woken(&wake).await {}
        // The folder is another one now: found by the next refresh.
        std::fs::remove_dir_all(folder.path()).unwrap();
        std::fs::create_dir(folder.path()).unwrap();
        while woken(&wake).await {}
        watch.refresh();
        std::fs::write(&file, "d").unwrap();
        assert!(woken(&wake).await);
    }

    #[test]
    fn a_lost_event_wakes() {
        let rescan = notify::Event::new(EventKind::Other).set_flag(notify::event::Flag::Rescan);
        assert!(concerns(&rescan, &[]));
    }
}
