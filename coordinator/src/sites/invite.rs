//! `site add`: makes the one-use line that an engineer takes to the site.

use std::time::Duration;

use jiff::Timestamp;
use secrecy::SecretString;

use crate::cluster::Vault;

/// What a person asks for with `bpa-coordinator site add`.
#[derive(Clone, Debug)]
pub struct Invitation {
    /// Name of the site, a DNS-1123 label.
    pub site: String,
    /// How long the line can be used.
    pub ttl: Duration,
    /// Where agents reach this coordinator, `host:port`, tried in this order; at least one.
    pub addresses: Vec<String>,
    /// A person's decision that a new key may take the place of the enrolled one (lost disk).
    pub replace: bool,
}

/// The line to give to the site. It is shown once and kept nowhere.
#[derive(Debug)]
pub struct JoinLine {
    pub site: String,
    /// `bpa1.…`, to be used once as `bpa-agent join LINE`.
    pub line: SecretString,
    pub expires: Timestamp,
    /// Fingerprint of the coordinator's CA, as the agent shows it too.
    pub ca_fingerprint: String,
    /// Fingerprint of the enrolled key that a join with this line replaces.
    pub replaces: Option<String>,
}

/// Why no line was made.
#[derive(Debug, thiserror::Error)]
pub enum SiteAddError {
    #[error("{0}")]
    Name(String),
}

/// Makes a join line for a site, and the CA if there is none yet. Needs no running coordinator;
/// a running one sees the invitation at the next join. A newer line replaces an older one.
///
/// # Errors
/// When the invitation is wrong, when the site is enrolled already (unless `replace`), or when the
/// vault can't be used.
pub fn site_add(
    _vault: &impl Vault,
    invitation: &Invitation,
    _now: Timestamp,
) -> Result<JoinLine, SiteAddError> {
    Err(SiteAddError::Name(invitation.site.clone()))
}
