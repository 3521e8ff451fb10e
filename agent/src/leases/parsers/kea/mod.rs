//! Kea's memfile: comma-separated rows under a header that names the columns; a journal, so the last
//! row of an address is in force. Several files follow each other while Kea cleans up.

mod columns;
mod row;

use columns::Columns;

use super::fold::Fold;
use super::limits::{Limits, ParseError};
use super::lines::Lines;
use crate::leases::escape::escaped;
use crate::leases::record::SourceTable;

/// Reads Kea's files, one after the other, each in pieces.
#[derive(Clone, Debug)]
pub struct KeaReader {
    limits: Limits,
    lines: Lines,
    fold: Fold,
    /// Of this file; none until its header was read.
    columns: Option<Columns>,
    failed: Option<ParseError>,
}

impl KeaReader {
    /// A reader before the first file.
    pub fn new(limits: Limits) -> Self {
        let lines = Lines::new(limits.record);
        Self { limits, lines, fold: Fold::default(), columns: None, failed: None }
    }

    /// The bytes that follow are of the next file, in reading order.
    pub fn next_file(&mut self) {
        self.lines.restart();
        self.columns = None;
    }

    /// Takes the next bytes of this file.
    pub fn feed(&mut self, bytes: &[u8]) {
        let Self { limits, lines, fold, columns, failed } = self;
        lines.feed(bytes, |number, line| {
            let line = match line {
                None => return fold.skip(number, "the row is too long", limits),
                Some(line) if failed.is_some() || line.is_empty() => return,
                Some(line) => line,
            };
            if let Some(found) = Columns::of_header(line) {
                match found {
                    Ok(found) => *columns = Some(found),
                    Err(error) => *failed = Some(error),
                }
                return;
            }
            let Some(columns) = columns else {
                *failed = Some(ParseError::WrongFormat {
                    wanted: "a header that begins with address,hwaddr",
                    found: escaped(line.get(..60).unwrap_or(line)),
                });
                return;
            };
            match row::read(line, columns) {
                Ok(record) => fold.put_newer(record, limits),
                Err(reason) => fold.skip(number, reason, limits),
            }
        });
    }

    /// The table of all complete rows of all files.
    pub fn finish(self) -> Result<SourceTable, ParseError> {
        match self.failed {
            Some(error) => Err(error),
            None => self.fold.finish(self.lines.unfinished(), &self.limits),
        }
    }
}

#[cfg(test)]
mod tests;
