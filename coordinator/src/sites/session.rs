//! One session with an agent: hello, heartbeats, and a task per stream.

use std::sync::Arc;
use std::time::Duration;

use bpa_common::link::{CloseCode, HEARTBEAT, SILENCE, StreamCode, close};
use bpa_common::wire::v1::{ConnectRefused, Heartbeat, Hello, Welcome};
use bpa_common::wire::{FrameError, FrameReader, FrameWriter, Message};
use jiff::Timestamp;
use quinn::{Connection, RecvStream, SendStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};

use super::admit::{Admitted, greet};
use super::audit::{Action, Record};
use super::fleet::Place;
use super::server::Context;
use super::{RunSink, SiteView, streams};
use crate::cluster::Vault;

/// How long an agent may take to say hello.
const HELLO_LIMIT: Duration = Duration::from_secs(10);

type Reader = FrameReader<RecvStream>;
type Writer = FrameWriter<SendStream>;

/// Serves an admitted agent until the connection ends.
pub(super) async fn run<V: Vault, S: RunSink>(
    context: Arc<Context<V, S>>,
    connection: Connection,
    who: Admitted,
) {
    let remote = connection.remote_address();
    let audit = &context.sites.audit;
    let (hello, reader, writer) = match timeout(HELLO_LIMIT, hello(&connection)).await {
        Ok(Ok(control)) => control,
        Ok(Err(error)) => {
            tracing::warn!(site = %who.site, %remote, %error, "no hello");
            return close(&connection, CloseCode::Protocol, "wanted a hello");
        }
        Err(_) => return close(&connection, CloseCode::Silent, "the hello did not come in time"),
    };
    let version = match greet(&hello, &who.site) {
        Ok(version) => version,
        Err(refused) => {
            let record = Record::new(Action::ConnectRefused, &who.site).from(remote);
            audit.record(record.because(format!("{refused:?}")));
            return refuse(connection, writer, refused).await;
        }
    };
    let told = hello.session;
    let place = context.sites.enter(&who, connection.clone(), |view| fill(view, hello));
    let record = Record::new(Action::Connected, &who.site).key(who.fingerprint).from(remote);
    audit.record(record.because(format!("session {told}")));
    let place = Arc::new(place);
    let (code, reason) = live(&context, &connection, &who, &place, (reader, writer), version).await;
    close(&connection, code, &reason);
    context.sites.leave(&place);
    let record = Record::new(Action::Disconnected, &who.site).from(remote).because(reason);
    audit.record(record);
}

async fn hello(connection: &Connection) -> Result<(Hello, Reader, Writer), FrameError> {
    let (send, receive) = connection.accept_bi().await.map_err(std::io::Error::from)?;
    let mut reader = FrameReader::new(receive, Hello::MAX);
    let hello = reader.require::<Hello>().await?;
    Ok((hello, reader, FrameWriter::new(send)))
}

async fn refuse(connection: Connection, mut writer: Writer, refused: ConnectRefused) {
    let told = async {
        writer.send(&refused).await.ok()?;
        writer.get_mut().finish().ok()?;
        // The agent closes when it has read the answer.
        Some(connection.closed().await)
    };
    let _ = timeout(HELLO_LIMIT, told).await;
    close(&connection, CloseCode::Done, "");
}

fn fill(view: &mut SiteView, hello: Hello) {
    if hello.session <= view.session {
        tracing::warn!(
            site = hello.site,
            session = hello.session,
            seen = view.session,
            "an agent's session number went back: its key was copied or its journal was lost"
        );
    }
    view.session = hello.session;
    view.clock_skew_ms = hello.clock_ms.saturating_sub(Timestamp::now().as_millisecond());
    view.agent_version = hello.agent_version;
    view.ssh_public_key = hello.ssh_public_key;
    view.bundles = hello.bundles;
    view.standing = hello.runs;
}

