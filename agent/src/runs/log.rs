//! Reads a run's log in pieces.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// At most `max` bytes from `offset`, and whether they reach the end of the file as it is now. A
/// log that is not there is empty.
pub fn read_log(path: &Path, offset: u64, max: usize) -> (Vec<u8>, bool) {
    let read = || -> std::io::Result<(Vec<u8>, u64)> {
        let mut file = std::fs::File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(offset))?;
        let mut bytes = Vec::new();
        file.take(max as u64).read_to_end(&mut bytes)?;
        Ok((bytes, length))
    };
    match read() {
        Ok((bytes, length)) => {
            let end = offset + bytes.len() as u64 >= length;
            (bytes, end)
        }
        Err(_) => (Vec::new(), true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_follow_one_another_and_the_end_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        assert_eq!(read_log(&path, 0, 10), (vec![], true));
        std::fs::write(&path, b"hello world").unwrap();
        assert_eq!(read_log(&path, 0, 5), (b"hello".to_vec(), false));
        assert_eq!(read_log(&path, 5, 50), (b" world".to_vec(), true));
        assert_eq!(read_log(&path, 99, 5), (vec![], true));
    }
}
