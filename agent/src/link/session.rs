//! One session with the coordinator, from the hello to the end of the connection.

use std::sync::Arc;
use std::time::Duration;

use bpa_common::link::{CloseCode, HEARTBEAT, SILENCE, closed_by_peer};
use bpa_common::wire::v1::{ConnectRefused, Heartbeat, Hello, Welcome};
use bpa_common::wire::{FrameError, FrameReader, FrameWriter, VERSION};
use jiff::Timestamp;
use quinn::{Connection, RecvStream, SendStream};
use tokio::sync::watch;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};

use super::backoff::Pause;
use super::feed::WireLeases;
use super::{Desk, answer, tell};

/// How long the coordinator may take to answer the hello.
const WELCOME_LIMIT: Duration = Duration::from_secs(10);
/// How often it is looked whether a run has a log to send.
const LOGS_POLL: Duration = Duration::from_secs(1);
/// Logs that are sent at once; more wait for their turn.
const LOGS_AT_ONCE: usize = 32;
const MOST_RUNS: usize = 256;
/// A coordinator that says more than this is mistaken; following it could use up all numbers.
const MOST_EVENTS: u64 = 1 << 48;

type Reader = FrameReader<RecvStream>;
type Writer = FrameWriter<SendStream>;

/// How a session ended, and when to try again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub pause: Pause,
    pub why: String,
    /// The coordinator had welcomed us.
    pub stood: bool,
}

fn end(pause: Pause, why: impl Into<String>, stood: bool) -> End {
    End { pause, why: why.into(), stood }
}

/// What a session works with.
pub(super) struct Parts<D, L> {
    pub site: String,
    pub desk: Arc<D>,
    pub leases: watch::Receiver<Arc<L>>,
    /// Told when the coordinator has welcomed us and whenever its approval changes.
    pub approved: watch::Sender<Option<bool>>,
}

/// Holds a session on this connection until it ends.
pub(super) async fn run<D: Desk, L: WireLeases>(
    parts: &Parts<D, L>,
    connection: &Connection,
) -> End {
    let (welcome, reader, writer) = match timeout(WELCOME_LIMIT, greet(parts, connection)).await {
        Ok(Ok(Ok(welcomed))) => welcomed,
        Ok(Ok(Err(refused))) => return refusal(&refused),
        Ok(Err(error)) => return broken(connection, &error, false).await,
        Err(_) => return end(Pause::Lost, "the coordinator did not answer the hello", false),
    };
    tracing::info!(
        site = parts.site,
        coordinator = welcome.coordinator_version,
        epoch = welcome.epoch,
        approved = welcome.approved,
        "connected"
    );
    catch_up(&parts.desk, welcome.events_seen).await;
    approve(parts, welcome.approved);
    let mut tasks = JoinSet::new();
    tasks.spawn(answer::questions(connection.clone(), parts.desk.clone(), parts.leases.clone()));
    tasks.spawn(tell::leases(connection.clone(), parts.leases.clone()));
    tasks.spawn(tell::events(connection.clone(), parts.desk.clone(), welcome.events_seen));
    tasks.spawn(logs(connection.clone(), parts.desk.clone()));
    // Dropping the tasks ends them.
    match control(parts, reader, writer).await {
        Ok(()) => broken(connection, &FrameError::Ended { wanted: "heartbeat" }, true).await,
        Err(error) => broken(connection, &error, true).await,
    }
}

/// A journal that is younger than what the coordinator has seen of this site (the disk was lost)
/// must number its events from there on, or the coordinator would take them for old ones.
async fn catch_up<D: Desk>(desk: &Arc<D>, seen: u64) {
    if seen <= *desk.newest_event().borrow() || seen > MOST_EVENTS {
        return;
    }
    tracing::warn!(seen, "the coordinator has seen more events than this journal has written");
    let desk = desk.clone();
    let _ = spawn_blocking(move || desk.acknowledge_events(seen)).await;
}

type Greeted = Result<(Welcome, Reader, Writer), ConnectRefused>;

async fn greet<D: Desk, L>(
    parts: &Parts<D, L>,
    connection: &Connection,
) -> Result<Greeted, FrameError> {
    let (desk, site) = (parts.desk.clone(), parts.site.clone());
    let hello = spawn_blocking(move || hello(&*desk, site))
        .await
        .map_err(|_| FrameError::Ended { wanted: "journal" })?;
    let (send, receive) = connection.open_bi().await.map_err(std::io::Error::from)?;
    let (mut writer, mut reader) = (FrameWriter::new(send), FrameReader::new(receive, 64 * 1024));
    writer.send(&hello).await?;
    let Some(first) = reader.next().await? else {
        return Err(FrameError::Ended { wanted: "Welcome" });
    };
    if first.is::<ConnectRefused>() {
        return Ok(Err(first.decode()?));
    }
    Ok(Ok((first.decode()?, reader, writer)))
}

