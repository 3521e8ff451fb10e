//! Between columns and values.

use bpa_common::wire::v1::{RunId, RunState, Step, StepEnd};
use rusqlite::types::Type;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::JournalError;

pub(super) fn to_json(value: &impl Serialize) -> Result<String, JournalError> {
    serde_json::to_string(value).map_err(|e| JournalError::Damaged(e.to_string()))
}

pub(super) fn from_json<T: DeserializeOwned>(text: &str) -> rusqlite::Result<T> {
    serde_json::from_str(text)
        .map_err(|e| rusqlite::Error::FromSqlConversionFailure(0, Type::Text, Box::new(e)))
}

/// A value that was kept as its JSON name, such as a step.
pub(super) fn named<T: DeserializeOwned>(name: String) -> rusqlite::Result<T> {
    serde_json::from_value(serde_json::Value::String(name))
        .map_err(|e| rusqlite::Error::FromSqlConversionFailure(0, Type::Text, Box::new(e)))
}

pub(super) fn run_id(bytes: Vec<u8>) -> rusqlite::Result<RunId> {
    let length = bytes.len();
    bytes.try_into().map(RunId).map_err(|_| {
        rusqlite::Error::FromSqlConversionFailure(
            0,
            Type::Blob,
            format!("a run id of {length} bytes, wanted 16").into(),
        )
    })
}

pub(super) fn state_name(state: RunState) -> String {
    format!("{state:?}")
}

pub(super) fn step_name(step: Step) -> String {
    format!("{step:?}")
}

pub(super) fn end_name(end: StepEnd) -> String {
    format!("{end:?}")
}

/// SQLite's integers are signed; our counters never come near the sign.
pub(super) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

pub(super) fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}
