//! The log of a run: appended at offsets, bounded.
//!
//! It is not flushed at each piece: the agent keeps the whole log, and after a crash of the machine
//! it sends again from the length that is found here.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// Most bytes that are kept of one log.
pub const MAX_LOG: u64 = 64 << 20;
/// Longest last line that is shown.
const MAX_LAST_LINE: usize = 240;

/// How far the log of a run is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogMark {
    /// Bytes of the agent's log that were seen, those beyond the limit included.
    pub seen: u64,
    /// The newest line that says something, without control characters.
    pub last_line: String,
}

impl LogMark {
    /// The mark of a log on the disk; a file that is not there is empty.
    ///
    /// # Errors
    /// When the file can't be looked at.
    pub fn of(path: &Path) -> io::Result<Self> {
        let seen = match fs::metadata(path) {
            Ok(metadata) => metadata.len().min(MAX_LOG),
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
        };
        Ok(Self { seen, last_line: String::new() })
    }

    /// Keeps a piece that begins at `offset`. Bytes that were seen are skipped.
    ///
    /// # Errors
    /// When the piece begins beyond what was seen (bytes between would be lost), or on I/O errors.
    pub fn append(&mut self, path: &Path, offset: u64, piece: &[u8]) -> io::Result<()> {
        self.append_within(path, offset, piece, MAX_LOG)
    }

    fn append_within(
        &mut self,
        path: &Path,
        offset: u64,
        piece: &[u8],
        limit: u64,
    ) -> io::Result<()> {
        let Some(known) = self.seen.checked_sub(offset) else {
            let message =
                format!("the piece begins at byte {offset}, wanted {}: send from there", self.seen);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        };
        let fresh = usize::try_from(known).ok().and_then(|k| piece.get(k..)).unwrap_or_default();
        if fresh.is_empty() {
            return Ok(());
        }
        let room = limit.saturating_sub(self.seen).min(fresh.len() as u64) as usize;
        if room > 0 {
            let mut options = OpenOptions::new();
            let file = options.create(true).truncate(false).write(true).mode(0o600).open(path)?;
            // At its place, not at the end: a write that failed half way is written over.
            file.write_all_at(&fresh[..room], self.seen)?;
            if self.seen + fresh.len() as u64 > limit {
                let marker = format!(
                    "\n[cut here: bpa-coordinator keeps {limit} bytes of a log; `bpa-agent logs` at the site has the rest]\n"
                );
                file.write_all_at(marker.as_bytes(), limit)?;
            }
        }
        self.seen += fresh.len() as u64;
        if let Some(line) = last_line(fresh) {
            self.last_line = line;
        }
        Ok(())
    }
}

/// The last line with a word in it, fit for a terminal.
fn last_line(piece: &[u8]) -> Option<String> {
    let start = piece.len().saturating_sub(8 * 1024);
    let text = String::from_utf8_lossy(&piece[start..]);
    text.lines().rev().map(plain).find(|line| line.chars().any(char::is_alphanumeric))
}

/// Removes colour codes and control characters.
fn plain(line: &str) -> String {
    let mut out = String::new();
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            chars.by_ref().find(|c| c.is_ascii_alphabetic());
        } else if !c.is_control() && out.len() < MAX_LAST_LINE {
            out.push(c);
        }
    }
    out.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_join_at_their_offsets_and_repeats_are_skipped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let mut mark = LogMark::of(&path).unwrap();
        mark.append(&path, 0, b"one\n").unwrap();
        mark.append(&path, 0, b"one\n").unwrap();
        mark.append(&path, 2, b"e\ntwo\n").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"one\ntwo\n");
        assert_eq!((mark.seen, mark.last_line.as_str()), (8, "two"));
        assert_eq!(LogMark::of(&path).unwrap().seen, 8);
    }

    #[test]
    fn a_gap_is_refused_and_says_where_to_go_on() {
        let dir = tempfile::tempdir().unwrap();
        let mut mark = LogMark::default();
        let error = mark.append(&dir.path().join("log"), 10, b"x").unwrap_err();
        assert!(error.to_string().contains("wanted 0"), "{error}");
    }

    #[test]
    fn a_log_beyond_the_limit_is_cut_with_a_marker_and_goes_on_being_acknowledged() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let mut mark = LogMark::default();
        mark.append_within(&path, 0, b"12345678", 5).unwrap();
        mark.append_within(&path, 8, b"9", 5).unwrap();
        assert_eq!(mark.seen, 9);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("12345\n[cut here") && text.matches("cut here").count() == 1);
    }

    #[test]
    fn the_last_line_has_no_colours_and_no_empty_lines() {
        assert_eq!(
            last_line(b"a\n\x1b[0;32mok: [n1]\x1b[0m\r\n\n***\n").as_deref(),
            Some("ok: [n1]")
        );
        assert_eq!(last_line(b"\n\n"), None);
    }
}