fn hello(desk: &impl Desk, site: String) -> Hello {
    let mut runs = desk.runs();
    runs.truncate(MOST_RUNS);
    let mut hello = Hello {
        min_version: VERSION,
        max_version: VERSION,
        site,
        agent_version: env!("CARGO_PKG_VERSION").to_owned(),
        session: desk.next_session(),
        clock_ms: Timestamp::now().as_millisecond(),
        epoch_seen: desk.epoch_seen(),
        runs,
        ssh_public_key: desk.ssh_public_key(),
        bundles: desk.bundles(),
    };
    // Long names could make it too large: then older runs are left out, never the hello.
    while bpa_common::wire::encode(&hello).is_err() && !hello.runs.is_empty() {
        hello.runs.truncate(hello.runs.len() / 2);
    }
    hello
}

fn refusal(refused: &ConnectRefused) -> End {
    match refused {
        ConnectRefused::Version { min, max } => {
            let why = format!(
                "the coordinator speaks protocol versions {min} to {max}, this agent {VERSION}; install matching versions"
            );
            end(Pause::Person, why, false)
        }
        ConnectRefused::UnknownSite { message } | ConnectRefused::Revoked { message } => {
            end(Pause::Person, message, false)
        }
        ConnectRefused::Busy { retry_after_ms } => {
            let told = Duration::from_millis(*retry_after_ms);
            end(Pause::Told(told), "the coordinator is busy", false)
        }
    }
}

/// Why the connection is not usable any more: the peer's own words when there are any.
async fn broken(connection: &Connection, error: &FrameError, stood: bool) -> End {
    // The peer's reason may arrive a moment after the stream's end.
    let closed = match connection.close_reason() {
        Some(reason) => Some(reason),
        None => timeout(Duration::from_millis(200), connection.closed()).await.ok(),
    };
    let Some(closed) = closed else { return end(Pause::Lost, error.to_string(), stood) };
    match closed_by_peer(&closed) {
        Some((Some(code), reason)) => {
            // Two that replace each other without a pause would do nothing else.
            let person = code.needs_a_person() || code == CloseCode::Replaced;
            let pause = match code {
                _ if person => Pause::Person,
                CloseCode::Busy => Pause::Told(Duration::from_secs(5)),
                _ => Pause::Lost,
            };
            end(pause, reason, stood)
        }
        Some((None, reason)) => end(Pause::Lost, reason, stood),
        None => end(Pause::Lost, closed.to_string(), stood),
    }
}

fn approve<D: Desk, L>(parts: &Parts<D, L>, approved: bool) {
    parts.desk.set_approved(approved);
    parts.approved.send_if_modified(|was| was.replace(approved) != Some(approved));
}

/// Heartbeats both ways, until the stream ends.
async fn control<D: Desk, L: WireLeases>(
    parts: &Parts<D, L>,
    mut reader: Reader,
    mut writer: Writer,
) -> Result<(), FrameError> {
    let mut tick = interval(HEARTBEAT);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut silent_at = Instant::now() + SILENCE;
    loop {
        tokio::select! {
            came = reader.next_message::<Heartbeat>() => {
                let Some(heartbeat) = came? else { return Ok(()) };
                silent_at = Instant::now() + SILENCE;
                approve(parts, heartbeat.approved);
                continue;
            }
            () = sleep_until(silent_at) => {
                return Err(FrameError::Ended { wanted: "heartbeat of the coordinator" });
            }
            _ = tick.tick() => {}
        }
        let desk = parts.desk.clone();
        let host = spawn_blocking(move || desk.host_report()).await.ok();
        let beat = Heartbeat {
            clock_ms: Timestamp::now().as_millisecond(),
            host,
            approved: parts.approved.borrow().unwrap_or(false),
        };
        match timeout(SILENCE, writer.send(&beat)).await {
            Ok(sent) => sent?,
            Err(_) => return Err(FrameError::Ended { wanted: "reader at the coordinator" }),
        }
    }
}

/// Keeps one stream per log that is not wholly at the coordinator yet.
async fn logs<D: Desk>(connection: Connection, desk: Arc<D>) {
    let mut streams = JoinSet::new();
    let mut open = std::collections::BTreeSet::new();
    let mut tick = interval(LOGS_POLL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut newest = desk.newest_event();
    loop {
        tokio::select! {
            _ = tick.tick() => {}
            // A run's first event comes with its log.
            Ok(()) = newest.changed() => {}
            Some(ended) = streams.join_next() => {
                if let Ok(run) = ended {
                    open.remove(&run);
                }
                continue;
            }
        }
        let journal = desk.clone();
        let Ok(runs) = spawn_blocking(move || journal.runs_with_log()).await else { return };
        for run in runs {
            if open.len() < LOGS_AT_ONCE && open.insert(run) {
                streams.spawn(tell::log(connection.clone(), desk.clone(), run));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_that_needs_a_person_is_not_hammered() {
        let pause = |refused: &ConnectRefused| refusal(refused).pause;
        assert_eq!(pause(&ConnectRefused::Version { min: 2, max: 3 }), Pause::Person);
        assert_eq!(pause(&ConnectRefused::Revoked { message: "x".into() }), Pause::Person);
        let told = Pause::Told(Duration::from_millis(700));
        assert_eq!(pause(&ConnectRefused::Busy { retry_after_ms: 700 }), told);
    }
}
