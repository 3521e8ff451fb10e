//! The streams that an agent opens: leases, events, logs. A fault ends its stream only.

use std::sync::Arc;

use bpa_common::link::StreamCode;
use bpa_common::wire::v1::{
    EventAck, EventBatch, LeaseDelta, LeaseSnapshot, LogAck, LogChunk, LogOpen,
};
use bpa_common::wire::{Frame, FrameError, FrameReader, FrameWriter, Message};
use jiff::Timestamp;
use quinn::{RecvStream, SendStream};

use super::fleet::Place;
use super::leases::{LeaseError, LeaseStream};
use super::logs::{self, LogError};
use super::server::Context;
use super::session::abandon;
use super::{RunSink, SinkError};
use crate::cluster::Vault;

type Reader = FrameReader<RecvStream>;
type Writer = FrameWriter<SendStream>;

/// Why a stream ended before its time.
#[derive(Debug, thiserror::Error)]
enum StreamError {
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error(transparent)]
    Lease(#[from] LeaseError),
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Sink(#[from] SinkError),
    #[error("events out of order: {found} came after {last}")]
    Order { last: u64, found: u64 },
}

impl StreamError {
    fn code(&self) -> StreamCode {
        match self {
            Self::Lease(LeaseError::TooMany) => StreamCode::TooMany,
            Self::Lease(_) | Self::Log(LogError::Gap { .. }) => StreamCode::Gap,
            Self::Sink(_) => StreamCode::NotKept,
            Self::Frame(_) | Self::Log(_) | Self::Order { .. } => StreamCode::Protocol,
        }
    }
}

/// Serves a stream by what its first frame is.
pub(super) async fn serve<V: Vault, S: RunSink>(
    context: Arc<Context<V, S>>,
    place: Arc<Place>,
    send: SendStream,
    receive: RecvStream,
) {
    let mut reader = FrameReader::new(receive, EventBatch::MAX);
    let mut writer = FrameWriter::new(send);
    let served = match reader.next().await {
        Ok(None) => Ok(()),
        Ok(Some(first)) => dispatch(&context, &place, first, &mut reader, &mut writer).await,
        Err(error) => Err(error.into()),
    };
    finish(&place, served, &mut reader, Some(&mut writer));
}

fn finish(
    place: &Place,
    served: Result<(), StreamError>,
    reader: &mut Reader,
    writer: Option<&mut Writer>,
) {
    match served {
        Ok(()) => {
            if let Some(writer) = writer {
                let _ = writer.get_mut().finish();
            }
        }
        // The end of the connection is told elsewhere.
        Err(StreamError::Frame(FrameError::Io(_))) => {}
        Err(error) => {
            tracing::warn!(site = place.site, %error, "a stream was abandoned");
            abandon(reader, writer, error.code());
        }
    }
}

async fn dispatch<V: Vault, S: RunSink>(
    context: &Context<V, S>,
    place: &Place,
    first: Frame,
    reader: &mut Reader,
    writer: &mut Writer,
) -> Result<(), StreamError> {
    if first.is::<EventBatch>() {
        events(context, place, first.decode()?, reader, writer).await
    } else if first.is::<LogOpen>() {
        log(context, place, first.decode()?, reader, writer).await
    } else {
        Err(first.unexpected("EventBatch or LogOpen").into())
    }
}

/// Keeps batches and acknowledges each after it is kept.
async fn events<V: Vault, S: RunSink>(
    context: &Context<V, S>,
    place: &Place,
    first: EventBatch,
    reader: &mut Reader,
    writer: &mut Writer,
) -> Result<(), StreamError> {
    let mut next = Some(first);
    while let Some(batch) = next {
        if let Some(seq) = last_in_order(&batch)? {
            context.sink.append_events(&place.site, batch.events).await?;
            context.sites.update(place, false, |_| ());
            writer.send(&EventAck { seq }).await?;
        }
        next = reader.next_message().await?;
    }
    Ok(())
}

/// The last sequence number of a batch; none when it is empty.
fn last_in_order(batch: &EventBatch) -> Result<Option<u64>, StreamError> {
    for pair in batch.events.windows(2) {
        if pair[1].seq <= pair[0].seq {
            return Err(StreamError::Order { last: pair[0].seq, found: pair[1].seq });
        }
    }
    Ok(batch.events.last().map(|event| event.seq))
}

/// Keeps pieces of one run's log and says after each how much is kept.
async fn log<V: Vault, S: RunSink>(
    context: &Context<V, S>,
    place: &Place,
    open: LogOpen,
    reader: &mut Reader,
    writer: &mut Writer,
) -> Result<(), StreamError> {
    let sink = &context.sink;
    writer.send(&LogAck { offset: sink.log_len(open.run) }).await?;
    while let Some(chunk) = reader.next_message::<LogChunk>().await? {
        let piece = logs::open(&chunk, sink.log_len(open.run))?;
        if !piece.is_empty() {
            sink.append_log(&place.site, open.run, chunk.offset, piece).await?;
        }
        writer.send(&LogAck { offset: sink.log_len(open.run) }).await?;
        if chunk.last {
            break;
        }
    }
    Ok(())
}

/// Serves a lease stream.
pub(super) async fn leases<V: Vault, S: RunSink>(
    context: Arc<Context<V, S>>,
    place: Arc<Place>,
    receive: RecvStream,
) {
    let mut reader = FrameReader::new(receive, LeaseSnapshot::MAX);
    let served = follow_leases(&context, &place, &mut reader).await;
    finish(&place, served, &mut reader, None);
}

async fn follow_leases<V: Vault, S: RunSink>(
    context: &Context<V, S>,
    place: &Place,
    reader: &mut Reader,
) -> Result<(), StreamError> {
    let mut stream = LeaseStream::default();
    while let Some(frame) = reader.next().await? {
        let now = Timestamp::now();
        let applied = if frame.is::<LeaseSnapshot>() {
            let snapshot = frame.decode()?;
            context
                .sites
                .update(place, true, |view| stream.snapshot(&mut view.leases, snapshot, now))
        } else {
            let delta: LeaseDelta = frame.decode()?;
            context.sites.update(place, true, |view| stream.delta(&mut view.leases, delta, now))
        };
        match applied {
            Some(result) => result?,
            // A newer session of this site is there.
            None => break,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use bpa_common::wire::v1::{Event, EventBody, RunId};

    use super::*;

    fn batch(seqs: &[u64]) -> EventBatch {
        let event =
            |&seq: &u64| Event { seq, run: RunId([0; 16]), at_ms: 0, body: EventBody::Accepted };
        EventBatch { events: seqs.iter().map(event).collect() }
    }

    #[test]
    fn events_must_come_in_their_order_and_may_have_holes() {
        assert_eq!(last_in_order(&batch(&[])).unwrap(), None);
        assert_eq!(last_in_order(&batch(&[3, 4, 9])).unwrap(), Some(9));
        assert!(last_in_order(&batch(&[3, 3])).is_err());
        assert!(last_in_order(&batch(&[3, 2])).is_err());
    }

    #[test]
    fn the_agent_is_told_whether_to_begin_again_or_to_wait() {
        let gap = StreamError::Lease(LeaseError::NoSnapshot);
        assert_eq!(gap.code(), StreamCode::Gap);
        let disk = SinkError { site: "north".into(), message: "full".into() };
        assert_eq!(StreamError::Sink(disk).code(), StreamCode::NotKept);
    }
}
