//! Does the new cluster answer, to its own admin, as the cluster that the kubeconfig names?

mod api;
mod judge;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

pub use api::{Api, ApiError};
use judge::{days_left, not_ready};

use super::collect::Kubeconfig;
use super::port::StepFailure;

/// The API server and the controllers may restart once just after the playbook's end.
const PATIENCE: Duration = Duration::from_secs(120);
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(500);

/// What was found out about a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Of the admin's certificate.
    pub days_left: u32,
    /// Without a leading `v`.
    pub kubernetes_version: String,
}

/// What must hold.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Nodes that must be Ready; empty when the bundle makes no nodes.
    pub ready: &'a [&'a str],
    /// How long it may take until it holds.
    pub patience: Duration,
}

impl<'a> Wanted<'a> {
    /// These nodes, within two minutes.
    pub fn ready(ready: &'a [&'a str]) -> Self {
        Self { ready, patience: PATIENCE }
    }
}

/// Checks a cluster: certificate chain and server name, `/readyz`, version, nodes. `tell` hears
/// what is waited for, when it changes.
///
/// # Errors
/// What does not hold when the time is over.
pub async fn check(
    kubeconfig: &Kubeconfig,
    wanted: Wanted<'_>,
    tell: &(dyn Fn(String) + Send + Sync),
) -> Result<Found, StepFailure> {
    let now = jiff::Timestamp::now().as_second();
    let ends = kubeconfig.ends().map_err(|e| judge::invalid(&e.to_string()))?;
    let days_left = days_left(ends, now)?;
    let api = Api::new(kubeconfig).map_err(|e| judge::failed(&e))?;
    let begun = Instant::now();
    let mut said = String::new();
    loop {
        let problem = match look(&api, wanted.ready).await {
            Ok(kubernetes_version) => return Ok(Found { days_left, kubernetes_version }),
            Err(problem) => problem,
        };
        // A wrong name or an unknown issuer does not mend itself.
        if problem.reason == "ApiUntrusted" || begun.elapsed() > wanted.patience {
            return Err(problem);
        }
        if said != problem.message {
            said.clone_from(&problem.message);
            tell(format!("waiting: {said}"));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn look(api: &Api, ready: &[&str]) -> Result<String, StepFailure> {
    let answer = api.get("/readyz").await.map_err(|e| judge::failed(&e))?;
    if answer != "ok" {
        return Err(judge::failed(&ApiError::Answer { path: "/readyz", found: answer }));
    }
    let version = api.get("/version").await.map_err(|e| judge::failed(&e))?;
    let version = judge::version(&version)?;
    if !ready.is_empty() {
        let nodes = api.get("/api/v1/nodes").await.map_err(|e| judge::failed(&e))?;
        let missing = not_ready(&nodes, ready)?;
        if let Some(failure) = missing {
            return Err(failure);
        }
    }
    Ok(version)
}
