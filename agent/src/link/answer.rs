//! The streams that a coordinator opens: an order, a cancel, a look-up. One question, one answer.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bpa_common::link::StreamCode;
use bpa_common::wire::v1::{CancelOrder, LeaseQuery, LeaseReply, Order};
use bpa_common::wire::{FrameError, FrameReader, FrameWriter, Message};
use quinn::{Connection, RecvStream, SendStream};
use tokio::sync::watch;
use tokio::time::timeout;

use super::Desk;
use super::feed::WireLeases;

/// How long a question may take to arrive.
const QUESTION_LIMIT: Duration = Duration::from_secs(10);
/// MACs in one look-up.
const MAX_MACS: usize = 1024;

/// Serves questions until the connection ends. An order that is being journaled is not dropped
/// with the connection: its answer may get lost, but not the work.
pub(super) async fn questions<D: Desk, L: WireLeases>(
    connection: Connection,
    desk: Arc<D>,
    leases: watch::Receiver<Arc<L>>,
) {
    while let Ok((send, receive)) = connection.accept_bi().await {
        tokio::spawn(one(desk.clone(), leases.clone(), send, receive));
    }
}

async fn one<D: Desk, L: WireLeases>(
    desk: Arc<D>,
    leases: watch::Receiver<Arc<L>>,
    send: SendStream,
    receive: RecvStream,
) {
    let mut reader = FrameReader::new(receive, Order::MAX);
    let mut writer = FrameWriter::new(send);
    match answer(&*desk, &leases, &mut reader, &mut writer).await {
        Ok(()) => drop(writer.get_mut().finish()),
        Err(FrameError::Io(_)) => {}
        Err(error) => {
            tracing::warn!(%error, "a question of the coordinator could not be answered");
            let _ = reader.get_mut().stop(StreamCode::Protocol.number());
            let _ = writer.get_mut().reset(StreamCode::Protocol.number());
        }
    }
}

async fn answer<D: Desk, L: WireLeases>(
    desk: &D,
    leases: &watch::Receiver<Arc<L>>,
    reader: &mut FrameReader<RecvStream>,
    writer: &mut FrameWriter<SendStream>,
) -> Result<(), FrameError> {
    let Ok(question) = timeout(QUESTION_LIMIT, reader.next()).await else {
        return Err(FrameError::Ended { wanted: "question" });
    };
    let Some(question) = question? else { return Ok(()) };
    if question.is::<Order>() {
        let reply = desk.take_order(question.decode()?).await;
        writer.send(&reply).await
    } else if question.is::<CancelOrder>() {
        let reply = desk.cancel(question.decode()?).await;
        writer.send(&reply).await
    } else if question.is::<LeaseQuery>() {
        let view = leases.borrow().clone();
        writer.send(&look_up(&*view, &question.decode()?)).await
    } else {
        Err(question.unexpected("Order, CancelOrder or LeaseQuery"))
    }
}

fn look_up<L: WireLeases>(view: &L, query: &LeaseQuery) -> LeaseReply {
    let macs: BTreeSet<_> = query.macs.iter().take(MAX_MACS).collect();
    let mut entries = view.wire_entries();
    entries.retain(|entry| macs.contains(&entry.mac));
    LeaseReply { entries }
}
