//! A few GETs to an API server, as the admin of a kubeconfig. HTTP/1.1 over rustls; no more.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::super::collect::Kubeconfig;

/// For one request, from dialling to the last byte.
const LIMIT: Duration = Duration::from_secs(10);
/// A list of a thousand nodes takes some ten MiB.
const MOST: usize = 32 << 20;

/// Why there is no answer, or not the right one.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    #[error("the kubeconfig can't be used: {0}")]
    Kubeconfig(String),
    #[error("{server} does not prove that it is the cluster of the kubeconfig: {found}")]
    Untrusted { server: String, found: String },
    #[error("{server} does not answer: {found}")]
    Unreachable { server: String, found: String },
    #[error("the API server answers {path} with `{found}`")]
    Answer { path: &'static str, found: String },
}

/// An API server and who we are there.
pub struct Api {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    host: String,
    port: u16,
    server: String,
}

impl Api {
    /// Trusts the kubeconfig's CA and nothing else.
    ///
    /// # Errors
    /// When its certificates or its key can't be used.
    pub fn new(kubeconfig: &Kubeconfig) -> Result<Self, ApiError> {
        let wrong =
            |what: &str, e: &dyn std::fmt::Display| ApiError::Kubeconfig(format!("{what}: {e}"));
        let mut roots = RootCertStore::empty();
        for ca in CertificateDer::pem_slice_iter(kubeconfig.ca()) {
            let ca = ca.map_err(|e| wrong("certificate-authority-data", &e))?;
            roots.add(ca).map_err(|e| wrong("certificate-authority-data", &e))?;
        }
        let chain: Result<Vec<_>, _> =
            CertificateDer::pem_slice_iter(kubeconfig.certificate()).collect();
        let chain = chain.map_err(|e| wrong("client-certificate-data", &e))?;
        let key = PrivateKeyDer::from_pem_slice(kubeconfig.key())
            .map_err(|e| wrong("client-key-data", &e))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| wrong("TLS", &e))?
            .with_root_certificates(roots)
            .with_client_auth_cert(chain, key)
            .map_err(|e| wrong("client certificate and key", &e))?;
        let name =
            ServerName::try_from(kubeconfig.host().to_owned()).map_err(|e| wrong("server", &e))?;
        Ok(Self {
            config: Arc::new(config),
            name,
            host: kubeconfig.host().to_owned(),
            port: kubeconfig.port(),
            server: kubeconfig.server().to_owned(),
        })
    }

    /// The body of a path's answer, which must be 200.
    ///
    /// # Errors
    /// When there is no connection, no trust, or another answer.
    pub async fn get(&self, path: &'static str) -> Result<String, ApiError> {
        match tokio::time::timeout(LIMIT, Box::pin(self.ask(path))).await {
            Ok(answer) => answer,
            Err(_) => Err(self.unreachable(&format!("no answer within {} s", LIMIT.as_secs()))),
        }
    }

    async fn ask(&self, path: &'static str) -> Result<String, ApiError> {
        let tcp = TcpStream::connect((self.host.as_str(), self.port)).await;
        let tcp = tcp.map_err(|e| self.unreachable(&e.to_string()))?;
        let connector = TlsConnector::from(Arc::clone(&self.config));
        let tls = connector.connect(self.name.clone(), tcp).await.map_err(|e| self.refused(e))?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(tls))
            .await
            .map_err(|e| self.unreachable(&e.to_string()))?;
        let driver = tokio::spawn(connection);
        let request = Request::builder()
            .method(Method::GET)
            .uri(path)
            .header("Host", format!("{}:{}", self.name.to_str(), self.port))
            .header("Accept", "application/json")
            .header("User-Agent", concat!("bpa-agent/", env!("CARGO_PKG_VERSION")))
            .body(Empty::<Bytes>::new())
            .map_err(|e| ApiError::Kubeconfig(e.to_string()))?;
        let answer = sender.send_request(request).await;
        let answer = answer.map_err(|e| self.unreachable(&e.to_string()))?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), MOST).collect().await;
        driver.abort();
        let body = body.map_err(|e| self.unreachable(&e.to_string()))?.to_bytes();
        let text = String::from_utf8_lossy(&body).into_owned();
        if status == StatusCode::OK {
            return Ok(text);
        }
        let found = format!("{status}: {}", text.chars().take(300).collect::<String>());
        Err(ApiError::Answer { path, found })
    }

    fn unreachable(&self, found: &str) -> ApiError {
        ApiError::Unreachable { server: self.server.clone(), found: found.to_owned() }
    }

    /// A certificate that does not fit, apart from a connection that breaks.
    fn refused(&self, error: std::io::Error) -> ApiError {
        let of_tls = error.get_ref().and_then(|e| e.downcast_ref::<rustls::Error>());
        match of_tls {
            Some(rustls::Error::InvalidCertificate(why)) => {
                let found = format!("{why} (certificate of {})", self.host);
                ApiError::Untrusted { server: self.server.clone(), found }
            }
            _ => self.unreachable(&error.to_string()),
        }
    }
}
