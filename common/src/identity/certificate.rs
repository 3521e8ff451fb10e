//! What a certificate of ours says.

use jiff::Timestamp;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::X509Certificate;

use super::{Fingerprint, IdentityError, SiteName};

/// Before the site's name in the certificate's URI.
pub(super) const SITE_URI: &str = "bpa://site/";

/// The parts of a certificate that the link decides on. Reading it verifies nothing: the TLS
/// handshake has verified the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFacts {
    /// Of the certified public key.
    pub fingerprint: Fingerprint,
    /// The site it was issued to; none in the coordinator's own certificates.
    pub site: Option<SiteName>,
    pub not_before: Timestamp,
    pub not_after: Timestamp,
}

impl CertificateFacts {
    /// Reads a certificate in DER.
    ///
    /// # Errors
    /// When it is not exactly one certificate.
    pub fn read(der: &[u8]) -> Result<Self, IdentityError> {
        let read = |problem: &str| IdentityError::Read {
            what: "the certificate",
            problem: problem.into(),
        };
        let (rest, certificate) =
            x509_parser::parse_x509_certificate(der).map_err(|_| read("it is no X.509 DER"))?;
        if !rest.is_empty() {
            return Err(read("something follows it"));
        }
        let time = |seconds: i64| {
            Timestamp::from_second(seconds).map_err(|_| read("its validity is out of range"))
        };
        Ok(Self {
            fingerprint: Fingerprint::of_public_key(certificate.public_key().raw),
            site: site_of(&certificate),
            not_before: time(certificate.validity().not_before.timestamp())?,
            not_after: time(certificate.validity().not_after.timestamp())?,
        })
    }
}

fn site_of(certificate: &X509Certificate<'_>) -> Option<SiteName> {
    let names = certificate.subject_alternative_name().ok()??;
    let mut sites = names.value.general_names.iter().filter_map(|name| match name {
        GeneralName::URI(uri) => uri.strip_prefix(SITE_URI)?.parse().ok(),
        _ => None,
    });
    let site = sites.next();
    // Two sites in one certificate would be a mistake of the authority: trust neither.
    if sites.next().is_some() { None } else { site }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn random_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(CertificateFacts::read(&bytes).is_err());
        }
    }
}
