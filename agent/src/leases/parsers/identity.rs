//! Identities of clients as servers write them: hardware addresses, client-ids, DUIDs.

use bpa_common::net::MacAddress;

/// ARP hardware types whose addresses are EUI-48: Ethernet and IEEE 802.
const EUI48_TYPES: [u32; 2] = [1, 6];

/// A MAC that can name one machine, from text.
pub fn mac_from(text: &[u8]) -> Option<MacAddress> {
    std::str::from_utf8(text).ok()?.parse::<MacAddress>().ok().filter(|mac| mac.is_unicast())
}

/// A MAC that can name one machine, from an ARP hardware type and its octets.
pub fn mac_of(hardware_type: u32, octets: &[u8]) -> Option<MacAddress> {
    let octets: [u8; 6] = octets.try_into().ok()?;
    EUI48_TYPES
        .contains(&hardware_type)
        .then(|| MacAddress::new(octets))
        .filter(|mac| mac.is_unicast())
}

/// Octets in hexadecimal with colons, with or without leading zeros. None when it is not that.
pub fn octets_from(text: &[u8]) -> Option<Vec<u8>> {
    let octet = |part: &[u8]| {
        if part.is_empty() || part.len() > 2 || !part.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        u8::from_str_radix(std::str::from_utf8(part).ok()?, 16).ok()
    };
    text.split(|b| *b == b':').map(octet).collect()
}

/// The MAC inside a DUID that was made from one (types LLT and LL). It is a guess: the DUID may
/// come from another interface, or from the image that the machine was installed from.
pub fn mac_of_duid(duid: &[u8]) -> Option<MacAddress> {
    let word = |at: usize| Some(u16::from_be_bytes(duid.get(at..at + 2)?.try_into().ok()?));
    let octets = match word(0)? {
        1 => duid.get(8..)?,
        3 => duid.get(4..)?,
        _ => return None,
    };
    mac_of(u32::from(word(2)?), octets)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_duid_gives_its_mac_only_when_it_was_made_from_ethernet() {
        let mac = MacAddress::new([2, 0xaa, 0, 0, 0, 4]);
        let llt = [0, 1, 0, 1, 0x32, 0xa0, 0xb6, 0xa2, 2, 0xaa, 0, 0, 0, 4];
        assert_eq!(mac_of_duid(&llt), Some(mac));
        assert_eq!(mac_of_duid(&[0, 3, 0, 1, 2, 0xaa, 0, 0, 0, 4]), Some(mac));
        assert_eq!(mac_of_duid(&[0, 3, 0, 32, 2, 0xaa, 0, 0, 0, 4]), None, "InfiniBand");
        assert_eq!(mac_of_duid(&[0, 2, 0, 1, 2, 0xaa, 0, 0, 0, 4]), None, "made by a vendor");
        assert_eq!(mac_of_duid(&[0]), None);
    }

    #[test]
    fn octets_may_lack_their_leading_zero() {
        assert_eq!(octets_from(b"2:bb:0:ff"), Some(vec![2, 0xbb, 0, 0xff]));
        assert_eq!(octets_from(b""), None);
        assert_eq!(octets_from(b"2::3"), None);
        assert_eq!(octets_from(b"123"), None);
    }

    #[test]
    fn addresses_that_name_no_machine_are_none() {
        assert_eq!(mac_from(b"00:00:00:00:00:00"), None);
        assert_eq!(mac_from(b"ff:ff:ff:ff:ff:ff"), None);
        assert_eq!(mac_of(32, &[2, 0, 0, 0, 0, 1]), None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = (octets_from(&bytes), mac_of_duid(&bytes), mac_from(&bytes));
        }
    }
}
