//! Whether this process may write: asked before every write, answered by the clock.
//!
//! A leader that can't renew its lease must stop before another may take it. So the guard knows
//! until when the lease surely is ours, by the monotonic clock, and needs no task that runs in time.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Shared between whoever holds the lease and whoever writes.
#[derive(Clone, Debug)]
pub struct Guard(Arc<Mutex<Standing>>);

#[derive(Clone, Copy, Debug)]
enum Standing {
    /// No election is held: a command of a person, or a test.
    Free,
    /// Leader until then, unless it is extended before.
    Until(Instant),
    /// Not the leader.
    Closed,
}

/// The right to write is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this coordinator is not the leader (any more)")]
pub struct NotLeader;

impl Guard {
    /// Lets every write through.
    pub fn free() -> Self {
        Self(Arc::new(Mutex::new(Standing::Free)))
    }

    /// An instant is whole even if a panic happened elsewhere.
    fn standing(&self) -> std::sync::MutexGuard<'_, Standing> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Allows writes until this moment.
    pub fn extend(&self, until: Instant) {
        *self.standing() = Standing::Until(until);
    }

    /// Allows no write from now on.
    pub fn close(&self) {
        *self.standing() = Standing::Closed;
    }

    /// Whether a write may begin at this moment.
    ///
    /// # Errors
    /// [`NotLeader`] when it may not.
    pub fn check(&self, now: Instant) -> Result<(), NotLeader> {
        match *self.standing() {
            Standing::Free => Ok(()),
            Standing::Until(until) if now < until => Ok(()),
            Standing::Until(_) | Standing::Closed => Err(NotLeader),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_right_to_write_ends_by_itself() {
        let guard = Guard::free();
        let now = Instant::now();
        assert_eq!(guard.check(now), Ok(()));
        guard.extend(now + Duration::from_secs(10));
        assert_eq!(guard.check(now + Duration::from_secs(9)), Ok(()));
        assert_eq!(guard.check(now + Duration::from_secs(10)), Err(NotLeader));
        guard.extend(now + Duration::from_secs(20));
        assert_eq!(guard.check(now + Duration::from_secs(19)), Ok(()));
    }

    #[test]
    fn all_clones_are_closed_at_once() {
        let guard = Guard::free();
        let clone = guard.clone();
        guard.close();
        assert_eq!(clone.check(Instant::now()), Err(NotLeader));
    }
}
