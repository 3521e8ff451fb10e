//! The task that follows all sources and publishes views.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Notify, watch as channel};
use tokio_util::sync::CancellationToken;

use super::follower::{Follower, Moment};
use super::watch::Watch;
use crate::leases::table::{LeaseView, SourceView};

/// Looks at everything even if nothing was heard: network file systems give no events.
const SLOW_POLL: Duration = Duration::from_secs(5);
/// Between two looks, so that a burst of events becomes one.
const BREATH: Duration = Duration::from_millis(5);
/// While a source can't be read, its age is told anew so often.
const AGE_TOLD: Duration = Duration::from_secs(30);

/// All followers, and where views go.
pub struct Worker {
    followers: Vec<Follower>,
    sender: channel::Sender<Arc<LeaseView>>,
    begun: Instant,
    told: Instant,
    wake: Arc<Notify>,
}

/// What a round of looks came to.
struct Round {
    followers: Vec<Follower>,
    changed: bool,
    again: Option<Duration>,
}

impl Worker {
    /// A worker that has not looked yet.
    pub fn new(followers: Vec<Follower>, sender: channel::Sender<Arc<LeaseView>>) -> Self {
        let now = Instant::now();
        Self { followers, sender, begun: now, told: now, wake: Arc::default() }
    }

    /// Follows until cancelled, or until nobody listens.
    pub async fn run(mut self, cancel: CancellationToken) {
        let files: Vec<_> = self.followers.iter().map(|f| f.path().to_owned()).collect();
        let mut watch = Watch::new(&files, self.wake.clone());
        let work = async {
            while !self.sender.is_closed() {
                watch.refresh();
                let began = Instant::now();
                let Some(again) = self.round().await else { return };
                // No more than half of one core, whatever the size of the files.
                tokio::time::sleep(BREATH.max(began.elapsed())).await;
                // The time of the poll, or of the next thing that is known to come.
                let _ = tokio::time::timeout(again, self.wake.notified()).await;
            }
        };
        tokio::select! {
            () = cancel.cancelled() => {}
            () = work => {}
        }
    }

    /// Looks once and returns for how long to wait; none when the looking itself broke down.
    async fn round(&mut self) -> Option<Duration> {
        let moment = Moment { now: unix_now(), steady: self.begun.elapsed().as_millis() as u64 };
        let followers = std::mem::take(&mut self.followers);
        // Files can be large and disks slow: not on the threads of the runtime.
        let round = tokio::task::spawn_blocking(move || look_at_all(followers, moment)).await;
        let round = round
            .inspect_err(|error| tracing::error!(%error, "following leases has stopped"))
            .ok()?;
        self.followers = round.followers;
        let now = unix_now();
        let ended = self.sender.borrow().next_end().is_some_and(|end| end <= now);
        let failing = self.followers.iter().any(|f| f.view().error.is_some());
        let aged = failing && self.told.elapsed() >= AGE_TOLD;
        if round.changed || ended || aged {
            self.publish(now);
        }
        let next_end = self.sender.borrow().next_end();
        let until_end = next_end.map(|end| until(end, now));
        let wait = [round.again, until_end].into_iter().flatten().fold(SLOW_POLL, Duration::min);
        Some(wait)
    }

    fn publish(&mut self, now: i64) {
        self.told = Instant::now();
        let sources: Vec<SourceView> = self.followers.iter().map(|f| f.view().clone()).collect();
        for source in sources.iter().filter(|s| s.error.is_some()) {
            tracing::debug!(path = %source.path, error = source.error.as_deref(), "lease source");
        }
        self.sender.send_replace(Arc::new(LeaseView::evaluate(sources, now)));
    }
}

fn look_at_all(mut followers: Vec<Follower>, moment: Moment) -> Round {
    let (mut changed, mut again) = (false, None::<Duration>);
    for follower in &mut followers {
        let look = follower.look(moment);
        changed |= look.changed;
        again = match (again, look.again) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
    Round { followers, changed, again }
}

/// Seconds since 1970; a clock before that is taken as 1970.
fn unix_now() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}

/// From now to the end of a lease, not less than a moment.
fn until(end: i64, now: i64) -> Duration {
    Duration::from_secs(u64::try_from(end.saturating_sub(now)).unwrap_or(0)).max(BREATH)
}
