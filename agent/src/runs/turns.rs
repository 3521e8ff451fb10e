//! How many playbooks are at work at once: a bootstrap host is small, and each one is a hundred
//! connections and a few hundred megabytes.

use std::num::NonZeroU32;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// The turns of one site.
#[derive(Clone, Debug)]
pub struct Turns {
    seats: Arc<Semaphore>,
    at_once: u32,
}

/// A turn: it is over when this is dropped.
#[derive(Debug)]
pub struct Turn {
    _seat: Option<OwnedSemaphorePermit>,
}

impl Turns {
    /// So many at once.
    pub fn new(at_once: NonZeroU32) -> Self {
        let at_once = at_once.get();
        Self { seats: Arc::new(Semaphore::new(at_once as usize)), at_once }
    }

    /// A turn without waiting: if one is free, or for a playbook that is at work already.
    pub fn now(&self, begun: bool) -> Option<Turn> {
        let seat = Arc::clone(&self.seats).try_acquire_owned().ok();
        (begun || seat.is_some()).then_some(Turn { _seat: seat })
    }

    /// Waits for a turn, first come, first served. A run that is cancelled waits no longer.
    pub async fn wait(&self, cancel: &CancellationToken) -> Turn {
        tokio::select! {
            biased;
            () = cancel.cancelled() => Turn { _seat: None },
            seat = Arc::clone(&self.seats).acquire_owned() => Turn { _seat: seat.ok() },
        }
    }

    /// What is told of a run that waits.
    pub fn words(&self) -> String {
        format!(
            "waits for its turn: {} playbooks are at work at this site, and no more may be (`at_once` under [runs])",
            self.at_once
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(at_once: u32) -> Turns {
        Turns::new(NonZeroU32::new(at_once).unwrap())
    }

    #[tokio::test]
    async fn statement_66_no_more_playbooks_than_was_said_are_at_work() {
        let turns = turns(2);
        let first = turns.now(false).unwrap();
        let second = turns.now(false).unwrap();
        assert!(turns.now(false).is_none());
        assert!(turns.words().contains("2 playbooks are at work"), "{}", turns.words());
        let cancel = CancellationToken::new();
        let mut waiting = std::pin::pin!(turns.wait(&cancel));
        let early = tokio::select! { biased; _ = &mut waiting => true, () = async {} => false };
        assert!(!early, "it waits");
        drop(first);
        let third = waiting.await;
        assert!(turns.now(false).is_none());
        drop((second, third));
        assert!(turns.now(false).is_some());
    }

    #[tokio::test]
    async fn a_cancel_ends_the_waiting_and_what_has_begun_does_not_wait() {
        let turns = turns(1);
        let _first = turns.now(false).unwrap();
        let cancel = CancellationToken::new();
        cancel.cancel();
        turns.wait(&cancel).await;
        assert!(turns.now(true).is_some(), "a playbook that outlived the agent");
    }
}
