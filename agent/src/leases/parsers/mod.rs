//! One parser per DHCP server: bytes in, a table out. No I/O and no clock; bounded; never a panic.
//!
//! Whatever the bytes are, a parser ends: a record that can't be read is counted with its line and
//! skipped, and only a file that is wholly something else is an error.

mod bootpd;
mod detect;
mod dnsmasq;
mod fold;
mod identity;
mod isc;
mod kea;
mod libvirt;
mod limits;
mod lines;
mod networkd;
mod udhcpd;

pub use detect::detect;
pub use dnsmasq::DnsmasqReader;
pub use isc::IscReader;
pub use kea::KeaReader;
pub use limits::{Limits, ParseError};

use super::kind::SourceKind;
use super::record::SourceTable;

/// Reads what a source holds. `parts` are its files in reading order: one, or several for Kea.
pub fn parse(
    kind: SourceKind,
    parts: &[&[u8]],
    limits: &Limits,
) -> Result<SourceTable, ParseError> {
    let total: usize = parts.iter().map(|p| p.len()).sum();
    if total > limits.bytes {
        return Err(ParseError::TooLarge { found: total, limit: limits.bytes });
    }
    let whole = parts.first().copied().unwrap_or_default();
    match kind {
        SourceKind::Auto => match detect(whole) {
            Some(found) => parse(found, parts, limits),
            None if whole.iter().all(u8::is_ascii_whitespace) => Ok(SourceTable::default()),
            None => Err(ParseError::Unrecognised),
        },
        SourceKind::Isc => {
            let mut reader = IscReader::new(*limits);
            reader.feed(whole);
            reader.finish()
        }
        SourceKind::Dnsmasq => {
            let mut reader = DnsmasqReader::new(*limits);
            reader.feed(whole);
            reader.finish()
        }
        SourceKind::Kea => {
            let mut reader = KeaReader::new(*limits);
            for part in parts {
                reader.next_file();
                reader.feed(part);
            }
            reader.finish()
        }
        SourceKind::Libvirt => libvirt::parse(whole, limits),
        SourceKind::Networkd => networkd::parse(whole, limits),
        SourceKind::Udhcpd => udhcpd::parse(whole, limits),
        SourceKind::Bootpd => bootpd::parse(whole, limits),
    }
}
