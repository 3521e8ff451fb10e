//! Handshakes over loopback: who gets in, who does not, and what is told.

use std::net::{Ipv4Addr, SocketAddr};

use jiff::{SignedDuration, Timestamp};
use quinn::crypto::rustls::HandshakeData;
use quinn::{Connection, Endpoint};

use super::*;
use crate::identity::{Address, Authority, CertificateFacts, Fingerprint, SiteKey, SiteName};

const DAY: SignedDuration = SignedDuration::from_hours(24);

fn now() -> Timestamp {
    Timestamp::now()
}

fn site() -> SiteName {
    "north".parse().unwrap()
}

struct Server {
    authority: Authority,
    endpoint: Endpoint,
}

impl Server {
    fn start() -> Self {
        let authority = Authority::create(now()).unwrap();
        let identity = authority.server_identity(now()).unwrap();
        let config = server_config(identity, authority.certificate()).unwrap();
        let any = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
        Self { endpoint: Endpoint::server(config, any).unwrap(), authority }
    }

    fn address(&self) -> Address {
        self.endpoint.local_addr().unwrap().to_string().parse().unwrap()
    }

    fn pins(&self) -> Vec<Fingerprint> {
        vec![self.authority.fingerprint()]
    }

    fn credentials(&self, issued: Timestamp) -> ClientCredentials {
        credentials(&self.authority, issued)
    }

    /// Dials with this configuration; gives both ends, or the two errors.
    async fn meet(
        &self,
        config: quinn::ClientConfig,
    ) -> (Result<Dialed, DialError>, Option<Connection>) {
        let accept = async {
            let incoming = self.endpoint.accept().await?;
            incoming.await.ok()
        };
        let address = self.address();
        tokio::join!(dial(&address, config), accept)
    }
}

fn credentials(authority: &Authority, issued: Timestamp) -> ClientCredentials {
    let key = SiteKey::generate().unwrap();
    let request = key.request(&site()).unwrap();
    let certificate = authority.certify(&site(), &request, issued).unwrap().der;
    ClientCredentials { certificate, key: key.private_key() }
}

fn peer_certificate(connection: &Connection) -> Option<CertificateFacts> {
    let chain = connection
        .peer_identity()?
        .downcast::<Vec<rustls::pki_types::CertificateDer<'static>>>()
        .ok()?;
    CertificateFacts::read(chain.first()?).ok()
}

#[tokio::test]
async fn a_site_with_its_certificate_is_recognised() {
    let server = Server::start();
    let config = client_config(server.pins(), now(), Some(server.credentials(now()))).unwrap();
    let (dialed, accepted) = server.meet(config).await;
    let (_dialed, accepted) = (dialed.unwrap(), accepted.unwrap());
    assert_eq!(peer_certificate(&accepted).unwrap().site, Some(site()));
    let data = accepted.handshake_data().unwrap().downcast::<HandshakeData>().unwrap();
    assert_eq!(data.protocol.as_deref(), Some(ALPN));
}

#[tokio::test]
async fn joining_needs_no_certificate() {
    let server = Server::start();
    let (dialed, accepted) = server.meet(client_config(server.pins(), now(), None).unwrap()).await;
    let (_dialed, accepted) = (dialed.unwrap(), accepted.unwrap());
    assert!(accepted.peer_identity().is_none());
    let data = accepted.handshake_data().unwrap().downcast::<HandshakeData>().unwrap();
    assert_eq!(data.protocol.as_deref(), Some(ALPN_JOIN));
}

#[tokio::test]
async fn another_authority_is_not_believed() {
    let server = Server::start();
    let pin = Fingerprint::from_bytes([1; 32]);
    let (dialed, accepted) = server.meet(client_config(vec![pin], now(), None).unwrap()).await;
    let error = dialed.unwrap_err();
    assert!(matches!(error, DialError::WrongAuthority { .. }), "{error}");
    assert!(accepted.is_none());
}

#[tokio::test]
async fn a_server_that_only_shows_the_pinned_authority_is_not_believed() {
    // A thief has the public certificate of the right authority, but no key that it certified.
    let right = Authority::create(now()).unwrap();
    let wrong = Authority::create(now()).unwrap();
    let mut identity = wrong.server_identity(now()).unwrap();
    identity.chain[1] = right.certificate().clone();
    let config = server_config(identity, right.certificate()).unwrap();
    let any = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
    let endpoint = Endpoint::server(config, any).unwrap();
    let server = Server { authority: right, endpoint };
    let (dialed, accepted) = server.meet(client_config(server.pins(), now(), None).unwrap()).await;
    assert!(dialed.is_err() && accepted.is_none());
}

