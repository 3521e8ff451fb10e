//! A world and a fleet in memory, with an agent that keeps a journal, and crashes at will.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use bpa_common::api::metal3::ConsumerRef;
use bpa_common::api::{ObjectKey, Provisioning, ProvisioningStatus, SiteStatus};
use bpa_common::wire::v1::{
    CancelOrder, CancelReply, Event, EventBody, Failure, NodeState, ObjectId, Order, OrderKind,
    OrderRefusal, OrderReply, Outcome, RunId, RunReport, RunState, SecretBytes, Step, StepEnd,
};
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::watch;

use super::controller::Controller;
use crate::cluster::{ClaimOutcome, HostRecord, HostRef, ObjectEvent, Snapshot, World, WorldError};
use crate::planning::RETRY;
use crate::planning::testing::{at, host, provisioning, site, site_view};
use crate::runs::RunStore;
use crate::sites::{Fleet, RunSink, SendError, SiteView};

/// Where the process dies: at this effect, counted from now, before or after it is done.
#[derive(Clone, Copy, Debug)]
pub struct Crash {
    pub effect: usize,
    pub after: bool,
}

/// Counts effects and dies at one of them.
#[derive(Debug, Default)]
pub struct Fuse {
    count: Mutex<(usize, Option<Crash>)>,
}

impl Fuse {
    /// Passes an effect through; at the chosen one the caller never gets on.
    async fn pass<T>(&self, effect: impl FnOnce() -> T) -> T {
        let (number, crash) = {
            let mut count = self.count.lock().unwrap();
            count.0 += 1;
            *count
        };
        match crash.filter(|crash| number == crash.effect) {
            Some(Crash { after: false, .. }) => std::future::pending().await,
            Some(_) => {
                effect();
                std::future::pending().await
            }
            None => effect(),
        }
    }

    /// True once the chosen effect was reached.
    pub fn is_blown(&self) -> bool {
        let count = self.count.lock().unwrap();
        count.1.is_some_and(|crash| count.0 >= crash.effect)
    }

    /// Dies at this effect from now on, or never.
    pub fn set(&self, crash: Option<Crash>) {
        *self.count.lock().unwrap() = (0, crash);
    }
}

/// Everything that outlives a crash of the coordinator.
pub struct Bench {
    pub world: Arc<FakeWorld>,
    pub fleet: Arc<FakeFleet>,
    pub runs: Arc<RunStore>,
    pub fuse: Arc<Fuse>,
    pub now: Mutex<Timestamp>,
    _dir: tempfile::TempDir,
}

pub type TestController = Controller<FakeWorld, FakeFleet>;

impl Bench {
    /// Hosts h1 to h4, site `north` with leases for the first three, and these provisionings.
    pub fn new(provisionings: Vec<Provisioning>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let fuse = Arc::new(Fuse::default());
        let snapshot = Snapshot {
            hosts: ["h1", "h2", "h3", "h4"].into_iter().map(host).collect(),
            provisionings,
            sites: vec![site("north")],
            ..Snapshot::default()
        };
        let world = FakeWorld {
            state: Mutex::new(WorldState { snapshot, ..WorldState::default() }),
            changes: watch::Sender::new(0),
            fuse: Arc::clone(&fuse),
        };
        let fleet = FakeFleet {
            state: Mutex::new(FleetState {
                view: BTreeMap::from([("north".to_owned(), site_view(&[1, 2, 3]))]),
                epoch: 1,
                ..FleetState::default()
            }),
            changes: watch::Sender::new(0),
            fuse: Arc::clone(&fuse),
        };
        Self {
            world: Arc::new(world),
            fleet: Arc::new(fleet),
            runs: Arc::new(RunStore::open(dir.path()).unwrap()),
            fuse,
            now: Mutex::new(at(100)),
            _dir: dir,
        }
    }

    /// One provisioning `edge` on h1 and h2.
    pub fn edge() -> Self {
        Self::new(vec![provisioning("edge", &["h1", "h2"])])
    }

    /// A coordinator that has just started.
    pub fn start(&self) -> TestController {
        let (world, fleet) = (Arc::clone(&self.world), Arc::clone(&self.fleet));
        Controller::new(world, fleet, Arc::clone(&self.runs))
    }

    /// Lets time go by.
    pub fn wait(&self, seconds: i64) {
        let mut now = self.now.lock().unwrap();
        *now += jiff::SignedDuration::from_secs(seconds);
    }

    /// Passes until nothing changes any more. False when the process has died on the way.
    pub async fn settle(&self, controller: &mut TestController) -> bool {
        for _ in 0..60 {
            let before = self.world.writes();
            let now = *self.now.lock().unwrap();
            tokio::select! {
                biased;
                _ = controller.pass(now, uuid::Uuid::new_v4().into_bytes()) => {}
                () = self.dead() => return false,
            }
            let acted = controller.is_acting();
            while controller.is_acting() {
                tokio::select! {
                    biased;
                    () = controller.any_done(|| now) => {}
                    () = self.dead() => return false,
                }
            }
            self.wait(1);
            if self.world.writes() == before && !acted {
                return true;
            }
        }
        panic!("the controller does not come to rest: {:#?}", self.status("edge"));
    }

