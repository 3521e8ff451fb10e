//! What the link asks of the rest of the agent.

use std::future::Future;

use bpa_common::wire::v1::{
    BundleReport, CancelOrder, CancelReply, Event, HostReport, Order, OrderReply, RunId, RunReport,
};
use tokio::sync::watch;

/// A piece of a run's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogPiece {
    pub bytes: Vec<u8>,
    /// True when the run has ended and this piece reaches the end of its log.
    pub last: bool,
}

/// The agent as the link sees it. Implemented over the journal and the worker of runs.
pub trait Desk: Send + Sync + 'static {
    /// Every run in the journal, newest first, at most 256.
    fn runs(&self) -> Vec<RunReport>;
    /// The highest epoch that an order was accepted from.
    fn epoch_seen(&self) -> u64;
    /// Counts a session, durably, and returns its number.
    fn next_session(&self) -> u64;
    fn bundles(&self) -> Vec<BundleReport>;
    fn ssh_public_key(&self) -> String;
    /// Resources of this machine now.
    fn host_report(&self) -> HostReport;
    /// The coordinator said whether orders are allowed.
    fn set_approved(&self, approved: bool);

    /// Journals and starts an order, or says why not.
    fn take_order(&self, order: Order) -> impl Future<Output = OrderReply> + Send;
    /// Starts to stop a run.
    fn cancel(&self, cancel: CancelOrder) -> impl Future<Output = CancelReply> + Send;

    /// Events after this sequence number, oldest first.
    fn events_after(&self, seq: u64, limit: usize) -> Vec<Event>;
    /// The coordinator keeps all events up to this one. When that is more than were ever written
    /// here (the disk was lost), the next event is numbered behind it.
    fn acknowledge_events(&self, seq: u64);
    /// The sequence number of the newest event; changes with each new one.
    fn newest_event(&self) -> watch::Receiver<u64>;

    /// Runs whose log is not yet wholly at the coordinator.
    fn runs_with_log(&self) -> Vec<RunId>;
    /// A piece of a run's log from `offset`, at most `max` bytes.
    fn read_log(&self, run: RunId, offset: u64, max: usize) -> LogPiece;
    /// The coordinator has the whole log.
    fn log_done(&self, run: RunId);
}
