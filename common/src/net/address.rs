//! Which IP addresses can be those of a host, and how they are written by others.

use std::net::IpAddr;

/// True for an address by which a host can be reached over the network, whatever else wrote it
/// down: not link-local, loopback, multicast, broadcast or unspecified.
pub fn names_a_host(address: IpAddr) -> bool {
    let link_local = match address {
        IpAddr::V4(v4) => v4.is_link_local() || v4.is_broadcast(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    };
    !(address.is_loopback() || address.is_multicast() || address.is_unspecified() || link_local)
}

/// Reads an address as inspection data have it: with a prefix length (`10.0.0.5/24`) or a zone
/// (`fe80::1%eno1`), both of which are dropped. None when it can't be that of a host.
pub fn host_address(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let text = text.split_once('/').map_or(text, |(address, _)| address);
    let text = text.split_once('%').map_or(text, |(address, _)| address);
    let address: IpAddr = text.parse().ok()?;
    Some(address.to_canonical()).filter(|address| names_a_host(*address))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<String> {
        host_address(text).map(|address| address.to_string())
    }

    /// Bugs 29 and 30: both families alike, and none that only the next machine can reach.
    #[test]
    fn both_families_are_read_and_what_names_no_host_is_dropped() {
        for (text, wanted) in [
            ("10.0.0.5", "10.0.0.5"),
            (" 10.0.0.5/24 ", "10.0.0.5"),
            ("2001:DB8::5", "2001:db8::5"),
            ("fd00::5/64", "fd00::5"),
            ("fd00::5%eno1", "fd00::5"),
            ("::ffff:10.0.0.5", "10.0.0.5"),
        ] {
            assert_eq!(read(text).as_deref(), Some(wanted), "{text}");
        }
        for text in [
            "",
            "dhcp",
            "10.0.0",
            "10.0.0.5.6",
            "fe80::1",
            "fe80::1%eno1",
            "169.254.3.1",
            "::ffff:169.254.3.1",
            "127.0.0.1",
            "::1",
            "0.0.0.0",
            "::",
            "224.0.0.1",
            "ff02::1",
            "255.255.255.255",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
