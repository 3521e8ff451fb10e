//! `host NAME { … }`: a reservation. dhcpd never writes a lease for it, so it is the only answer.

use super::lease::{address_of, hardware};
use super::quoted::{id, unescaped};
use super::token::{Token, statements};
use crate::leases::record::{Binding, Ends, Record};

/// The name, and a record per fixed address; none when the block says `deleted`.
pub fn read(
    name: Option<Token<'_>>,
    block: &[u8],
) -> Result<(Box<[u8]>, Vec<Record>), &'static str> {
    let name: Box<[u8]> = match name {
        Some(Token::Word(name)) => name.into(),
        Some(Token::Quoted(name)) => unescaped(name).into(),
        _ => return Err("after `host` there is no name"),
    };
    let (mut mac, mut client_id, mut deleted) = (None, Box::default(), false);
    let mut addresses = Vec::new();
    statements(block, |words, _| {
        match words {
            [Token::Word(b"hardware"), rest @ ..] => mac = hardware(rest)?,
            [Token::Word(b"uid"), rest @ ..] => client_id = id(rest),
            [Token::Word(b"fixed-address"), rest @ ..] => {
                // A name here is for the server to resolve, not for us.
                addresses.extend(rest.iter().filter_map(|word| address_of(Some(*word))));
            }
            [Token::Word(b"deleted")] => deleted = true,
            _ => {}
        }
        Ok(())
    })?;
    if deleted {
        addresses.clear();
    }
    let record = |address| Record {
        mac,
        client_id: client_id.clone(),
        hostname: name.clone(),
        binding: Binding::Reserved,
        ends: Ends::Never,
        ..Record::bound(address)
    };
    let records = addresses.into_iter().map(record).collect();
    Ok((name, records))
}