    /// A few passes, until the process dies or they are done.
    pub async fn settle_a_little(&self, controller: &mut TestController) {
        for _ in 0..4 {
            let now = *self.now.lock().unwrap();
            tokio::select! {
                biased;
                _ = controller.pass(now, uuid::Uuid::new_v4().into_bytes()) => {}
                () = self.dead() => return,
            }
            while controller.is_acting() {
                tokio::select! {
                    biased;
                    () = controller.any_done(|| now) => {}
                    () = self.dead() => return,
                }
            }
            self.wait(3);
        }
    }

    async fn dead(&self) {
        while !self.fuse.is_blown() {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    }

    /// Starts a coordinator and lets it work until nothing changes.
    pub async fn run(&self) -> TestController {
        let mut controller = self.start();
        assert!(self.settle(&mut controller).await);
        controller
    }

    /// A provisioning as it is.
    pub fn object(&self, name: &str) -> Option<Provisioning> {
        let state = self.world.lock();
        state.snapshot.provisionings.iter().find(|p| p.metadata.name == name).cloned()
    }

    /// The status of a provisioning.
    pub fn status(&self, name: &str) -> ProvisioningStatus {
        self.object(name).map(|p| p.status).unwrap_or_default()
    }

    /// `Reason: message` of a condition, or nothing.
    pub fn words(&self, name: &str, kind: &str) -> String {
        let status = self.status(name);
        status
            .conditions
            .get(kind)
            .map(|c| format!("{}: {}", c.reason, c.message))
            .unwrap_or_default()
    }

    /// Changes a provisioning as a user does; a change of its spec is a new generation.
    pub fn edit(&self, name: &str, change: impl FnOnce(&mut Provisioning)) {
        let mut state = self.world.lock();
        let object =
            state.snapshot.provisionings.iter_mut().find(|p| p.metadata.name == name).unwrap();
        let spec = object.spec.clone();
        change(object);
        if object.spec != spec {
            object.metadata.generation += 1;
        }
    }

    /// Sets an annotation.
    pub fn annotate(&self, name: &str, key: &str, value: &str) {
        self.edit(name, |p| drop(p.metadata.annotations.insert(key.into(), value.into())));
        if key == RETRY {
            *self.fleet.lock().attempts.entry(name.to_owned()).or_default() += 1;
        }
    }

    /// Deletes a provisioning as a user does.
    pub fn delete(&self, name: &str) {
        let mut state = self.world.lock();
        let all = &mut state.snapshot.provisionings;
        let object = all.iter_mut().find(|p| p.metadata.name == name).unwrap();
        object.metadata.deletion_timestamp = Some(at(1));
        all.retain(|p| !p.metadata.is_deleting() || !p.metadata.finalizers.is_empty());
    }

    /// The id of the run in the status.
    pub fn run_id(&self, name: &str) -> RunId {
        self.status(name).run.unwrap().id.parse().unwrap()
    }

    /// The agent does its work on a run and tells how it went.
    pub async fn work(&self, run: RunId, ends: Ends) {
        let events = self.fleet.work(run, ends);
        self.runs.append_events("north", events).await.unwrap();
    }

    /// Who holds a host, as `kind name`.
    pub fn holder(&self, name: &str) -> Option<String> {
        let state = self.world.lock();
        let record = state.snapshot.hosts.iter().find(|h| h.host.metadata.name == name)?;
        let consumer = record.host.spec.consumer_ref.as_ref()?;
        Some(format!("{} {}", consumer.kind, consumer.name))
    }

    /// Changes a host as Metal3 or a person does.
    pub fn edit_host(&self, name: &str, change: impl FnOnce(&mut HostRecord)) {
        let mut state = self.world.lock();
        let record =
            state.snapshot.hosts.iter_mut().find(|h| h.host.metadata.name == name).unwrap();
        change(record);
        bump(record);
    }
}

fn bump(record: &mut HostRecord) {
    let version = &mut record.host.metadata.resource_version;
    *version = (version.parse::<u64>().unwrap() + 1).to_string();
}

/// The world in memory.
pub struct FakeWorld {
    state: Mutex<WorldState>,
    changes: watch::Sender<u64>,
    fuse: Arc<Fuse>,
}

#[derive(Default)]
pub struct WorldState {
    pub snapshot: Snapshot,
    pub events: Vec<ObjectEvent>,
    pub kubeconfigs: BTreeMap<String, String>,
    /// The next claim finds that someone else was faster.
    pub thief: Option<ConsumerRef>,
    /// Writes fail with this.
    pub broken: Option<String>,
    /// Hosts of others that we tried to claim or to release although they were seen to be theirs.
    pub foreign_touched: Vec<String>,
    writes: usize,
}

impl FakeWorld {
    /// The state.
    pub fn lock(&self) -> MutexGuard<'_, WorldState> {
        self.state.lock().unwrap()
    }

