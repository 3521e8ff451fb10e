//! All sites and their live sessions: what sessions write and controllers read.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bpa_common::link::{CloseCode, close};
use bpa_common::wire::v1::{CancelOrder, CancelReply, Order, OrderRefusal, OrderReply};
use bpa_common::wire::{FrameReader, FrameWriter, Message};
use jiff::Timestamp;
use quinn::Connection;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::admit::Admitted;
use super::audit::{Action, Audit, Record};
use super::{Fleet, FleetView, SendError, SiteView};

/// How long an agent may take to answer. It journals an order before it does.
const ANSWER_LIMIT: Duration = Duration::from_secs(15);

/// All sites and their sessions.
#[derive(Debug)]
pub struct Sites {
    pub(super) local_addr: SocketAddr,
    pub(super) epoch: u64,
    pub(super) audit: Audit,
    pub(super) stopped: CancellationToken,
    state: Mutex<State>,
    changes: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    sites: BTreeMap<String, Entry>,
    approved: BTreeMap<String, bool>,
    sessions: u64,
}

#[derive(Debug, Default)]
struct Entry {
    view: Arc<SiteView>,
    live: Option<Live>,
}

#[derive(Debug)]
struct Live {
    number: u64,
    connection: Connection,
    approved: watch::Sender<bool>,
}

/// A session's place in the fleet.
#[derive(Debug)]
pub(super) struct Place {
    pub site: String,
    /// Tells this session from an older or a newer one of the same site.
    number: u64,
    pub approved: watch::Receiver<bool>,
}

impl Sites {
    pub(super) fn new(local_addr: SocketAddr, epoch: u64, audit: Audit) -> Self {
        Self {
            local_addr,
            epoch,
            audit,
            stopped: CancellationToken::new(),
            state: Mutex::default(),
            changes: watch::channel(0).0,
        }
    }

    /// Where the server listens (the port is known even when 0 was asked for).
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Waits until the server has said good-bye to all agents after its stop was asked for.
    pub async fn stopped(&self) {
        self.stopped.cancelled().await;
    }

    /// Nothing here panics while it holds the lock, so a poisoned one is as good.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    /// Makes a session the live one of its site. An older one is closed.
    pub(super) fn enter(
        &self,
        who: &Admitted,
        connection: Connection,
        fill: impl FnOnce(&mut SiteView),
    ) -> Place {
        let site = who.site.to_string();
        let mut state = self.lock();
        state.sessions += 1;
        let number = state.sessions;
        let allowed = state.approved.get(&site).copied().unwrap_or(false);
        let (sender, approved) = watch::channel(allowed);
        let entry = state.sites.entry(site.clone()).or_default();
        let live = Live { number, connection: connection.clone(), approved: sender };
        let old = entry.live.replace(live);
        let view = Arc::make_mut(&mut entry.view);
        view.connected = true;
        view.fingerprint = who.fingerprint.to_string();
        view.last_seen = Some(Timestamp::now());
        fill(view);
        drop(state);
        if let Some(old) = old {
            let from = connection.remote_address();
            let reason = format!("a newer session of site {site} came from {from}");
            self.audit.record(
                Record::new(Action::Replaced, &site)
                    .key(who.fingerprint)
                    .from(old.connection.remote_address())
                    .because(&reason),
            );
            close(&old.connection, CloseCode::Replaced, &reason);
        }
        self.changed();
        Place { site, number, approved }
    }

    /// Changes the view of a session's site, unless a newer session has taken its place.
    pub(super) fn update<T>(
        &self,
        place: &Place,
        tell: bool,
        change: impl FnOnce(&mut SiteView) -> T,
    ) -> Option<T> {
        let mut state = self.lock();
        let entry = state.sites.get_mut(&place.site)?;
        if entry.live.as_ref()?.number != place.number {
            return None;
        }
        let view = Arc::make_mut(&mut entry.view);
        view.last_seen = Some(Timestamp::now());
        let result = change(view);
        drop(state);
        if tell {
            self.changed();
        }
        Some(result)
    }

