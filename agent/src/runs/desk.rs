//! The agent as the link sees it: orders in, events and logs out.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bpa_common::wire::v1::{
    BundleReport, CancelOrder, CancelReply, Event, HostReport, Order, OrderRefusal, OrderReply,
    RunId, RunReport, RunState,
};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use super::clock::now_ms;
use super::host::host_report;
use super::log::read_log;
use super::shop::Shop;
use super::worker::drive;
use crate::journal::JournalError;
use crate::link::{Desk, LogPiece};
use crate::orders::{Admit, Ground, KnownRun, admit};
use crate::steps::Places;

/// The most runs that are told to the coordinator, and looked at for admission.
const MOST_RUNS: usize = 256;
/// The most events that are told at a time.
const MOST_EVENTS: usize = 1000;

/// All runs of this agent. Dropping it stops the tasks, not the playbooks.
pub struct Runs {
    shop: Arc<Shop>,
    approved: AtomicBool,
    /// One order is decided at a time.
    gate: tokio::sync::Mutex<()>,
    active: Mutex<HashMap<RunId, (CancellationToken, AbortHandle)>>,
}

impl Runs {
    /// Takes up where the last process stopped: every run that has not ended goes on.
    ///
    /// # Errors
    /// When the journal can't be read.
    pub fn resume(shop: Shop) -> Result<Arc<Self>, JournalError> {
        let runs = Arc::new(Self {
            shop: Arc::new(shop),
            approved: AtomicBool::new(false),
            gate: tokio::sync::Mutex::new(()),
            active: Mutex::default(),
        });
        for stored in runs.shop.journal.runs(MOST_RUNS)? {
            if !stored.state.is_final() {
                runs.start(stored.order.run);
            }
        }
        Ok(runs)
    }

    /// How many runs are at work.
    pub fn at_work(&self) -> usize {
        let active = self.active.lock().unwrap_or_else(PoisonError::into_inner);
        active.values().filter(|(_, task)| !task.is_finished()).count()
    }

    fn start(&self, run: RunId) {
        let token = CancellationToken::new();
        let task = tokio::spawn(drive(Arc::clone(&self.shop), run, token.clone()));
        let mut active = self.active.lock().unwrap_or_else(PoisonError::into_inner);
        active.retain(|_, (_, task)| !task.is_finished());
        active.insert(run, (token, task.abort_handle()));
    }

    async fn decide(&self, order: Order) -> Result<OrderReply, JournalError> {
        let _turn = self.gate.lock().await;
        let journal = &self.shop.journal;
        let known: Vec<KnownRun> = journal
            .runs(MOST_RUNS)?
            .into_iter()
            .map(|stored| KnownRun { report: stored.report(), nodes: stored.order.nodes })
            .collect();
        let bundles = self.shop.reports();
        let ground = Ground {
            epoch_seen: journal.epoch_seen()?,
            approved: self.approved.load(Ordering::Relaxed),
            bundles: &bundles,
        };
        let run = order.run;
        Ok(match admit(&order, &known, ground) {
            Admit::Known(state) => OrderReply::Known { run, state },
            Admit::Refuse(refusal) => {
                tracing::warn!(%run, provisioning = order.provisioning.name, ?refusal, "order refused");
                OrderReply::Refused(refusal)
            }
            Admit::Accept => {
                journal.accept(&order, now_ms())?;
                tracing::info!(%run, provisioning = order.provisioning.name, kind = ?order.kind, "order accepted");
                self.start(run);
                OrderReply::Accepted { run }
            }
        })
    }

    fn stop_run(&self, cancel: &CancelOrder) -> Result<CancelReply, JournalError> {
        let Some(stored) = self.shop.journal.run(cancel.run)? else {
            return Ok(CancelReply::UnknownRun);
        };
        if stored.state.is_final() {
            return Ok(CancelReply::AlreadyEnded(stored.state));
        }
        self.shop.journal.request_cancel(cancel.run, "the coordinator")?;
        let active = self.active.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((token, _)) = active.get(&cancel.run) {
            token.cancel();
        }
        Ok(CancelReply::Stopping)
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        let active = self.active.get_mut().unwrap_or_else(PoisonError::into_inner);
        active.values().for_each(|(_, task)| task.abort());
    }
}

/// The journal's answer, or an empty one that is right for "nothing is known".
fn known<T: Default>(what: &str, answer: Result<T, JournalError>) -> T {
    answer.unwrap_or_else(|error| {
        tracing::error!(%error, "can't read {what} from the journal");
        T::default()
    })
}

impl Desk for Runs {
    fn runs(&self) -> Vec<RunReport> {
        let runs = known("the runs", self.shop.journal.runs(MOST_RUNS));
        runs.iter().map(crate::journal::StoredRun::report).collect()
    }

    fn epoch_seen(&self) -> u64 {
        known("the epoch", self.shop.journal.epoch_seen())
    }

    fn next_session(&self) -> u64 {
        // 0 is no number that was ever given: the coordinator refuses it, and the link tries again.
        known("a session number", self.shop.journal.next_session())
    }

    fn bundles(&self) -> Vec<BundleReport> {
        self.shop.reports()
    }

    fn ssh_public_key(&self) -> String {
        self.shop.access.site_key.public_line().to_owned()
    }

    fn host_report(&self) -> HostReport {
        host_report(&self.shop.state_dir)
    }

    fn set_approved(&self, approved: bool) {
        self.approved.store(approved, Ordering::Relaxed);
    }

    async fn take_order(&self, order: Order) -> OrderReply {
        self.decide(order).await.unwrap_or_else(|error| {
            tracing::error!(%error, "can't keep an order");
            let fix = "make room or mend the bootstrap host; the order is sent again".to_owned();
            OrderReply::Refused(OrderRefusal::Invalid { message: error.to_string(), fix })
        })
    }

    async fn cancel(&self, cancel: CancelOrder) -> CancelReply {
        self.stop_run(&cancel).unwrap_or_else(|error| {
            tracing::error!(%error, "can't keep a cancel");
            CancelReply::UnknownRun
        })
    }

    fn events_after(&self, seq: u64, limit: usize) -> Vec<Event> {
        known("events", self.shop.journal.events_after(seq, limit.min(MOST_EVENTS)))
    }

    fn acknowledge_events(&self, seq: u64) {
        known("acknowledgements", self.shop.journal.acknowledge(seq));
    }

    fn newest_event(&self) -> watch::Receiver<u64> {
        self.shop.journal.newest_event()
    }

    fn runs_with_log(&self) -> Vec<RunId> {
        known("logs", self.shop.journal.runs_with_log())
    }

    fn read_log(&self, run: RunId, offset: u64, max: usize) -> LogPiece {
        // The state first: a run that has ended writes no more.
        let stored = known("a run", self.shop.journal.run(run));
        let ended = stored.is_none_or(|run: crate::journal::StoredRun| run.state.is_final());
        let (bytes, end) = read_log(&Places::log_of(&self.shop.state_dir, run), offset, max);
        LogPiece { bytes, last: ended && end }
    }

    fn log_done(&self, run: RunId) {
        known("logs", self.shop.journal.log_done(run));
    }
}

#[cfg(test)]
#[path = "desk_tests.rs"]
mod tests;

/// For messages: a state as people say it.
pub(crate) fn state_word(state: RunState) -> &'static str {
    match state {
        RunState::Accepted => "accepted",
        RunState::Running => "running",
        RunState::Succeeded => "succeeded",
        RunState::Failed => "failed",
        RunState::Cancelled => "cancelled",
    }
}