/// Everything after the hello. Gives why it ended.
async fn live<V: Vault, S: RunSink>(
    context: &Arc<Context<V, S>>,
    connection: &Connection,
    who: &Admitted,
    place: &Arc<Place>,
    (reader, mut writer): (Reader, Writer),
    version: u16,
) -> (CloseCode, String) {
    let welcome = Welcome {
        version,
        coordinator_version: env!("CARGO_PKG_VERSION").to_owned(),
        epoch: context.sites.epoch,
        clock_ms: Timestamp::now().as_millisecond(),
        approved: *place.approved.borrow(),
        events_seen: context.sink.events_seen(&place.site),
    };
    if let Err(error) = writer.send(&welcome).await {
        return (CloseCode::Protocol, error.to_string());
    }
    let mut tasks = JoinSet::new();
    tasks.spawn(accept_streams(context.clone(), connection.clone(), place.clone()));
    tasks.spawn(accept_leases(context.clone(), connection.clone(), place.clone()));
    let control = control(context, who, place, reader, writer);
    tokio::select! {
        ended = control => ended,
        error = connection.closed() => (CloseCode::Done, error.to_string()),
        () = context.stop.cancelled() => (CloseCode::Shutdown, "the coordinator stops".to_owned()),
    }
}

/// Heartbeats both ways; also the place where a certificate's end is seen.
async fn control<V: Vault, S: RunSink>(
    context: &Context<V, S>,
    who: &Admitted,
    place: &Place,
    mut reader: Reader,
    mut writer: Writer,
) -> (CloseCode, String) {
    let mut approved = place.approved.clone();
    let mut tick = interval(HEARTBEAT);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut silent_at = Instant::now() + SILENCE;
    loop {
        tokio::select! {
            came = reader.next_message::<Heartbeat>() => match came {
                Ok(Some(heartbeat)) => {
                    silent_at = Instant::now() + SILENCE;
                    keep(context, place, heartbeat);
                    continue;
                }
                Ok(None) => return (CloseCode::Done, "the agent ended the session".to_owned()),
                Err(error) => return (CloseCode::Protocol, error.to_string()),
            },
            () = sleep_until(silent_at) => {
                return (CloseCode::Silent, "no heartbeat came".to_owned());
            }
            // A sender that is gone means that this session was replaced: `closed` tells.
            Ok(()) = approved.changed() => {}
            _ = tick.tick() => {}
        }
        let now = Timestamp::now();
        if now >= who.not_after {
            return (CloseCode::Expired, format!("the certificate ended at {}", who.not_after));
        }
        let allowed = *approved.borrow_and_update();
        let beat = Heartbeat { clock_ms: now.as_millisecond(), host: None, approved: allowed };
        match timeout(SILENCE, writer.send(&beat)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return (CloseCode::Protocol, error.to_string()),
            Err(_) => return (CloseCode::Silent, "the agent does not read".to_owned()),
        }
    }
}

fn keep<V, S>(context: &Context<V, S>, place: &Place, heartbeat: Heartbeat) {
    let skew = heartbeat.clock_ms.saturating_sub(Timestamp::now().as_millisecond());
    let first = context.sites.update(place, false, |view| {
        view.clock_skew_ms = skew;
        let first = view.host.is_none() && heartbeat.host.is_some();
        if heartbeat.host.is_some() {
            view.host = heartbeat.host;
        }
        first
    });
    // Later ones change numbers only; readers look at them when they look.
    if first == Some(true) {
        context.sites.update(place, true, |_| ());
    }
}

/// Events and logs, each on a stream of its own, so that none delays another.
async fn accept_streams<V: Vault, S: RunSink>(
    context: Arc<Context<V, S>>,
    connection: Connection,
    place: Arc<Place>,
) {
    let mut tasks = JoinSet::new();
    while let Ok((send, receive)) = connection.accept_bi().await {
        while tasks.try_join_next().is_some() {}
        tasks.spawn(streams::serve(context.clone(), place.clone(), send, receive));
    }
}

/// One lease stream at a time; a new one takes the old one's place.
async fn accept_leases<V: Vault, S: RunSink>(
    context: Arc<Context<V, S>>,
    connection: Connection,
    place: Arc<Place>,
) {
    let mut tasks = JoinSet::new();
    while let Ok(receive) = connection.accept_uni().await {
        tasks.shutdown().await;
        tasks.spawn(streams::leases(context.clone(), place.clone(), receive));
    }
}

/// Ends a stream that can't go on; the connection is not touched.
pub(super) fn abandon(reader: &mut Reader, writer: Option<&mut Writer>, code: StreamCode) {
    let _ = reader.get_mut().stop(code.number());
    if let Some(writer) = writer {
        let _ = writer.get_mut().reset(code.number());
    }
}
