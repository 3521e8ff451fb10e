//! The session loop.

use std::path::Path;
use std::sync::Arc;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::Desk;
use super::feed::WireLeases;

/// Who this agent is: key, certificate, CA, site, addresses of the coordinator.
#[derive(Debug)]
pub struct SiteIdentity {
    /// Name of the site that was joined.
    pub site: String,
}

/// Why there is no identity to connect with.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    #[error("this agent has not joined a site yet; run `bpa-agent join LINE` first")]
    NotJoined,
}

impl SiteIdentity {
    /// Reads what `join` has kept.
    ///
    /// # Errors
    /// When no site was joined or the files can't be read.
    pub fn load(_state_dir: &Path) -> Result<Self, IdentityError> {
        Err(IdentityError::NotJoined)
    }
}

/// Where the link is, for `status` and logs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LinkStatus {
    #[default]
    Starting,
    Connected {
        coordinator: String,
        approved: bool,
    },
    /// Not connected; another attempt follows.
    Waiting {
        why: String,
    },
    Stopped,
}

/// Keeps a session with the coordinator until `stop`: dials, resumes, tells leases, events and
/// logs, takes orders. Never gives up.
pub async fn run_session_loop<D: Desk, L: WireLeases>(
    _identity: SiteIdentity,
    _desk: Arc<D>,
    _leases: watch::Receiver<Arc<L>>,
    _status: watch::Sender<LinkStatus>,
    stop: CancellationToken,
) {
    stop.cancelled().await;
}
