//! Runs a playbook: starts it, or finds the one that an earlier process started, and follows it.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

use bpa_common::wire::v1::{EventBody, NodeState, Order, OrderKind};
use tokio_util::sync::CancellationToken;

use super::super::places::Places;
use super::super::{Journaled, StepFailure};
use super::{Bundle, CALLBACK_FILE, Digest, Follower, PLUGIN, Verdict, environment, judge};
use crate::private;
use crate::supervisor::{Attempt, Exit, Job, Redactor, SupervisorError, Trace};

/// How often new events are looked for.
const LOOK: Duration = Duration::from_millis(100);

/// What a playbook needs of the run's record.
pub trait Stage: Journaled {
    /// How many playbooks were started for this run.
    fn starts(&self) -> u32;
    /// Counts one more, durably, before it is started.
    fn count_start(&self) -> Result<u32, StepFailure>;
    /// How many lines of the newest playbook's events were told.
    fn followed(&self) -> u64;
    /// Tells, and remembers up to which line.
    fn tell_followed(&self, bodies: Vec<EventBody>, line: u64);
}

/// One run's playbook.
pub struct Playing<'a> {
    pub bundle: &'a Bundle,
    pub places: &'a Places,
    pub order: &'a Order,
    pub forks: u32,
    /// This program: it is its own supervisor.
    pub agent: &'a Path,
    pub stage: &'a dyn Stage,
    pub cancel: &'a CancellationToken,
}

/// How it came out, when it did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Played {
    Success,
    Cancelled,
    /// Its supervisor was killed: nobody knows how far it came. It may be run again.
    Interrupted,
}

/// Runs the playbook of an order to its end.
///
/// # Errors
/// Which task failed, where, and why; or why it could not be started.
pub async fn play(playing: &Playing<'_>) -> Result<Played, StepFailure> {
    let (attempt, adopted) = match adopt(playing).await? {
        Some(attempt) => (attempt, true),
        None => (begin(playing).await?, false),
    };
    if adopted {
        let message = "the playbook went on while the agent was away".to_owned();
        playing.stage.tell(EventBody::Note { message });
    } else {
        tell_nodes(playing, NodeState::Installing);
    }
    let (exit, digest) = match follow(playing, &attempt).await {
        Ok(ended) => ended,
        Err(SupervisorError::Lost) => return Ok(Played::Interrupted),
        Err(error) => return Err(not_run(&error)),
    };
    let log_end = end_of(&playing.places.log());
    let expected: Vec<&str> = playing.order.nodes.iter().map(|n| n.name.as_str()).collect();
    let playbooks = playbooks(playing)?.len();
    match judge(&exit, &digest, &expected, playbooks, &log_end) {
        Verdict::Success => {
            tell_nodes(playing, NodeState::Installed);
            Ok(Played::Success)
        }
        Verdict::Cancelled => Ok(Played::Cancelled),
        Verdict::Failure(failure) => Err(failure),
    }
}

/// All nodes are in this state now. A reset installs nothing: its recap says what was done.
fn tell_nodes(playing: &Playing<'_>, state: NodeState) {
    if playing.order.kind == OrderKind::Reset {
        return;
    }
    for node in &playing.order.nodes {
        playing.stage.tell(EventBody::Node {
            node: node.name.clone(),
            state,
            address: None,
            message: String::new(),
        });
    }
}

/// The playbook that runs, or has ended, without having been judged.
async fn adopt(playing: &Playing<'_>) -> Result<Option<Attempt>, StepFailure> {
    let newest = Attempt::newest(playing.places.run(), playing.stage.starts());
    let Some((_, attempt)) = newest else { return Ok(None) };
    match attempt.trace().map_err(|e| not_run(&e))? {
        Trace::Living | Trace::Exited(_) => Ok(Some(attempt)),
        Trace::None => Ok(None),
        Trace::Lost => {
            let left = attempt.kill_leftovers().await.map_err(|e| not_run(&e))?;
            let rest = if left { "; what it had left behind here was stopped" } else { "" };
            let message = format!(
                "the playbook was interrupted from outside; it is run again from its start, \
                 which leaves alone what stands{rest}"
            );
            playing.stage.tell(EventBody::Note { message });
            Ok(None)
        }
    }
}

