//! One row of a Kea file.

use std::net::{IpAddr, Ipv4Addr};

use super::columns::Columns;
use crate::leases::parsers::identity::{mac_from, octets_from};
use crate::leases::record::{Binding, Ends, Record};

/// What `valid_lifetime` is for a lease that never ends. `expire` then passes 32 bits.
const INFINITE: u64 = 0xffff_ffff;

/// Reads a row that lies under these columns.
pub fn read(line: &[u8], columns: &Columns) -> Result<Record, &'static str> {
    // Kea writes a comma inside a value as `&#x2c`, so every comma here parts two values.
    let values: Vec<&[u8]> = line.split(|b| *b == b',').take(columns.count + 1).collect();
    if values.len() != columns.count {
        return Err("the row has not as many values as the header has columns");
    }
    let address: Ipv4Addr = text(values[columns.address])
        .and_then(|t| t.parse().ok())
        .ok_or("the address is not an IPv4 address")?;
    let lifetime =
        number(values[columns.valid_lifetime]).ok_or("valid_lifetime is not a number")?;
    let expire = number(values[columns.expire]).ok_or("expire is not a number")?;
    let state = match columns.state {
        Some(at) => number(values[at]).ok_or("state is not a number")?,
        None => 0,
    };
    let hardware = values[columns.hwaddr];
    if !hardware.is_empty() && octets_from(hardware).is_none() {
        return Err("hwaddr is not a hardware address");
    }
    let optional = |at: Option<usize>| at.map(|at| values[at]).unwrap_or_default();
    let renewed = i64::try_from(expire.saturating_sub(lifetime)).ok();
    Ok(Record {
        mac: mac_from(hardware),
        client_id: octets_from(optional(columns.client_id)).unwrap_or_default().into(),
        hostname: unescape(optional(columns.hostname)).into(),
        binding: binding(state, lifetime),
        ends: if lifetime == INFINITE {
            Ends::Never
        } else {
            Ends::at(i64::try_from(expire).unwrap_or(i64::MAX))
        },
        renewed: renewed.filter(|at| *at > 0),
        ..Record::bound(IpAddr::V4(address))
    })
}

/// Kea's states: 0 assigned, 1 declined, 2 expired and reclaimed, 3 released, 4 registered. A
/// released or deleted lease is also written as assigned for 0 seconds.
fn binding(state: u64, lifetime: u64) -> Binding {
    match (state, lifetime) {
        (0, 0) | (3, _) => Binding::Released,
        (0, _) => Binding::Bound,
        (1, _) => Binding::Declined,
        (2, _) => Binding::Expired,
        _ => Binding::Free,
    }
}

/// `&#xHH` (with no semicolon) is one byte.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, tail)) = rest.split_first() {
        let code = rest.strip_prefix(b"&#x").and_then(|code| octets_from(code.get(..2)?));
        if let Some(byte) = code.as_deref().and_then(|c| c.first()) {
            bytes.push(*byte);
            rest = &rest[5..];
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    bytes
}

fn number(bytes: &[u8]) -> Option<u64> {
    text(bytes)?.parse().ok()
}

fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}
