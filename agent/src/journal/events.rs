//! Events: numbered over all runs, kept until the coordinator has them, and a while longer.

use bpa_common::wire::v1::{Event, EventBody, RunId};
use rusqlite::{Connection, params};
use tokio::sync::watch;

use super::rows::{from_json, run_id, signed, to_json, unsigned};
use super::{Journal, JournalError, counters};

/// How many acknowledged events stay, for `bpa-agent runs`.
const KEPT_AFTER: u64 = 5000;

impl Journal {
    /// Appends events of a run, all or none, in their order. `followed` is the number of the last
    /// line of the playbook's events that is told with them.
    ///
    /// # Errors
    /// When they could not be kept.
    pub fn tell(
        &self,
        run: RunId,
        at_ms: i64,
        bodies: Vec<EventBody>,
        followed: Option<u64>,
    ) -> Result<(), JournalError> {
        self.write_events(move |tx| {
            if let Some(line) = followed {
                let sql = "UPDATE runs SET followed = ?2 WHERE id = ?1";
                tx.execute(sql, params![&run.0[..], signed(line)])?;
            }
            bodies.iter().try_for_each(|body| append(tx, run, at_ms, body))
        })
    }

    /// Events after this sequence number, oldest first.
    ///
    /// # Errors
    /// When the journal can't be read.
    pub fn events_after(&self, seq: u64, limit: usize) -> Result<Vec<Event>, JournalError> {
        self.read(|c| {
            let mut query = c.prepare_cached(
                "SELECT seq, run, at_ms, body FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2",
            )?;
            let rows = query.query_map(params![signed(seq), limit as i64], event)?;
            Ok(rows.collect::<rusqlite::Result<Vec<_>>>()?)
        })
    }

    /// The events of one run that are still kept, oldest first.
    ///
    /// # Errors
    /// When the journal can't be read.
    pub fn events_of(&self, run: RunId) -> Result<Vec<Event>, JournalError> {
        self.read(|c| {
            let mut query = c.prepare_cached(
                "SELECT seq, run, at_ms, body FROM events WHERE run = ?1 ORDER BY seq",
            )?;
            let rows = query.query_map([&run.0[..]], event)?;
            Ok(rows.collect::<rusqlite::Result<Vec<_>>>()?)
        })
    }

    /// The coordinator keeps all events up to `seq`: secrets among them go, old ones too. When it
    /// keeps more than were ever written here, the next event is numbered behind them.
    ///
    /// # Errors
    /// When it could not be kept; the coordinator then gets them again, and ignores them.
    pub fn acknowledge(&self, seq: u64) -> Result<(), JournalError> {
        let secrets = self.write(move |tx| {
            counters::raise(tx, counters::ACKNOWLEDGED, seq)?;
            number_from(tx, seq)?;
            let secrets =
                tx.execute("DELETE FROM events WHERE secret = 1 AND seq <= ?1", [signed(seq)])?;
            let old = signed(seq.saturating_sub(KEPT_AFTER));
            tx.execute("DELETE FROM events WHERE seq <= ?1", [old])?;
            Ok(secrets)
        })?;
        if secrets > 0
            && let Some(writer) = &self.writer
        {
            // The write-ahead log still holds the secret's bytes: fold it in and cut it.
            writer.run(|c| {
                let _ = c.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
            })?;
        }
        Ok(())
    }

    /// Changes with each new event.
    pub fn newest_event(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }
}

pub(super) fn append(
    connection: &Connection,
    run: RunId,
    at_ms: i64,
    body: &EventBody,
) -> Result<(), JournalError> {
    let secret = matches!(body, EventBody::Kubeconfig { .. });
    connection.execute(
        "INSERT INTO events (run, at_ms, secret, body) VALUES (?1, ?2, ?3, ?4)",
        params![&run.0[..], at_ms, secret, to_json(body)?],
    )?;
    Ok(())
}

/// No event is ever numbered `seq` or less from now on.
fn number_from(connection: &Connection, seq: u64) -> Result<(), JournalError> {
    connection.execute(
        "UPDATE sqlite_sequence SET seq = ?1 WHERE name = 'events' AND seq < ?1",
        [signed(seq)],
    )?;
    connection.execute(
        "INSERT INTO sqlite_sequence (name, seq) SELECT 'events', ?1
         WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'events')",
        [signed(seq)],
    )?;
    Ok(())
}

/// The highest number that was ever given, also when that event is gone.
pub(super) fn newest(connection: &Connection) -> Result<u64, JournalError> {
    let seq: Option<i64> = connection.query_row(
        "SELECT max(seq) FROM sqlite_sequence WHERE name = 'events'",
        [],
        |r| r.get(0),
    )?;
    Ok(unsigned(seq.unwrap_or(0)))
}

fn event(row: &rusqlite::Row<'_>) -> rusqlite::Result<Event> {
    Ok(Event {
        seq: unsigned(row.get(0)?),
        run: run_id(row.get(1)?)?,
        at_ms: row.get(2)?,
        body: from_json(&row.get::<_, String>(3)?)?,
    })
}
