//! A bench for the loop: a world and a fleet in memory that outlive each coordinator.

mod fleet;
mod fuse;
pub mod metal3;
mod world;

use std::sync::{Arc, Mutex};

use bpa_common::api::{Provisioning, ProvisioningStatus};
use bpa_common::wire::v1::RunId;
use jiff::Timestamp;

pub use fleet::{Ends, FakeFleet};
pub use fuse::{Crash, Fuse};
pub use world::FakeWorld;
use world::bump;

use super::controller::Controller;
use crate::cluster::{HostRecord, Snapshot};
use crate::planning::RETRY;
use crate::planning::testing::{at, host, provisioning, site, site_view};
use crate::runs::RunStore;
use crate::sites::RunSink;

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
        // In memory where there is such a place: thousands of benches are made.
        let place = std::path::Path::new("/dev/shm");
        let dir = tempfile::tempdir_in(place).or_else(|_| tempfile::tempdir()).unwrap();
        let fuse = Arc::new(Fuse::default());
        let snapshot = Snapshot {
            hosts: ["h1", "h2", "h3", "h4"].into_iter().map(|name| Arc::new(host(name))).collect(),
            provisionings: provisionings.into_iter().map(Arc::new).collect(),
            sites: vec![site("north")],
            installs_os: true,
            ..Snapshot::default()
        };
        let world = FakeWorld::new(snapshot, Arc::clone(&fuse));
        let fleet = FakeFleet::new(site_view(&[1, 2, 3]), Arc::clone(&fuse));
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

    /// A coordinator that has just started: no session outlives the one before, so an agent that
    /// was connected has said hello again.
    pub fn start(&self) -> TestController {
        if self.fleet.is_connected() {
            self.fleet.reconnect();
        }
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

    /// Comes when the process has died at the chosen effect.
    pub async fn dead(&self) {
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
        state
            .snapshot
            .provisionings
            .iter()
            .find(|p| p.metadata.name == name)
            .map(|p| Provisioning::clone(p))
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
        let object = Arc::make_mut(object);
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
        let object = Arc::make_mut(all.iter_mut().find(|p| p.metadata.name == name).unwrap());
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
        let record = Arc::make_mut(record);
        change(record);
        bump(record);
    }
}
