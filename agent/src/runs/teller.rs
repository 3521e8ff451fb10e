//! The voice of a run: every event goes into the journal, and as a line into the run's log.
//!
//! When the disk is full, events wait here, in their order, until there is room: nothing is lost
//! as long as the process lives, and no step begins or ends meanwhile.

use std::collections::VecDeque;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bpa_common::wire::v1::{EventBody, Outcome, RunId};

use super::clock::now_ms;
use crate::journal::{Journal, JournalError};
use crate::steps::kubespray::Stage;
use crate::steps::{Journaled, StepFailure};

/// Between two tries to write to a disk that was full.
const PAUSE: Duration = Duration::from_secs(2);
/// When more waits than this, the oldest tasks are dropped: what ended and why is kept.
const MOST_WAITING: usize = 10_000;

/// The voice of one run.
pub struct Teller {
    journal: Arc<Journal>,
    run: RunId,
    log: PathBuf,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    bodies: VecDeque<EventBody>,
    followed: Option<u64>,
    warned: bool,
}

impl Teller {
    pub fn new(journal: Arc<Journal>, run: RunId, log: PathBuf) -> Self {
        Self { journal, run, log, waiting: Mutex::default() }
    }

    fn push(&self, bodies: Vec<EventBody>, followed: Option<u64>) {
        self.log_lines(&bodies);
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.bodies.extend(bodies);
        waiting.followed = followed.or(waiting.followed);
        if waiting.bodies.len() > MOST_WAITING {
            waiting.bodies.retain(|body| !matches!(body, EventBody::Task { .. }));
        }
        self.write(&mut waiting);
    }

    /// True when nothing waits any more.
    fn write(&self, waiting: &mut Waiting) -> bool {
        if waiting.bodies.is_empty() && waiting.followed.is_none() {
            return true;
        }
        let bodies = waiting.bodies.iter().cloned().collect();
        match self.journal.tell(self.run, now_ms(), bodies, waiting.followed) {
            Ok(()) => {
                *waiting = Waiting::default();
                true
            }
            Err(error) => {
                if !std::mem::replace(&mut waiting.warned, true) {
                    tracing::error!(run = %self.run, %error, "events wait for the journal");
                }
                false
            }
        }
    }

    /// Waits until all that was told is in the journal.
    pub async fn settle(&self) {
        loop {
            let settled = {
                let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
                self.write(&mut waiting)
            };
            if settled {
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Does something with the journal until it works.
    pub async fn insist<T>(&self, what: impl Fn(&Journal) -> Result<T, JournalError>) -> T {
        loop {
            match what(&self.journal) {
                Ok(value) => return value,
                Err(error) => tracing::error!(run = %self.run, %error, "waiting for the journal"),
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// The same story for people: in the log, between the lines of ansible. An event that the
    /// playbook's own output shows already is left out.
    pub fn log_lines(&self, bodies: &[EventBody]) {
        let mut text = String::new();
        for line in bodies.iter().filter_map(line) {
            let time = jiff::Timestamp::now().strftime("%H:%M:%SZ");
            text.push_str(&format!("{time} bpa: {line}\n"));
        }
        if text.is_empty() {
            return;
        }
        let file =
            std::fs::OpenOptions::new().create(true).append(true).mode(0o600).open(&self.log);
        if let Err(error) = file.and_then(|mut f| f.write_all(text.as_bytes())) {
            tracing::warn!(run = %self.run, %error, "can't write the run's log");
        }
    }
}

fn line(body: &EventBody) -> Option<String> {
    let text = match body {
        EventBody::Accepted => "order accepted".to_owned(),
        EventBody::StepStarted { step } => format!("step {step}"),
        EventBody::StepEnded { step, end, message } => format!("step {step}: {end:?} {message}"),
        EventBody::Node { node, state, address, message } => {
            let address = address.map(|a| format!(" {a}")).unwrap_or_default();
            format!("{node}: {state:?}{address} {message}")
        }
        EventBody::Check(check) => format!(
            "{}: check {}: {:?} (wanted {}, found {}) {}",
            check.node, check.id, check.status, check.wanted, check.found, check.fix
        ),
        EventBody::Note { message } => message.clone(),
        EventBody::Kubeconfig { server, days_left, .. } => {
            format!("kubeconfig of {server}, {days_left} days left")
        }
        EventBody::Ended { outcome } => match outcome {
            Outcome::Succeeded => "the run succeeded".to_owned(),
            Outcome::Cancelled { by } => format!("the run was cancelled by {by}"),
            Outcome::Failed(f) => {
                let node = f.node.as_deref().map(|n| format!("{n}: ")).unwrap_or_default();
                format!(
                    "the run failed in {}: {node}{} ({}); {}",
                    f.step, f.message, f.reason, f.fix
                )
            }
        },
        EventBody::Phase { .. }
        | EventBody::Task { .. }
        | EventBody::TaskFailed { .. }
        | EventBody::Recap { .. } => return None,
    };
    Some(text.trim_end().replace('\n', " "))
}

impl Journaled for Teller {
    fn tell(&self, body: EventBody) {
        self.push(vec![body], None);
    }
}

impl Stage for Teller {
    fn starts(&self) -> u32 {
        self.journal.run(self.run).ok().flatten().map_or(0, |run| run.starts)
    }

    fn count_start(&self) -> Result<u32, StepFailure> {
        self.journal.count_start(self.run).map_err(|error| StepFailure {
            reason: "JournalFailed",
            node: None,
            message: error.to_string(),
            fix: "free some space on the bootstrap host, then apply the Provisioning again".into(),
        })
    }

    fn followed(&self) -> u64 {
        self.journal.run(self.run).ok().flatten().map_or(0, |run| run.followed)
    }

    fn tell_followed(&self, bodies: Vec<EventBody>, line: u64) {
        self.push(bodies, Some(line));
    }
}

#[cfg(test)]
#[path = "teller_tests.rs"]
mod tests;
