//! dnsmasq: `EXPIRY HARDWARE ADDRESS NAME CLIENT-ID`, one line per address.
//!
//! After a line `duid …` come DHCPv6 leases, whose second field is a number and never a MAC.

use std::net::IpAddr;

use super::fold::Fold;
use super::identity::{mac_of, octets_from};
use super::limits::{Limits, ParseError};
use super::lines::Lines;
use crate::leases::record::{Ends, FIRST_CREDIBLE_SECOND, Record, SourceTable};

/// Reads a lease file of dnsmasq in pieces.
#[derive(Clone, Debug)]
pub struct DnsmasqReader {
    limits: Limits,
    lines: Lines,
    fold: Fold,
    after_duid: bool,
}

impl DnsmasqReader {
    /// A reader at the start of a file.
    pub fn new(limits: Limits) -> Self {
        let lines = Lines::new(limits.record);
        Self { limits, lines, fold: Fold::default(), after_duid: false }
    }

    /// Takes the next bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        let Self { limits, lines, fold, after_duid } = self;
        lines.feed(bytes, |number, line| match line {
            None => fold.skip(number, "the line is too long", limits),
            Some(line) if line.iter().all(u8::is_ascii_whitespace) => {}
            Some(line) if line.starts_with(b"duid ") => *after_duid = true,
            Some(line) => match read_line(line, number) {
                Ok(record) if *after_duid || record.address.is_ipv6() => fold.set_aside(),
                Ok(record) => fold.put(record, limits),
                Err(reason) => fold.skip(number, reason, limits),
            },
        });
    }

    /// The table of all complete lines.
    pub fn finish(self) -> Result<SourceTable, ParseError> {
        self.fold.finish(self.lines.unfinished(), &self.limits)
    }
}

fn read_line(line: &[u8], number: u64) -> Result<Record, &'static str> {
    let mut fields = line.split(|b| *b == b' ');
    let mut next =
        || fields.next().ok_or("wanted five fields: expiry, MAC, address, name, client-id");
    let (expiry, hardware, address, name, client_id) =
        (next()?, next()?, next()?, next()?, next()?);
    if fields.next().is_some() {
        return Err("there are more than five fields");
    }
    let expiry: i64 = text(expiry)
        .and_then(|t| t.parse().ok())
        .filter(|e| *e >= 0)
        .ok_or("the first field is not a time in seconds")?;
    let address: IpAddr =
        text(address).and_then(|t| t.parse().ok()).ok_or("the third field is not an address")?;
    let mac = if address.is_ipv4() { hardware_of(hardware)? } else { None };
    Ok(Record {
        mac,
        client_id: match client_id {
            b"*" => Box::default(),
            id => octets_from(id).unwrap_or_default().into(),
        },
        hostname: if name == b"*" { Box::default() } else { name.into() },
        ends: match expiry {
            0 => Ends::Never,
            // Built without a clock: the length of the lease, from a start that nobody wrote.
            length if length < FIRST_CREDIBLE_SECOND => Ends::Unknown,
            end => Ends::At(end),
        },
        // A new lease is written first, so of two equal ones the upper is the newer.
        order: u32::MAX - u32::try_from(number).unwrap_or(u32::MAX),
        ..Record::bound(address)
    })
}

/// `52:54:00:aa:01:02`, or `TT-` and an address of ARP type TT that may be empty.
fn hardware_of(field: &[u8]) -> Result<Option<bpa_common::net::MacAddress>, &'static str> {
    const WRONG: &str = "the second field is not a hardware address";
    let (kind, octets) = match field.iter().position(|b| *b == b'-') {
        Some(2) => (octets_from(&field[..2]).ok_or(WRONG)?[0], &field[3..]),
        Some(_) => return Err(WRONG),
        None => (1, field),
    };
    if octets.is_empty() && kind != 1 {
        return Ok(None);
    }
    Ok(mac_of(u32::from(kind), &octets_from(octets).ok_or(WRONG)?))
}

fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> SourceTable {
        let mut reader = DnsmasqReader::new(Limits::default());
        reader.feed(text.as_bytes());
        reader.finish().unwrap()
    }

    #[test]
    fn a_line_is_a_lease() {
        let table = read("1796078262 02:aa:00:00:00:01 10.77.0.113 Node1 01:02:aa:00:00:00:01\n");
        let record = &table.records[0];
        assert_eq!(record.mac.unwrap().to_string(), "02:aa:00:00:00:01");
        assert_eq!(record.ends, Ends::At(1_796_078_262));
        assert_eq!(&*record.hostname, b"Node1");
        assert_eq!(&*record.client_id, [1, 2, 0xaa, 0, 0, 0, 1]);
    }

    #[test]
    fn zero_never_ends_and_a_small_number_is_a_length() {
        let table =
            read("0 02:aa:00:00:00:01 10.0.0.1 * *\n43200 02:aa:00:00:00:02 10.0.0.2 * *\n");
        assert_eq!(table.records[0].ends, Ends::Never);
        assert_eq!(table.records[1].ends, Ends::Unknown);
        assert!(table.records[1].is_live(i64::MAX));
    }

    #[test]
    fn other_hardware_has_no_mac_and_ipv6_is_set_aside() {
        let table = read(
            "1796078304 20- 10.0.0.2 * ff:00\n1796078304 06-02:aa:00:00:00:09 10.0.0.3 * *\n\
             duid 00:01\n1796078796 T5 fd77::1 * 00:03\n1796078796 4 fd77::2 * 00:01\n",
        );
        assert_eq!(table.records[0].mac, None);
        assert_eq!(&*table.records[0].client_id, [0xff, 0]);
        assert!(table.records[1].mac.is_some(), "IEEE 802 addresses are MACs");
        assert_eq!((table.records.len(), table.set_aside, table.skipped), (2, 2, 0));
    }

    #[test]
    fn bad_lines_are_counted_with_their_numbers_and_hide_nothing() {
        let table = read(
            "x 02:aa:00:00:00:01 10.0.0.1 * *\n1796078304 zz 10.0.0.2 * *\n\
             1796078304 02:aa:00:00:00:03 10.0.0 * *\n1796078304 02:aa:00:00:00:04\n\
             1796078304 02:aa:00:00:00:05 10.0.0.5 * *\n1796078304 02:aa:00:00:00:06 10.0.0",
        );
        let lines: Vec<u64> = table.skips.iter().map(|s| s.line).collect();
        assert_eq!(lines, [1, 2, 3, 4]);
        assert_eq!(table.records.len(), 1);
        assert_eq!(table.unfinished, Some(6));
    }
}
