//! `events.jsonl`: one event a line, appended and flushed before it is acknowledged.
//!
//! A crash may leave a torn last line: it was never acknowledged, so it is cut off and comes again.
//! Secret bytes never get into a line.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use bpa_common::wire::v1::{Event, EventBody, RunId, SecretBytes};
use serde::{Deserialize, Serialize};

/// Longest line that is read; a longer one is not ours.
const MAX_LINE: u64 = 4 << 20;

/// One line.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    pub site: String,
    pub seq: u64,
    pub at_ms: i64,
    pub body: EventBody,
}

impl Line {
    /// The line of an event, without its secret.
    pub fn of(site: &str, event: &Event) -> Self {
        let body = match &event.body {
            EventBody::Kubeconfig { server, days_left, kubernetes_version, .. } => {
                EventBody::Kubeconfig {
                    pem: SecretBytes(Vec::new()),
                    server: server.clone(),
                    days_left: *days_left,
                    kubernetes_version: kubernetes_version.clone(),
                }
            }
            other => other.clone(),
        };
        Self { site: site.to_owned(), seq: event.seq, at_ms: event.at_ms, body }
    }

    /// The event of this line, in this run.
    pub fn into_event(self, run: RunId) -> Event {
        Event { seq: self.seq, run, at_ms: self.at_ms, body: self.body }
    }
}

/// Appends events and flushes them to the disk.
///
/// # Errors
/// When the file can't be written or flushed; a part may be there then, which the next start cuts
/// off or which a repeat follows (the fold ignores repeats).
pub fn append(path: &Path, site: &str, events: &[Event]) -> io::Result<()> {
    let mut file =
        OpenOptions::new().create(true).read(true).append(true).mode(0o600).open(path)?;
    let mut text = Vec::new();
    if is_torn(&file)? {
        // A write that failed half way must not swallow the next line.
        text.push(b'\n');
    }
    for event in events {
        serde_json::to_writer(&mut text, &Line::of(site, event))?;
        text.push(b'\n');
    }
    file.write_all(&text)?;
    file.sync_data()
}

fn is_torn(file: &File) -> io::Result<bool> {
    let Some(last) = file.metadata()?.len().checked_sub(1) else { return Ok(false) };
    let mut byte = [0];
    file.read_exact_at(&mut byte, last)?;
    Ok(byte != *b"\n")
}

/// What a file of events holds.
#[derive(Debug, Default)]
pub struct Tail {
    pub lines: Vec<Line>,
    /// Lines that can't be read, besides a torn last one.
    pub unreadable: u64,
}

/// Reads all events and cuts off a torn last line.
///
/// # Errors
/// When the file can't be read or cut. A file that is not there is empty.
pub fn read(path: &Path) -> io::Result<Tail> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Tail::default()),
        Err(error) => return Err(error),
    };
    let mut reader = BufReader::new(file);
    let (mut tail, mut whole, mut line) = (Tail::default(), 0u64, Vec::new());
    loop {
        line.clear();
        let length = (&mut reader).take(MAX_LINE).read_until(b'\n', &mut line)? as u64;
        if length == 0 {
            return Ok(tail);
        }
        if line.last() != Some(&b'\n') && length < MAX_LINE {
            cut(path, whole)?;
            return Ok(tail);
        }
        whole += length;
        match serde_json::from_slice(&line) {
            Ok(line) => tail.lines.push(line),
            Err(_) => tail.unreadable += 1,
        }
    }
}

fn cut(path: &Path, length: u64) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    file.set_len(length)?;
    file.sync_data()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(seq: u64) -> Event {
        let body = EventBody::Note { message: format!("note {seq}") };
        Event { seq, run: RunId([1; 16]), at_ms: 0, body }
    }

    #[test]
    fn events_come_back_and_a_torn_last_line_is_cut_off() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events.jsonl");
        append(&path, "north", &[note(1), note(2)]).unwrap();
        let whole = std::fs::metadata(&path).unwrap().len();
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"{\"site\":\"north\",\"seq\":3,\"at").unwrap();
        let seqs: Vec<u64> = read(&path).unwrap().lines.iter().map(|l| l.seq).collect();
        assert_eq!(seqs, [1, 2]);
        assert_eq!(std::fs::metadata(&path).unwrap().len(), whole);
        append(&path, "north", &[note(3)]).unwrap();
        assert_eq!(read(&path).unwrap().lines.len(), 3);
    }

    #[test]
    fn a_write_that_failed_half_way_does_not_swallow_the_next_event() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events.jsonl");
        std::fs::write(&path, "{\"site\":\"no").unwrap();
        append(&path, "north", &[note(1)]).unwrap();
        assert_eq!(read(&path).unwrap().lines.len(), 1);
    }

    #[test]
    fn a_line_that_cannot_be_read_does_not_hide_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events.jsonl");
        std::fs::write(&path, "not json\n").unwrap();
        append(&path, "north", &[note(9)]).unwrap();
        let tail = read(&path).unwrap();
        assert_eq!((tail.lines.len(), tail.unreadable), (1, 1));
        assert!(read(&dir.path().join("none")).unwrap().lines.is_empty());
    }

    #[test]
    fn a_kubeconfig_leaves_no_bytes_in_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events.jsonl");
        let body = EventBody::Kubeconfig {
            pem: SecretBytes(b"client-key-data".to_vec()),
            server: "https://10.0.0.5:6443".into(),
            days_left: 365,
            kubernetes_version: "1.35.4".into(),
        };
        append(&path, "north", &[Event { body, ..note(1) }]).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains("10.0.0.5") && !text.contains("99,108"), "{text}");
        let EventBody::Kubeconfig { pem, .. } = &read(&path).unwrap().lines[0].body else {
            panic!("another kind of event");
        };
        assert!(pem.0.is_empty());
    }
}
