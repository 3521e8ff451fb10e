//! A fleet in memory: one site, whose agent keeps a journal and the rules of an agent.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use bpa_common::wire::v1::{
    CancelOrder, CancelReply, Event, EventBody, Failure, NodeState, ObjectId, Order, OrderKind,
    OrderRefusal, OrderReply, Outcome, RunId, RunReport, RunState, SecretBytes, Step, StepEnd,
};
use tokio::sync::watch;

use super::fuse::Fuse;
use crate::sites::{Fleet, FleetView, SendError, SiteView};

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    Not,
    Well,
    Badly,
    Cancelled,
}

/// The fleet in memory: one site, `north`, whose agent keeps a journal.
pub struct FakeFleet {
    state: Mutex<FleetState>,
    changes: watch::Sender<u64>,
    fuse: Arc<Fuse>,
}

#[derive(Default)]
pub struct FleetState {
    pub view: BTreeMap<String, SiteView>,
    pub epoch: u64,
    pub approved: BTreeMap<String, bool>,
    /// Every order that reached the agent, repeats included.
    pub received: Vec<Order>,
    /// The agent's journal.
    pub journal: Vec<(Order, RunState)>,
    /// What was in a journal that was lost.
    past: Vec<(Order, RunState)>,
    /// How often a person asked for another attempt, by provisioning.
    pub attempts: BTreeMap<String, usize>,
    pub cancels: Vec<RunId>,
    /// The next replies get lost on the way back.
    pub lose_replies: usize,
    /// What the agent answers instead of taking an order.
    pub refuses: Option<OrderRefusal>,
    seq: u64,
}

impl FleetState {
    /// The agent's disk is replaced.
    pub fn lose_journal(&mut self) {
        let lost = std::mem::take(&mut self.journal);
        self.past.extend(lost);
    }

    /// Every run that ever began, oldest first.
    pub fn all_runs(&self) -> Vec<(Order, RunState)> {
        self.past.iter().chain(&self.journal).cloned().collect()
    }
}

impl FakeFleet {
    /// A fleet of the site `north`.
    pub fn new(north: SiteView, fuse: Arc<Fuse>) -> Self {
        let view = BTreeMap::from([("north".to_owned(), north)]);
        let state = Mutex::new(FleetState { view, epoch: 1, ..FleetState::default() });
        Self { state, changes: watch::Sender::new(0), fuse }
    }

    /// The state.
    pub fn lock(&self) -> MutexGuard<'_, FleetState> {
        self.state.lock().unwrap()
    }

    /// The agent says hello again: what stands is as its journal has it.
    pub fn reconnect(&self) {
        let mut state = self.lock();
        let standing = state.journal.iter().rev().map(|(order, run_state)| RunReport {
            run: order.run,
            provisioning: order.provisioning.clone(),
            generation: order.generation,
            epoch: order.epoch,
            state: *run_state,
        });
        let standing = standing.collect();
        let view = state.view.get_mut("north").unwrap();
        view.connected = true;
        view.session += 1;
        view.standing = standing;
    }

    /// Whether the agent has a session.
    pub fn is_connected(&self) -> bool {
        self.lock().view.get("north").is_some_and(|view| view.connected)
    }

    /// The link is cut.
    pub fn cut(&self) {
        self.lock().view.get_mut("north").unwrap().connected = false;
    }

    /// The agent works on a run: its events.
    pub fn work(&self, run: RunId, ends: Ends) -> Vec<Event> {
        let mut state = self.lock();
        let entry = state.journal.iter_mut().find(|(order, _)| order.run == run).unwrap();
        let order = entry.0.clone();
        entry.1 = match ends {
            Ends::Not => RunState::Running,
            Ends::Well => RunState::Succeeded,
            Ends::Badly => RunState::Failed,
            Ends::Cancelled => RunState::Cancelled,
        };
        let bodies = bodies(&order, ends);
        let mut events = Vec::new();
        for body in bodies {
            state.seq += 1;
            events.push(Event { seq: state.seq, run, at_ms: 1000 * state.seq as i64, body });
        }
        events
    }
}

