//! `bpa-agent run`.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::args::Common;
use super::exit::{CliError, CliResult, Exit};
use super::status::{Lock, Status};
use crate::config::Config;
use crate::credentials::CredentialSource;
use crate::journal::Journal;
use crate::leases;
use crate::link::{LinkStatus, SiteIdentity, run_session_loop};
use crate::private;
use crate::runs::{Runs, Shop, Turns, now_ms};
use crate::steps::access::{AccessContext, Pins, SiteKey};

pub(super) const HELP: &str = r#"Example:
  bpa-agent run --config /etc/bpa/agent.toml

A configuration (/etc/bpa/agent.toml):
  state_dir = "/var/lib/bpa-agent"
  credentials = "/etc/bpa/credentials.toml"   # mode 0600

  [[lease]]
  kind = "kea"
  path = "/var/lib/kea/kea-leases4.csv"

  [[bundle]]
  path = "/opt/bpa/bundle"
  ansible_bin = "/opt/bpa/ansible/bin"
  [bundle.vars]
  files_repo = "http://10.77.0.1:8081"

A playbook that runs when the agent ends goes on; the next `bpa-agent run` finds it."#;

/// How long the link may take to say goodbye.
const GOODBYE: Duration = Duration::from_secs(3);

/// Runs the agent until it is told to end.
pub(super) async fn run(common: &Common) -> CliResult {
    let config = common.load().map_err(CliError::other)?;
    private::make_dir(&config.state_dir).map_err(|e| {
        CliError::Other(format!(
            "can't use the state directory {}: {e}",
            config.state_dir.display()
        ))
    })?;
    let Some(_lock) = Lock::take(&config.state_dir).map_err(CliError::other)? else {
        let dir = config.state_dir.display();
        return Err(CliError::Conflict(format!("an agent is at work in {dir}; end it first")));
    };
    let identity = SiteIdentity::load(&config.state_dir).map_err(CliError::other)?;
    let stop = CancellationToken::new();
    let feed = leases::start(&config.leases, stop.clone());
    let shop = shop(&config, &identity.site, feed.clone())?;
    for bundle in shop.reports() {
        for problem in &bundle.problems {
            tracing::warn!(bundle = bundle.name, problem, "a bundle is not complete");
        }
    }
    tracing::info!(site = identity.site, state = %config.state_dir.display(), "agent starts");
    let runs = Runs::resume(shop).map_err(CliError::other)?;
    let (status, changes) = watch::channel(LinkStatus::default());
    let keeper = tokio::spawn(keep_status(changes, config.state_dir.clone()));
    let session = run_session_loop(identity, Arc::clone(&runs), feed, status, stop.clone());
    let mut link = tokio::spawn(session);
    let _ = sd_notify::notify(&[sd_notify::NotifyState::Ready]);
    let ended = tokio::select! {
        () = told_to_end() => Ok(Exit::Ok.into()),
        _ = &mut link => Err(CliError::Other("the link ended by itself; see the log".to_owned())),
    };
    let _ = sd_notify::notify(&[sd_notify::NotifyState::Stopping]);
    tracing::info!(runs = runs.at_work(), "agent ends; playbooks that run go on");
    stop.cancel();
    let _ = tokio::time::timeout(GOODBYE, link).await;
    keeper.abort();
    Status::of(&LinkStatus::Stopped, now_ms()).save(&config.state_dir);
    ended
}

fn shop(config: &Config, site: &str, leases: leases::LeaseFeed) -> Result<Shop, CliError> {
    let state_dir = config.state_dir.clone();
    let journal = Journal::open(&state_dir).map_err(CliError::other)?;
    let site_key = SiteKey::load_or_create(&state_dir, site).map_err(CliError::other)?;
    Ok(Shop {
        journal: Arc::new(journal),
        access: AccessContext {
            site_key: Arc::new(site_key),
            credentials: CredentialSource::new(config.credentials.clone()),
            pins: Pins::new(&state_dir),
            ssh_wait: Duration::from_secs(config.runs.ssh_wait_seconds),
        },
        leases,
        bundles: config.bundles.clone(),
        config: config.runs.clone(),
        turns: Turns::new(config.runs.at_once),
        agent: program()?,
        state_dir,
    })
}

/// This very program, also when its file was replaced by an upgrade meanwhile.
fn program() -> Result<std::path::PathBuf, CliError> {
    let path = std::env::current_exe().map_err(CliError::other)?;
    if path.exists() {
        return Ok(path);
    }
    Ok(Path::new("/proc/self/exe").to_owned())
}

async fn keep_status(mut changes: watch::Receiver<LinkStatus>, state_dir: std::path::PathBuf) {
    loop {
        let status = Status::of(&changes.borrow_and_update().clone(), now_ms());
        status.save(&state_dir);
        if changes.changed().await.is_err() {
            return;
        }
    }
}

async fn told_to_end() {
    let wait = async |kind: SignalKind| match signal(kind) {
        Ok(mut signal) => {
            signal.recv().await;
        }
        Err(error) => {
            tracing::error!(%error, "can't listen to a signal");
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = wait(SignalKind::terminate()) => {}
        () = wait(SignalKind::interrupt()) => {}
    }
}
