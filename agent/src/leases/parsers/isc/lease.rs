//! `lease ADDRESS { … }`: a whole record; a line that is missing is unset, not unchanged.

use std::net::IpAddr;

use bpa_common::net::MacAddress;

use super::quoted::{id, unescaped};
use super::time;
use super::token::{Token, statements};
use crate::leases::parsers::identity::{mac_of, octets_from};
use crate::leases::record::{Binding, Ends, Record};

/// What the statements of a record said.
#[derive(Default)]
struct Said<'a> {
    starts: Option<Ends>,
    ends: Option<Ends>,
    contact: Option<Ends>,
    state: Option<Binding>,
    abandoned: bool,
    mac: Option<MacAddress>,
    client_id: Box<[u8]>,
    hostname: &'a [u8],
}

/// Reads a record from its head's second word and what is between its braces.
pub fn read(address: Option<Token<'_>>, block: &[u8]) -> Result<Record, &'static str> {
    let address = address_of(address).ok_or("after `lease` there is no address")?;
    let mut said = Said::default();
    statements(block, |words, _| said.take(words))?;
    let binding = match said.state {
        _ if said.abandoned => Binding::Abandoned,
        // Old dialects write no state: a record that is there is a lease.
        state => state.unwrap_or(Binding::Bound),
    };
    Ok(Record {
        mac: said.mac,
        renewed: said.happened(binding),
        client_id: said.client_id,
        hostname: unescaped(said.hostname).into(),
        binding,
        ends: said.ends.unwrap_or(Ends::Unknown),
        ..Record::bound(address)
    })
}

impl<'a> Said<'a> {
    fn take(&mut self, words: &[Token<'a>]) -> Result<(), &'static str> {
        let Some((Token::Word(keyword), rest)) = words.split_first() else { return Ok(()) };
        match (*keyword, rest) {
            (b"starts", rest) => self.starts = Some(time::read(rest)?),
            (b"ends", rest) => self.ends = Some(time::read(rest)?),
            (b"cltt", rest) => self.contact = Some(time::read(rest)?),
            (b"binding", [Token::Word(b"state"), Token::Word(state)]) => {
                self.state = Some(state_of(state)?);
            }
            (b"hardware", rest) => self.mac = hardware(rest)?,
            (b"uid", rest) => self.client_id = id(rest),
            (b"client-hostname" | b"hostname", [Token::Quoted(name)]) => self.hostname = name,
            (b"abandoned", []) => self.abandoned = true,
            _ => {}
        }
        Ok(())
    }

    /// The newest thing that is known to have happened: for a lease in force the client's contact,
    /// for one that is over its end.
    fn happened(&self, binding: Binding) -> Option<i64> {
        let seconds = |time: Option<Ends>| time.and_then(Ends::seconds);
        let (start, contact) = (seconds(self.starts), seconds(self.contact));
        match binding {
            Binding::Bound => contact.or(start),
            Binding::Free | Binding::Expired | Binding::Released | Binding::Reset => {
                start.max(contact).max(seconds(self.ends))
            }
            _ => start.max(contact),
        }
    }
}

/// An address, v4 or v6.
pub fn address_of(word: Option<Token<'_>>) -> Option<IpAddr> {
    match word {
        Some(Token::Word(text)) => std::str::from_utf8(text).ok()?.parse().ok(),
        _ => None,
    }
}

/// The word after `binding state`.
pub fn state_of(word: &[u8]) -> Result<Binding, &'static str> {
    Ok(match word {
        b"active" => Binding::Bound,
        b"free" => Binding::Free,
        b"expired" => Binding::Expired,
        b"released" => Binding::Released,
        b"reset" => Binding::Reset,
        b"backup" => Binding::Backup,
        b"abandoned" => Binding::Abandoned,
        _ => return Err("the binding state is not one that dhcpd writes"),
    })
}

/// The words after `hardware`: a type, and an address unless it is of InfiniBand.
pub fn hardware(words: &[Token<'_>]) -> Result<Option<MacAddress>, &'static str> {
    let [Token::Word(kind), rest @ ..] = words else {
        return Err("after `hardware` there is no type");
    };
    let (kind, [Token::Word(octets)]) = (*kind, rest) else { return Ok(None) };
    let octets = octets_from(octets).ok_or("the hardware address is not hexadecimal")?;
    match kind {
        b"ethernet" => mac_of(1, &octets).map(Some).ok_or("the hardware address names no machine"),
        b"token-ring" | b"fddi" => Ok(mac_of(6, &octets)),
        _ => Ok(None),
    }
}
