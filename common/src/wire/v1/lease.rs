//! The lease stream: a snapshot, then deltas with sequence numbers; and look-ups.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::net::MacAddress;

/// All leases that the agent knows. `seq` starts a new count of deltas.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseSnapshot {
    pub seq: u64,
    pub sources: Vec<LeaseSource>,
    pub entries: Vec<LeaseEntry>,
}

/// What changed since `seq - 1`; a gap asks for a new snapshot (the receiver resets the stream).
/// `removed` is applied first: what stays of an address in another source is told again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseDelta {
    pub seq: u64,
    pub sources: Vec<LeaseSource>,
    /// New or changed, by (mac, address, source, state).
    pub changed: Vec<LeaseEntry>,
    pub removed: Vec<(MacAddress, IpAddr)>,
}

/// Health of one source of leases.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseSource {
    /// `kea`, `isc`, `dnsmasq`, …
    pub kind: String,
    pub path: String,
    pub records: u64,
    /// Records that could not be read.
    pub skipped: u64,
    /// Age of the view in seconds.
    pub age_seconds: u64,
    /// Why the source can't be read now; empty when it can.
    pub error: String,
}

/// One lease in force (or a reservation).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseEntry {
    pub mac: MacAddress,
    pub address: IpAddr,
    pub state: LeaseState,
    /// Seconds since 1970; none = never ends.
    pub expires: Option<i64>,
    /// Seconds since 1970 of the newest transaction of the client, as far as known.
    pub renewed: Option<i64>,
    /// Index into the sources.
    pub source: u32,
    /// Hexadecimal.
    pub client_id: String,
    /// Escaped: it came from the network.
    pub hostname: String,
    /// True for the one address that answers for this MAC.
    pub chosen: bool,
}

/// Whether a lease can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LeaseState {
    Bound,
    Reserved,
}

/// A look-up: which addresses have these MACs now? At most 1024.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseQuery {
    pub macs: Vec<MacAddress>,
}

/// The answer, all live leases of the MACs asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseReply {
    pub entries: Vec<LeaseEntry>,
}
