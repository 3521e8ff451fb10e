//! What a DHCP server wrote, after the first of the two steps: per address the record in force.

use std::net::IpAddr;

use bpa_common::net::MacAddress;

/// What the server says of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// Given to a client. In force until its end.
    Bound,
    /// Kept for a client by the configuration, whether it is in use or not.
    Reserved,
    Free,
    Expired,
    Released,
    /// ISC failover: an operator freed it.
    Reset,
    /// ISC failover: in the pool of the partner.
    Backup,
    /// ISC: something else answered at this address.
    Abandoned,
    /// A client said that something else uses this address.
    Declined,
}

impl Binding {
    /// The word for people and for scripts.
    pub fn word(self) -> &'static str {
        match self {
            Self::Bound => "bound",
            Self::Reserved => "reserved",
            Self::Free => "free",
            Self::Expired => "expired",
            Self::Released => "released",
            Self::Reset => "reset",
            Self::Backup => "backup",
            Self::Abandoned => "abandoned",
            Self::Declined => "declined",
        }
    }
}

/// When a lease ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// Seconds since 1970. In force while this is later than now.
    At(i64),
    Never,
    /// The server had no clock, or a wrong one: nothing can be said, so it is not ended.
    Unknown,
}

/// Times before 2001 were written by a machine whose clock was not set: no DHCP server of that time
/// is read here.
pub const FIRST_CREDIBLE_SECOND: i64 = 1_000_000_000;

impl Ends {
    /// An end as a server wrote it; one from before any credible time is unknown.
    pub fn at(seconds: i64) -> Self {
        if seconds < FIRST_CREDIBLE_SECOND { Self::Unknown } else { Self::At(seconds) }
    }

    /// True when the lease has not ended.
    pub fn is_after(self, now: i64) -> bool {
        match self {
            Self::At(end) => end > now,
            Self::Never | Self::Unknown => true,
        }
    }

    /// The end in seconds since 1970, when there is one.
    pub fn seconds(self) -> Option<i64> {
        match self {
            Self::At(end) => Some(end),
            Self::Never | Self::Unknown => None,
        }
    }
}

/// One record of a server. Names and ids are bytes from the network: never show them unescaped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub address: IpAddr,
    /// None where the server wrote none: InfiniBand, abandoned and declined addresses.
    pub mac: Option<MacAddress>,
    /// DHCP option 61 as sent, empty when there was none.
    pub client_id: Box<[u8]>,
    /// As the client sent it, empty when there was none.
    pub hostname: Box<[u8]>,
    pub binding: Binding,
    pub ends: Ends,
    /// Seconds since 1970 of the newest thing that happened to this binding, where it is written.
    pub renewed: Option<i64>,
    /// Greater is newer within one source, when nothing else tells.
    pub order: u32,
}

impl Record {
    /// A bound record of this address with nothing else known.
    pub fn bound(address: IpAddr) -> Self {
        Self {
            address,
            mac: None,
            client_id: Box::default(),
            hostname: Box::default(),
            binding: Binding::Bound,
            ends: Ends::Unknown,
            renewed: None,
            order: 0,
        }
    }

    /// True when the client may use the address at this time.
    pub fn is_live(&self, now: i64) -> bool {
        match self.binding {
            Binding::Bound => self.ends.is_after(now),
            Binding::Reserved => true,
            _ => false,
        }
    }
}

/// A record that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip {
    /// Where it begins, counted from 1; for binary files the number of the record.
    pub line: u64,
    pub reason: &'static str,
}

/// All that one source says, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceTable {
    /// One record per address.
    pub records: Vec<Record>,
    /// Addresses that the configuration keeps for a client.
    pub reservations: Vec<Record>,
    /// Complete records in the file, older ones of the same address included.
    pub count: u64,
    /// How many records could not be read.
    pub skipped: u64,
    /// The first of them.
    pub skips: Vec<Skip>,
    /// IPv6 leases whose client's MAC is not written.
    pub set_aside: u64,
    /// The line where an unfinished record begins, at the end of the file.
    pub unfinished: Option<u64>,
}

impl SourceTable {
    /// The latest end of a lease, from which the newest renewal is guessed where none is written.
    pub fn latest_end(&self) -> Option<i64> {
        self.records.iter().filter_map(|r| r.ends.seconds()).max()
    }

    /// The newest transaction with a client, seconds since 1970.
    pub fn newest(&self) -> Option<i64> {
        self.records.iter().filter_map(|r| r.renewed).max()
    }
}
