//! The parts of a kubeconfig that matter, checked.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use zeroize::Zeroizing;

/// Why a kubeconfig can't be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum KubeconfigError {
    #[error("the kubeconfig is no YAML of a kubeconfig: {0}")]
    Yaml(String),
    #[error("the kubeconfig has {found} {what}; wanted exactly one")]
    Count { what: &'static str, found: usize },
    #[error("the kubeconfig has no {0}")]
    Missing(&'static str),
    #[error("the kubeconfig's {what} is no {wanted}")]
    Damaged { what: &'static str, wanted: &'static str },
    #[error("the kubeconfig's server `{0}` is no https address")]
    Server(String),
}

/// An admin's kubeconfig: one cluster, one user with a client certificate. `Debug` shows the
/// server alone.
pub struct Kubeconfig {
    text: Zeroizing<Vec<u8>>,
    server: String,
    host: String,
    port: u16,
    ca: Vec<u8>,
    certificate: Vec<u8>,
    key: Zeroizing<Vec<u8>>,
}

impl std::fmt::Debug for Kubeconfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Kubeconfig({})", self.server)
    }
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    clusters: Vec<NamedCluster>,
    #[serde(default)]
    users: Vec<NamedUser>,
}

#[derive(Deserialize)]
struct NamedCluster {
    cluster: Cluster,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Cluster {
    server: String,
    certificate_authority_data: Option<String>,
}

#[derive(Deserialize)]
struct NamedUser {
    user: User,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct User {
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
}

impl Kubeconfig {
    /// Reads a kubeconfig.
    ///
    /// # Errors
    /// What is missing or wrong.
    pub fn parse(text: &[u8]) -> Result<Self, KubeconfigError> {
        let utf8 = std::str::from_utf8(text)
            .map_err(|_| KubeconfigError::Yaml("it is no text".to_owned()))?;
        // The parser's message may quote the file, which is a secret: its place is enough.
        let file: File = serde_saphyr::from_str(utf8)
            .map_err(|_| KubeconfigError::Yaml("it can't be parsed".to_owned()))?;
        let cluster = one("clusters", file.clusters)?.cluster;
        let user = one("users", file.users)?.user;
        let ca = base64("certificate-authority-data", cluster.certificate_authority_data)?;
        let certificate = base64("client-certificate-data", user.client_certificate_data)?;
        let key = Zeroizing::new(base64("client-key-data", user.client_key_data)?);
        let (host, port) = split(&cluster.server)?;
        Ok(Self {
            text: Zeroizing::new(text.to_vec()),
            server: cluster.server,
            host,
            port,
            ca,
            certificate,
            key,
        })
    }

    /// The whole file; a secret.
    pub fn text(&self) -> &[u8] {
        &self.text
    }
    pub fn server(&self) -> &str {
        &self.server
    }
    /// The server's name or address, without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }
    pub fn port(&self) -> u16 {
        self.port
    }
    /// PEM.
    pub fn ca(&self) -> &[u8] {
        &self.ca
    }
    /// PEM.
    pub fn certificate(&self) -> &[u8] {
        &self.certificate
    }
    /// PEM; a secret.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// End of the client certificate, seconds since 1970.
    ///
    /// # Errors
    /// When it is no certificate.
    pub fn ends(&self) -> Result<i64, KubeconfigError> {
        let damaged =
            KubeconfigError::Damaged { what: "client-certificate-data", wanted: "PEM certificate" };
        let Ok((_, pem)) = x509_parser::pem::parse_x509_pem(&self.certificate) else {
            return Err(damaged);
        };
        let certificate = pem.parse_x509().map_err(|_| damaged)?;
        Ok(certificate.validity().not_after.timestamp())
    }
}

fn one<T>(what: &'static str, mut list: Vec<T>) -> Result<T, KubeconfigError> {
    match (list.pop(), list.len()) {
        (Some(only), 0) => Ok(only),
        (None, _) => Err(KubeconfigError::Count { what, found: 0 }),
        (Some(_), more) => Err(KubeconfigError::Count { what, found: more + 1 }),
    }
}

fn base64(what: &'static str, text: Option<String>) -> Result<Vec<u8>, KubeconfigError> {
    let text = Zeroizing::new(text.ok_or(KubeconfigError::Missing(what))?);
    BASE64_STANDARD
        .decode(text.trim())
        .map_err(|_| KubeconfigError::Damaged { what, wanted: "base64" })
}

/// `https://host:port`, `https://[v6]:port`; the port may be missing, then it is 443.
fn split(server: &str) -> Result<(String, u16), KubeconfigError> {
    let wrong = || KubeconfigError::Server(server.escape_debug().to_string());
    let rest = server.strip_prefix("https://").ok_or_else(wrong)?;
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let (host, port) = if let Some(v6) = rest.strip_prefix('[') {
        let (host, after) = v6.split_once(']').ok_or_else(wrong)?;
        (host, after.strip_prefix(':').unwrap_or("443"))
    } else {
        rest.split_once(':').unwrap_or((rest, "443"))
    };
    let port = port.parse().map_err(|_| wrong())?;
    let sound = |b: u8| b.is_ascii_alphanumeric() || b"-.:".contains(&b);
    if host.is_empty() || port == 0 || !host.bytes().all(sound) {
        return Err(wrong());
    }
    Ok((host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::super::testing::Authority;
    use super::*;

    #[test]
    fn a_kubeconfig_of_kubeadm_is_understood() {
        let text = Authority::new().kubeconfig("https://[fd00::1]:6443", 100);
        let config = Kubeconfig::parse(text.as_bytes()).unwrap();
        assert_eq!((config.host(), config.port()), ("fd00::1", 6443));
        assert!(config.ca().starts_with(b"-----BEGIN CERTIFICATE"));
        let days = (config.ends().unwrap() - jiff::Timestamp::now().as_second()) / 86_400;
        assert!((99..=100).contains(&days), "{days}");
        assert!(!format!("{config:?}").contains("BEGIN"));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let error = |text: &str| Kubeconfig::parse(text.as_bytes()).unwrap_err();
        assert!(matches!(error("- a"), KubeconfigError::Yaml(_)));
        assert_eq!(error("kind: Config"), KubeconfigError::Count { what: "clusters", found: 0 });
        let two = "clusters: [{cluster: {server: a}}, {cluster: {server: b}}]\nusers: []";
        assert_eq!(error(two), KubeconfigError::Count { what: "clusters", found: 2 });
        let bare = "clusters: [{cluster: {server: 'https://a'}}]\nusers: [{user: {}}]";
        assert_eq!(error(bare), KubeconfigError::Missing("certificate-authority-data"));
    }

    #[test]
    fn servers_are_split() {
        assert_eq!(split("https://a.b:6443").unwrap(), ("a.b".into(), 6443));
        assert_eq!(split("https://a.b/").unwrap(), ("a.b".into(), 443));
        for wrong in
            ["http://a", "https://", "https://a:0", "https://a:x", "https://a b", "https://[::1"]
        {
            assert!(split(wrong).is_err(), "{wrong}");
        }
    }
}
