//! The kinds of lease source, and `KIND:PATH` as it is written on the command line.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::Deserialize;

/// Which program wrote the leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "String")]
pub enum SourceKind {
    /// ISC dhcpd, and the dialects of OpenBSD and VMware.
    Isc,
    Dnsmasq,
    /// The status file that libvirt's helper writes for its own dnsmasq.
    Libvirt,
    /// Kea's memfile of IPv4 leases, with the files of its clean-up.
    Kea,
    /// The DHCP server of systemd-networkd, from version 256.
    Networkd,
    /// busybox udhcpd.
    Udhcpd,
    /// The DHCP server of macOS.
    Bootpd,
    /// Told by the content.
    Auto,
}

/// Every kind, in the order in which they are listed for people.
const KINDS: [(SourceKind, &str); 8] = [
    (SourceKind::Isc, "isc"),
    (SourceKind::Dnsmasq, "dnsmasq"),
    (SourceKind::Libvirt, "libvirt"),
    (SourceKind::Kea, "kea"),
    (SourceKind::Networkd, "networkd"),
    (SourceKind::Udhcpd, "udhcpd"),
    (SourceKind::Bootpd, "bootpd"),
    (SourceKind::Auto, "auto"),
];

impl SourceKind {
    /// The name as it is written in the configuration.
    pub fn name(self) -> &'static str {
        KINDS.iter().find(|(kind, _)| *kind == self).map_or("auto", |(_, name)| name)
    }
}

impl fmt::Display for SourceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Text that is no kind of lease source, or a source without its kind or path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownKind {
    #[error(
        "`{0}` is not a kind of lease source: wanted one of isc, dnsmasq, libvirt, kea, networkd, udhcpd, bootpd, auto"
    )]
    Kind(String),
    #[error(
        "`{0}` is not a lease source: wanted KIND:PATH, for example kea:/var/lib/kea/kea-leases4.csv"
    )]
    Form(String),
}

impl FromStr for SourceKind {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        KINDS
            .iter()
            .find(|(_, name)| *name == text)
            .map(|(kind, _)| *kind)
            .ok_or_else(|| UnknownKind::Kind(text.chars().take(40).collect()))
    }
}

impl TryFrom<String> for SourceKind {
    type Error = UnknownKind;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

/// One source of leases: `KIND:PATH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceSpec {
    pub kind: SourceKind,
    pub path: PathBuf,
    /// See [`crate::leases::SourceView::grace`].
    pub grace_seconds: u32,
}

impl FromStr for SourceSpec {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            Some((kind, path)) if !path.is_empty() => {
                Ok(Self { kind: kind.parse()?, path: PathBuf::from(path), grace_seconds: 0 })
            }
            _ => Err(UnknownKind::Form(text.chars().take(80).collect())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_read_as_it_is_written() {
        for (kind, name) in KINDS {
            assert_eq!(name.parse(), Ok(kind));
            assert_eq!(kind.to_string(), name);
        }
    }

    #[test]
    fn a_source_is_a_kind_and_a_path_that_may_hold_colons() {
        let spec: SourceSpec = "isc:/var/lib/dhcp:old/dhcpd.leases".parse().unwrap();
        assert_eq!(spec.kind, SourceKind::Isc);
        assert_eq!(spec.path, PathBuf::from("/var/lib/dhcp:old/dhcpd.leases"));
    }

    #[test]
    fn what_is_wrong_is_named_with_what_is_wanted() {
        for (text, wanted) in
            [("kae:/x", "wanted one of isc"), ("/x", "wanted KIND:PATH"), ("kea:", "KIND:PATH")]
        {
            let error = text.parse::<SourceSpec>().unwrap_err().to_string();
            assert!(error.contains(wanted), "{error}");
        }
    }
}
