//! The key of an agent: made at the site, never leaves it.

use std::fmt;

use rcgen::{
    CertificateParams, DistinguishedName, DnType, KeyPair, PKCS_ECDSA_P256_SHA256, PublicKeyData,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use secrecy::{ExposeSecret, SecretString};

use super::{Fingerprint, IdentityError, SiteName};

/// An ECDSA P-256 key pair. Prints only its fingerprint.
pub struct SiteKey(KeyPair);

impl SiteKey {
    /// A new key.
    ///
    /// # Errors
    /// When the system gives no random bytes.
    pub fn generate() -> Result<Self, IdentityError> {
        KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)
            .map(Self)
            .map_err(|e| IdentityError::Make { what: "a key", problem: e.to_string() })
    }

    /// Reads a key in PKCS #8 PEM.
    ///
    /// # Errors
    /// When it is no P-256 key in that form. The text is never part of the error.
    pub fn from_pem(pem: &SecretString) -> Result<Self, IdentityError> {
        let read = |problem: String| IdentityError::Read { what: "the key", problem };
        let der = PrivatePkcs8KeyDer::from_pem_slice(pem.expose_secret().as_bytes())
            .map_err(|_| read("it is not a private key in PEM".into()))?;
        KeyPair::from_pkcs8_der_and_sign_algo(&der, &PKCS_ECDSA_P256_SHA256)
            .map(Self)
            .map_err(|e| read(e.to_string()))
    }

    /// The key in PKCS #8 PEM.
    pub fn to_pem(&self) -> SecretString {
        self.0.serialize_pem().into()
    }

    /// What both sides show of this key.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of_public_key(&self.0.subject_public_key_info())
    }

    /// A certificate signing request, DER, which proves that this side holds the key.
    ///
    /// # Errors
    /// When it can't be signed.
    pub fn request(&self, site: &SiteName) -> Result<Vec<u8>, IdentityError> {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, site.as_str());
        let request = params.serialize_request(&self.0).map_err(|e| IdentityError::Make {
            what: "a certificate request",
            problem: e.to_string(),
        })?;
        Ok(request.der().to_vec())
    }

    /// The key for TLS.
    pub fn private_key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::Pkcs8(self.0.serialize_der().into())
    }
}

impl fmt::Debug for SiteKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SiteKey({})", self.fingerprint())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_comes_back_from_its_pem() {
        let key = SiteKey::generate().unwrap();
        let again = SiteKey::from_pem(&key.to_pem()).unwrap();
        assert_eq!(again.fingerprint(), key.fingerprint());
        assert_ne!(SiteKey::generate().unwrap().fingerprint(), key.fingerprint());
    }

    #[test]
    fn a_bad_key_is_refused_without_showing_it() {
        let secret = "-----BEGIN PRIVATE KEY-----\nTUFSS0VE\n-----END PRIVATE KEY-----\n";
        for text in [secret, "MARKED", ""] {
            let error = SiteKey::from_pem(&text.to_owned().into()).unwrap_err();
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains("MARKED") && !shown.contains("TUFS"), "{shown}");
        }
    }

    #[test]
    fn the_key_does_not_print_itself() {
        let key = SiteKey::generate().unwrap();
        assert_eq!(format!("{key:?}"), format!("SiteKey({})", key.fingerprint()));
    }
}
