//! bootpd of macOS: blocks `{ key=value … }`, one line each, octets without leading zeros.

use super::fold::Fold;
use super::identity::{mac_of, octets_from};
use super::limits::{Limits, ParseError};
use super::lines::Lines;
use crate::leases::record::{Ends, Record, SourceTable};

#[derive(Default)]
struct Block {
    line: u64,
    address: Option<std::net::IpAddr>,
    hardware: Vec<u8>,
    identifier: Vec<u8>,
    name: Vec<u8>,
    lease: Option<i64>,
}

/// Reads the whole file.
pub fn parse(bytes: &[u8], limits: &Limits) -> Result<SourceTable, ParseError> {
    let mut fold = Fold::default();
    let mut open: Option<Block> = None;
    let mut lines = Lines::new(limits.record);
    lines.feed(bytes, |line, text| match (text.map(<[u8]>::trim_ascii), &mut open) {
        (None, _) => fold.skip(line, "the line is too long", limits),
        (Some(b""), _) => {}
        (Some(b"{"), _) => {
            if let Some(block) = open.take() {
                fold.skip(block.line, "the block has no end", limits);
            }
            open = Some(Block { line, ..Block::default() });
        }
        (Some(b"}"), Some(_)) => {
            let block = open.take().unwrap_or_default();
            let line = block.line;
            match record(block) {
                Ok(record) => fold.put_newer(record, limits),
                Err(reason) => fold.skip(line, reason, limits),
            }
        }
        (Some(text), Some(block)) => block.take(text),
        (Some(_), None) => fold.skip(line, "the line is outside of any block", limits),
    });
    let unfinished = open.map(|block| block.line).or(lines.unfinished());
    fold.finish(unfinished, limits)
}

impl Block {
    fn take(&mut self, text: &[u8]) {
        let Some(at) = text.iter().position(|b| *b == b'=') else { return };
        let (key, value) = (&text[..at], &text[at + 1..]);
        let as_text = || std::str::from_utf8(value).ok();
        match key {
            b"name" => self.name = value.to_vec(),
            b"ip_address" => self.address = as_text().and_then(|t| t.parse().ok()),
            b"hw_address" => self.hardware = value.to_vec(),
            b"identifier" => self.identifier = value.to_vec(),
            b"lease" => {
                let digits = as_text().and_then(|t| t.strip_prefix("0x"));
                self.lease = digits.and_then(|d| i64::from_str_radix(d, 16).ok());
            }
            _ => {}
        }
    }
}

fn record(block: Block) -> Result<Record, &'static str> {
    let address = block.address.ok_or("the block has no ip_address that is one")?;
    let (kind, octets) = typed(&block.hardware).ok_or("hw_address is not TYPE,ADDRESS")?;
    let id = typed(&block.identifier);
    Ok(Record {
        // The type ff says that this is a client-id.
        mac: mac_of(u32::from(kind), &octets),
        client_id: match id {
            Some((kind, octets)) => std::iter::once(kind).chain(octets).collect(),
            None => Box::default(),
        },
        hostname: block.name.into(),
        ends: block.lease.map_or(Ends::Unknown, Ends::at),
        ..Record::bound(address)
    })
}

/// `TYPE,OCTETS`, both hexadecimal.
fn typed(value: &[u8]) -> Option<(u8, Vec<u8>)> {
    let comma = value.iter().position(|b| *b == b',')?;
    let kind = octets_from(&value[..comma])?;
    Some((*kind.first()?, octets_from(&value[comma + 1..])?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_lack_something_are_counted_with_their_line() {
        let text =
            b"{\n\tip_address=10.0.0.1\n\thw_address=1,2:aa:0:0:0:1\n\tlease=0x6b0dfdd4\n}\n\
            {\n\tip_address=x\n}\nstray\n{\n\tip_address=10.0.0.3\n{\n\tname=a\n";
        let table = parse(text, &Limits::default()).unwrap();
        assert_eq!(table.records[0].mac.unwrap().to_string(), "02:aa:00:00:00:01");
        assert_eq!(table.records[0].ends, Ends::At(1_796_079_060));
        let lines: Vec<u64> = table.skips.iter().map(|s| s.line).collect();
        assert_eq!(lines, [6, 9, 10]);
        assert_eq!(table.unfinished, Some(12));
    }
}