    fn writes(&self) -> usize {
        self.lock().writes
    }

    fn write<T>(&self, change: impl FnOnce(&mut WorldState) -> T) -> Result<T, WorldError> {
        let mut state = self.lock();
        if let Some(message) = state.broken.clone() {
            return Err(WorldError::Corrupt { what: "the world".into(), message });
        }
        state.writes += 1;
        let done = change(&mut state);
        drop(state);
        self.changes.send_modify(|count| *count += 1);
        Ok(done)
    }
}

impl World for FakeWorld {
    async fn snapshot(&self) -> Result<Snapshot, WorldError> {
        Ok(self.lock().snapshot.clone())
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    async fn write_provisioning_status(
        &self,
        key: &ObjectKey,
        uid: &str,
        status: &ProvisioningStatus,
    ) -> Result<(), WorldError> {
        let write = || {
            self.write(|state| {
                let all = &mut state.snapshot.provisionings;
                if let Some(object) = all.iter_mut().find(|p| p.metadata.uid == uid) {
                    assert_eq!(object.metadata.key(), *key);
                    object.status = status.clone();
                }
            })
        };
        self.fuse.pass(write).await
    }

    async fn write_site_status(
        &self,
        key: &ObjectKey,
        status: &SiteStatus,
    ) -> Result<(), WorldError> {
        self.write(|state| {
            let site = state.snapshot.sites.iter_mut().find(|s| s.metadata.key() == *key).unwrap();
            site.status = status.clone();
        })
    }

    async fn set_finalizer(&self, key: &ObjectKey, present: bool) -> Result<(), WorldError> {
        let write = || {
            self.write(|state| {
                let all = &mut state.snapshot.provisionings;
                if let Some(object) = all.iter_mut().find(|p| p.metadata.key() == *key) {
                    object.metadata.finalizers =
                        if present { vec!["bpa.akraino.org/provisioning".into()] } else { vec![] };
                }
                all.retain(|p| !p.metadata.is_deleting() || !p.metadata.finalizers.is_empty());
            })
        };
        self.fuse.pass(write).await
    }

    async fn claim(
        &self,
        host: &HostRef,
        resource_version: &str,
        consumer: &ConsumerRef,
    ) -> Result<ClaimOutcome, WorldError> {
        let write = || {
            self.write(|state| {
                let thief = state.thief.take();
                let was_free = thief.is_some();
                let found =
                    state.snapshot.hosts.iter_mut().find(|h| {
                        h.host.metadata.key() == host.key && h.host.metadata.uid == host.uid
                    });
                let Some(record) = found else { return ClaimOutcome::Changed };
                let holder = record.host.spec.consumer_ref.as_ref();
                if holder.is_some_and(|holder| holder != consumer) && !was_free {
                    state.foreign_touched.push(host.key.to_string());
                }
                if let Some(thief) = thief {
                    record.host.spec.consumer_ref = Some(thief);
                    bump(record);
                }
                match record.host.spec.consumer_ref.clone() {
                    Some(other) if other == *consumer => ClaimOutcome::Ours,
                    Some(other) => ClaimOutcome::Taken(other),
                    None if record.host.metadata.resource_version != resource_version => {
                        ClaimOutcome::Changed
                    }
                    None => {
                        record.host.spec.consumer_ref = Some(consumer.clone());
                        bump(record);
                        ClaimOutcome::Ours
                    }
                }
            })
        };
        self.fuse.pass(write).await
    }

    async fn release(&self, host: &HostRef, consumer: &ConsumerRef) -> Result<(), WorldError> {
        let write = || {
            self.write(|state| {
                let found =
                    state.snapshot.hosts.iter_mut().find(|h| {
                        h.host.metadata.key() == host.key && h.host.metadata.uid == host.uid
                    });
                let Some(record) = found else { return };
                if record.host.spec.consumer_ref.as_ref() == Some(consumer) {
                    record.host.spec.consumer_ref = None;
                    bump(record);
                } else if record.host.spec.consumer_ref.is_some() {
                    state.foreign_touched.push(host.key.to_string());
                }
            })
        };
        self.fuse.pass(write).await
    }

    async fn save_kubeconfig(
        &self,
        provisioning: &Provisioning,
        yaml: &SecretString,
    ) -> Result<String, WorldError> {
        let name = provisioning.metadata.name.clone();
        let text = yaml.expose_secret().to_owned();
        let place = format!("/state/{name}/kubeconfig");
        let write = || self.write(|state| drop(state.kubeconfigs.insert(name, text)));
        self.fuse.pass(write).await.map(|()| place)
    }

    async fn record_event(&self, event: ObjectEvent) -> Result<(), WorldError> {
        self.lock().events.push(event);
        Ok(())
    }
}

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

    /// The link is cut.
    pub fn cut(&self) {
        self.lock().view.get_mut("north").unwrap().connected = false;
    }

    fn work(&self, run: RunId, ends: Ends) -> Vec<Event> {
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

    fn view(&self) -> BTreeMap<String, SiteView> {
        self.lock().view.clone()
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
