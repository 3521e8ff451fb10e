//! One run, from wherever it is to its end.

use std::sync::Arc;
use std::time::Duration;

use bpa_common::wire::v1::{EventBody, OrderKind, Outcome, RunId, Step, StepEnd};
use tokio_util::sync::CancellationToken;

use super::clock::now_ms;
use super::facts::facts;
use super::leftover::tell_leftovers;
use super::perform::{Performed, Performer};
use super::shop::Shop;
use super::teller::Teller;
use super::turns::Turn;
use crate::journal::StepEnded;
use crate::orders::{Next, next};
use crate::steps::{Journaled, Places};

/// Drives a run that is in the journal. Ends when the run has ended; may be dropped at any point,
/// and called again by another process.
pub(super) async fn drive(shop: Arc<Shop>, run: RunId, cancel: CancellationToken) {
    let log = Places::log_of(&shop.state_dir, run);
    if let Some(parent) = log.parent()
        && let Err(error) = crate::private::make_dir(parent)
    {
        tracing::error!(%run, %error, "can't make the run's directory");
    }
    let teller = Arc::new(Teller::new(Arc::clone(&shop.journal), run, log));
    let Some(stored) = teller.insist(|journal| journal.run(run)).await else {
        tracing::error!(%run, "the journal has no such run");
        return;
    };
    let earlier = teller.insist(|journal| journal.steps(run)).await.len();
    if stored.cancel_by.is_some() {
        cancel.cancel();
    }
    if earlier > 0 {
        let message = "the agent was restarted; the run goes on".to_owned();
        teller.tell(EventBody::Note { message });
    } else {
        teller.log_lines(&[EventBody::Accepted]);
    }
    let performer = Performer::new(shop, stored.order, teller, cancel);
    Worker { performer, run, earlier, played: false, turn: None }.work().await;
}

struct Worker {
    performer: Performer,
    run: RunId,
    /// Rows of steps that processes before this one wrote.
    earlier: usize,
    /// A playbook was at work in this process.
    played: bool,
    /// Its turn to have one at work.
    turn: Option<Turn>,
}

impl Worker {
    async fn work(mut self) {
        loop {
            let teller = Arc::clone(&self.performer.teller);
            teller.settle().await;
            let stored = teller.insist(|journal| journal.run(self.run)).await;
            let rows = teller.insist(|journal| journal.steps(self.run)).await;
            let Some(stored) = stored else { return };
            if stored.state.is_final() {
                return;
            }
            let known = facts(&stored, &rows, self.earlier, self.performer.places.run());
            let facts = match known {
                Ok(facts) => facts,
                Err(error) => {
                    tracing::error!(run = %self.run, %error, "can't learn how the run stands");
                    tokio::time::sleep(Duration::from_secs(5)).await;
                    continue;
                }
            };
            match next(&facts) {
                Next::Do(Step::Kubespray) if self.turn.is_none() => {
                    let begun = rows.iter().any(|row| row.step == Step::Kubespray);
                    self.turn = Some(self.take_turn(begun).await);
                }
                Next::Do(step) => self.step(step).await,
                Next::End(outcome) => return self.end(outcome).await,
            }
        }
    }

    /// Waits until a playbook may be at work; after that the facts are looked at again.
    async fn take_turn(&self, begun: bool) -> Turn {
        let Performer { shop, teller, cancel, .. } = &self.performer;
        if let Some(turn) = shop.turns.now(begun) {
            return turn;
        }
        teller.tell(EventBody::Note { message: shop.turns.words() });
        shop.turns.wait(cancel).await
    }

    async fn step(&mut self, step: Step) {
        let teller = Arc::clone(&self.performer.teller);
        let run = self.run;
        teller.insist(|journal| journal.start_step(run, step, now_ms())).await;
        teller.log_lines(&[EventBody::StepStarted { step }]);
        tracing::info!(%run, %step, "step");
        self.played |= step == Step::Kubespray;
        let (end, message, failure) = match self.performer.perform(step).await {
            Ok(Performed::Done(message)) => (StepEnd::Done, message, None),
            Ok(Performed::Stopped) => (StepEnd::Failed, "stopped".to_owned(), None),
            // It stays open: the next look at the facts says what this means.
            Ok(Performed::Unknown) => return,
            Err(failure) => {
                let failure = failure.into_failure(step);
                tracing::warn!(%run, %step, reason = failure.reason, "step failed");
                (StepEnd::Failed, failure.message.clone(), Some(failure))
            }
        };
        teller.settle().await;
        teller.log_lines(&[EventBody::StepEnded { step, end, message: message.clone() }]);
        let ended = StepEnded { step, end, message, failure };
        teller.insist(|journal| journal.end_step(run, ended.clone(), now_ms())).await;
    }

    async fn end(self, outcome: Outcome) {
        let Performer { shop, order, teller, .. } = &self.performer;
        if self.played && matches!(outcome, Outcome::Cancelled { .. }) {
            tell_leftovers(shop, order, teller).await;
        }
        let reset = order.kind == OrderKind::Reset && outcome == Outcome::Succeeded;
        self.performer.finish(reset);
        teller.settle().await;
        let line = [EventBody::Ended { outcome: outcome.clone() }];
        teller.log_lines(&line);
        let run = self.run;
        teller.insist(|journal| journal.end_run(run, outcome.clone(), now_ms())).await;
        tracing::info!(%run, "run ended");
    }
}
