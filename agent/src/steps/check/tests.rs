//! Against a small API server over real TLS.

use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::steps::collect::testing::Authority;

/// Serves these answers to whoever shows a certificate of the authority; returns the port.
async fn server(authority: &Authority, name: &str, nodes: String) -> u16 {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.ca_pem().as_bytes()).unwrap()).unwrap();
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
            .build()
            .unwrap();
    let (certificate, key) = authority.issue(&[name], 10);
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier)
        .with_single_cert(
            vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()],
            PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap(),
        )
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((tcp, _)) = listener.accept().await {
            let (acceptor, nodes) = (acceptor.clone(), nodes.clone());
            tokio::spawn(async move {
                let Ok(mut tls) = acceptor.accept(tcp).await else { return };
                let mut head = vec![0; 4096];
                let length = tls.read(&mut head).await.unwrap_or(0);
                let head = String::from_utf8_lossy(&head[..length]).into_owned();
                let body = match head.split(' ').nth(1) {
                    Some("/readyz") => "ok".to_owned(),
                    Some("/version") => r#"{"gitVersion":"v1.35.4"}"#.to_owned(),
                    _ => nodes,
                };
                let answer = format!(
                    "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                    body.len()
                );
                let _ = tls.write_all(answer.as_bytes()).await;
                let _ = tls.shutdown().await;
            });
        }
    });
    port
}

fn nodes(ready: &str) -> String {
    format!(
        r#"{{"items":[{{"metadata":{{"name":"cp1"}},"status":{{"conditions":[
        {{"type":"Ready","status":"{ready}","message":"network not ready"}}]}}}}]}}"#
    )
}

fn wanted<'a>(ready: &'a [&'a str]) -> Wanted<'a> {
    Wanted { ready, patience: Duration::from_millis(100) }
}

fn config(authority: &Authority, port: u16) -> Kubeconfig {
    let text = authority.kubeconfig(&format!("https://127.0.0.1:{port}"), 200);
    Kubeconfig::parse(text.as_bytes()).unwrap()
}

#[tokio::test]
async fn a_ready_cluster_passes_with_version_and_days() {
    let authority = Authority::new();
    let port = server(&authority, "127.0.0.1", nodes("True")).await;
    let found = check(&config(&authority, port), wanted(&["cp1"]), &|_| {}).await.unwrap();
    assert_eq!(found.kubernetes_version, "1.35.4");
    assert!((199..=200).contains(&found.days_left));
}

#[tokio::test]
async fn a_node_that_is_not_ready_is_waited_for_and_named() {
    let authority = Authority::new();
    let port = server(&authority, "127.0.0.1", nodes("False")).await;
    let said = std::sync::Mutex::new(Vec::new());
    let tell = |text: String| said.lock().unwrap().push(text);
    let config = config(&authority, port);
    let failure = check(&config, wanted(&["cp1", "w1"]), &tell).await.unwrap_err();
    assert_eq!((failure.reason, failure.node.as_deref()), ("NodesNotReady", Some("cp1")));
    assert!(failure.message.contains("network not ready"), "{failure}");
    assert!(failure.message.contains("w1 has not joined"), "{failure}");
    assert_eq!(said.lock().unwrap().len(), 1, "the same wait is told once");
}

#[tokio::test]
async fn another_name_and_another_authority_are_not_trusted() {
    let authority = Authority::new();
    let port = server(&authority, "10.0.0.9", nodes("True")).await;
    let failure = check(&config(&authority, port), wanted(&[]), &|_| {}).await.unwrap_err();
    assert_eq!(failure.reason, "ApiUntrusted", "{failure}");
    let other = Authority::new();
    let port = server(&authority, "127.0.0.1", nodes("True")).await;
    let failure = check(&config(&other, port), wanted(&[]), &|_| {}).await.unwrap_err();
    assert_eq!(failure.reason, "ApiUntrusted", "{failure}");
}

#[tokio::test]
async fn nobody_there_and_an_ended_certificate_are_told() {
    let authority = Authority::new();
    let failure = check(&config(&authority, 1), wanted(&[]), &|_| {}).await.unwrap_err();
    assert_eq!(failure.reason, "ApiUnreachable");
    let text = authority.kubeconfig("https://127.0.0.1:1", -3);
    let ended = Kubeconfig::parse(text.as_bytes()).unwrap();
    let failure = check(&ended, wanted(&[]), &|_| {}).await.unwrap_err();
    assert_eq!(failure.reason, "ClientCertificateExpired");
    assert!(failure.message.contains("3 days ago"), "{failure}");
}
