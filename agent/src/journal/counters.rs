//! Numbers that must never go back: sessions, epochs, acknowledged events.

use rusqlite::{Connection, OptionalExtension, params};

use super::rows::{signed, unsigned};
use super::{Journal, JournalError};

pub(super) const EPOCH: &str = "epoch_seen";
pub(super) const ACKNOWLEDGED: &str = "events_acknowledged";
const SESSION: &str = "session";

impl Journal {
    /// Counts a session and returns its number, the first is 1.
    ///
    /// # Errors
    /// When it could not be kept: a number that is not kept could be used twice.
    pub fn next_session(&self) -> Result<u64, JournalError> {
        self.write(|tx| {
            let next = get(tx, SESSION)? + 1;
            raise(tx, SESSION, next)?;
            Ok(next)
        })
    }

    /// The highest epoch that an order was accepted from; 0 when none was.
    pub fn epoch_seen(&self) -> Result<u64, JournalError> {
        self.read(|c| get(c, EPOCH))
    }
}

pub(super) fn get(connection: &Connection, name: &str) -> Result<u64, JournalError> {
    let value: Option<i64> = connection
        .query_row("SELECT value FROM counters WHERE name = ?1", [name], |row| row.get(0))
        .optional()?;
    Ok(unsigned(value.unwrap_or(0)))
}

/// Sets a counter, never to less than it was.
pub(super) fn raise(connection: &Connection, name: &str, value: u64) -> Result<(), JournalError> {
    connection.execute(
        "INSERT INTO counters (name, value) VALUES (?1, ?2)
         ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)",
        params![name, signed(value)],
    )?;
    Ok(())
}
