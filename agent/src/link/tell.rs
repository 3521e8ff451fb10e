//! The streams that the agent opens in a session: leases, events, logs. Each goes on by itself, so
//! that a long log never delays a lease; each begins again when its stream was abandoned.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use bpa_common::wire::v1::{EventAck, LogAck, LogChunk, LogOpen, RunId};
use bpa_common::wire::{FrameError, FrameReader, FrameWriter, Message};
use flate2::Compression;
use flate2::write::DeflateEncoder;
use quinn::{Connection, SendStream};
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::{interval, sleep};

use super::delta::{LeaseMessage, LeaseTeller};
use super::feed::WireLeases;
use super::log_window::{LogWindow, PIECE, WrongOffset};
use super::outbox::{NeverSent, Outbox, PER_BATCH};
use super::{Desk, LogPiece};

/// Before a stream that was abandoned is opened again.
const AGAIN: Duration = Duration::from_secs(1);
/// The same for a log, of which there may be many that are not wanted.
const LOG_AGAIN: Duration = Duration::from_secs(5);
/// How often the ages of lease sources are told when nothing else changes.
const REFRESH: Duration = Duration::from_secs(30);
/// How often a growing log is looked at.
const POLL: Duration = Duration::from_millis(300);
/// How long a log without news keeps its stream; after it, the list of logs is looked at again.
const QUIET_POLLS: u32 = 200;

