//! How often something failed in a row, and when it may be tried again.

use bpa_common::wire::v1::{OrderRefusal, OrderReply};
use jiff::Timestamp;

use crate::planning::{Answer, Backoff};

/// A site that was not reached: it may be back any moment.
const UNREACHED: Backoff = Backoff { first_ms: 1_000, most_ms: 15_000 };
/// A site that says "not now".
const NOT_NOW: Backoff = Backoff { first_ms: 2_000, most_ms: 30_000 };
/// An answer that only a person can change.
const HOPELESS: Backoff = Backoff { first_ms: 30_000, most_ms: 300_000 };
/// The world of objects could not be written.
const WORLD: Backoff = Backoff { first_ms: 500, most_ms: 60_000 };
/// A cancel is repeated until the run has ended.
const CANCEL: Backoff = Backoff { first_ms: 5_000, most_ms: 10_000 };

/// Failures in a row of one provisioning.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    order: u32,
    world: u32,
}

impl Tally {
    /// When an order may be sent again after this answer.
    pub fn order(&mut self, answer: &Answer<OrderReply>, now: Timestamp) -> Timestamp {
        self.order = self.order.saturating_add(1);
        let pace = match answer {
            Answer::Unreached(_) => UNREACHED,
            Answer::Reply(OrderReply::Refused(refusal)) => match refusal {
                OrderRefusal::Busy { .. } | OrderRefusal::Quarantine => NOT_NOW,
                _ => HOPELESS,
            },
            Answer::Reply(_) => {
                self.order = 0;
                NOT_NOW
            }
        };
        later(now, pace, self.order)
    }

    /// When a cancel may be sent again.
    pub fn cancel(&self, now: Timestamp) -> Timestamp {
        later(now, CANCEL, 1)
    }

    /// When the world may be written again after a failure.
    pub fn trouble(&mut self, now: Timestamp) -> Timestamp {
        self.world = self.world.saturating_add(1);
        later(now, WORLD, self.world)
    }

    /// The world could be written.
    pub fn fine(&mut self) {
        self.world = 0;
    }
}

fn later(now: Timestamp, pace: Backoff, failures: u32) -> Timestamp {
    now.checked_add(pace.after(failures, rand::random())).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_with_failures_and_end_with_success() {
        let now = Timestamp::UNIX_EPOCH;
        let unreached = Answer::Unreached(String::new());
        let mut tally = Tally::default();
        let first = tally.order(&unreached, now);
        let third = (tally.order(&unreached, now), tally.order(&unreached, now)).1;
        assert!(first.as_millisecond() <= 1000 && third.as_millisecond() >= 2000);
        tally.order(&Answer::Reply(OrderReply::Accepted { run: RUN }), now);
        assert!(tally.order(&unreached, now).as_millisecond() <= 1000);
        let (_, second) = (tally.trouble(now), tally.trouble(now));
        tally.fine();
        assert!(tally.trouble(now).as_millisecond() <= 500 && second.as_millisecond() >= 500);
    }

    const RUN: bpa_common::wire::v1::RunId = bpa_common::wire::v1::RunId([1; 16]);

    #[test]
    fn what_only_a_person_can_change_is_asked_for_seldom() {
        let old = Answer::Reply(OrderReply::Refused(OrderRefusal::OldEpoch { seen: 2 }));
        let again = Tally::default().order(&old, Timestamp::UNIX_EPOCH);
        assert!(again.as_second() >= 15);
    }
}
