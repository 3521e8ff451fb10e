//! busybox udhcpd: binary; the time of writing, then records of 36 bytes with the seconds left.

use bpa_common::net::MacAddress;

use super::fold::Fold;
use super::limits::{Limits, ParseError};
use crate::leases::record::{Binding, Ends, Record, SourceTable};

const HEADER: usize = 8;
const RECORD: usize = 36;

/// Reads the whole file. Its leases are as old as the file: udhcpd writes it seldom.
pub fn parse(bytes: &[u8], limits: &Limits) -> Result<SourceTable, ParseError> {
    let mut fold = Fold::default();
    let Some((header, records)) = bytes.split_first_chunk::<HEADER>() else {
        return fold.finish((!bytes.is_empty()).then_some(1), limits);
    };
    let written = i64::from_be_bytes(*header);
    if !(0..1 << 40).contains(&written) {
        return Err(ParseError::WrongFormat {
            wanted: "the time of writing in the first 8 bytes",
            found: crate::leases::escape::hex(header),
        });
    }
    let (whole, rest) = records.as_chunks::<RECORD>();
    for record in whole {
        fold.put_newer(read(record, written), limits);
    }
    let unfinished = (!rest.is_empty()).then_some(whole.len() as u64 + 1);
    fold.finish(unfinished, limits)
}

fn read(bytes: &[u8; RECORD], written: i64) -> Record {
    let [l0, l1, l2, l3, a, b, c, d, m0, m1, m2, m3, m4, m5, name @ ..] = *bytes;
    let left = i64::from(u32::from_be_bytes([l0, l1, l2, l3]));
    let mac = Some(MacAddress::new([m0, m1, m2, m3, m4, m5])).filter(|mac| mac.is_unicast());
    let name = &name[..20];
    let length = name.iter().position(|b| *b == 0).unwrap_or(name.len());
    Record {
        mac,
        hostname: name[..length].into(),
        binding: match (mac, left) {
            (None, _) => Binding::Declined,
            (_, 0) => Binding::Expired,
            _ => Binding::Bound,
        },
        ends: Ends::at(written + left),
        ..Record::bound([a, b, c, d].into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_lease_file_is_refused_and_a_cut_one_gives_what_is_whole() {
        let limits = Limits::default();
        assert!(parse(b"lease 10.0.0.1 {", &limits).is_err());
        assert_eq!(parse(b"", &limits).unwrap(), SourceTable::default());
        let mut file = 1_796_079_673i64.to_be_bytes().to_vec();
        let mut record = [0u8; RECORD];
        record[3] = 60;
        record[4..8].copy_from_slice(&[10, 0, 0, 1]);
        record[8..14].copy_from_slice(&[2, 0xaa, 0, 0, 0, 1]);
        record[14..19].copy_from_slice(b"node1");
        file.extend(record);
        file.extend(&record[..20]);
        let table = parse(&file, &limits).unwrap();
        assert_eq!(table.records[0].ends, Ends::At(1_796_079_733));
        assert_eq!(&*table.records[0].hostname, b"node1");
        assert_eq!(table.unfinished, Some(2));
    }
}
