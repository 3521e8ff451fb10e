//! How much a parser takes before it says no.

/// Bounds on what is read. The defaults fit a site of a million machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all files of a source together.
    pub bytes: usize,
    /// Bytes of one line, or of one record that is more than a line.
    pub record: usize,
    /// Blocks inside blocks.
    pub depth: usize,
    /// Different addresses in one source.
    pub addresses: usize,
    /// Skipped records that are kept with line and reason; all are counted.
    pub skips: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 1 << 30, record: 64 << 10, depth: 16, addresses: 4_000_000, skips: 100 }
    }
}

/// Why a whole file can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    #[error(
        "the files hold {found} bytes and at most {limit} are read; let the server clean up its leases, or check that the path names its lease file"
    )]
    TooLarge { found: usize, limit: usize },
    #[error(
        "there are more than {limit} addresses in the file; check that the path names a lease file"
    )]
    TooManyAddresses { limit: usize },
    #[error(
        "the kind of this file can't be told from its content; name it instead of auto: isc, dnsmasq, libvirt, kea, networkd, udhcpd or bootpd"
    )]
    Unrecognised,
    #[error("wanted {wanted}, found `{found}`; check the kind of this source")]
    WrongFormat { wanted: &'static str, found: String },
    #[error(
        "this is Kea's file of IPv6 leases (it has a column duid); name the file of IPv4 leases, kea-leases4.csv"
    )]
    KeaV6,
    #[error("the JSON is not complete or not right: {0}; wait for the server to write it again")]
    Json(String),
}