#[tokio::test]
async fn a_certificate_of_another_authority_is_refused() {
    let server = Server::start();
    let stranger = Authority::create(now()).unwrap();
    let config = client_config(server.pins(), now(), Some(credentials(&stranger, now()))).unwrap();
    let (dialed, accepted) = server.meet(config).await;
    assert!(accepted.is_none());
    // The client may believe itself connected until the refusal arrives.
    if let Ok(dialed) = dialed {
        let error = dialed.connection.closed().await;
        assert!(matches!(error, quinn::ConnectionError::ConnectionClosed(_)), "{error}");
    }
}

#[tokio::test]
async fn an_expired_certificate_passes_the_handshake_so_that_the_reason_can_be_told() {
    let server = Server::start();
    let old = server.credentials(now() - DAY * 400);
    let (dialed, accepted) =
        server.meet(client_config(server.pins(), now(), Some(old)).unwrap()).await;
    let (dialed, accepted) = (dialed.unwrap(), accepted.unwrap());
    assert!(peer_certificate(&accepted).unwrap().not_after < now());
    close(&accepted, CloseCode::Expired, "ended long ago");
    let error = dialed.connection.closed().await;
    let wanted = (Some(CloseCode::Expired), "ended long ago".to_owned());
    assert_eq!(closed_by_peer(&error), Some(wanted));
}

#[tokio::test]
async fn a_clock_in_the_past_is_helped_by_the_last_good_time() {
    let server = Server::start();
    let identity = server.authority.server_identity(now() + DAY * 10).unwrap();
    let config = server_config(identity, server.authority.certificate()).unwrap();
    server.endpoint.set_server_config(Some(config));
    let (dialed, _) = server.meet(client_config(server.pins(), now(), None).unwrap()).await;
    let error = dialed.unwrap_err();
    assert!(matches!(error, DialError::Clock { .. }), "{error}");
    let later = client_config(server.pins(), now() + DAY * 10, None).unwrap();
    let (dialed, _accepted) = server.meet(later).await;
    assert!(dialed.is_ok());
}

#[tokio::test]
async fn nobody_there_is_known_within_the_limit() {
    // A socket that never answers.
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string().parse().unwrap();
    let config = client_config(vec![Fingerprint::from_bytes([1; 32])], now(), None).unwrap();
    let error = dial(&address, config).await.unwrap_err();
    assert!(matches!(error, DialError::NoAnswer { .. }), "{error}");
}

#[tokio::test]
async fn a_stranger_protocol_is_refused() {
    let server = Server::start();
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates({
            let mut roots = rustls::RootCertStore::empty();
            roots.add(server.authority.certificate().clone()).unwrap();
            roots
        })
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"h3".to_vec()];
    let crypto = quinn::crypto::rustls::QuicClientConfig::try_from(tls).unwrap();
    let (dialed, accepted) =
        server.meet(quinn::ClientConfig::new(std::sync::Arc::new(crypto))).await;
    let error = dialed.unwrap_err();
    assert!(matches!(error, DialError::NoCommonProtocol { .. }), "{error}");
    assert!(accepted.is_none());
}

#[tokio::test]
async fn nothing_is_resumed() {
    use std::sync::Arc;
    // A client that would resume if it were given a ticket.
    let server = Server::start();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = rustls::RootCertStore::empty();
    roots.add(server.authority.certificate().clone()).unwrap();
    let credentials = server.credentials(now());
    let mut tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots)
        .with_client_auth_cert(vec![credentials.certificate], credentials.key)
        .unwrap();
    tls.alpn_protocols = vec![ALPN.to_vec()];
    tls.enable_early_data = true;
    let crypto = quinn::crypto::rustls::QuicClientConfig::try_from(tls).unwrap();
    let config = quinn::ClientConfig::new(Arc::new(crypto));
    let (dialed, _accepted) = server.meet(config.clone()).await;
    let first = dialed.unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    drop(first);
    let address = server.endpoint.local_addr().unwrap();
    let client = Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap();
    let again = client.connect_with(config, address, crate::identity::SERVER_NAME).unwrap();
    assert!(again.into_0rtt().is_err(), "a ticket was given");
}
