//! Coordinator and agent in one process, over real QUIC on loopback: joining, sessions, cuts, and
//! peers that mean no good.

mod agent;
mod by_hand;
mod coordinator;
mod fakes;
mod join;
mod logs;
mod peers;
mod raw;
mod relay;
mod session;

use std::time::Duration;

/// Waits until it is so; a test that waits for ever says what for.
pub async fn eventually(what: &str, mut so: impl FnMut() -> bool) {
    within(Duration::from_secs(15), what, &mut so).await;
}

/// As [`eventually`], with a limit of its own.
pub async fn within(limit: Duration, what: &str, mut so: impl FnMut() -> bool) {
    let begin = std::time::Instant::now();
    while !so() {
        assert!(begin.elapsed() < limit, "waited for {limit:?}: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
