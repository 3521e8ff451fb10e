//! The agent's side: start a supervisor, find one that lives, learn how it ended.

use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;
use rustix::process::Signal;

use super::files::{self, Exit, Job, Started};
use crate::private;

/// How long a supervisor may take until its program runs.
const START: Duration = Duration::from_secs(20);
/// How often the end of a playbook is looked for.
const LOOK: Duration = Duration::from_millis(50);
/// How often it is made sure that the supervisor still lives (every so many looks).
const LIVENESS: u32 = 40;

/// Why a supervisor can't be used.
#[derive(Debug, thiserror::Error)]
pub enum SupervisorError {
    #[error("can't {what} {}: {source}", path.display())]
    File { what: &'static str, path: PathBuf, source: io::Error },
    #[error("can't start the supervisor {}: {source}", program.display())]
    Spawn { program: PathBuf, source: io::Error },
    #[error("another playbook of this run is at work")]
    AlreadyRunning,
    #[error("the supervisor did not start its program within {} s; see {}", START.as_secs(), log.display())]
    Silent { log: PathBuf },
    #[error("the supervisor ended without saying how its program ended")]
    Lost,
}

/// What an attempt's files say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trace {
    /// It was not begun.
    None,
    Living,
    Exited(Exit),
    /// It was begun, does not run, and left no word.
    Lost,
}

/// One attempt to run a run's playbook: `RUN/attempt-N`.
#[derive(Clone, Debug)]
pub struct Attempt {
    directory: PathBuf,
}

impl Attempt {
    /// The attempt with this number.
    pub fn new(run_directory: &Path, number: u32) -> Self {
        Self { directory: run_directory.join(format!("attempt-{number}")) }
    }

    /// The newest attempt of a run that was prepared, with its number.
    pub fn newest(run_directory: &Path, highest: u32) -> Option<(u32, Self)> {
        (1..=highest)
            .rev()
            .map(|number| (number, Self::new(run_directory, number)))
            .find(|(_, attempt)| attempt.directory.join(files::JOB).exists())
    }

    /// Where its files lie.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// True when its program was started at all.
    pub fn was_begun(&self) -> bool {
        self.directory.join(files::STARTED).exists() || self.directory.join(files::EXIT).exists()
    }

    /// What its files say now.
    ///
    /// # Errors
    /// When they can't be read.
    pub fn trace(&self) -> Result<Trace, SupervisorError> {
        if !self.directory.exists() {
            return Ok(Trace::None);
        }
        if self.locked()? {
            return Ok(Trace::Living);
        }
        if let Some(exit) = self.read::<Exit>(files::EXIT)? {
            return Ok(Trace::Exited(exit));
        }
        Ok(if self.was_begun() { Trace::Lost } else { Trace::None })
    }

    /// Starts a supervisor and waits until its program runs (or has ended).
    ///
    /// # Errors
    /// When it does not start, or when another attempt of this run is at work.
    pub async fn start(&self, job: &Job, agent: &Path) -> Result<(), SupervisorError> {
        let file =
            |what, source| SupervisorError::File { what, path: self.directory.clone(), source };
        private::make_dir(&self.directory).map_err(|e| file("make", e))?;
        files::write_json(&self.directory.join(files::JOB), job).map_err(|e| file("fill", e))?;
        let log = self.directory.join(files::MESSAGES);
        let errors = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&log)
            .map_err(|e| file("write a log in", e))?;
        // Nothing of the agent's environment: NOTIFY_SOCKET in a child would speak for the unit.
        let mut child = tokio::process::Command::new(agent)
            .arg("supervise")
            .arg(&self.directory)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into()))
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(errors)
            .spawn()
            .map_err(|source| SupervisorError::Spawn { program: agent.to_owned(), source })?;
        let deadline = Instant::now() + START;
        loop {
            if self.was_begun() {
                // Takes the supervisor's exit code when it ends: no zombie stays.
                tokio::spawn(async move { child.wait().await });
                return Ok(());
            }
            if let Ok(Some(status)) = child.try_wait()
                && !self.was_begun()
            {
                return Err(match status.code() {
                    Some(75) => SupervisorError::AlreadyRunning,
                    _ => SupervisorError::Silent { log },
                });
            }
            if Instant::now() > deadline {
                let _ = child.start_kill();
                return Err(SupervisorError::Silent { log });
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits for the end, also of a supervisor that another process started.
    ///
    /// # Errors
    /// When the supervisor died without a word.
    pub async fn wait(&self) -> Result<Exit, SupervisorError> {
        for look in 1u32.. {
            if let Some(exit) = self.read::<Exit>(files::EXIT)? {
                return Ok(exit);
            }
            if look % LIVENESS == 0 {
                match self.trace()? {
                    Trace::Living => {}
                    Trace::Exited(exit) => return Ok(exit),
                    Trace::None | Trace::Lost => return Err(SupervisorError::Lost),
                }
            }
            tokio::time::sleep(LOOK).await;
        }
        Err(SupervisorError::Lost)
    }

    /// Asks the supervisor to stop its program. Safe to repeat.
    ///
    /// # Errors
    /// When the wish can't be written.
    pub fn request_cancel(&self) -> Result<(), SupervisorError> {
        let path = self.directory.join(files::CANCEL);
        private::write(&path, b"").map_err(|source| SupervisorError::File {
            what: "write",
            path,
            source,
        })
    }

    /// Kills what a dead supervisor left behind, so that a new attempt is alone.
    ///
    /// # Errors
    /// When the files can't be read.
    pub async fn kill_leftovers(&self) -> Result<bool, SupervisorError> {
        let Some(started) = self.read::<Started>(files::STARTED)? else { return Ok(false) };
        if !started.program.lives() {
            return Ok(false);
        }
        started.program.signal_group(Signal::INT);
        for _ in 0..50 {
            if !started.program.lives() {
                return Ok(true);
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        started.program.signal_group(Signal::KILL);
        Ok(true)
    }

    fn read<T: serde::de::DeserializeOwned>(
        &self,
        name: &str,
    ) -> Result<Option<T>, SupervisorError> {
        let path = self.directory.join(name);
        files::read_json(&path).map_err(|source| SupervisorError::File {
            what: "read",
            path,
            source,
        })
    }

    /// True while a supervisor of this run holds the lock.
    fn locked(&self) -> Result<bool, SupervisorError> {
        let file = files::open_lock(&self.directory).map_err(|source| SupervisorError::File {
            what: "open the lock beside",
            path: self.directory.clone(),
            source,
        })?;
        Ok(rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared).is_err())
    }
}
