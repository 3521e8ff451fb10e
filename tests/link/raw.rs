//! Peers that speak QUIC but not our manners.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use bpa_common::identity::{Authority, SERVER_NAME, SiteKey};
use bpa_common::link::{ALPN, ALPN_JOIN, ClientCredentials, CloseCode, closed_by_peer};
use bpa_common::wire::v1::{Hello, Welcome};
use bpa_common::wire::{Frame, FrameReader, FrameWriter};
use jiff::Timestamp;
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{Connection, Endpoint, RecvStream, SendStream};
use rustls::version::TLS13;

/// A connection and the endpoint that keeps it alive.
pub struct Raw {
    pub connection: Connection,
    _endpoint: Endpoint,
}

/// Connects with this protocol and these credentials, whatever they are.
pub async fn connect(
    to: SocketAddr,
    authority: &Authority,
    join: bool,
    credentials: Option<ClientCredentials>,
) -> Raw {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(authority.certificate().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])
        .unwrap()
        .with_root_certificates(roots);
    let mut tls = match credentials {
        Some(c) => builder.with_client_auth_cert(vec![c.certificate], c.key).unwrap(),
        None => builder.with_no_client_auth(),
    };
    tls.alpn_protocols = vec![if join { ALPN_JOIN.to_vec() } else { ALPN.to_vec() }];
    let crypto = QuicClientConfig::try_from(tls).unwrap();
    let endpoint = Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap();
    let config = quinn::ClientConfig::new(Arc::new(crypto));
    let connection = endpoint.connect_with(config, to, SERVER_NAME).unwrap().await.unwrap();
    Raw { connection, _endpoint: endpoint }
}

/// A certificate of this authority, for a key and a name of our choice.
pub fn credentials(
    authority: &Authority,
    key: &SiteKey,
    site: &str,
    issued: Timestamp,
) -> ClientCredentials {
    let site = site.parse().unwrap();
    let request = key.request(&site).unwrap();
    let certificate = authority.certify(&site, &request, issued).unwrap().der;
    ClientCredentials { certificate, key: key.private_key() }
}

/// The key that an agent keeps.
pub fn stolen_key(state: &Path) -> SiteKey {
    let pem = std::fs::read_to_string(state.join("link/key.pem")).unwrap();
    SiteKey::from_pem(&pem.into()).unwrap()
}

pub fn hello(site: &str) -> Hello {
    Hello {
        min_version: 1,
        max_version: 1,
        site: site.into(),
        agent_version: "raw".into(),
        session: 1,
        clock_ms: 0,
        epoch_seen: 0,
        runs: vec![],
        ssh_public_key: String::new(),
        bundles: vec![],
    }
}

pub type Control = (FrameReader<RecvStream>, FrameWriter<SendStream>);

impl Raw {
    /// Says hello and gives the answer.
    pub async fn greet(&self, hello: &Hello) -> (Frame, Control) {
        let (send, receive) = self.connection.open_bi().await.unwrap();
        let (mut reader, mut writer) = (FrameReader::new(receive, 1 << 20), FrameWriter::new(send));
        writer.send(hello).await.unwrap();
        (reader.next().await.unwrap().unwrap(), (reader, writer))
    }

    /// A session of a site.
    pub async fn session(&self, site: &str) -> Control {
        let (frame, control) = self.greet(&hello(site)).await;
        assert!(frame.is::<Welcome>(), "{frame:?}");
        control
    }

    /// Why the coordinator closed the connection.
    pub async fn closed(&self) -> (CloseCode, String) {
        let limit = std::time::Duration::from_secs(15);
        let error = tokio::time::timeout(limit, self.connection.closed()).await.unwrap();
        let (code, reason) = closed_by_peer(&error).unwrap_or_else(|| panic!("{error}"));
        (code.unwrap(), reason)
    }
}
