//! Followers: watch the files of the sources and publish a view whenever an answer changes.
//!
//! Thin: `files` reads, `guard` says what may be believed, `follower` is one source, `watch` wakes.

mod files;
mod follower;
mod guard;
mod watch;
mod worker;

use std::sync::Arc;
use std::time::{Duration, Instant};

use follower::{Follower, Moment};
use tokio::sync::watch as channel;
use tokio_util::sync::CancellationToken;
use worker::Worker;

use super::kind::SourceSpec;
use super::parsers::Limits;
use super::table::{LeaseView, SourceView};
use crate::config::LeaseSourceConfig;

/// The newest view, always.
pub type LeaseFeed = channel::Receiver<Arc<LeaseView>>;

/// A single reading gives up after this time and tells what it has.
const READ_ONCE: Duration = Duration::from_secs(1);

/// Follows the sources until cancelled. Returns at once; until a source was read, it says so in its
/// error. Must be called inside a tokio runtime.
pub fn start(sources: &[LeaseSourceConfig], cancel: CancellationToken) -> LeaseFeed {
    let sources: Vec<SourceSpec> = sources.iter().map(LeaseSourceConfig::spec).collect();
    let unread = sources.iter().map(SourceView::of).collect();
    let (sender, feed) = channel::channel(Arc::new(LeaseView::evaluate(unread, 0)));
    let followers =
        sources.into_iter().map(|source| Follower::new(source, Limits::default())).collect();
    tokio::spawn(Worker::new(followers, sender).run(cancel));
    feed
}

/// Reads the sources once, without a running agent, and says what they answer at `now` (seconds
/// since 1970). Waits for a file that is being rewritten, at most a second.
pub fn read_once(sources: &[SourceSpec], now: i64) -> LeaseView {
    let begun = Instant::now();
    let views = sources.iter().map(|source| {
        let mut follower = Follower::new(source.clone(), Limits::default());
        loop {
            let steady = begun.elapsed().as_millis() as u64;
            let look = follower.look(Moment { now, steady });
            match look.again {
                Some(again) if begun.elapsed() < READ_ONCE => std::thread::sleep(again),
                _ => break follower.view().clone(),
            }
        }
    });
    LeaseView::evaluate(views.collect(), now)
}
