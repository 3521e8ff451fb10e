//! The coordinator's certificate authority.

use std::fmt;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateSigningRequestParams, DistinguishedName,
    DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    PKCS_ECDSA_P256_SHA256, PublicKeyData, SanType, SerialNumber, date_time_ymd,
};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use secrecy::{ExposeSecret, SecretString};
use zeroize::Zeroizing;

use super::certificate::{CertificateFacts, SITE_URI};
use super::{Fingerprint, IdentityError, SERVER_NAME, SiteName};

const DAY: SignedDuration = SignedDuration::from_hours(24);
/// A clock that is a day behind still accepts a new certificate.
const BACKDATE: SignedDuration = DAY;
const SITE_DAYS: i32 = 90;
const CA_DAYS: i32 = 365 * 20;
/// A request for a P-256 key has about 300 bytes.
const MAX_REQUEST: usize = 4096;

/// The authority: its key signs the certificates of the coordinator and of all sites.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
    facts: CertificateFacts,
}

/// Certificate chain and key of a coordinator.
#[derive(Debug)]
pub struct ServerIdentity {
    /// The server's certificate, then the authority's.
    pub chain: Vec<CertificateDer<'static>>,
    pub key: PrivateKeyDer<'static>,
}

/// A certificate for a site.
#[derive(Clone, Debug)]
pub struct SiteCertificate {
    pub der: CertificateDer<'static>,
    /// Of the site's key.
    pub fingerprint: Fingerprint,
    pub not_after: Timestamp,
}

fn make(what: &'static str) -> impl Fn(rcgen::Error) -> IdentityError {
    move |e| IdentityError::Make { what, problem: e.to_string() }
}

impl Authority {
    /// Makes a new authority, valid for twenty years.
    ///
    /// # Errors
    /// When the system gives no random bytes.
    pub fn create(now: Timestamp) -> Result<Self, IdentityError> {
        let make = make("a certificate authority");
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(&make)?;
        let mut params = params("BPA coordinator CA", now, CA_DAYS)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let certificate = params.self_signed(&key).map_err(&make)?;
        Self::assemble(certificate.der().clone(), key)
    }

    /// Reads what [`Authority::to_pem`] wrote.
    ///
    /// # Errors
    /// When the text does not hold a certificate and its key.
    pub fn from_pem(pem: &SecretString) -> Result<Self, IdentityError> {
        let bytes = pem.expose_secret().as_bytes();
        let certificate = CertificateDer::from_pem_slice(bytes).map_err(|e| read(e.to_string()))?;
        let key = PrivatePkcs8KeyDer::from_pem_slice(bytes)
            .map_err(|_| read("it has no private key in PEM".into()))?;
        let key = KeyPair::from_pkcs8_der_and_sign_algo(&key, &PKCS_ECDSA_P256_SHA256)
            .map_err(|e| read(e.to_string()))?;
        Self::assemble(certificate, key)
    }

    /// The issuer is always made from the certificate itself: rebuilt parameters would change its
    /// key identifier, and strict verifiers would not find the chain.
    fn assemble(certificate: CertificateDer<'static>, key: KeyPair) -> Result<Self, IdentityError> {
        let facts = CertificateFacts::read(&certificate)?;
        if facts.fingerprint != Fingerprint::of_public_key(&key.subject_public_key_info()) {
            return Err(read("key and certificate do not belong together".into()));
        }
        let issuer =
            Issuer::from_ca_cert_der(&certificate, key).map_err(|e| read(e.to_string()))?;
        Ok(Self { issuer, certificate, facts })
    }

    /// Certificate and key in one text, so that they are kept and lost together.
    pub fn to_pem(&self) -> SecretString {
        let certificate = pem_block("CERTIFICATE", &self.certificate);
        format!("{certificate}{}", self.issuer.key().serialize_pem()).into()
    }

    /// The authority's own certificate.
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// What agents pin.
    pub fn fingerprint(&self) -> Fingerprint {
        self.facts.fingerprint
    }

