//! The join line: all that an agent needs for first contact, in one word that survives a mail, a
//! chat and a wrapped terminal, and that says so when it did not.
//!
//! `bpa1.` and, in base64url without padding: length of the body (2 bytes, big-endian), body,
//! first 4 bytes of the SHA-256 of all before. The length tells a cut line from a damaged one.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use jiff::Timestamp;
use ring::digest::{SHA256, digest};
use secrecy::SecretString;
use zeroize::Zeroizing;

use super::{Address, Fingerprint, IdentityError, JoinSecret, SiteName};
use crate::wire::v1::{JoinLineBody, SecretBytes};
use crate::wire::{decode, encode};

const PREFIX: &str = "bpa1.";
/// Characters; a line with eight long addresses has about 3000.
const MAX_LINE: usize = 6000;
const MAX_ADDRESSES: usize = 8;
const MAX_PINS: usize = 2;
const LENGTH: usize = 2;
const CHECKSUM: usize = 4;

/// What a join line says.
#[derive(Clone)]
pub struct JoinBundle {
    /// Where the coordinator is reached, tried in this order; 1 to 8.
    pub addresses: Vec<Address>,
    /// Authorities that the site is to trust; 1, or 2 while an authority is being replaced.
    pub pins: Vec<Fingerprint>,
    pub secret: JoinSecret,
    pub site: SiteName,
    /// By the coordinator's clock. A site whose clock is dead knows from it that it is not earlier.
    pub issued: Timestamp,
    pub expires: Timestamp,
}

/// Why a text is not a join line. No error shows the line: it holds a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JoinLineError {
    #[error(
        "this is no join line: it must begin with `bpa1.`; copy the whole line that `bpa-coordinator site add NAME` printed"
    )]
    NotOurs,
    #[error(
        "this join line has format `{found}`, this agent reads `bpa1`; use an agent of the coordinator's version"
    )]
    Version { found: String },
    #[error(
        "the join line is cut off: {missing} characters are missing at its end; copy it again, whole"
    )]
    Cut { missing: usize },
    #[error(
        "the join line is followed by {extra} characters that do not belong to it; copy it again, alone"
    )]
    Extra { extra: usize },
    #[error("the join line is too long: {found} characters, at most {MAX_LINE} are read")]
    TooLong { found: usize },
    #[error("character {at} of the join line can't be part of one; copy it again")]
    Character { at: usize },
    #[error("the join line is damaged (its checksum does not fit); copy it again")]
    Checksum,
    #[error("the join line can't be used: {0}; make a new one with `bpa-coordinator site add`")]
    Content(String),
}

impl JoinBundle {
    /// The bundle as one line.
    ///
    /// # Errors
    /// When there are too many addresses or pins, or none.
    pub fn to_line(&self) -> Result<SecretString, IdentityError> {
        let make = |problem: String| IdentityError::Make { what: "a join line", problem };
        check_counts(self.addresses.len(), self.pins.len()).map_err(make)?;
        let body = JoinLineBody {
            addresses: self.addresses.iter().map(Address::to_string).collect(),
            pins: self.pins.iter().map(|pin| pin.to_bytes()).collect(),
            secret: SecretBytes(self.secret.expose().to_vec()),
            site: self.site.to_string(),
            issued: self.issued.as_second(),
            expires: self.expires.as_second(),
        };
        let body = Zeroizing::new(encode(&body).map_err(|e| make(e.to_string()))?);
        let len = u16::try_from(body.len()).map_err(|e| make(e.to_string()))?;
        let mut bytes = Zeroizing::new(len.to_be_bytes().to_vec());
        bytes.extend_from_slice(&body);
        let sum = checksum(&bytes);
        bytes.extend_from_slice(&sum);
        Ok(format!("{PREFIX}{}", BASE64.encode(&bytes[..])).into())
    }

