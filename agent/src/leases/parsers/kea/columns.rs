//! The header of a Kea file: which column is where. It grew with Kea's versions.

use crate::leases::parsers::limits::ParseError;

/// Positions of the columns that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
    /// How many there are.
    pub count: usize,
    pub address: usize,
    pub hwaddr: usize,
    pub client_id: Option<usize>,
    pub valid_lifetime: usize,
    pub expire: usize,
    pub hostname: Option<usize>,
    /// Not in the files of Kea 1.0.
    pub state: Option<usize>,
}

const MOST_COLUMNS: usize = 64;

impl Columns {
    /// None when the line is not a header; an error when it is the header of something else.
    pub fn of_header(line: &[u8]) -> Option<Result<Self, ParseError>> {
        let names: Vec<&[u8]> = line.split(|b| *b == b',').take(MOST_COLUMNS + 1).collect();
        let find = |name: &str| names.iter().position(|n| *n == name.as_bytes());
        let address = find("address")?;
        if find("duid").is_some() {
            return Some(Err(ParseError::KeaV6));
        }
        let read = || {
            Some(Self {
                count: Some(names.len()).filter(|n| *n <= MOST_COLUMNS)?,
                address,
                hwaddr: find("hwaddr")?,
                client_id: find("client_id"),
                valid_lifetime: find("valid_lifetime")?,
                expire: find("expire")?,
                hostname: find("hostname"),
                state: find("state"),
            })
        };
        Some(read().ok_or_else(|| ParseError::WrongFormat {
            wanted: "a header with the columns address, hwaddr, valid_lifetime and expire",
            found: crate::leases::escape::escaped(line),
        }))
    }
}
