//! Lines out of pieces: only what ends with a newline is a line.

/// Splits bytes that come in pieces of any size.
#[derive(Clone, Debug)]
pub struct Lines {
    rest: Vec<u8>,
    /// The number of the line that `rest` begins.
    number: u64,
    limit: usize,
    /// The rest of this line is thrown away: it is longer than the limit.
    too_long: bool,
}

/// A complete line without its end, or none when it was longer than the limit.
pub type Line<'a> = Option<&'a [u8]>;

impl Lines {
    /// Lines of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { rest: Vec::new(), number: 1, limit, too_long: false }
    }

    /// Takes a piece and hands out each line that it completes, with its number.
    pub fn feed(&mut self, mut bytes: &[u8], mut each: impl FnMut(u64, Line<'_>)) {
        while let Some(end) = bytes.iter().position(|b| *b == b'\n') {
            let (head, tail) = (&bytes[..end], &bytes[end + 1..]);
            if self.too_long || self.rest.len() + head.len() > self.limit {
                each(self.number, None);
            } else if self.rest.is_empty() {
                each(self.number, Some(without_return(head)));
            } else {
                self.rest.extend_from_slice(head);
                each(self.number, Some(without_return(&self.rest)));
            }
            self.rest.clear();
            self.too_long = false;
            self.number += 1;
            bytes = tail;
        }
        if self.too_long || self.rest.len() + bytes.len() > self.limit {
            self.too_long = true;
            self.rest.clear();
        } else {
            self.rest.extend_from_slice(bytes);
        }
    }

    /// The number of the line that has begun and not ended.
    pub fn unfinished(&self) -> Option<u64> {
        (self.too_long || !self.rest.is_empty()).then_some(self.number)
    }

    /// Begins to count again, for the next file; what was not finished is forgotten.
    pub fn restart(&mut self) {
        *self = Self::new(self.limit);
    }
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(pieces: &[&[u8]], limit: usize) -> Vec<(u64, Option<Vec<u8>>)> {
        let mut found = Vec::new();
        let mut lines = Lines::new(limit);
        for piece in pieces {
            lines.feed(piece, |number, line| found.push((number, line.map(<[u8]>::to_vec))));
        }
        found
    }

    #[test]
    fn a_line_without_its_newline_waits() {
        let found = read(&[b"one\r\ntw", b"o\nthree"], 100);
        assert_eq!(found, [(1, Some(b"one".to_vec())), (2, Some(b"two".to_vec()))]);
    }

    #[test]
    fn a_line_over_the_limit_is_said_and_the_next_one_is_read() {
        let found = read(&[b"aaaa", b"aaaa\nb\n"], 5);
        assert_eq!(found, [(1, None), (2, Some(b"b".to_vec()))]);
    }

    proptest! {
        #[test]
        fn pieces_of_any_size_give_the_same_lines(text in "[ab\n\r]{0,60}", cuts in proptest::collection::vec(0usize..60, 0..6)) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(bytes.len())).collect();
            cuts.sort_unstable();
            let mut pieces = Vec::new();
            let mut from = 0;
            for cut in cuts {
                pieces.push(&bytes[from..cut]);
                from = cut;
            }
            pieces.push(&bytes[from..]);
            prop_assert_eq!(read(&pieces, 8), read(&[bytes], 8));
        }
    }
}
