//! What the controllers ask of the sites, and what the sites ask of the store of runs.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use bpa_common::net::MacAddress;
use bpa_common::wire::v1::{
    BundleReport, CancelOrder, CancelReply, Event, HostReport, LeaseEntry, LeaseSource, Order,
    OrderReply, RunId, RunReport,
};
use jiff::Timestamp;
use tokio::sync::watch;

/// All sites by name. Shared: a view costs no more than its names.
pub type FleetView = BTreeMap<String, Arc<SiteView>>;

/// What is known of one site now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SiteView {
    pub connected: bool,
    /// `Hello.session` of the last hello; 0 = none yet. `standing` is as old as this session.
    pub session: u64,
    /// By our clock of receipt.
    pub last_seen: Option<Timestamp>,
    pub agent_version: String,
    pub fingerprint: String,
    pub ssh_public_key: String,
    pub clock_skew_ms: i64,
    pub bundles: Vec<BundleReport>,
    pub host: Option<HostReport>,
    pub leases: LeaseView,
    /// What the agent said stands at the site, at its last hello.
    pub standing: Vec<RunReport>,
}

/// The leases of one site.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LeaseView {
    pub by_mac: BTreeMap<MacAddress, Vec<LeaseEntry>>,
    pub sources: Vec<LeaseSource>,
    /// When the last snapshot or delta came.
    pub received: Option<Timestamp>,
}

/// Why an order or a cancel did not reach the agent. It may be sent again.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    #[error("site {site} is not connected; start bpa-agent there or check the network")]
    NotConnected { site: String },
    #[error("site {site} did not answer within {seconds} s")]
    NoAnswer { site: String, seconds: u64 },
    #[error("the link to site {site} broke: {message}")]
    Broken { site: String, message: String },
}

/// The sites as the controllers see them.
pub trait Fleet: Send + Sync + 'static {
    /// The epoch of this coordinator, as every `Welcome` tells it; orders carry it.
    fn epoch(&self) -> u64;

    /// All sites that have ever connected since the start, by name.
    fn view(&self) -> FleetView;

    /// Counts changes of the view.
    fn changes(&self) -> watch::Receiver<u64>;

    /// Tells sessions which sites are approved (from `Site.spec.approved`).
    fn set_approved(&self, approved: BTreeMap<String, bool>);

    /// Sends an order and waits for the agent's answer (which it gives after journaling).
    fn send_order(
        &self,
        site: &str,
        order: Order,
    ) -> impl Future<Output = Result<OrderReply, SendError>> + Send;

    /// Asks to stop a run.
    fn cancel(
        &self,
        site: &str,
        cancel: CancelOrder,
    ) -> impl Future<Output = Result<CancelReply, SendError>> + Send;
}

/// Why what an agent told could not be kept. It is not acknowledged then, so it comes again.
#[derive(Debug, thiserror::Error)]
#[error("can't keep what site {site} told: {message}")]
pub struct SinkError {
    pub site: String,
    pub message: String,
}

/// Where sessions put what agents tell. Durable before it returns.
pub trait RunSink: Send + Sync + 'static {
    /// The highest event sequence number of this site that is kept; 0 = none.
    fn events_seen(&self, site: &str) -> u64;

    /// Keeps events in order; ones seen before are ignored.
    fn append_events(
        &self,
        site: &str,
        events: Vec<Event>,
    ) -> impl Future<Output = Result<(), SinkError>> + Send;

    /// How much of a run's log is kept, bytes.
    fn log_len(&self, run: RunId) -> u64;

    /// Keeps a piece of a log that begins at `offset`; a piece that was seen is ignored.
    fn append_log(
        &self,
        site: &str,
        run: RunId,
        offset: u64,
        piece: Vec<u8>,
    ) -> impl Future<Output = Result<(), SinkError>> + Send;
}
