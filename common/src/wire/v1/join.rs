//! First contact, on ALPN `bpa-join/1`: one request, one answer, nothing else.

use serde::{Deserialize, Serialize};

use super::SecretBytes;

/// What an agent says to join its site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinRequest {
    /// Protocol versions that the agent speaks, both ends included.
    pub min_version: u16,
    pub max_version: u16,
    pub site: String,
    /// The secret of the join line.
    pub secret: SecretBytes,
    /// Certificate signing request, DER; only its public key is used.
    pub csr: Vec<u8>,
    pub agent_version: String,
    /// The agent's clock, milliseconds since 1970.
    pub clock_ms: i64,
}

/// The agent's key is enrolled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinGranted {
    /// The agent's certificate, DER.
    pub certificate: Vec<u8>,
    /// The coordinator's CA certificate, DER.
    pub ca: Vec<u8>,
    /// End of the certificate, seconds since 1970.
    pub not_after: i64,
    /// The coordinator's clock, milliseconds since 1970.
    pub clock_ms: i64,
}

/// Why a join is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JoinRefused {
    /// No common protocol version; the coordinator speaks these.
    Version { min: u16, max: u16 },
    /// No join line was made for a site of this name.
    UnknownSite,
    /// The secret is not that of the newest line of this site.
    WrongSecret,
    /// The line ended at this time (seconds since 1970) by the coordinator's clock.
    Expired { since: i64 },
    /// The line was used by another key.
    Used { fingerprint: String },
    /// The site has an enrolled key, and the line does not allow to replace it.
    KeyEnrolled { fingerprint: String },
    /// The request itself is wrong.
    Invalid { message: String },
    /// Come back later.
    Busy { retry_after_ms: u64 },
    /// The coordinator could not keep the enrolment.
    Internal { message: String },
}

/// What a join line holds. Never sent: it is carried to the site by a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinLineBody {
    /// Where the coordinator is reached, `host:port`, tried in this order.
    pub addresses: Vec<String>,
    /// SHA-256 of the public keys of authorities that may have certified the coordinator.
    pub pins: Vec<[u8; 32]>,
    pub secret: SecretBytes,
    pub site: String,
    /// When the line was made and when it ends, seconds since 1970 by the coordinator's clock.
    pub issued: i64,
    pub expires: i64,
}
