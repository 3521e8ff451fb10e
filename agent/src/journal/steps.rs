//! Steps of runs: journaled before and after.

use bpa_common::wire::v1::{EventBody, Failure, RunId, RunState, Step, StepEnd};
use rusqlite::params;

use super::rows::{end_name, named, state_name, step_name, to_json};
use super::{Journal, JournalError, events};

/// One execution of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepRow {
    pub step: Step,
    pub started_ms: i64,
    pub ended_ms: Option<i64>,
    /// None = it runs, or the agent died in it.
    pub end: Option<StepEnd>,
    pub message: String,
}

/// How a step ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepEnded {
    pub step: Step,
    pub end: StepEnd,
    pub message: String,
    /// What ends the run, when the step failed.
    pub failure: Option<Failure>,
}

impl Journal {
    /// Keeps that a step begins; the run is then running.
    ///
    /// # Errors
    /// When it could not be kept: then the step must not begin.
    pub fn start_step(&self, run: RunId, step: Step, now_ms: i64) -> Result<(), JournalError> {
        self.write_events(move |tx| {
            tx.execute(
                "INSERT INTO steps (run, step, started_ms) VALUES (?1, ?2, ?3)",
                params![&run.0[..], step_name(step), now_ms],
            )?;
            tx.execute(
                "UPDATE runs SET state = ?2 WHERE id = ?1 AND state = ?3",
                params![&run.0[..], state_name(RunState::Running), state_name(RunState::Accepted)],
            )?;
            events::append(tx, run, now_ms, &EventBody::StepStarted { step })
        })
    }

    /// Keeps how a step ended, and the failure that ends its run if it is one.
    ///
    /// # Errors
    /// When it could not be kept: the step then counts as interrupted.
    pub fn end_step(&self, run: RunId, ended: StepEnded, now_ms: i64) -> Result<(), JournalError> {
        let StepEnded { step, end, message, failure } = ended;
        let failure = failure.as_ref().map(to_json).transpose()?;
        self.write_events(move |tx| {
            tx.execute(
                "UPDATE steps SET ended = ?3, ended_ms = ?4, message = ?5
                 WHERE n = (SELECT max(n) FROM steps WHERE run = ?1 AND step = ?2)",
                params![&run.0[..], step_name(step), end_name(end), now_ms, message],
            )?;
            if failure.is_some() {
                tx.execute(
                    "UPDATE runs SET failure = coalesce(failure, ?2) WHERE id = ?1",
                    params![&run.0[..], failure],
                )?;
            }
            events::append(tx, run, now_ms, &EventBody::StepEnded { step, end, message })
        })
    }

    /// Every execution of a step in this run, oldest first.
    ///
    /// # Errors
    /// When the journal can't be read.
    pub fn steps(&self, run: RunId) -> Result<Vec<StepRow>, JournalError> {
        self.read(|c| {
            let mut query = c.prepare_cached(
                "SELECT step, started_ms, ended_ms, ended, message FROM steps WHERE run = ?1
                 ORDER BY n",
            )?;
            let rows = query.query_map([&run.0[..]], |row| {
                Ok(StepRow {
                    step: named(row.get(0)?)?,
                    started_ms: row.get(1)?,
                    ended_ms: row.get(2)?,
                    end: row.get::<_, Option<String>>(3)?.map(named).transpose()?,
                    message: row.get(4)?,
                })
            })?;
            Ok(rows.collect::<rusqlite::Result<Vec<_>>>()?)
        })
    }
}
