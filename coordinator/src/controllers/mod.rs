//! The loop that makes wishes true: observe, decide (pure), act, report.
//!
//! It is level-triggered: whatever changes, the whole is looked at again, and every action may be
//! done again without harm. So a crash between any two steps continues where the world stands.
//!
//! - `controller`: one pass over everything; `act`: carrying out actions, beside the loop
//! - `tally`: how often something failed, and when to try again
//! - `pace`: how often numbers that change all the time are written

mod act;
mod controller;
mod pace;
mod tally;
mod written;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use controller::Controller;

use crate::cluster::World;
use crate::runs::RunStore;
use crate::sites::Fleet;

/// Least time between two passes: changes come in bursts.
const CALM: Duration = Duration::from_millis(100);
/// A pass is made this often even when nothing is told.
const TICK: Duration = Duration::from_secs(10);

/// Runs until it is cancelled. Errors become conditions and are tried again; they never end it.
pub async fn run<W: World, F: Fleet>(
    world: Arc<W>,
    fleet: Arc<F>,
    runs: Arc<RunStore>,
    cancel: CancellationToken,
) {
    let mut changes = [world.changes(), fleet.changes(), runs.changes()];
    let mut controller = Controller::new(world, fleet, runs);
    loop {
        let began = Instant::now();
        changes.iter_mut().for_each(|change| {
            change.borrow_and_update();
        });
        let now = Timestamp::now();
        let next = controller.pass(now, rand::random()).await;
        let wait = next.map_or(TICK, |next| until(now, next).min(TICK));
        tokio::select! {
            () = cancel.cancelled() => break,
            () = any_change(&mut changes) => {}
            () = controller.any_done(Timestamp::now) => {}
            () = tokio::time::sleep_until(began + wait.max(CALM)) => {}
        }
        tokio::select! {
            () = cancel.cancelled() => break,
            () = tokio::time::sleep_until(began + CALM) => {}
        }
    }
    tracing::debug!("the controllers have stopped");
}

fn until(now: Timestamp, then: Timestamp) -> Duration {
    Duration::try_from(then.duration_since(now)).unwrap_or(Duration::ZERO)
}

/// Waits until one of these counts changes. A sender that is gone never changes again.
async fn any_change(changes: &mut [watch::Receiver<u64>; 3]) {
    async fn one(change: &mut watch::Receiver<u64>) {
        if change.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
    let [world, fleet, runs] = changes;
    tokio::select! {
        () = one(world) => {}
        () = one(fleet) => {}
        () = one(runs) => {}
    }
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
