//! Tells that something may have changed: by notification, by a slow poll, by our own writes.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use notify::{RecursiveMode, Watcher as _};
use tokio::sync::watch;

/// How often to look when notifications might be missing (network file systems, full queues).
const POLL: Duration = Duration::from_secs(5);
/// Notifications come in swarms: one tick for all of a swarm.
const SWARM: Duration = Duration::from_millis(40);

enum Signal {
    Now,
    After(Duration),
}

/// A counter of changes, and the thread that feeds it.
pub struct Changes {
    count: watch::Sender<u64>,
    signals: Sender<Signal>,
    /// Dropping it ends the notifications, and with them the thread.
    _watcher: Option<notify::RecommendedWatcher>,
}

impl Changes {
    /// Watches these directories (with their folders).
    pub fn watch(dirs: Vec<PathBuf>) -> Self {
        let (signals, received) = mpsc::channel();
        let count = watch::Sender::new(0);
        let watcher = notifications(&dirs, signals.clone());
        let (feed, poll) = (count.clone(), watcher.is_some());
        // The thread ends when the last sender of signals is dropped.
        let spawned = thread::Builder::new()
            .name("changes".to_owned())
            .spawn(move || run(&received, &feed, &dirs, if poll { POLL } else { POLL / 5 }));
        if let Err(error) = spawned {
            tracing::error!(%error, "can't watch directories: changes are seen only when asked for");
        }
        Self { count, signals, _watcher: watcher }
    }

    /// A receiver of the count.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.count.subscribe()
    }

    /// Counts a change of our own.
    pub fn tick(&self) {
        let _ = self.signals.send(Signal::Now);
    }

    /// Counts a change after this time: something has to be read again.
    pub fn tick_after(&self, delay: Duration) {
        let _ = self.signals.send(Signal::After(delay));
    }
}

impl std::fmt::Debug for Changes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Changes").finish_non_exhaustive()
    }
}

fn notifications(dirs: &[PathBuf], signals: Sender<Signal>) -> Option<notify::RecommendedWatcher> {
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Reading a file is told too; it is no change.
        if !event.is_ok_and(|event| event.kind.is_access()) {
            let _ = signals.send(Signal::Now);
        }
    })
    .inspect_err(|error| tracing::warn!(%error, "no file notifications: looking every second"))
    .ok()?;
    for dir in dirs {
        // A command may look before there is any state.
        if dir.exists()
            && let Err(error) = watcher.watch(dir, RecursiveMode::Recursive)
        {
            tracing::warn!(dir = %dir.display(), %error, "no notifications for this directory");
        }
    }
    Some(watcher)
}

fn run(
    signals: &mpsc::Receiver<Signal>,
    count: &watch::Sender<u64>,
    dirs: &[PathBuf],
    poll: Duration,
) {
    let mut seen = fingerprint(dirs);
    let mut due: Option<Instant> = None;
    loop {
        let wait = due.map_or(poll, |due| due.saturating_duration_since(Instant::now()).min(poll));
        match signals.recv_timeout(wait) {
            Ok(Signal::Now) => {
                let soon = Instant::now() + SWARM;
                due = Some(due.map_or(soon, |due| due.min(soon)));
            }
            Ok(Signal::After(delay)) => {
                let then = Instant::now() + delay;
                due = Some(due.map_or(then, |due| due.min(then)));
            }
            Err(RecvTimeoutError::Timeout) => {
                let now = fingerprint(dirs);
                if due.is_some_and(|due| due <= Instant::now()) || now != seen {
                    due = None;
                    count.send_modify(|count| *count += 1);
                }
                seen = now;
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Sums up names, sizes and times of the files, one level of folders deep.
fn fingerprint(dirs: &[PathBuf]) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut sum = 0u64;
    let mut waiting: Vec<(PathBuf, bool)> = dirs.iter().map(|dir| (dir.clone(), true)).collect();
    while let Some((dir, deeper)) = waiting.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() && deeper {
                waiting.push((entry.path(), false));
            }
            let mut hasher = DefaultHasher::new();
            (entry.path(), metadata.len(), metadata.mtime(), metadata.mtime_nsec(), metadata.ino())
                .hash(&mut hasher);
            // The order of a directory's entries means nothing.
            sum = sum.wrapping_add(hasher.finish());
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait_for_change(receiver: &mut watch::Receiver<u64>, limit: Duration) -> bool {
        let begin = Instant::now();
        while begin.elapsed() < limit {
            if receiver.has_changed().unwrap() {
                receiver.mark_unchanged();
                return true;
            }
            thread::sleep(Duration::from_millis(5));
        }
        false
    }

    #[test]
    fn a_new_file_our_own_write_and_a_delay_tick() {
        let dir = tempfile::tempdir().unwrap();
        let changes = Changes::watch(vec![dir.path().to_owned()]);
        let mut receiver = changes.subscribe();
        fs::write(dir.path().join("a.yaml"), "x").unwrap();
        assert!(wait_for_change(&mut receiver, Duration::from_secs(4)));
        thread::sleep(Duration::from_millis(100));
        receiver.mark_unchanged();
        changes.tick();
        assert!(wait_for_change(&mut receiver, Duration::from_secs(4)));
        changes.tick_after(Duration::from_millis(200));
        assert!(!wait_for_change(&mut receiver, Duration::from_millis(100)));
        assert!(wait_for_change(&mut receiver, Duration::from_secs(4)));
    }

    #[test]
    fn reading_is_no_change() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a.yaml"), "x").unwrap();
        let changes = Changes::watch(vec![dir.path().to_owned()]);
        let mut receiver = changes.subscribe();
        fs::read(dir.path().join("a.yaml")).unwrap();
        fs::read_dir(dir.path()).unwrap().count();
        assert!(!wait_for_change(&mut receiver, Duration::from_millis(300)));
    }
}