    /// Reads a line. White space in it (a wrapped copy) and quotes around it do not matter.
    /// Whether it has expired is for the coordinator to say: clocks of sites are not trusted.
    ///
    /// # Errors
    /// When the text is not one whole, undamaged join line of this format.
    pub fn parse(line: &str) -> Result<Self, JoinLineError> {
        let found = line.len();
        if found > MAX_LINE {
            return Err(JoinLineError::TooLong { found });
        }
        let text: Zeroizing<String> = Zeroizing::new(
            line.chars().filter(|c| !c.is_whitespace() && !matches!(c, '"' | '\'' | '`')).collect(),
        );
        let bytes = payload(encoded_part(&text)?)?;
        let (covered, sum) = bytes.split_at(bytes.len() - CHECKSUM);
        if checksum(covered) != *sum {
            return Err(JoinLineError::Checksum);
        }
        let content = |e: &dyn fmt::Display| JoinLineError::Content(e.to_string());
        let body: JoinLineBody = decode(&covered[LENGTH..]).map_err(|e| content(&e))?;
        Self::from_body(body).map_err(JoinLineError::Content)
    }

    fn from_body(body: JoinLineBody) -> Result<Self, String> {
        check_counts(body.addresses.len(), body.pins.len())?;
        let secret = Zeroizing::new(body.secret.0);
        let parse = |text: &String| text.parse::<Address>().map_err(|e| e.to_string());
        let time = |seconds| Timestamp::from_second(seconds).map_err(|e| e.to_string());
        Ok(Self {
            addresses: body.addresses.iter().map(parse).collect::<Result<_, _>>()?,
            pins: body.pins.into_iter().map(Fingerprint::from_bytes).collect(),
            secret: JoinSecret::from_slice(&secret).ok_or("its secret has the wrong length")?,
            site: body.site.parse().map_err(|e: super::SiteNameError| e.to_string())?,
            issued: time(body.issued)?,
            expires: time(body.expires)?,
        })
    }
}

impl fmt::Debug for JoinBundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinBundle")
            .field("site", &self.site.as_str())
            .field("addresses", &self.addresses)
            .field("pins", &self.pins)
            .field("expires", &self.expires)
            .finish_non_exhaustive()
    }
}

fn check_counts(addresses: usize, pins: usize) -> Result<(), String> {
    if !(1..=MAX_ADDRESSES).contains(&addresses) {
        return Err(format!("it has {addresses} addresses, wanted 1 to {MAX_ADDRESSES}"));
    }
    if !(1..=MAX_PINS).contains(&pins) {
        return Err(format!("it has {pins} pins, wanted 1 or {MAX_PINS}"));
    }
    Ok(())
}

fn checksum(bytes: &[u8]) -> [u8; CHECKSUM] {
    let mut sum = [0; CHECKSUM];
    sum.copy_from_slice(&digest(&SHA256, bytes).as_ref()[..CHECKSUM]);
    sum
}

/// What follows the prefix.
fn encoded_part(text: &str) -> Result<&str, JoinLineError> {
    if let Some(encoded) = text.strip_prefix(PREFIX) {
        let at = encoded.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'));
        return match at {
            Some(at) => Err(JoinLineError::Character { at: PREFIX.len() + at + 1 }),
            None => Ok(encoded),
        };
    }
    match text.split_once('.') {
        Some((format, _)) if is_format(format) => {
            Err(JoinLineError::Version { found: format.to_owned() })
        }
        _ => Err(JoinLineError::NotOurs),
    }
}

fn is_format(text: &str) -> bool {
    let digits = text.strip_prefix("bpa").unwrap_or_default();
    (1..=4).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit())
}

/// Decodes the text when it has exactly the length that it says itself.
fn payload(encoded: &str) -> Result<Zeroizing<Vec<u8>>, JoinLineError> {
    // Four characters hold the length.
    let Some(head) = encoded.get(..4).and_then(|head| BASE64.decode(head).ok()) else {
        return Err(JoinLineError::Cut { missing: 4 - encoded.len().min(3) });
    };
    let body = usize::from(u16::from_be_bytes([head[0], head[1]]));
    let wanted = ((LENGTH + body + CHECKSUM) * 4).div_ceil(3);
    match encoded.len() {
        found if found < wanted => Err(JoinLineError::Cut { missing: wanted - found }),
        found if found > wanted => Err(JoinLineError::Extra { extra: found - wanted }),
        _ => BASE64.decode(encoded).map(Zeroizing::new).map_err(|_| JoinLineError::Checksum),
    }
}

#[cfg(test)]
mod tests;
