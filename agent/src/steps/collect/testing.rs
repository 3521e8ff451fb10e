//! A small authority, for tests: makes kubeconfigs and a server's certificate.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        Self { issuer: CertifiedIssuer::self_signed(params, key).unwrap() }
    }

    /// Certificate and key, PEM, for these names, ending in so many days.
    pub(crate) fn issue(&self, names: &[&str], days: i64) -> (String, String) {
        let names: Vec<String> = names.iter().map(|n| (*n).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        let now = std::time::SystemTime::now();
        let day = std::time::Duration::from_secs(86_400);
        params.not_before = (now - day * 30).into();
        let span = day * u32::try_from(days.abs()).unwrap();
        params.not_after = if days < 0 { (now - span).into() } else { (now + span).into() };
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    pub(crate) fn ca_pem(&self) -> String {
        self.issuer.pem()
    }

    pub(crate) fn kubeconfig(&self, server: &str, days: i64) -> String {
        let (certificate, key) = self.issue(&["kubernetes-admin"], days);
        let b64 = |text: &str| BASE64_STANDARD.encode(text);
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: a@k\nclusters:\n- name: k\n  cluster:\n    \
             server: {server}\n    certificate-authority-data: {}\ncontexts:\n- name: a@k\n  \
             context: {{cluster: k, user: a}}\nusers:\n- name: a\n  user:\n    \
             client-certificate-data: {}\n    client-key-data: {}\n",
            b64(&self.ca_pem()),
            b64(&certificate),
            b64(&key)
        )
    }
}