async fn begin(playing: &Playing<'_>) -> Result<Attempt, StepFailure> {
    let places = playing.places;
    let program = playing.bundle.tool("ansible-playbook").map_err(|m| unusable(&m))?;
    let mut argv = vec![
        program.to_string_lossy().into_owned(),
        "-i".to_owned(),
        places.hosts_ini().to_string_lossy().into_owned(),
        "-b".to_owned(),
        "-e".to_owned(),
        format!("@{}", places.extra_vars().display()),
    ];
    argv.extend(playbooks(playing)?);
    let plugin = places.callbacks().join(CALLBACK_FILE);
    private::write(&plugin, PLUGIN.as_bytes()).map_err(|e| unusable(&e.to_string()))?;
    let attempt = Attempt::new(places.run(), playing.stage.count_start()?);
    let events = attempt.directory().join("events.jsonl");
    let job = Job {
        argv,
        directory: places.run().to_owned(),
        environment: environment(playing.bundle, places, playing.forks, Some(&events)),
        log: places.log(),
        secret_files: secret_files(places),
        mux_directory: Some(places.control().to_owned()),
    };
    attempt.start(&job, playing.agent).await.map_err(|e| not_run(&e))?;
    Ok(attempt)
}

/// The playbook of the order's kind, then the extra ones in their order.
fn playbooks(playing: &Playing<'_>) -> Result<Vec<String>, StepFailure> {
    let bundle = playing.bundle;
    let main = bundle.playbook(playing.order.kind);
    let mut found = vec![main.ok_or_else(|| unusable("it has no playbook for this order"))?];
    if playing.order.kind == OrderKind::Install {
        for name in &playing.order.cluster.plugins {
            let extra = bundle.extra_playbook(name);
            found.push(extra.ok_or_else(|| unusable(&format!("it has no playbook `{name}`")))?);
        }
    }
    Ok(found.iter().map(|path| path.to_string_lossy().into_owned()).collect())
}

async fn follow(
    playing: &Playing<'_>,
    attempt: &Attempt,
) -> Result<(Exit, Digest), SupervisorError> {
    let secrets = secret_files(playing.places);
    let secrets = secrets.iter().filter_map(|path| std::fs::read_to_string(path).ok());
    let mut reader = Reader {
        stage: playing.stage,
        follower: Follower::new(&attempt.directory().join("events.jsonl")),
        digest: Digest::new(Redactor::new(secrets)),
        told: playing.stage.followed(),
        at: 0,
    };
    let mut asked = false;
    let mut end = std::pin::pin!(attempt.wait());
    let exit = loop {
        tokio::select! {
            exit = &mut end => break exit?,
            () = tokio::time::sleep(LOOK) => reader.look(),
            () = playing.cancel.cancelled(), if !asked => {
                match attempt.request_cancel() {
                    Ok(()) => asked = true,
                    Err(error) => {
                        tracing::warn!(%error, "can't ask the supervisor to stop; trying again");
                        tokio::time::sleep(Duration::from_secs(1)).await;
                    }
                }
            }
        }
    };
    while reader.look_once() {}
    Ok((exit, reader.digest))
}

struct Reader<'a> {
    stage: &'a dyn Stage,
    follower: Follower,
    digest: Digest,
    /// Lines up to this one were told, perhaps by an earlier process.
    told: u64,
    /// The newest line.
    at: u64,
}

impl Reader<'_> {
    fn look(&mut self) {
        self.look_once();
        let now = jiff::Timestamp::now().as_millisecond();
        if let Some(task) = self.digest.tick(now)
            && self.at >= self.told
        {
            self.stage.tell_followed(vec![task], self.at);
            self.told = self.at;
        }
    }

    /// True when there was something new.
    fn look_once(&mut self) -> bool {
        let lines = self.follower.read().unwrap_or_else(|error| {
            tracing::warn!(%error, "can't read the playbook's events");
            Vec::new()
        });
        let any = !lines.is_empty();
        let mut bodies = Vec::new();
        for line in lines {
            self.at = line.seq;
            let told = self.digest.take(line);
            if self.at > self.told {
                bodies.extend(told);
            }
        }
        if !bodies.is_empty() {
            self.stage.tell_followed(bodies, self.at);
            self.told = self.at;
        }
        any
    }
}

fn secret_files(places: &Places) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(places.become_dir());
    entries.into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// The last few KiB of a log.
fn end_of(path: &Path) -> String {
    let read = || -> std::io::Result<String> {
        let mut file = std::fs::File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(8192)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    read().unwrap_or_default()
}

fn unusable(message: &str) -> StepFailure {
    StepFailure {
        reason: "BundleUnusable",
        node: None,
        message: format!("the bundle can't be used: {message}"),
        fix: "`bpa-agent doctor` at the site checks it".to_owned(),
    }
}

fn not_run(error: &SupervisorError) -> StepFailure {
    StepFailure {
        reason: "PlaybookNotStarted",
        node: None,
        message: error.to_string(),
        fix: "`bpa-agent doctor` at the site checks disk, memory and permissions".to_owned(),
    }
}
