//! Where a coordinator can be reached.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// A host (name or address) and a UDP port, written `host:port` or `[v6]:port`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    host: String,
    port: u16,
}

/// Text that is no address of a coordinator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{found}` is no address of a coordinator: wanted host:port such as 192.0.2.7:7443, [2001:db8::7]:7443 or bpa.example.org:7443"
)]
pub struct AddressError {
    /// The start of the text that was found.
    pub found: String,
}

impl Address {
    /// Host name or IP address, without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// UDP port, never 0.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The IP address, when the host is one.
    pub fn ip(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }
}

fn parse(text: &str) -> Option<Address> {
    let (host, port) = text.rsplit_once(':')?;
    let port: u16 = port.parse().ok().filter(|&port| port != 0)?;
    let host = match host.strip_prefix('[') {
        Some(rest) => {
            let inner = rest.strip_suffix(']')?;
            inner.parse::<Ipv6Addr>().ok()?;
            inner
        }
        None => host,
    };
    let is_name = !host.is_empty()
        && host.len() <= 253
        && host.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'.');
    (is_name || text.starts_with('[')).then(|| Address { host: host.to_owned(), port })
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).ok_or_else(|| AddressError {
            found: text.chars().take(80).flat_map(char::escape_debug).collect(),
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_are_read_and_printed_alike() {
        for text in ["192.0.2.7:7443", "[2001:db8::7]:7443", "bpa.example.org:1", "c:65535"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        assert!("[2001:db8::7]:1".parse::<Address>().unwrap().ip().is_some());
        assert!("c:1".parse::<Address>().unwrap().ip().is_none());
    }

    #[test]
    fn what_could_not_be_dialled_is_refused() {
        for bad in [
            "",
            "host",
            "host:",
            ":1",
            "host:0",
            "host:70000",
            "2001:db8::7:7443",
            "[::1]",
            "[x]:1",
            "a b:1",
            "http://x:1",
            "[::1:1",
        ] {
            let error = bad.parse::<Address>().unwrap_err();
            assert!(error.to_string().contains("wanted host:port"), "{bad}");
        }
    }
}