    /// A secret for one purpose, the same whenever it is asked for and for every process that holds
    /// this authority.
    pub fn derived_secret(&self, purpose: &str) -> Zeroizing<[u8; 32]> {
        let key = Zeroizing::new(self.issuer.key().serialize_der());
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), purpose.as_bytes());
        let mut secret = Zeroizing::new([0; 32]);
        secret.copy_from_slice(tag.as_ref());
        secret
    }

    /// Makes a key and a certificate for a coordinator that starts now. The key lives in memory
    /// only; the certificate lasts as long as the authority, because its end would gain nothing.
    ///
    /// # Errors
    /// When the system gives no random bytes.
    pub fn server_identity(&self, now: Timestamp) -> Result<ServerIdentity, IdentityError> {
        let make = make("the coordinator's certificate");
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(&make)?;
        let mut params = params(SERVER_NAME, now, CA_DAYS)?;
        set_validity(&mut params, now - BACKDATE, self.facts.not_after);
        params.subject_alt_names = vec![SanType::DnsName(SERVER_NAME.try_into().map_err(&make)?)];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let certificate = params.signed_by(&key, &self.issuer).map_err(&make)?;
        Ok(ServerIdentity {
            chain: vec![certificate.der().clone(), self.certificate.clone()],
            key: PrivateKeyDer::Pkcs8(key.serialize_der().into()),
        })
    }

    /// Certifies the key of a request for a site, for ninety days. Only the key is taken from the
    /// request; what the certificate says is decided here.
    ///
    /// # Errors
    /// When the request is malformed, not signed by its own key, or not for a P-256 key.
    pub fn certify(
        &self,
        site: &SiteName,
        request: &[u8],
        now: Timestamp,
    ) -> Result<SiteCertificate, IdentityError> {
        if request.len() > MAX_REQUEST {
            let found = request.len();
            let message = format!("it has {found} bytes, at most {MAX_REQUEST} are allowed");
            return Err(IdentityError::Request(message));
        }
        let request = CertificateSigningRequestParams::from_der(&request.into())
            .map_err(|e| IdentityError::Request(e.to_string()))?;
        if request.public_key.algorithm() != &PKCS_ECDSA_P256_SHA256 {
            return Err(IdentityError::Request("wanted an ECDSA P-256 key".into()));
        }
        let make = make("a site's certificate");
        let mut params = params(site.as_str(), now, SITE_DAYS)?;
        let uri = format!("{SITE_URI}{site}");
        params.subject_alt_names = vec![SanType::URI(uri.try_into().map_err(&make)?)];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let certificate = params.signed_by(&request.public_key, &self.issuer).map_err(&make)?;
        let facts = CertificateFacts::read(certificate.der())?;
        Ok(SiteCertificate {
            der: certificate.into(),
            fingerprint: facts.fingerprint,
            not_after: facts.not_after,
        })
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Authority({})", self.fingerprint())
    }
}

fn read(problem: String) -> IdentityError {
    IdentityError::Read { what: "the certificate authority", problem }
}

/// What all our certificates share.
fn params(name: &str, now: Timestamp, days: i32) -> Result<CertificateParams, IdentityError> {
    let mut serial = [0; 16];
    SystemRandom::new().fill(&mut serial).map_err(|_| IdentityError::Make {
        what: "a certificate",
        problem: "the system gives no random bytes".into(),
    })?;
    // A serial number is positive and must not begin with a zero byte.
    serial[0] = serial[0] & 0x7f | 0x40;
    let mut params = CertificateParams::default();
    params.serial_number = Some(SerialNumber::from_slice(&serial));
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    set_validity(&mut params, now - BACKDATE, now + DAY * days);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}

/// Times before 1970 become 1970.
fn set_validity(params: &mut CertificateParams, from: Timestamp, to: Timestamp) {
    let seconds =
        |time: Timestamp| Duration::from_secs(u64::try_from(time.as_second()).unwrap_or(0));
    let start = date_time_ymd(1970, 1, 1);
    params.not_before = start + seconds(from);
    params.not_after = start + seconds(to);
}

fn pem_block(label: &str, der: &[u8]) -> String {
    use base64::Engine as _;
    let text = base64::engine::general_purpose::STANDARD.encode(der);
    let mut pem = format!("-----BEGIN {label}-----\n");
    for line in text.as_bytes().chunks(64) {
        pem.push_str(&String::from_utf8_lossy(line));
        pem.push('\n');
    }
    pem.push_str(&format!("-----END {label}-----\n"));
    pem
}

#[cfg(test)]
mod tests;
