//! Ethernet hardware addresses (IEEE 802 EUI-48) as six bytes, never as text.

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, Serializer};

/// A 48-bit Ethernet hardware address.
///
/// Reads the spellings in use: `52:54:00:aa:01:02`, `52-54-00-AA-01-02`, `5254.00aa.0102`,
/// `525400aa0102`, and octets without a leading zero (`52:54:0:aa:1:2`, written by macOS' bootpd).
/// Always printed in lower case with colons.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddress([u8; 6]);

/// Text that is not a hardware address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is not a MAC address: wanted six hexadecimal octets such as 52:54:00:aa:01:02")]
pub struct ParseMacError {
    /// The start of the text that was found.
    pub found: String,
}

impl MacAddress {
    /// The address made of these octets.
    pub const fn new(octets: [u8; 6]) -> Self {
        Self(octets)
    }

    /// The six octets in transmission order.
    pub const fn octets(self) -> [u8; 6] {
        self.0
    }

    /// True for 00:00:00:00:00:00, which many tools print for "none". It names no machine.
    pub const fn is_zero(self) -> bool {
        matches!(self.0, [0, 0, 0, 0, 0, 0])
    }

    /// True for group addresses (multicast and broadcast), which no interface owns.
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }

    /// True when this address can name one interface of one machine.
    pub const fn is_unicast(self) -> bool {
        !self.is_zero() && !self.is_group()
    }
}

fn octets_of(text: &str) -> Option<[u8; 6]> {
    if !text.is_ascii() || text.len() > 17 {
        return None;
    }
    let mut octets = [0u8; 6];
    let separator = text.bytes().find(|b| matches!(b, b':' | b'-' | b'.'));
    match separator {
        None if text.len() == 12 => read_groups(std::iter::once(text), 12, &mut octets),
        Some(b'.') => read_groups(text.split('.'), 4, &mut octets),
        Some(s @ (b':' | b'-')) => {
            let mut parts = text.split(s as char);
            for octet in &mut octets {
                let part = parts.next()?;
                if part.is_empty() || part.len() > 2 || !all_hex(part) {
                    return None;
                }
                *octet = u8::from_str_radix(part, 16).ok()?;
            }
            parts.next().is_none().then_some(octets)
        }
        _ => None,
    }
}

/// Reads groups of exactly `width` hexadecimal digits until six octets are full.
fn read_groups<'a>(
    groups: impl Iterator<Item = &'a str>,
    width: usize,
    octets: &mut [u8; 6],
) -> Option<[u8; 6]> {
    let mut filled = 0;
    for group in groups {
        if group.len() != width || !all_hex(group) {
            return None;
        }
        for at in (0..width).step_by(2) {
            *octets.get_mut(filled)? = u8::from_str_radix(&group[at..at + 2], 16).ok()?;
            filled += 1;
        }
    }
    (filled == 6).then_some(*octets)
}

/// `u8::from_str_radix` also takes a sign, which is no part of an address.
fn all_hex(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_hexdigit())
}

impl FromStr for MacAddress {
    type Err = ParseMacError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        octets_of(text)
            .map(Self)
            .ok_or_else(|| ParseMacError { found: text.chars().take(40).collect() })
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for MacAddress {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            self.0.serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for MacAddress {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
        } else {
            <[u8; 6]>::deserialize(deserializer).map(Self)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WANTED: MacAddress = MacAddress::new([0x52, 0x54, 0x00, 0xaa, 0x01, 0x02]);

    #[test]
    fn every_spelling_in_use_is_read() {
        for text in [
            "52:54:00:aa:01:02",
            "52:54:00:AA:01:02",
            "52-54-00-aa-01-02",
            "5254.00aa.0102",
            "525400aa0102",
            "52:54:0:aa:1:2",
        ] {
            assert_eq!(text.parse(), Ok(WANTED), "{text}");
        }
        assert_eq!(WANTED.to_string(), "52:54:00:aa:01:02");
    }

    #[test]
    fn what_is_not_an_address_is_refused_and_named() {
        for text in [
            "",
            "52:54:00",
            "52:54:00:aa:01:02:03",
            "52:54:00:aa:01:0g",
            "52:54:00:aa:01:",
            "+2:54:00:aa:01:02",
            "52:54-00:aa:01:02",
            "<node4-if2-mac>",
            "5254.00aa.010",
            "5254.00aa.0102.0304",
            "525400aa01021",
            "52:54:00:ää:1",
        ] {
            let error = text.parse::<MacAddress>().unwrap_err();
            assert!(error.to_string().contains("is not a MAC address"), "{text}");
        }
    }

    #[test]
    fn an_address_that_names_no_machine_is_known() {
        assert!(MacAddress::new([0; 6]).is_zero());
        assert!(!MacAddress::new([0xff; 6]).is_unicast());
        assert!(WANTED.is_unicast());
    }

    proptest! {
        #[test]
        fn printed_and_read_again_is_the_same(octets: [u8; 6]) {
            let mac = MacAddress::new(octets);
            prop_assert_eq!(mac.to_string().parse(), Ok(mac));
            let json = serde_json::to_string(&mac).unwrap();
            prop_assert_eq!(serde_json::from_str::<MacAddress>(&json).unwrap(), mac);
        }

        #[test]
        fn no_text_panics(text in ".{0,40}") {
            let _ = text.parse::<MacAddress>();
        }
    }
}