/// Why a stream ended before its time.
#[derive(Debug, thiserror::Error)]
pub(super) enum TellError {
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error(transparent)]
    Connection(#[from] quinn::ConnectionError),
    #[error(transparent)]
    NeverSent(#[from] NeverSent),
    #[error(transparent)]
    WrongOffset(#[from] WrongOffset),
    #[error("the agent stops")]
    Stopping,
}

impl From<tokio::task::JoinError> for TellError {
    fn from(_: tokio::task::JoinError) -> Self {
        Self::Stopping
    }
}

/// Waits before the next try; false when the connection is gone and there is none.
async fn again(connection: &Connection, what: &str, error: &TellError, pause: Duration) -> bool {
    if connection.close_reason().is_some() {
        return false;
    }
    tracing::warn!(%error, "the coordinator does not take {what} now");
    sleep(pause).await;
    true
}

/// Tells leases until the connection ends.
pub(super) async fn leases<L: WireLeases>(connection: Connection, feed: watch::Receiver<Arc<L>>) {
    while let Err(error) = lease_stream(&connection, feed.clone()).await {
        if !again(&connection, "leases", &error, AGAIN).await {
            return;
        }
    }
}

async fn lease_stream<L: WireLeases>(
    connection: &Connection,
    mut feed: watch::Receiver<Arc<L>>,
) -> Result<(), TellError> {
    let mut writer = FrameWriter::new(connection.open_uni().await?);
    let mut teller = LeaseTeller::default();
    let mut refresh = interval(REFRESH);
    refresh.reset();
    let mut due = false;
    loop {
        let view = feed.borrow_and_update().clone();
        for message in teller.tell(view.wire_sources(), view.wire_entries(), due) {
            match message {
                LeaseMessage::Snapshot(snapshot) => writer.send(&snapshot).await?,
                LeaseMessage::Delta(delta) => writer.send(&delta).await?,
            }
        }
        let stopped = writer.get_mut().stopped();
        due = tokio::select! {
            changed = feed.changed() => {
                // Nobody feeds any more: the agent stops.
                changed.map_err(|_| TellError::Stopping)?;
                false
            }
            _ = refresh.tick() => true,
            stopped = stopped => {
                tracing::info!(?stopped, "the coordinator wants the leases from the beginning");
                return Err(TellError::Frame(FrameError::Ended { wanted: "reader" }));
            }
        };
    }
}

/// Sends events and hears acknowledgements until the connection ends.
pub(super) async fn events<D: Desk>(connection: Connection, desk: Arc<D>, seen: u64) {
    let mut seen = seen;
    while let Err(error) = event_stream(&connection, &desk, &mut seen).await {
        if !again(&connection, "events", &error, AGAIN).await {
            return;
        }
    }
}

async fn event_stream<D: Desk>(
    connection: &Connection,
    desk: &Arc<D>,
    seen: &mut u64,
) -> Result<(), TellError> {
    let (send, receive) = connection.open_bi().await?;
    let mut writer = FrameWriter::new(send);
    let mut reader = FrameReader::new(receive, EventAck::MAX);
    let mut outbox = Outbox::new(*seen);
    let mut newest = desk.newest_event();
    loop {
        newest.borrow_and_update();
        while let Some(after) = outbox.wants() {
            let journal = desk.clone();
            let events = spawn_blocking(move || journal.events_after(after, PER_BATCH)).await?;
            let Some(batch) = outbox.batch(events) else { break };
            writer.send(&batch).await?;
        }
        tokio::select! {
            ack = reader.require::<EventAck>() => {
                if let Some(seq) = outbox.acknowledge(ack?.seq)? {
                    *seen = seq;
                    let journal = desk.clone();
                    spawn_blocking(move || journal.acknowledge_events(seq)).await?;
                }
            }
            changed = newest.changed() => changed.map_err(|_| TellError::Stopping)?,
        }
    }
}

/// Sends one run's log, from where the coordinator has it, until the coordinator has all of it,
/// nothing new comes for a while, or the connection ends.
pub(super) async fn log<D: Desk>(connection: Connection, desk: Arc<D>, run: RunId) -> RunId {
    match log_stream(&connection, &desk, run).await {
        Ok(true) => drop(spawn_blocking(move || desk.log_done(run)).await),
        Ok(false) => {}
        Err(error) => drop(again(&connection, "a log", &error, LOG_AGAIN).await),
    }
    run
}

async fn log_stream<D: Desk>(
    connection: &Connection,
    desk: &Arc<D>,
    run: RunId,
) -> Result<bool, TellError> {
    let (send, receive) = connection.open_bi().await?;
    let mut writer = FrameWriter::new(send);
    let mut reader = FrameReader::new(receive, LogAck::MAX);
    writer.send(&LogOpen { run }).await?;
    let mut window = LogWindow::new(reader.require::<LogAck>().await?.offset);
    let mut quiet = 0;
    while quiet < QUIET_POLLS {
        let sent = match window.wants() {
            Some(offset) => send_piece(desk, run, offset, &mut window, &mut writer).await?,
            None => false,
        };
        if window.is_waiting() && (!sent || window.wants().is_none()) {
            if window.acknowledge(reader.require::<LogAck>().await?.offset)? {
                let _ = writer.get_mut().finish();
                return Ok(true);
            }
        } else if !sent {
            quiet += 1;
            sleep(POLL).await;
            continue;
        }
        quiet = 0;
    }
    let _ = writer.get_mut().finish();
    Ok(false)
}

/// Sends what the log has from `offset` on; false when that is nothing yet.
async fn send_piece<D: Desk>(
    desk: &Arc<D>,
    run: RunId,
    offset: u64,
    window: &mut LogWindow,
    writer: &mut FrameWriter<SendStream>,
) -> Result<bool, TellError> {
    let journal = desk.clone();
    let chunk = spawn_blocking(move || chunk(offset, journal.read_log(run, offset, PIECE))).await?;
    if chunk.plain_len == 0 && !chunk.last {
        return Ok(false);
    }
    writer.send(&chunk).await?;
    window.sent(chunk.plain_len as usize, chunk.last);
    Ok(true)
}

fn chunk(offset: u64, mut piece: LogPiece) -> LogChunk {
    // A desk that gives more than was asked for must not break the stream.
    if piece.bytes.len() > PIECE {
        piece.bytes.truncate(PIECE);
        piece.last = false;
    }
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    // Writing to memory can't fail.
    let deflated = encoder.write_all(&piece.bytes).and_then(|()| encoder.finish());
    LogChunk {
        offset,
        plain_len: u32::try_from(piece.bytes.len()).unwrap_or(0),
        deflated: deflated.unwrap_or_default(),
        last: piece.last,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn a_piece_is_compressed_whole_and_never_too_large() {
        let bytes = b"TASK [ok]\n".repeat(5000);
        let chunk = chunk(7, LogPiece { bytes: bytes.clone(), last: true });
        assert_eq!((chunk.offset, chunk.plain_len as usize, chunk.last), (7, bytes.len(), true));
        assert!(chunk.deflated.len() < bytes.len() / 10);
        let mut plain = Vec::new();
        flate2::read::DeflateDecoder::new(&chunk.deflated[..]).read_to_end(&mut plain).unwrap();
        assert_eq!(plain, bytes);
        let large = super::chunk(0, LogPiece { bytes: vec![0; PIECE + 1], last: true });
        assert_eq!((large.plain_len as usize, large.last), (PIECE, false));
    }
}
