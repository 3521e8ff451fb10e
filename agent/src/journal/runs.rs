//! Runs: accepted once, ended once.

use bpa_common::wire::v1::{EventBody, Failure, Order, Outcome, RunId, RunReport, RunState};
use rusqlite::{OptionalExtension, params};

use super::rows::{from_json, named, run_id, signed, state_name, to_json, unsigned};
use super::{Journal, JournalError, counters, events};

/// A run as the journal has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRun {
    pub order: Order,
    pub state: RunState,
    /// Who asked to stop it, if anyone did.
    pub cancel_by: Option<String>,
    /// Why it failed; set with the end of the step that failed, before the run's own end.
    pub failure: Option<Failure>,
    /// How often a playbook was started for it.
    pub starts: u32,
    /// Lines of the newest playbook's events that were told.
    pub followed: u64,
    /// Milliseconds since 1970.
    pub accepted_ms: i64,
    pub ended_ms: Option<i64>,
}

impl StoredRun {
    /// As the coordinator is told.
    pub fn report(&self) -> RunReport {
        RunReport {
            run: self.order.run,
            provisioning: self.order.provisioning.clone(),
            generation: self.order.generation,
            epoch: self.order.epoch,
            state: self.state,
        }
    }
}

const COLUMNS: &str = "body, state, cancel_by, failure, starts, accepted_ms, ended_ms, followed";
const FINAL: &str = "('Succeeded', 'Failed', 'Cancelled')";

impl Journal {
    /// Keeps a new order: the run, its epoch and its first event, in one commit. An order that is
    /// known already changes nothing.
    ///
    /// # Errors
    /// When it could not be kept: then the order is not taken.
    pub fn accept(&self, order: &Order, now_ms: i64) -> Result<(), JournalError> {
        let order = order.clone();
        self.write_events(move |tx| {
            let new = tx.execute(
                "INSERT INTO runs (id, provisioning, generation, epoch, body, state, accepted_ms)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (id) DO NOTHING",
                params![
                    &order.run.0[..],
                    order.provisioning.uid,
                    signed(order.generation),
                    signed(order.epoch),
                    to_json(&order)?,
                    state_name(RunState::Accepted),
                    now_ms,
                ],
            )?;
            counters::raise(tx, counters::EPOCH, order.epoch)?;
            match new {
                0 => Ok(()),
                _ => events::append(tx, order.run, now_ms, &EventBody::Accepted),
            }
        })
    }

    /// The newest runs, newest first.
    ///
    /// # Errors
    /// When the journal can't be read.
    pub fn runs(&self, limit: usize) -> Result<Vec<StoredRun>, JournalError> {
        self.read(|c| {
            let sql = format!("SELECT {COLUMNS} FROM runs ORDER BY n DESC LIMIT ?1");
            let mut query = c.prepare_cached(&sql)?;
            let rows = query.query_map([limit as i64], stored)?;
            Ok(rows.collect::<rusqlite::Result<Vec<_>>>()?)
        })
    }

    /// One run.
    ///
    /// # Errors
    /// When the journal can't be read.
    pub fn run(&self, run: RunId) -> Result<Option<StoredRun>, JournalError> {
        self.read(|c| {
            let sql = format!("SELECT {COLUMNS} FROM runs WHERE id = ?1");
            Ok(c.query_row(&sql, [&run.0[..]], stored).optional()?)
        })
    }

    /// Keeps the wish to stop a run; the first one who wished it is named at its end.
    ///
    /// # Errors
    /// When it could not be kept.
    pub fn request_cancel(&self, run: RunId, by: &str) -> Result<(), JournalError> {
        let by = by.to_owned();
        self.write(move |tx| {
            let sql = format!(
                "UPDATE runs SET cancel_by = coalesce(cancel_by, ?2)
                 WHERE id = ?1 AND state NOT IN {FINAL}"
            );
            tx.execute(&sql, params![&run.0[..], by])?;
            Ok(())
        })
    }

    /// Counts a start of the run's playbook, before it is started.
    ///
    /// # Errors
    /// When it could not be kept: then it must not be started.
    pub fn count_start(&self, run: RunId) -> Result<u32, JournalError> {
        self.write(move |tx| {
            tx.execute(
                "UPDATE runs SET starts = starts + 1, followed = 0 WHERE id = ?1",
                [&run.0[..]],
            )?;
            Ok(tx.query_row("SELECT starts FROM runs WHERE id = ?1", [&run.0[..]], |r| r.get(0))?)
        })
    }

    /// Ends a run: its state and its last event in one commit. False when it had ended before.
    ///
    /// # Errors
    /// When it could not be kept: the run has then not ended.
    pub fn end_run(&self, run: RunId, outcome: Outcome, now_ms: i64) -> Result<bool, JournalError> {
        let state = match &outcome {
            Outcome::Succeeded => RunState::Succeeded,
            Outcome::Failed(_) => RunState::Failed,
            Outcome::Cancelled { .. } => RunState::Cancelled,
        };
        self.write_events(move |tx| {
            let sql = format!(
                "UPDATE runs SET state = ?2, ended_ms = ?3 WHERE id = ?1 AND state NOT IN {FINAL}"
            );
            let ended = tx.execute(&sql, params![&run.0[..], state_name(state), now_ms])? == 1;
            if ended {
                events::append(tx, run, now_ms, &EventBody::Ended { outcome })?;
            }
            Ok(ended)
        })
    }

    /// Runs whose log is not wholly at the coordinator, oldest first.
    ///
    /// # Errors
    /// When the journal can't be read.
    pub fn runs_with_log(&self) -> Result<Vec<RunId>, JournalError> {
        self.read(|c| {
            let mut query =
                c.prepare_cached("SELECT id FROM runs WHERE log_done = 0 ORDER BY n")?;
            let rows = query.query_map([], |row| run_id(row.get(0)?))?;
            Ok(rows.collect::<rusqlite::Result<Vec<_>>>()?)
        })
    }

    /// The coordinator has the whole log of this run.
    ///
    /// # Errors
    /// When it could not be kept; the log is then offered again.
    pub fn log_done(&self, run: RunId) -> Result<(), JournalError> {
        self.write(move |tx| {
            tx.execute("UPDATE runs SET log_done = 1 WHERE id = ?1", [&run.0[..]])?;
            Ok(())
        })
    }
}

fn stored(row: &rusqlite::Row<'_>) -> rusqlite::Result<StoredRun> {
    let failure: Option<String> = row.get(3)?;
    Ok(StoredRun {
        order: from_json(&row.get::<_, String>(0)?)?,
        state: named(row.get(1)?)?,
        cancel_by: row.get(2)?,
        failure: failure.as_deref().map(from_json).transpose()?,
        starts: u32::try_from(unsigned(row.get(4)?)).unwrap_or(u32::MAX),
        accepted_ms: row.get(5)?,
        ended_ms: row.get(6)?,
        followed: unsigned(row.get(7)?),
    })
}