    /// Ends a session's place.
    pub(super) fn leave(&self, place: &Place) {
        let mut state = self.lock();
        let Some(entry) = state.sites.get_mut(&place.site) else { return };
        if entry.live.as_ref().is_none_or(|live| live.number != place.number) {
            return;
        }
        entry.live = None;
        Arc::make_mut(&mut entry.view).connected = false;
        drop(state);
        self.changed();
    }

    fn connection(&self, site: &str) -> Result<Connection, SendError> {
        let state = self.lock();
        let live = state.sites.get(site).and_then(|entry| entry.live.as_ref());
        live.map(|live| live.connection.clone())
            .ok_or_else(|| SendError::NotConnected { site: site.to_owned() })
    }

    /// One question on a stream of its own, and its answer.
    async fn ask<Q: Message, A: Message>(&self, site: &str, question: &Q) -> Result<A, SendError> {
        let connection = self.connection(site)?;
        let broken = |message: String| SendError::Broken { site: site.to_owned(), message };
        let talk = async {
            let (send, receive) = connection.open_bi().await.map_err(|e| broken(e.to_string()))?;
            let mut writer = FrameWriter::new(send);
            writer.send(question).await.map_err(|e| broken(e.to_string()))?;
            let _ = writer.get_mut().finish();
            let mut reader = FrameReader::new(receive, A::MAX);
            reader.require::<A>().await.map_err(|e| broken(e.to_string()))
        };
        match tokio::time::timeout(ANSWER_LIMIT, talk).await {
            Ok(answer) => answer,
            Err(_) => {
                Err(SendError::NoAnswer { site: site.to_owned(), seconds: ANSWER_LIMIT.as_secs() })
            }
        }
    }
}

impl Fleet for Sites {
    fn epoch(&self) -> u64 {
        self.epoch
    }

    fn view(&self) -> FleetView {
        let state = self.lock();
        state.sites.iter().map(|(name, entry)| (name.clone(), Arc::clone(&entry.view))).collect()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn set_approved(&self, approved: BTreeMap<String, bool>) {
        let mut state = self.lock();
        let was = |site: &String| state.approved.get(site).copied().unwrap_or(false);
        let changed: Vec<(String, bool)> = approved
            .iter()
            .filter(|(site, now)| was(site) != **now)
            .map(|(site, now)| (site.clone(), *now))
            .collect();
        for (site, entry) in &state.sites {
            let now = approved.get(site).copied().unwrap_or(false);
            if let Some(live) = &entry.live {
                live.approved.send_if_modified(|was| std::mem::replace(was, now) != now);
            }
        }
        state.approved = approved;
        drop(state);
        for (site, now) in changed {
            let said = if now { "approved" } else { "not approved any more" };
            self.audit.record(Record::new(Action::Approval, site).because(said));
        }
    }

    async fn send_order(&self, site: &str, order: Order) -> Result<OrderReply, SendError> {
        // Looked at for each order, not once a session: approval can be withdrawn at any time.
        if !self.lock().approved.get(site).copied().unwrap_or(false) {
            return Ok(OrderReply::Refused(OrderRefusal::Quarantine));
        }
        let what = format!("{:?} {} as run {}", order.kind, order.provisioning.name, order.run);
        let reply = self.ask(site, &order).await;
        let outcome = match &reply {
            Ok(reply) => format!("{what}: {reply:?}"),
            Err(error) => format!("{what}: {error}"),
        };
        self.audit.record(Record::new(Action::Order, site).because(outcome));
        reply
    }

    async fn cancel(&self, site: &str, cancel: CancelOrder) -> Result<CancelReply, SendError> {
        let reply = self.ask(site, &cancel).await;
        let outcome = format!("run {}: {reply:?}", cancel.run);
        self.audit.record(Record::new(Action::Cancel, site).because(outcome));
        reply
    }
}
