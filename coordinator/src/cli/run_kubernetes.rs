//! `run` on a Kubernetes API server: as a candidate first, then as the leader.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::args::{Common, RunArgs};
use super::exit::{CliError, CliResult, Exit};
use super::run::{House, Signals};
use super::world::options;
use crate::cluster::directory::lock_for_run;
use crate::cluster::kubernetes::{Election, KubernetesWorld, SecretVault};
use crate::cluster::{Vault, World};
use crate::web::Health;

/// How often it is said what is still missing.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long giving the lease back may take.
const RESIGN: Duration = Duration::from_secs(5);
/// Name in the vault of the addresses that go into join lines.
const ADVERTISE: &str = "advertise";

/// `--kubernetes run`.
pub async fn run(
    common: &Common,
    args: &RunArgs,
    mut signals: Signals,
    health: watch::Sender<Health>,
) -> CliResult {
    let health = Arc::new(health);
    let world = KubernetesWorld::connect(options(&common.kubernetes, false)).await?;
    let mut election = Election::new(&world, &hostname());
    tracing::info!(server = world.server(), identity = election.identity(), "a candidate");
    let wait = |why: &str| drop(health.send_replace(Health::Waiting(why.to_owned())));
    let won = election.win(|why| {
        tracing::info!("{why}");
        wait(why);
    });
    tokio::select! {
        () = won => tracing::info!("leading"),
        () = signals.told_to_stop() => return Ok(Exit::Ok),
    }
    // Renewed from this moment on, also while everything is being read and opened.
    let mut lead = Lead::hold(election, Arc::clone(&health));
    let ended = work(common, args, signals, &health, world, &mut lead).await;
    health.send_replace(Health::Waiting("stopping".to_owned()));
    // All writers have ended: another may lead at once.
    lead.end().await;
    ended
}

/// The lead, renewed by a task of its own.
struct Lead {
    done: CancellationToken,
    /// How it was lost; none when it was given back.
    renewing: JoinHandle<Option<String>>,
}

impl Lead {
    fn hold(mut election: Election, health: Arc<watch::Sender<Health>>) -> Self {
        let done = CancellationToken::new();
        let told = done.clone();
        let renewing = tokio::spawn(async move {
            let lost = tokio::select! {
                why = election.hold(tell(health)) => Some(why),
                () = told.cancelled() => None,
            };
            if lost.is_none() {
                election.resign().await;
            }
            lost
        });
        Self { done, renewing }
    }

    /// Waits until it is lost; returns how. Not to be asked again then.
    async fn lost(&mut self) -> String {
        match (&mut self.renewing).await {
            Ok(why) => why.unwrap_or_else(|| "it was given back".to_owned()),
            Err(error) => format!("the task that renews it has ended: {error}"),
        }
    }

    /// Gives it back if it is still ours.
    async fn end(self) {
        self.done.cancel();
        if !self.renewing.is_finished() {
            let _ = tokio::time::timeout(RESIGN, self.renewing).await;
        }
    }
}

/// While the lease can't be renewed we are not ready; then what we were before.
fn tell(health: Arc<watch::Sender<Health>>) -> impl FnMut(Option<&str>) {
    let mut before = None;
    move |trouble| match trouble {
        Some(trouble) => {
            tracing::warn!("{trouble}; nothing is written until it can be, or another leads");
            before = Some(health.send_replace(Health::Waiting(trouble.to_owned())));
        }
        None => {
            tracing::info!("leading as before");
            before.take().map(|before| health.send_replace(before));
        }
    }
}

async fn work(
    common: &Common,
    args: &RunArgs,
    mut signals: Signals,
    health: &watch::Sender<Health>,
    world: KubernetesWorld,
    lead: &mut Lead,
) -> CliResult {
    tokio::select! {
        () = known(&world, health) => {}
        why = lead.lost() => return Err(CliError::LostLead(why)),
        () = signals.told_to_stop() => return Ok(Exit::Ok),
    }
    // Only now: candidates on a volume that all of them see wait for the lease, not for this.
    let _lock = lock_for_run(&common.state)?;
    let vault = SecretVault::open(&world)?;
    let first = world.snapshot().await?;
    let objects = format!("Kubernetes at {}", world.server());
    let mut house = House::open(common, args, world, vault.clone(), signals).await?;
    remember(vault, house.addresses().to_vec()).await?;
    house.greet(&objects, &first);
    health.send_replace(Health::Ready);
    let why = house.work(lead.lost()).await;
    house.close(why).await
}

/// Waits until everything is known, and says now and then what is not.
async fn known(world: &KubernetesWorld, health: &watch::Sender<Health>) {
    while let Err(error) = world.ready(PATIENCE).await {
        tracing::warn!(%error, "waiting");
        health.send_replace(Health::Waiting(error.to_string()));
    }
}

/// Keeps where agents reach us, for `site add` elsewhere.
async fn remember(vault: SecretVault, addresses: Vec<String>) -> Result<(), CliError> {
    if addresses.is_empty() {
        return Ok(());
    }
    let bytes = serde_json::to_vec(&addresses).map_err(CliError::other)?;
    let kept = tokio::task::spawn_blocking(move || vault.put(ADVERTISE, &bytes)).await;
    kept.map_err(CliError::other)?.map_err(CliError::other)
}

/// Where agents reach the coordinator of this vault, as far as `run` was told.
///
/// # Errors
/// When the vault can't be read.
pub fn advertised(vault: &impl Vault) -> Result<Vec<String>, CliError> {
    let kept = vault.get(ADVERTISE).map_err(CliError::other)?;
    Ok(kept.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default())
}

/// Name of this machine or pod, for people who read the Lease.
fn hostname() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    if name.is_empty() { "coordinator".to_owned() } else { name }
}
