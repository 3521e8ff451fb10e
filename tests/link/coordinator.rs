//! A coordinator's link with its vault in a directory that outlives it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bpa_common::identity::Authority;
use bpa_coordinator::cluster::{FileVault, Vault};
use bpa_coordinator::sites::{
    Fleet, Invitation, JoinLine, ServeOptions, SiteView, Sites, serve, site_add,
};
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::fakes::FakeSink;

pub struct Coordinator {
    pub dir: TempDir,
    pub vault: Arc<FileVault>,
    pub sink: Arc<FakeSink>,
    pub sites: Arc<Sites>,
    stop: CancellationToken,
}

impl Coordinator {
    pub async fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let vault = Arc::new(FileVault::open(dir.path()).unwrap());
        let sink = Arc::new(FakeSink::default());
        let any = "127.0.0.1:0".parse().unwrap();
        let (sites, stop) = Self::serve(&dir, &vault, &sink, any).await;
        Self { dir, vault, sink, sites, stop }
    }

    async fn serve(
        dir: &TempDir,
        vault: &Arc<FileVault>,
        sink: &Arc<FakeSink>,
        listen: SocketAddr,
    ) -> (Arc<Sites>, CancellationToken) {
        let stop = CancellationToken::new();
        let audit = Some(dir.path().join("audit.jsonl"));
        let options = ServeOptions { listen, audit };
        let sites = serve(options, vault.clone(), sink.clone(), stop.clone()).await.unwrap();
        (sites, stop)
    }

    /// Stops, as a restart does, and gives back what it takes to start again.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.sites.stopped().await;
    }

    /// Starts again at the same address, with the same vault and the same store of runs.
    pub async fn restart(&mut self) {
        self.stop().await;
        let address = self.address();
        // The socket is free when the last user of the old endpoint is gone.
        for _ in 0..100 {
            if std::net::UdpSocket::bind(address).is_ok() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let (sites, stop) = Self::serve(&self.dir, &self.vault, &self.sink, address).await;
        (self.sites, self.stop) = (sites, stop);
    }

    /// Another process of the same coordinator, which knows nothing of this one's connections.
    pub async fn reborn(&self) -> Arc<Sites> {
        let any = "127.0.0.1:0".parse().unwrap();
        Self::serve(&self.dir, &self.vault, &self.sink, any).await.0
    }

    pub fn address(&self) -> SocketAddr {
        self.sites.local_addr()
    }

    pub fn invitation(&self, site: &str) -> Invitation {
        Invitation {
            site: site.into(),
            ttl: Duration::from_secs(600),
            addresses: vec![self.address().to_string()],
            replace: false,
        }
    }

    pub fn invite(&self, invitation: &Invitation) -> JoinLine {
        site_add(&*self.vault, invitation, Timestamp::now()).unwrap()
    }

    /// A join line for a site.
    pub fn line(&self, site: &str) -> String {
        self.invite(&self.invitation(site)).line.expose_secret().to_owned()
    }

    pub fn view(&self, site: &str) -> std::sync::Arc<SiteView> {
        self.sites.view().remove(site).unwrap_or_default()
    }

    pub fn approve(&self, site: &str, approved: bool) {
        self.sites.set_approved(BTreeMap::from([(site.to_owned(), approved)]));
    }

    /// The authority, as somebody with the state directory has it.
    pub fn authority(&self) -> Authority {
        let pem = self.vault.get("ca/authority.pem").unwrap().unwrap();
        let pem = SecretString::from(String::from_utf8(pem.to_vec()).unwrap());
        Authority::from_pem(&pem).unwrap()
    }

    /// The audit trail so far.
    pub fn audit(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("audit.jsonl")).unwrap()
    }
}
