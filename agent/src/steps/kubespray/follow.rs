//! Reads the callback's file as it grows.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::Line;

/// The plug-in cuts its texts; a longer line is not ours.
const LONGEST: usize = 256 * 1024;
/// At most this much is taken at a time, bytes.
const CHUNK: u64 = 1 << 20;

/// Where we are in a file that grows.
#[derive(Debug)]
pub struct Follower {
    path: PathBuf,
    offset: u64,
    /// The beginning of a line whose end is not there yet.
    partial: Vec<u8>,
}

impl Follower {
    /// From the file's start.
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), offset: 0, partial: Vec::new() }
    }

    /// The lines that are there now and were not given yet. Call again until there are none.
    ///
    /// # Errors
    /// When the file is there and can't be read.
    pub fn read(&mut self) -> io::Result<Vec<Line>> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(e),
        };
        file.seek(SeekFrom::Start(self.offset))?;
        let mut chunk = Vec::new();
        self.offset += file.take(CHUNK).read_to_end(&mut chunk)? as u64;
        let mut lines = Vec::new();
        for piece in chunk.split_inclusive(|b| *b == b'\n') {
            if self.partial.len() + piece.len() <= LONGEST {
                self.partial.extend_from_slice(piece);
            }
            if piece.ends_with(b"\n") {
                let text = std::mem::take(&mut self.partial);
                lines.extend(std::str::from_utf8(&text).ok().and_then(Line::parse));
            }
        }
        Ok(lines)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_torn_line_is_given_once_it_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events");
        let mut follower = Follower::new(&path);
        assert!(follower.read().unwrap().is_empty(), "there is no file yet");
        let mut file = File::create(&path).unwrap();
        file.write_all(b"{\"seq\":1,\"ts\":1,\"event\":\"ok\"}\nnoise\n{\"seq\":2,").unwrap();
        let seen: Vec<u64> = follower.read().unwrap().iter().map(|l| l.seq).collect();
        assert_eq!(seen, [1]);
        assert!(follower.read().unwrap().is_empty());
        file.write_all(b"\"ts\":1,\"event\":\"ok\"}\n").unwrap();
        let seen: Vec<u64> = follower.read().unwrap().iter().map(|l| l.seq).collect();
        assert_eq!(seen, [2]);
    }

    #[test]
    fn a_line_without_end_takes_no_memory_without_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events");
        std::fs::write(&path, vec![b'x'; 3 << 20]).unwrap();
        let mut follower = Follower::new(&path);
        for _ in 0..4 {
            assert!(follower.read().unwrap().is_empty());
        }
        assert!(follower.partial.len() <= LONGEST);
    }
}
