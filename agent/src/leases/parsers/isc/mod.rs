//! ISC dhcpd's `dhcpd.leases`, and the dialects of OpenBSD and VMware: a stream of statements and
//! blocks, in which the last complete record of an address is in force.
//!
//! `scan` finds where a record ends, `token` takes it apart, and each kind of block has its file.

mod host;
mod lease;
mod quoted;
mod scan;
mod time;
mod token;
mod v6;

use scan::Scan;
use token::{Token, head};

use super::fold::Fold;
use super::limits::{Limits, ParseError};
use crate::leases::record::SourceTable;

/// Reads a lease file in pieces, as the server appends to it.
#[derive(Clone, Debug)]
pub struct IscReader {
    limits: Limits,
    fold: Fold,
    /// Begun and not complete.
    rest: Vec<u8>,
    /// The line on which `rest` begins.
    line: u64,
    /// True while everything up to the next `lease` at the start of a line is thrown away.
    lost: bool,
    unfinished: Option<u64>,
}

impl IscReader {
    /// A reader at the start of a file.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            fold: Fold::default(),
            rest: Vec::new(),
            line: 1,
            lost: false,
            unfinished: None,
        }
    }

    /// Takes the next bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.rest.is_empty() {
            let used = self.take(bytes);
            self.rest.extend_from_slice(&bytes[used..]);
        } else {
            let mut rest = std::mem::take(&mut self.rest);
            rest.extend_from_slice(bytes);
            let used = self.take(&rest);
            rest.drain(..used);
            self.rest = rest;
        }
    }

    /// The table of all complete records.
    pub fn finish(self) -> Result<SourceTable, ParseError> {
        self.fold.finish(self.unfinished, &self.limits)
    }

    /// Reads all complete items and returns how many bytes they take.
    fn take(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        self.unfinished = None;
        loop {
            let rest = &bytes[at..];
            if self.lost {
                let (used, found) = scan::find_lease(rest);
                at += used;
                self.line += scan::newlines(&rest[..used]);
                if !found {
                    return at;
                }
                self.lost = false;
                continue;
            }
            match scan::next(rest, &self.limits) {
                Scan::Item { start, body, end } => {
                    let line = self.line + scan::newlines(&rest[..start]);
                    self.item(&rest[start..end], body.map(|b| b - start), line, 0);
                    self.line += scan::newlines(&rest[..end]);
                    at += end;
                }
                Scan::Broken { start, end, reason, lost } => {
                    let line = self.line + scan::newlines(&rest[..start]);
                    self.fold.skip(line, reason, &self.limits);
                    self.line += scan::newlines(&rest[..end]);
                    self.lost = lost;
                    at += end;
                }
                Scan::Incomplete { blank, begun } => {
                    self.line += scan::newlines(&rest[..blank]);
                    self.unfinished = begun.then_some(self.line);
                    return at + blank;
                }
            }
        }
    }

    /// One complete statement or block. `body` is where its brace is.
    fn item(&mut self, item: &[u8], body: Option<usize>, line: u64, depth: usize) {
        let Some(body) = body else { return };
        let (words, inside) = (head(&item[..body]), &item[body + 1..item.len() - 1]);
        let name = words.get(1).copied();
        let done = match words.first() {
            Some(Token::Word(b"lease")) => {
                lease::read(name, inside).map(|record| self.fold.put_newer(record, &self.limits))
            }
            Some(Token::Word(b"host")) => host::read(name, inside)
                .map(|(name, records)| self.fold.reserve(&name, records, &self.limits)),
            Some(Token::Word(b"ia-na")) => v6::read(name, inside).map(|records| {
                records.into_iter().for_each(|r| self.fold.put_newer(r, &self.limits));
            }),
            Some(Token::Word(b"ia-ta" | b"ia-pd")) => {
                self.fold.set_aside();
                Ok(())
            }
            // A configuration keeps its hosts inside such blocks.
            Some(Token::Word(b"group" | b"subgroup" | b"subnet" | b"shared-network" | b"pool")) => {
                let line = line + scan::newlines(&item[..body]);
                self.nested(inside, line, depth + 1);
                Ok(())
            }
            _ => Ok(()),
        };
        if let Err(reason) = done {
            self.fold.skip(line, reason, &self.limits);
        }
    }

    fn nested(&mut self, inside: &[u8], mut line: u64, depth: usize) {
        if depth > self.limits.depth {
            return self.fold.skip(line, scan::TOO_DEEP, &self.limits);
        }
        let mut rest = inside;
        while let Scan::Item { start, body, end } = scan::next(rest, &self.limits) {
            let at = line + scan::newlines(&rest[..start]);
            self.item(&rest[start..end], body.map(|b| b - start), at, depth);
            line += scan::newlines(&rest[..end]);
            rest = &rest[end..];
        }
    }
}

#[cfg(test)]
mod tests;
