//! The QUIC server: accepts, sorts joins from sessions, refuses with a reason.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bpa_common::identity::{Authority, CertificateFacts, IdentityError};
use bpa_common::link::{
    ALPN, ALPN_JOIN, CloseCode, TlsError, close, server_config, server_endpoint,
};
use jiff::Timestamp;
use quinn::crypto::rustls::HandshakeData;
use quinn::{Connection, Endpoint, Incoming};
use rustls::pki_types::CertificateDer;
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::admit::{Admitted, Refusal, admit, site_of};
use super::audit::{Action, Audit, Record};
use super::fleet::Sites;
use super::store::{self, StoreError};
use super::{RunSink, session, welcome};
use crate::cluster::Vault;

/// Peers that may be between their first packet and their admission at once.
const STRANGERS: usize = 512;
/// From so many on, a stranger must first prove that its address is its own.
const CROWD: usize = 64;
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(10);
/// How long the last words may take when the coordinator stops.
const FAREWELL: Duration = Duration::from_secs(1);

/// How to serve the link.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// UDP address to listen on.
    pub listen: SocketAddr,
    /// Where audit records are appended, one JSON object a line; none = only to the log.
    pub audit: Option<PathBuf>,
}

/// Why the link can't be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(
        "can't listen on UDP {address}: {source}; stop what uses the port, or choose another address"
    )]
    Bind { address: SocketAddr, source: std::io::Error },
    #[error("can't open the audit trail {}: {source}", path.display())]
    Audit { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// What every connection needs.
pub(super) struct Context<V, S> {
    pub sites: Arc<Sites>,
    pub vault: Arc<V>,
    pub sink: Arc<S>,
    pub authority: Arc<Authority>,
    pub stop: CancellationToken,
    /// Joins are decided one at a time.
    pub joins: Mutex<()>,
    strangers: Arc<Semaphore>,
}

/// Starts to serve agents, until `stop`. Counts one more epoch in the vault.
///
/// # Errors
/// When the vault can't be used or the address can't be listened on.
pub async fn serve<V: Vault, S: RunSink>(
    options: ServeOptions,
    vault: Arc<V>,
    sink: Arc<S>,
    stop: CancellationToken,
) -> Result<Arc<Sites>, ServeError> {
    let now = Timestamp::now();
    let authority = Arc::new(store::authority(&*vault, now)?);
    let config = server_config(authority.server_identity(now)?, authority.certificate())?;
    let address = options.listen;
    let bind = |source| ServeError::Bind { address, source };
    let secret = authority.derived_secret("stateless reset");
    let endpoint = server_endpoint(config, address, &secret).map_err(bind)?;
    let local_addr = endpoint.local_addr().map_err(bind)?;
    let audit = Audit::open(options.audit.as_deref()).map_err(|source| ServeError::Audit {
        path: options.audit.clone().unwrap_or_default(),
        source,
    })?;
    let epoch = store::next_epoch(&*vault)?;
    let sites = Arc::new(Sites::new(local_addr, epoch, audit));
    let started = Record::new(Action::Started, "").key(authority.fingerprint());
    sites.audit.record(started.because(format!("epoch {epoch}, listening on {local_addr}")));
    let strangers = Arc::new(Semaphore::new(STRANGERS));
    let context = Arc::new(Context {
        sites: sites.clone(),
        vault,
        sink,
        authority,
        stop,
        joins: Mutex::new(()),
        strangers,
    });
    tokio::spawn(accept_all(context, endpoint));
    Ok(sites)
}

async fn accept_all<V: Vault, S: RunSink>(context: Arc<Context<V, S>>, endpoint: Endpoint) {
    loop {
        let incoming = tokio::select! {
            incoming = endpoint.accept() => incoming,
            () = context.stop.cancelled() => break,
        };
        let Some(incoming) = incoming else { break };
        let free = context.strangers.available_permits();
        if STRANGERS - free >= CROWD && incoming.may_retry() {
            let _ = incoming.retry();
            continue;
        }
        match context.strangers.clone().try_acquire_owned() {
            Ok(permit) => drop(tokio::spawn(one(context.clone(), incoming, permit))),
            Err(_) => incoming.refuse(),
        }
    }
    endpoint.close(CloseCode::Shutdown.number(), b"the coordinator stops");
    let _ = tokio::time::timeout(FAREWELL, endpoint.wait_idle()).await;
    context.sites.stopped.cancel();
}

/// Serves one connection from its first packet to its end.
async fn one<V: Vault, S: RunSink>(
    context: Arc<Context<V, S>>,
    incoming: Incoming,
    permit: OwnedSemaphorePermit,
) {
    let remote = incoming.remote_address();
    let connection = match tokio::time::timeout(HANDSHAKE_LIMIT, incoming).await {
        Ok(Ok(connection)) => connection,
        Ok(Err(error)) => {
            tracing::info!(%remote, %error, "a handshake failed");
            return;
        }
        Err(_) => return,
    };
    if protocol(&connection).as_deref() == Some(ALPN_JOIN) {
        welcome::welcome(context, connection).await;
        return;
    }
    match admission(&context, &connection).await {
        Ok(who) => {
            drop(permit);
            session::run(context, connection, who).await;
        }
        Err(refusal) => {
            let site = refusal.site.as_ref().map(ToString::to_string).unwrap_or_default();
            let record = Record::new(Action::ConnectRefused, site).from(remote);
            context.sites.audit.record(record.because(&refusal.reason));
            close(&connection, refusal.code, &refusal.reason);
        }
    }
}

fn protocol(connection: &Connection) -> Option<Vec<u8>> {
    connection.handshake_data()?.downcast::<HandshakeData>().ok()?.protocol
}

fn certificate(connection: &Connection) -> Option<CertificateFacts> {
    let chain = connection.peer_identity()?.downcast::<Vec<CertificateDer<'static>>>().ok()?;
    CertificateFacts::read(chain.first()?).ok()
}

async fn admission<V: Vault, S>(
    context: &Arc<Context<V, S>>,
    connection: &Connection,
) -> Result<Admitted, Refusal> {
    debug_assert_eq!(protocol(connection).as_deref(), Some(ALPN));
    let certificate = certificate(connection);
    let site = site_of(certificate.as_ref())?.clone();
    let vault = context.vault.clone();
    let name = site.clone();
    let busy = |problem: String| {
        tracing::error!(site = %site, problem, "can't look up the enrolled key");
        let reason = "the coordinator can't use its vault; see its log".to_owned();
        Refusal { code: CloseCode::Busy, site: Some(site.clone()), reason }
    };
    let enrolled = tokio::task::spawn_blocking(move || store::key(&*vault, &name))
        .await
        .map_err(|e| busy(e.to_string()))?
        .map_err(|e| busy(e.to_string()))?;
    let Some(certificate) = certificate else { return Err(busy("no certificate".into())) };
    admit(&certificate, enrolled.map(|key| key.fingerprint).as_deref(), Timestamp::now())
}
