//! The tables, and how an older file becomes a newer one.

use std::path::Path;

use rusqlite::Connection;

use super::JournalError;

/// What makes schema `n + 1` of schema `n`. Released entries are never edited, only followed.
const MIGRATIONS: [&str; 1] = [V1];

const V1: &str = "
CREATE TABLE runs (
    n            INTEGER PRIMARY KEY AUTOINCREMENT,
    id           BLOB NOT NULL UNIQUE,
    provisioning TEXT NOT NULL,
    generation   INTEGER NOT NULL,
    epoch        INTEGER NOT NULL,
    body         TEXT NOT NULL,
    state        TEXT NOT NULL,
    cancel_by    TEXT,
    failure      TEXT,
    starts       INTEGER NOT NULL DEFAULT 0,
    followed     INTEGER NOT NULL DEFAULT 0,
    log_done     INTEGER NOT NULL DEFAULT 0,
    accepted_ms  INTEGER NOT NULL,
    ended_ms     INTEGER
) STRICT;
CREATE TABLE steps (
    n          INTEGER PRIMARY KEY AUTOINCREMENT,
    run        BLOB NOT NULL,
    step       TEXT NOT NULL,
    started_ms INTEGER NOT NULL,
    ended_ms   INTEGER,
    ended      TEXT,
    message    TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX steps_of_run ON steps (run);
CREATE TABLE events (
    seq    INTEGER PRIMARY KEY AUTOINCREMENT,
    run    BLOB NOT NULL,
    at_ms  INTEGER NOT NULL,
    secret INTEGER NOT NULL,
    body   TEXT NOT NULL
) STRICT;
CREATE INDEX events_of_run ON events (run);
CREATE TABLE counters (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT;
";

/// Sets what must be set on a writer's connection, and brings the tables up to date.
pub(super) fn prepare(connection: &mut Connection, path: &Path) -> Result<(), JournalError> {
    connection.busy_timeout(std::time::Duration::from_secs(10))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    // A kubeconfig that was acknowledged must not stay in free pages.
    connection.pragma_update(None, "secure_delete", "ON")?;
    let known = MIGRATIONS.len() as i64;
    let found: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if found > known {
        return Err(JournalError::Newer { path: path.to_owned(), found, known });
    }
    for (index, sql) in MIGRATIONS.iter().enumerate().skip(found.max(0) as usize) {
        let tx = connection.transaction()?;
        tx.execute_batch(sql)?;
        tx.pragma_update(None, "user_version", index as i64 + 1)?;
        tx.commit()?;
    }
    Ok(())
}
