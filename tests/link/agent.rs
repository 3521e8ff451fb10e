//! An agent's link with its state in a directory that outlives it.

use std::path::Path;
use std::sync::Arc;

use bpa_agent::link::{LinkStatus, SiteIdentity, join, run_session_loop};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::coordinator::Coordinator;
use crate::eventually;
use crate::fakes::{FakeDesk, FakeLeases};

pub struct Agent {
    pub dir: TempDir,
    pub desk: Arc<FakeDesk>,
    pub leases: watch::Sender<Arc<FakeLeases>>,
    pub loops: Vec<Loop>,
}

/// One running session loop.
pub struct Loop {
    pub status: watch::Receiver<LinkStatus>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Loop {
    pub fn is_connected(&self) -> bool {
        matches!(*self.status.borrow(), LinkStatus::Connected { .. })
    }

    /// Why it is not connected; empty while it is.
    pub fn why(&self) -> String {
        match &*self.status.borrow() {
            LinkStatus::Waiting { why, .. } => why.clone(),
            _ => String::new(),
        }
    }

    pub async fn stop(self) {
        self.stop.cancel();
        self.task.await.unwrap();
    }
}

impl Agent {
    pub fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            desk: Arc::new(FakeDesk::new()),
            leases: watch::channel(Arc::default()).0,
            loops: Vec::new(),
        }
    }

    pub fn state(&self) -> &Path {
        self.dir.path()
    }

    /// Starts a session loop with what was joined.
    pub fn dial(&mut self) -> &Loop {
        let identity = SiteIdentity::load(self.state()).unwrap();
        let (sender, status) = watch::channel(LinkStatus::Starting);
        let stop = CancellationToken::new();
        let (desk, leases) = (self.desk.clone(), self.leases.subscribe());
        let task = tokio::spawn(run_session_loop(identity, desk, leases, sender, stop.clone()));
        self.loops.push(Loop { status, stop, task });
        self.loops.last().unwrap()
    }

    /// An agent that has joined a site and is connected.
    pub async fn connected(coordinator: &Coordinator, site: &str) -> Self {
        let mut agent = Self::new();
        join(&coordinator.line(site), agent.state()).await.unwrap();
        agent.dial();
        eventually("the agent is connected", || agent.is_connected()).await;
        agent
    }

    pub fn is_connected(&self) -> bool {
        self.loops.last().is_some_and(Loop::is_connected)
    }
}
