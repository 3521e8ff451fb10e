//! Which events go out next, and what an acknowledgement means. Pure.

use std::collections::VecDeque;

use bpa_common::wire::v1::{Event, EventBatch, EventBody, Outcome};
use bpa_common::wire::{Message, encode};

/// Batches that may be on their way at once.
const WINDOW: usize = 4;
/// Events in one batch.
pub(super) const PER_BATCH: usize = 64;
/// Bytes of events in one batch.
const BATCH_BYTES: usize = (EventBatch::MAX / 2) as usize;
/// Bytes of one event; a larger one is shortened.
const EVENT_BYTES: usize = BATCH_BYTES / 2;
/// Bytes that a text keeps in an event that is too large.
const TEXT_BYTES: usize = 16 * 1024;
const RECAP_HOSTS: usize = 2000;

/// The coordinator acknowledged what was never sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("event {acknowledged} was acknowledged, but nothing after {sent} was sent")]
pub(super) struct NeverSent {
    acknowledged: u64,
    sent: u64,
}

/// The events of one session.
#[derive(Clone, Debug)]
pub(super) struct Outbox {
    acknowledged: u64,
    sent: u64,
    /// Last event of each batch that is on its way.
    waiting: VecDeque<u64>,
}

impl Outbox {
    /// An outbox for a coordinator that keeps all events up to `seen`.
    pub fn new(seen: u64) -> Self {
        Self { acknowledged: seen, sent: seen, waiting: VecDeque::new() }
    }

    /// The event after which to go on; none while enough is on its way.
    pub fn wants(&self) -> Option<u64> {
        (self.waiting.len() < WINDOW).then_some(self.sent)
    }

    /// Makes the next batch of events that follow [`Outbox::wants`]; what is left over comes again.
    pub fn batch(&mut self, events: Vec<Event>) -> Option<EventBatch> {
        let mut bytes = 0;
        let mut chosen = Vec::new();
        for event in events.into_iter().filter(|e| e.seq > self.sent).take(PER_BATCH) {
            let (event, size) = fitting(event);
            if bytes + size > BATCH_BYTES && !chosen.is_empty() {
                break;
            }
            bytes += size;
            chosen.push(event);
        }
        self.sent = chosen.last()?.seq;
        self.waiting.push_back(self.sent);
        Some(EventBatch { events: chosen })
    }

    /// What may be told to the journal: everything up to this event is kept. None when it is no
    /// news.
    pub fn acknowledge(&mut self, seq: u64) -> Result<Option<u64>, NeverSent> {
        if seq > self.sent {
            return Err(NeverSent { acknowledged: seq, sent: self.sent });
        }
        if seq <= self.acknowledged {
            return Ok(None);
        }
        self.acknowledged = seq;
        while self.waiting.front().is_some_and(|last| *last <= seq) {
            self.waiting.pop_front();
        }
        Ok(Some(seq))
    }
}

fn size(event: &Event) -> Option<usize> {
    encode(event).ok().map(|bytes| bytes.len()).filter(|size| *size <= EVENT_BYTES)
}

/// An event that was written can't be held back for its size: the ones behind it would never go.
fn fitting(mut event: Event) -> (Event, usize) {
    if let Some(size) = size(&event) {
        return (event, size);
    }
    shorten(&mut event.body);
    if let Some(size) = size(&event) {
        return (event, size);
    }
    let message = format!("event {} was too large to be sent; see the agent's log", event.seq);
    event.body = EventBody::Note { message };
    (event, EVENT_BYTES)
}

fn shorten(body: &mut EventBody) {
    match body {
        EventBody::StepEnded { message, .. }
        | EventBody::Node { message, .. }
        | EventBody::Note { message }
        | EventBody::Phase { name: message }
        | EventBody::Task { name: message, .. } => cut(message),
        EventBody::TaskFailed { node, task, path, message } => {
            [node, task, path, message].into_iter().for_each(cut);
        }
        EventBody::Check(check) => {
            [&mut check.wanted, &mut check.found, &mut check.fix].into_iter().for_each(cut);
        }
        EventBody::Ended { outcome: Outcome::Failed(failure) } => {
            cut(&mut failure.message);
            cut(&mut failure.fix);
        }
        EventBody::Ended { outcome: Outcome::Cancelled { by } } => cut(by),
        EventBody::Recap { hosts } => hosts.truncate(RECAP_HOSTS),
        EventBody::Accepted
        | EventBody::StepStarted { .. }
        | EventBody::Kubeconfig { .. }
        | EventBody::Ended { outcome: Outcome::Succeeded } => {}
    }
}

fn cut(text: &mut String) {
    if text.len() <= TEXT_BYTES {
        return;
    }
    let end = (0..=TEXT_BYTES).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.truncate(end);
    text.push_str(" … (cut)");
}

#[cfg(test)]
mod tests;
