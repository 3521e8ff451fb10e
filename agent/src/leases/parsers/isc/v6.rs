//! `ia-na "IAID+DUID" { … iaaddr ADDRESS { … } }`: DHCPv6. The file names no MAC; one is guessed
//! from the DUID where the DUID was made from one.

use super::lease::{address_of, state_of};
use super::quoted::unescaped;
use super::time;
use super::token::{Token, statements};
use crate::leases::parsers::identity::mac_of_duid;
use crate::leases::record::{Binding, Ends, Record};

/// A record per address of the association.
pub fn read(id: Option<Token<'_>>, block: &[u8]) -> Result<Vec<Record>, &'static str> {
    let Some(Token::Quoted(id)) = id else { return Err("after `ia-na` there is no string") };
    let id = unescaped(id);
    let duid = id.get(4..).ok_or("the string after `ia-na` is shorter than an IAID")?;
    let mut contact = None;
    let mut records = Vec::new();
    statements(block, |words, inside| {
        match words {
            [Token::Word(b"cltt"), rest @ ..] => contact = time::read(rest)?.seconds(),
            [Token::Word(b"iaaddr"), address] => {
                let address = address_of(Some(*address)).ok_or("after `iaaddr` is no address")?;
                let (binding, ends) = state_and_end(inside)?;
                records.push(Record {
                    mac: mac_of_duid(duid),
                    client_id: duid.into(),
                    binding,
                    ends,
                    ..Record::bound(address)
                });
            }
            _ => {}
        }
        Ok(())
    })?;
    for record in &mut records {
        record.renewed = contact;
    }
    Ok(records)
}

fn state_and_end(block: &[u8]) -> Result<(Binding, Ends), &'static str> {
    let (mut binding, mut ends) = (Binding::Bound, Ends::Unknown);
    statements(block, |words, _| {
        match words {
            [Token::Word(b"binding"), Token::Word(b"state"), Token::Word(state)] => {
                binding = state_of(state)?;
            }
            [Token::Word(b"ends"), rest @ ..] => ends = time::read(rest)?,
            _ => {}
        }
        Ok(())
    })?;
    Ok((binding, ends))
}
