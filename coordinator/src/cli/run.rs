//! `run`: puts the rooms together and keeps them going until told to stop.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::args::{Common, RunArgs};
use super::exit::{CliError, CliResult, Exit};
use super::lease_file;
use super::output::note;
use super::run_kubernetes;
use crate::cluster::directory::{DirectoryWorld, Role};
use crate::cluster::{FileVault, Snapshot, Vault, World, files};
use crate::controllers;
use crate::runs::RunStore;
use crate::sites::{ServeOptions, Sites, serve};
use crate::web::{self, Health};

/// How long what is in progress may take to come to an end.
const GRACE: Duration = Duration::from_secs(10);

/// `run`.
pub async fn run(common: &Common, args: &RunArgs) -> CliResult {
    let signals = Signals::listen()?;
    let (health, told) = watch::channel(Health::Waiting("starting".to_owned()));
    if let Some(address) = args.health {
        let problem = |error| CliError::Other(format!("can't answer probes on {address}: {error}"));
        let address = web::serve(address, told).await.map_err(problem)?;
        tracing::info!(%address, "answering probes");
    }
    if common.kubernetes.on {
        return run_kubernetes::run(common, args, signals, health).await;
    }
    make_objects_dir(common)?;
    let world = DirectoryWorld::open(&common.objects, &common.state, Role::Runner)?;
    let first = world.snapshot().await?;
    let objects = world.objects_dir().display().to_string();
    let vault = FileVault::open(&common.state).map_err(CliError::other)?;
    let mut house = House::open(common, args, world, vault, signals).await?;
    house.greet(&objects, &first);
    health.send_replace(Health::Ready);
    let why = house.work(std::future::pending()).await;
    house.close(why).await
}

/// All rooms together, at work.
pub struct House {
    signals: Signals,
    sites: Arc<Sites>,
    addresses: Vec<String>,
    working: JoinHandle<()>,
    leases: JoinHandle<()>,
    stop: CancellationToken,
}

/// Why the work ends.
pub enum End {
    /// Somebody asked for it.
    Told,
    /// The controllers ended, which they never should.
    Failed,
    /// Another coordinator may work now.
    Lost(String),
}

impl House {
    /// Opens all rooms; from here on agents are served.
    pub async fn open<W: World, V: Vault>(
        common: &Common,
        args: &RunArgs,
        world: W,
        vault: V,
        signals: Signals,
    ) -> Result<Self, CliError> {
        let state = common.state.clone();
        let opened = tokio::task::spawn_blocking(move || RunStore::open(&state)).await;
        let runs = opened.map_err(CliError::other)?.map_err(CliError::other)?;
        let stop = CancellationToken::new();
        let audit = Some(common.state.join("audit.jsonl"));
        let options = ServeOptions { listen: args.listen, audit };
        let vault = Arc::new(vault);
        let sites = serve(options, Arc::clone(&vault), Arc::new(runs.clone()), stop.clone())
            .await
            .map_err(CliError::other)?;
        let addresses = remember_addresses(&common.state, args, &sites)?;
        let keep = lease_file::keep(Arc::clone(&sites), common.state.clone(), stop.clone());
        let work = controllers::run(Arc::new(world), sites.clone(), Arc::new(runs), stop.clone());
        let (leases, working) = (tokio::spawn(keep), tokio::spawn(work));
        let _ = sd_notify::notify(&[sd_notify::NotifyState::Ready]);
        Ok(Self { signals, sites, addresses, working, leases, stop })
    }

    /// Where agents reach this coordinator.
    pub fn addresses(&self) -> &[String] {
        &self.addresses
    }

    /// Says where it listens and what to do next.
    pub fn greet(&self, objects: &str, first: &Snapshot) {
        let listen = self.sites.local_addr();
        tracing::info!(%listen, objects, "serving sites");
        for line in greeting(&listen.to_string(), objects, &self.addresses, first) {
            note(&line);
        }
    }

    /// Works until it is told to stop, fails, or `lost` says that the lead is lost.
    pub async fn work(&mut self, lost: impl Future<Output = String>) -> End {
        tokio::select! {
            () = self.signals.told_to_stop() => End::Told,
            () = working_end(&self.working) => End::Failed,
            why = lost => End::Lost(why),
        }
    }

    /// Brings all to an end.
    pub async fn close(self, why: End) -> CliResult {
        let _ = sd_notify::notify(&[sd_notify::NotifyState::Stopping]);
        tracing::info!("stopping; runs at the sites go on");
        self.stop.cancel();
        let ended =
            tokio::time::timeout(GRACE, async { (self.working.await, self.leases.await) }).await;
        match (why, ended) {
            (End::Lost(why), _) => Err(CliError::LostLead(why)),
            (End::Told, Ok((Ok(()), _))) => Ok(Exit::Ok),
            (End::Failed, _) => {
                Err(CliError::other("the controllers ended by themselves; see the log"))
            }
            (_, Ok((Err(error), _))) => Err(CliError::other(error)),
            (_, Err(_)) => Err(CliError::other("not everything came to an end in 10 s")),
        }
    }
}

