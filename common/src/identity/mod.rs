//! Who is who on the link: keys, certificates, pins, join lines.
//!
//! Identity is a key; a certificate is a lease on it. The coordinator has a certificate authority
//! of its own, and remembers the public key of each site. A site trusts the authority whose
//! fingerprint stood in its join line, and no name.

mod address;
mod authority;
mod certificate;
mod fingerprint;
mod join_line;
mod key;
mod secret;
mod site_name;

pub use address::{Address, AddressError};
pub use authority::{Authority, ServerIdentity, SiteCertificate};
pub use certificate::CertificateFacts;
pub use fingerprint::Fingerprint;
pub use join_line::{JoinBundle, JoinLineError};
pub use key::SiteKey;
pub use secret::{JoinSecret, SecretTag};
pub use site_name::{SiteName, SiteNameError};

/// Name in every coordinator's certificate. Agents verify the authority's pin; the name only has
/// to be the same everywhere.
pub const SERVER_NAME: &str = "coordinator.bpa";

/// Why a key or a certificate could not be made or read.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    #[error("can't make {what}: {problem}")]
    Make { what: &'static str, problem: String },
    #[error("{what} can't be read: {problem}; restore it from a backup")]
    Read { what: &'static str, problem: String },
    #[error("the certificate request is refused: {0}")]
    Request(String),
}
