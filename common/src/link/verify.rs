//! Who is believed.

use std::sync::Arc;
use std::time::Duration;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, RootCertStore,
    SignatureScheme,
};

use crate::identity::{CertificateFacts, Fingerprint};

/// Believes a coordinator whose chain ends at an authority with one of these pins.
#[derive(Debug)]
pub(super) struct PinnedAuthority {
    pub pins: Vec<Fingerprint>,
    /// The time is not earlier than this, whatever the clock says.
    pub not_before: UnixTime,
    pub provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for PinnedAuthority {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let pinned = |der: &&CertificateDer<'_>| {
            CertificateFacts::read(der).is_ok_and(|facts| self.pins.contains(&facts.fingerprint))
        };
        let authority = intermediates
            .iter()
            .find(pinned)
            .ok_or(Error::InvalidCertificate(CertificateError::UnknownIssuer))?;
        let mut roots = RootCertStore::empty();
        roots.add(authority.clone().into_owned())?;
        let verifier =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), self.provider.clone())
                .build()
                .map_err(|e| Error::General(e.to_string()))?;
        let now = UnixTime::since_unix_epoch(Duration::from_secs(
            now.as_secs().max(self.not_before.as_secs()),
        ));
        verifier.verify_server_cert(end_entity, &[], server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("TLS 1.2 is not spoken here".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Believes an agent whose certificate the coordinator's authority has issued, at whatever time.
///
/// A client certificate is asked for but not demanded here: joining needs none. Whether a
/// certificate has ended, and whether its key is the enrolled one, is decided after the handshake,
/// where the agent can be told the reason; a refusal inside the handshake may get lost.
#[derive(Debug)]
pub(super) struct IssuedByUs {
    inner: Arc<dyn ClientCertVerifier>,
}

impl IssuedByUs {
    pub fn new(
        authority: &CertificateDer<'static>,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, Error> {
        let mut roots = RootCertStore::empty();
        roots.add(authority.clone())?;
        let inner = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
            .allow_unauthenticated()
            .build()
            .map_err(|e| Error::General(e.to_string()))?;
        Ok(Self { inner })
    }
}

impl ClientCertVerifier for IssuedByUs {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.inner.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let facts = CertificateFacts::read(end_entity)
            .map_err(|_| Error::InvalidCertificate(CertificateError::BadEncoding))?;
        let bound = |time: jiff::Timestamp| u64::try_from(time.as_second()).unwrap_or(0);
        let (from, to) = (bound(facts.not_before), bound(facts.not_after));
        let within = now.as_secs().min(to).max(from);
        let now = UnixTime::since_unix_epoch(Duration::from_secs(within));
        self.inner.verify_client_cert(end_entity, intermediates, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}
