//! Events about objects: one JSON line each, repeats counted, the file bounded.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use bpa_common::api::ObjectKey;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::cluster::files;
use crate::cluster::port::ObjectEvent;

/// The file is written anew with the newest events when it is larger, bytes.
const MAX_FILE: u64 = 1 << 20;
/// Events that are kept then.
const KEEP: usize = 500;
/// Longest message that is kept, characters.
const MAX_MESSAGE: usize = 2000;

/// An event as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EventRecord {
    pub first: Timestamp,
    pub last: Timestamp,
    pub count: u64,
    pub kind: String,
    pub key: ObjectKey,
    pub warning: bool,
    pub reason: String,
    pub message: String,
}

impl EventRecord {
    fn new(event: ObjectEvent, now: Timestamp) -> Self {
        Self {
            first: now,
            last: now,
            count: 1,
            kind: event.kind.to_owned(),
            key: event.key,
            warning: event.warning,
            reason: event.reason,
            message: event.message.chars().take(MAX_MESSAGE).collect(),
        }
    }

    /// Two records of the same identity are one event that happened again.
    fn identity(&self) -> (String, ObjectKey, String, String) {
        (self.kind.clone(), self.key.clone(), self.reason.clone(), self.message.clone())
    }
}

/// Keeps an event. The caller holds the edit lock.
///
/// # Errors
/// When the file can't be written.
pub fn record(path: &Path, event: ObjectEvent, now: Timestamp) -> io::Result<()> {
    let mut record = EventRecord::new(event, now);
    let mut kept = load(path)?;
    let same = record.identity();
    if let Some(old) = kept.iter().find(|old| old.identity() == same) {
        record.first = old.first;
        record.count = old.count + 1;
    }
    let size = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    if size > MAX_FILE {
        kept.retain(|old| old.identity() != same);
        kept.push(record);
        let from = kept.len().saturating_sub(KEEP);
        let mut text = Vec::new();
        for event in &kept[from..] {
            write_line(&mut text, event)?;
        }
        return files::write_private(path, &text);
    }
    let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
    let mut line = Vec::new();
    // A crash may have left half a line: begin with a new one.
    if size > 0 {
        line.push(b'\n');
    }
    write_line(&mut line, &record)?;
    file.write_all(&line)
}

fn write_line(into: &mut Vec<u8>, record: &EventRecord) -> io::Result<()> {
    serde_json::to_writer(&mut *into, record)?;
    into.push(b'\n');
    Ok(())
}

/// All kept events, oldest first by their last time; lines that can't be read are skipped.
///
/// # Errors
/// When the file is there and can't be read.
pub fn load(path: &Path) -> io::Result<Vec<EventRecord>> {
    let bytes = files::read_limited(path, 4 * MAX_FILE)?.unwrap_or_default();
    let mut newest: HashMap<_, EventRecord> = HashMap::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        if let Ok(record) = serde_json::from_slice::<EventRecord>(line) {
            newest.insert(record.identity(), record);
        }
    }
    let mut events: Vec<EventRecord> = newest.into_values().collect();
    events.sort_by(|a, b| (a.last, a.first, &a.message).cmp(&(b.last, b.first, &b.message)));
    Ok(events)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(message: &str) -> ObjectEvent {
        ObjectEvent {
            kind: "Provisioning",
            key: ObjectKey::new("default", "a"),
            warning: false,
            reason: "Told".to_owned(),
            message: message.to_owned(),
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn repeats_are_counted_and_order_is_by_the_last_time() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events.jsonl");
        record(&path, event("one"), at(1)).unwrap();
        record(&path, event("two"), at(2)).unwrap();
        record(&path, event("one"), at(3)).unwrap();
        let events = load(&path).unwrap();
        let told: Vec<_> = events.iter().map(|e| (e.message.as_str(), e.count)).collect();
        assert_eq!(told, [("two", 1), ("one", 2)]);
        assert_eq!((events[1].first, events[1].last), (at(1), at(3)));
    }

    #[test]
    fn half_a_line_of_a_crash_costs_one_event_only() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events.jsonl");
        record(&path, event("one"), at(1)).unwrap();
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"first\":").unwrap();
        record(&path, event("two"), at(2)).unwrap();
        assert_eq!(load(&path).unwrap().len(), 2);
    }

    #[test]
    fn the_file_is_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events.jsonl");
        let mut text = Vec::new();
        for n in 0..6000 {
            let message = format!("{n} {}", "x".repeat(150));
            write_line(&mut text, &EventRecord::new(event(&message), at(n))).unwrap();
        }
        std::fs::write(&path, &text).unwrap();
        assert!(text.len() as u64 > MAX_FILE);
        record(&path, event("last"), at(9999)).unwrap();
        let events = load(&path).unwrap();
        assert_eq!(events.len(), KEEP);
        assert_eq!(events[KEEP - 1].message, "last");
    }
}
