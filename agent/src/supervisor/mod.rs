//! The small process that outlives the agent and owns a running playbook.
//!
//! `bpa-agent supervise DIR` (DIR = `RUN/attempt-N`) reads `DIR/job.json`, starts the program in a
//! process group of its own, keeps its output (without what looks like a secret) in a log, and
//! writes how it ended to `DIR/exit.json`. It holds a lock on `RUN/lock` as long as it lives, so
//! that a run never has two playbooks. The agent that started it may be killed, restarted or upgraded meanwhile:
//! the next one finds it by its lock and its files.
//!
//! Under systemd the unit must not take the supervisor down with the agent: `KillMode=process`
//! keeps it in the unit's control group, or `systemd-run --scope` gives it one of its own. The
//! unit files come with the packages.

mod files;
mod handle;
mod process;
mod redact;
mod serve;

pub use files::{Exit, Job, Started};
pub use handle::{Attempt, SupervisorError, Trace};
pub use process::ProcessId;
pub use redact::Redactor;
pub use serve::supervise;
