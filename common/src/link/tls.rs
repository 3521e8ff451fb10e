//! TLS as the link uses it: version 1.3 only, ring named explicitly, nothing resumed.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::version::TLS13;

use super::transport::{FROM_AGENT, FROM_COORDINATOR, transport};
use super::verify::{IssuedByUs, PinnedAuthority};
use crate::identity::{Fingerprint, ServerIdentity};

/// The application protocol of sessions.
pub const ALPN: &[u8] = b"bpa/1";
/// The application protocol of first contact: it can do nothing but join.
pub const ALPN_JOIN: &[u8] = b"bpa-join/1";

/// Unauthenticated first packets that may wait to be looked at.
const MAX_WAITING: usize = 1024;

/// Why TLS could not be set up.
#[derive(Debug, thiserror::Error)]
#[error("can't set up TLS with {what}: {problem}")]
pub struct TlsError {
    what: &'static str,
    problem: String,
}

/// What an agent shows of itself.
#[derive(Debug)]
pub struct ClientCredentials {
    pub certificate: CertificateDer<'static>,
    pub key: PrivateKeyDer<'static>,
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn error<E: ToString>(what: &'static str) -> impl Fn(E) -> TlsError {
    move |e| TlsError { what, problem: e.to_string() }
}

/// The coordinator's side.
///
/// A session ticket would let an agent come back without its certificate being looked at, so none
/// are given.
///
/// # Errors
/// When key and certificates do not fit together.
pub fn server_config(
    identity: ServerIdentity,
    authority: &CertificateDer<'static>,
) -> Result<quinn::ServerConfig, TlsError> {
    let error = error("the coordinator's certificate");
    let provider = provider();
    let verifier = IssuedByUs::new(authority, provider.clone()).map_err(&error)?;
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])
        .map_err(&error)?
        .with_client_cert_verifier(Arc::new(verifier))
        .with_single_cert(identity.chain, identity.key)
        .map_err(&error)?;
    tls.alpn_protocols = vec![ALPN.to_vec(), ALPN_JOIN.to_vec()];
    tls.send_tls13_tickets = 0;
    tls.max_early_data_size = 0;
    tls.session_storage = Arc::new(rustls::server::NoServerSessionStorage {});
    let crypto = QuicServerConfig::try_from(tls)
        .map_err(|e| TlsError { what: "QUIC", problem: e.to_string() })?;
    let mut config = quinn::ServerConfig::with_crypto(Arc::new(crypto));
    config.transport_config(transport(FROM_AGENT)).max_incoming(MAX_WAITING);
    Ok(config)
}

/// An agent's side: believes only an authority of `pins`, and not a clock that is earlier than
/// `not_before`. Without credentials it speaks [`ALPN_JOIN`], with them [`ALPN`].
///
/// # Errors
/// When key and certificate do not fit together.
pub fn client_config(
    pins: Vec<Fingerprint>,
    not_before: Timestamp,
    credentials: Option<ClientCredentials>,
) -> Result<quinn::ClientConfig, TlsError> {
    let error = error("the site's certificate");
    let provider = provider();
    let seconds = u64::try_from(not_before.as_second()).unwrap_or(0);
    let verifier = PinnedAuthority {
        pins,
        not_before: UnixTime::since_unix_epoch(Duration::from_secs(seconds)),
        provider: provider.clone(),
    };
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])
        .map_err(&error)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let alpn = if credentials.is_some() { ALPN } else { ALPN_JOIN };
    let mut tls = match credentials {
        Some(ClientCredentials { certificate, key }) => {
            builder.with_client_auth_cert(vec![certificate], key).map_err(&error)?
        }
        None => builder.with_no_client_auth(),
    };
    tls.alpn_protocols = vec![alpn.to_vec()];
    tls.enable_early_data = false;
    tls.resumption = rustls::client::Resumption::disabled();
    let crypto = QuicClientConfig::try_from(tls)
        .map_err(|e| TlsError { what: "QUIC", problem: e.to_string() })?;
    let mut config = quinn::ClientConfig::new(Arc::new(crypto));
    config.transport_config(transport(FROM_COORDINATOR));
    Ok(config)
}