fn bodies(order: &Order, ends: Ends) -> Vec<EventBody> {
    let mut bodies = vec![EventBody::Accepted];
    let done = |step| {
        let end = StepEnd::Done;
        [
            EventBody::StepStarted { step },
            EventBody::StepEnded { step, end, message: String::new() },
        ]
    };
    for step in [Step::Resolve, Step::Access] {
        bodies.extend(done(step));
    }
    for node in &order.nodes {
        let (state, message) = (NodeState::AccessReady, String::new());
        bodies.push(EventBody::Node { node: node.name.clone(), state, address: None, message });
    }
    for step in [Step::Verify, Step::Preflight, Step::Inventory] {
        bodies.extend(done(step));
    }
    bodies.push(EventBody::StepStarted { step: Step::Kubespray });
    match ends {
        Ends::Not => {}
        Ends::Well => {
            if order.kind == OrderKind::Install {
                bodies.push(EventBody::Kubeconfig {
                    pem: SecretBytes(b"marked-kubeconfig".to_vec()),
                    server: "https://10.0.0.1:6443".into(),
                    days_left: 365,
                    kubernetes_version: "1.35.4".into(),
                });
            }
            bodies.push(EventBody::Ended { outcome: Outcome::Succeeded });
        }
        Ends::Cancelled => {
            bodies.push(EventBody::Ended { outcome: Outcome::Cancelled { by: "a person".into() } });
        }
        Ends::Badly => {
            let failure = Failure {
                step: Step::Kubespray,
                reason: "TaskFailed".into(),
                node: Some("n-h1".into()),
                message: "no space left".into(),
                fix: "free some space".into(),
            };
            bodies.push(EventBody::Ended { outcome: Outcome::Failed(failure) });
        }
    }
    bodies
}

impl Fleet for FakeFleet {
    fn epoch(&self) -> u64 {
        self.lock().epoch
    }

    fn view(&self) -> FleetView {
        self.lock().view.iter().map(|(name, view)| (name.clone(), Arc::new(view.clone()))).collect()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn set_approved(&self, approved: BTreeMap<String, bool>) {
        self.lock().approved = approved;
    }

    async fn send_order(&self, site: &str, order: Order) -> Result<OrderReply, SendError> {
        let site = site.to_owned();
        let send = || {
            let mut state = self.lock();
            if !state.view.get(&site).is_some_and(|view| view.connected) {
                return Err(SendError::NotConnected { site });
            }
            let reply = answer(&mut state, order);
            if state.lose_replies > 0 {
                state.lose_replies -= 1;
                return Err(SendError::NoAnswer { site, seconds: 10 });
            }
            Ok(reply)
        };
        self.fuse.pass(send).await
    }

    async fn cancel(&self, site: &str, cancel: CancelOrder) -> Result<CancelReply, SendError> {
        let site = site.to_owned();
        let send = || {
            let mut state = self.lock();
            if !state.view.get(&site).is_some_and(|view| view.connected) {
                return Err(SendError::NotConnected { site });
            }
            state.cancels.push(cancel.run);
            Ok(match state.journal.iter().find(|(order, _)| order.run == cancel.run) {
                None => CancelReply::UnknownRun,
                Some((_, run)) if run.is_final() => CancelReply::AlreadyEnded(*run),
                Some(_) => CancelReply::Stopping,
            })
        };
        self.fuse.pass(send).await
    }
}

/// The rules of an agent.
fn answer(state: &mut FleetState, order: Order) -> OrderReply {
    state.received.push(order.clone());
    if let Some((_, known)) = state.journal.iter().find(|(old, _)| old.run == order.run) {
        return OrderReply::Known { run: order.run, state: *known };
    }
    if let Some(refusal) = state.refuses.clone() {
        return OrderReply::Refused(refusal);
    }
    let of_uid = |old: &&(Order, RunState)| old.0.provisioning.uid == order.provisioning.uid;
    let seen = state.journal.iter().map(|(old, _)| old.epoch).max().unwrap_or(0);
    let done = state.journal.iter().filter(of_uid).map(|(old, _)| old.generation).max();
    let hosts = |order: &Order| -> Vec<ObjectId> {
        order.nodes.iter().map(|node| node.host.clone()).collect()
    };
    let busy = state.journal.iter().find(|(old, run)| {
        !run.is_final() && hosts(old).iter().any(|host| hosts(&order).contains(host))
    });
    if order.epoch < seen {
        return OrderReply::Refused(OrderRefusal::OldEpoch { seen });
    }
    if let Some(done) = done.filter(|done| order.generation < *done) {
        return OrderReply::Refused(OrderRefusal::OldGeneration { done });
    }
    if let Some((old, _)) = busy {
        return OrderReply::Refused(OrderRefusal::Busy { run: old.run });
    }
    let run = order.run;
    state.journal.push((order, RunState::Accepted));
    OrderReply::Accepted { run }
}
