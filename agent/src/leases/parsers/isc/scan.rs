//! Where a statement or block ends, honouring strings, comments and braces.

use crate::leases::parsers::limits::Limits;

/// The reason for a block that is nested beyond the limit.
pub const TOO_DEEP: &str = "blocks are nested too deeply";
const TOO_LONG: &str = "the record is too long";
const OPEN_STRING: &str = "a string has no closing quote on its line";
const OPEN_BLOCK: &str = "the record has no closing brace before the next lease";
const STRAY_BRACE: &str = "a closing brace without its opening one";
/// What a record begins with after a broken one.
const LEASE: &[u8] = b"lease ";

/// What is at the front of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scan {
    /// A statement or block; `body` is its first brace.
    Item { start: usize, body: Option<usize>, end: usize },
    /// Something that can't be read, up to `end`. When `lost`, the next record begins at the next
    /// line that starts with `lease `.
    Broken { start: usize, end: usize, reason: &'static str, lost: bool },
    /// The rest is not complete. `blank` bytes of it are of no use; `begun` when something follows.
    Incomplete { blank: usize, begun: bool },
}

/// Finds the next complete item.
pub fn next(bytes: &[u8], limits: &Limits) -> Scan {
    let start = match skip_blank(bytes, limits.record) {
        Ok(start) => start,
        Err(scan) => return scan,
    };
    let incomplete = Scan::Incomplete { blank: start, begun: true };
    let broken = |end, reason| Scan::Broken { start, end, reason, lost: true };
    let (mut at, mut depth, mut body) = (start, 0usize, None);
    while let Some(&byte) = bytes.get(at) {
        if at - start > limits.record {
            return broken(at, TOO_LONG);
        }
        at += 1;
        match byte {
            b'"' => match string_end(bytes, at, start + limits.record) {
                Some(Ok(end)) => at = end,
                Some(Err(end)) if end > start + limits.record => return broken(end, TOO_LONG),
                Some(Err(end)) => return broken(end, OPEN_STRING),
                None => return incomplete,
            },
            b'#' => match newline(bytes, at, start + limits.record) {
                Some(Ok(end)) => at = end,
                Some(Err(end)) => return broken(end, TOO_LONG),
                None => return incomplete,
            },
            b'{' => {
                depth += 1;
                body = body.or(Some(at - 1));
                if depth > limits.depth {
                    return broken(at, TOO_DEEP);
                }
            }
            b'}' if depth == 0 => {
                return Scan::Broken { start, end: at, reason: STRAY_BRACE, lost: false };
            }
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    return Scan::Item { start, body, end: at };
                }
            }
            b';' if depth == 0 => return Scan::Item { start, body: None, end: at },
            b'\n' => {
                let ahead = &bytes[at..bytes.len().min(at + LEASE.len())];
                if ahead == LEASE {
                    return broken(at - 1, OPEN_BLOCK);
                }
                if LEASE.starts_with(ahead) {
                    return incomplete;
                }
            }
            _ => {}
        }
    }
    incomplete
}

/// The first byte that is neither white space nor comment, or what to say when there is none.
fn skip_blank(bytes: &[u8], most: usize) -> Result<usize, Scan> {
    let mut at = 0;
    loop {
        match bytes[at..].iter().position(|b| !b.is_ascii_whitespace()) {
            Some(blank) => at += blank,
            None => return Err(Scan::Incomplete { blank: bytes.len(), begun: false }),
        }
        if bytes[at] != b'#' {
            return Ok(at);
        }
        at = match newline(bytes, at, at + most) {
            Some(Ok(end)) => end,
            Some(Err(end)) => {
                return Err(Scan::Broken { start: at, end, reason: TOO_LONG, lost: true });
            }
            None => return Err(Scan::Incomplete { blank: at, begun: false }),
        };
    }
}

/// After the closing quote, or at the place where the string is broken. None = not complete.
fn string_end(bytes: &[u8], from: usize, most: usize) -> Option<Result<usize, usize>> {
    let mut at = from;
    loop {
        let byte = *bytes.get(at)?;
        if at > most {
            return Some(Err(at));
        }
        match byte {
            b'"' => return Some(Ok(at + 1)),
            b'\n' => return Some(Err(at)),
            // What is escaped is part of the string, but no string goes over a line's end.
            b'\\' if bytes.get(at + 1) != Some(&b'\n') => at += 2,
            _ => at += 1,
        }
    }
}

/// Where the line ends, or where it passes `most`. None = not complete.
fn newline(bytes: &[u8], from: usize, most: usize) -> Option<Result<usize, usize>> {
    let end = bytes.len().min(most + 1);
    match bytes.get(from..end)?.iter().position(|b| *b == b'\n') {
        Some(length) => Some(Ok(from + length)),
        None if bytes.len() > most => Some(Err(most + 1)),
        None => None,
    }
}

/// Where the next line that begins with `lease ` is: (bytes before it, true); or (bytes that can be
/// thrown away, false). The bytes are taken to begin inside a line.
pub fn find_lease(bytes: &[u8]) -> (usize, bool) {
    let mut at = 0;
    while let Some(newline) = bytes[at..].iter().position(|b| *b == b'\n') {
        at += newline + 1;
        let ahead = &bytes[at..bytes.len().min(at + LEASE.len())];
        if ahead == LEASE {
            return (at, true);
        }
        if ahead.len() < LEASE.len() && LEASE.starts_with(ahead) {
            return (at - 1, false);
        }
    }
    (bytes.len(), false)
}

/// How many line ends there are.
pub fn newlines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|b| **b == b'\n').count() as u64
}