/// Looks whether the controllers have ended, without taking their result.
async fn working_end(working: &JoinHandle<()>) {
    while !working.is_finished() {
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
}

/// SIGTERM and Ctrl-C, heard from the very beginning.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn listen() -> Result<Self, CliError> {
        let listen = |kind| signal(kind).map_err(CliError::other);
        let (terminate, interrupt) = (SignalKind::terminate(), SignalKind::interrupt());
        Ok(Self { terminate: listen(terminate)?, interrupt: listen(interrupt)? })
    }

    /// Waits for the first of them.
    pub async fn told_to_stop(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// At the very first start the objects directory is made. Later a missing one is a fault (is it
/// mounted?) that is told.
fn make_objects_dir(common: &Common) -> Result<(), CliError> {
    if common.state.exists() || common.objects.exists() {
        return Ok(());
    }
    std::fs::create_dir_all(&common.objects).map_err(|error| {
        let path = common.objects.display();
        CliError::Other(format!("can't make the directory of manifests {path}: {error}"))
    })
}

fn advertise_path(state: &Path) -> PathBuf {
    state.join("advertise.json")
}

/// Keeps where agents reach us, for `site add`.
fn remember_addresses(
    state: &Path,
    args: &RunArgs,
    sites: &Sites,
) -> Result<Vec<String>, CliError> {
    let local = sites.local_addr();
    let addresses = match args.advertise.as_slice() {
        [] if local.ip().is_unspecified() => advertised(state),
        [] => vec![local.to_string()],
        given => given.to_vec(),
    };
    let bytes = serde_json::to_vec(&addresses).map_err(CliError::other)?;
    files::write_private(&advertise_path(state), &bytes).map_err(CliError::other)?;
    Ok(addresses)
}

/// Where agents reach the coordinator of this state directory, as far as `run` was told.
pub fn advertised(state: &Path) -> Vec<String> {
    let bytes = files::read_limited(&advertise_path(state), 64 << 10).ok().flatten();
    bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

fn greeting(listen: &str, objects: &str, addresses: &[String], first: &Snapshot) -> Vec<String> {
    let mut lines = vec![
        format!("bpa-coordinator {} serves sites on {listen} (UDP)", env!("CARGO_PKG_VERSION")),
        format!(
            "objects: {objects} ({} hosts, {} sites, {} provisionings)",
            first.hosts.len(),
            first.sites.len(),
            first.provisionings.len()
        ),
    ];
    if !first.problems.is_empty() {
        lines.push(format!(
            "{} objects can't be used; bpa-coordinator get says why",
            first.problems.len()
        ));
    }
    if first.sites.is_empty() {
        let advertise = match addresses {
            [] => " --advertise HOST:PORT".to_owned(),
            _ => String::new(),
        };
        lines.push(format!("no site yet; add one with: bpa-coordinator site add NAME{advertise}"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_without_a_site_says_what_to_do_next() {
        let say = |addresses: &[String], first: &Snapshot| {
            greeting("0.0.0.0:7443", "/o", addresses, first).join("\n")
        };
        let text = say(&[], &Snapshot::default());
        assert!(
            text.contains("0.0.0.0:7443") && text.contains("site add NAME --advertise"),
            "{text}"
        );
        let text = say(&["192.0.2.1:7443".to_owned()], &Snapshot::default());
        assert!(text.ends_with("site add NAME"), "{text}");
        let sites = vec![super::super::render::testing::site()];
        let text = say(&[], &Snapshot { sites, ..Snapshot::default() });
        assert!(!text.contains("site add"), "{text}");
    }

    #[test]
    fn only_the_first_start_makes_the_objects_directory() {
        let dir = tempfile::tempdir().unwrap();
        let common = Common {
            objects: dir.path().join("objects"),
            state: dir.path().join("state"),
            output: super::super::output::Output::Table,
            kubernetes: Default::default(),
            log: None,
        };
        make_objects_dir(&common).unwrap();
        assert!(common.objects.is_dir());
        std::fs::remove_dir(&common.objects).unwrap();
        std::fs::create_dir(&common.state).unwrap();
        make_objects_dir(&common).unwrap();
        assert!(!common.objects.exists());
    }

    #[test]
    fn addresses_are_remembered_for_the_next_command() {
        let dir = tempfile::tempdir().unwrap();
        assert!(advertised(dir.path()).is_empty());
        std::fs::write(advertise_path(dir.path()), "[\"a:1\"]").unwrap();
        assert_eq!(advertised(dir.path()), ["a:1"]);
    }
}
