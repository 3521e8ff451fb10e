//! Ten thousand random schedules: our two phases, the claims of others, hosts that are deleted and
//! made again under the same name, a view that lags, and a coordinator that dies between any two
//! calls. After each step: nobody's host was touched, and no order went out for a host that was
//! not ours. At the end, when all is quiet: one host a slot, and no mark of ours without an owner.

mod neighbours;

use std::collections::BTreeMap;

use bpa_common::api::metal3::BareMetalHost;
use bpa_common::api::{OS_MARK, OsSpec};
use bpa_common::wire::v1::{Order, RunState};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::json;

use self::neighbours::{Neighbours, a_host};
use super::super::testing::{Bench, Crash, Ends, TestController};
use crate::matching::consumer_of;
use crate::planning::testing::{at, provisioning, site_view};

const SCHEDULES: u64 = 10_000;
const STEPS: usize = 32;
/// The image of ours.
const IMAGE: &str = "http://ours/image";
/// Runs one seed alone, with its steps on standard error.
const SEED: &str = "BPA_SIM_SEED";

fn bench(random: &mut StdRng) -> Bench {
    let mut wishes = vec![provisioning("edge", &["h1", "h2"]), provisioning("late", &["h3"])];
    for (index, wish) in wishes.iter_mut().enumerate() {
        wish.metadata.creation_timestamp = Some(at(index as i64));
        if random.random_bool(0.7) {
            // Any host will do: then a lost one can be replaced.
            let nodes = if index == 0 { 2 } else { 1 };
            let entry = |n: usize| [(format!("n{n}"), None)].into();
            wish.spec.masters = (0..nodes).map(entry).collect();
            wish.spec.workers = Vec::new();
        }
        if random.random_bool(0.6) {
            wish.spec.os =
                Some(OsSpec { image: json!({"url": IMAGE, "checksum": "c"}), ..OsSpec::default() });
        }
    }
    let bench = Bench::new(wishes);
    for name in ["h1", "h2", "h3", "h4"] {
        let new = a_host(name, random);
        bench.edit_host(name, |record| *record = new);
    }
    bench.fleet.lock().view.get_mut("north").unwrap().leases = site_view(&[1, 2, 3, 4]).leases;
    bench
}

/// A run of one seed.
struct Play {
    bench: Bench,
    controller: Option<TestController>,
    neighbours: Neighbours,
    random: StdRng,
    judged: usize,
    /// Uids of hosts that had a system of their own when they were first seen.
    systems: BTreeMap<String, bool>,
    tell: bool,
}

impl Play {
    fn new(seed: u64, tell: bool) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let bench = bench(&mut random);
        let neighbours = Neighbours::default();
        Self {
            bench,
            controller: None,
            neighbours,
            random,
            judged: 0,
            systems: BTreeMap::new(),
            tell,
        }
    }

    async fn step(&mut self) -> Result<(), String> {
        let kind = self.random.random_range(0..20);
        if self.tell {
            eprintln!("step {kind}: {}", self.picture());
        }
        match kind {
            0..=7 => self.pass(None).await,
            8..=10 => {
                let effect = self.random.random_range(1..7);
                let after = self.random.random_bool(0.5);
                self.pass(Some(Crash { effect, after })).await;
            }
            11..=15 => self.neighbours.act(&self.bench, &mut self.random),
            16 => self.bench.world.freeze(),
            17 => self.bench.world.show(),
            18 => self.work().await,
            _ => self.user(),
        }
        let millis = [10, 150, 1000, 4000][self.random.random_range(0..4)];
        *self.bench.now.lock().unwrap() += jiff::SignedDuration::from_millis(millis);
        self.judge()
    }

    /// One pass of the coordinator; it may die in it, and the next one begins anew.
    async fn pass(&mut self, crash: Option<Crash>) {
        let now = *self.bench.now.lock().unwrap();
        let seed: [u8; 16] = self.random.random();
        let mut controller = self.controller.take().unwrap_or_else(|| {
            // A new one lists everything: it begins with what is so.
            self.bench.world.show();
            self.bench.start()
        });
        self.bench.fuse.set(crash);
        let alive = {
            let work = async {
                controller.pass(now, seed).await;
                while controller.is_acting() {
                    controller.any_done(|| now).await;
                }
            };
            tokio::select! {
                biased;
                () = work => true,
                () = self.bench.dead() => false,
            }
        };
        self.bench.fuse.set(None);
        if alive {
            self.bench.world.note_lost();
        }
        self.controller = alive.then_some(controller);
    }

    async fn work(&mut self) {
        let going: Vec<_> = {
            let state = self.bench.fleet.lock();
            let going = state.journal.iter().filter(|(_, run)| !run.is_final());
            going.map(|(order, _)| order.run).collect()
        };
        let ends = [Ends::Well, Ends::Badly][self.random.random_range(0..2)];
        if let Some(run) = going.first() {
            self.bench.work(*run, ends).await;
        }
    }

    fn user(&mut self) {
        let name = ["edge", "late"][self.random.random_range(0..2)];
        if self.bench.object(name).is_none_or(|p| p.metadata.is_deleting()) {
            return;
        }
        match self.random.random_range(0..3) {
            0 => self.bench.delete(name),
            1 => self.bench.annotate(
                name,
                crate::planning::RETRY,
                &format!("{:?}", self.random.random::<u32>()),
            ),
            _ => {}
        }
    }

    /// What must hold after each step.
    fn judge(&mut self) -> Result<(), String> {
        let mut state = self.bench.world.lock();
        if let Some(host) = state.foreign_touched.first() {
            return Err(format!("the host of another was written: {host}"));
        }
        let written_back = std::mem::take(&mut state.written_back);
        if let Some(host) = written_back.first() {
            return Err(format!("a lost claim was written back: {host}"));
        }
        let (cleared, left) =
            (std::mem::take(&mut state.cleared), std::mem::take(&mut state.left_installed));
        let hosts: Vec<BareMetalHost> =
            state.snapshot.hosts.iter().map(|record| record.host.clone()).collect();
        drop(state);
        self.judge_systems(&hosts)?;
        self.judge_wiped(&cleared, &left)?;
        let received: Vec<Order> = self.bench.fleet.lock().received[self.judged..].to_vec();
        self.judged += received.len();
        for order in received {
            self.judge_order(&order)?;
        }
        Ok(())
    }

    /// A host that had its system keeps it, whatever happens.
    fn judge_systems(&mut self, hosts: &[BareMetalHost]) -> Result<(), String> {
        for host in hosts {
            let is_one = host.status.provisioning.state == "provisioned";
            let had = *self.systems.entry(host.metadata.uid.clone()).or_insert(is_one);
            let noted = host.metadata.annotations.contains_key(OS_MARK);
            if had && (noted || host.spec.image.is_some()) {
                return Err(format!("{} had its system and was written", host.metadata.name));
            }
        }
        Ok(())
    }

    /// What a cluster may be on is not wiped, and what was installed for nothing is not left.
    fn judge_wiped(
        &self,
        cleared: &[(String, String)],
        left: &[(String, String)],
    ) -> Result<(), String> {
        let runs = self.bench.fleet.lock().all_runs();
        let begun = |owner: &str, host: Option<&str>| {
            runs.iter().any(|(order, state)| {
                let has = |host| order.nodes.iter().any(|node| node.host.uid == host);
                order.provisioning.uid == owner
                    && *state != RunState::Cancelled
                    && host.is_none_or(has)
            })
        };
        if let Some((host, _)) = cleared.iter().find(|(host, owner)| begun(owner, Some(host))) {
            return Err(format!("{host} was wiped with a cluster on it"));
        }
        if let Some((host, _)) = left.iter().find(|(_, owner)| !begun(owner, None)) {
            return Err(format!("{host} was let go with our image on it, and for nothing"));
        }
        Ok(())
    }

    fn judge_order(&self, order: &Order) -> Result<(), String> {
        let state = self.bench.world.lock();
        let mut hosts: Vec<&str> = order.nodes.iter().map(|n| n.host.uid.as_str()).collect();
        hosts.sort_unstable();
        hosts.dedup();
        if hosts.len() != order.nodes.len() {
            return Err(format!("one host is two nodes of order {}", order.run));
        }
        for node in &order.nodes {
            let found = state.snapshot.hosts.iter().find(|r| r.host.metadata.uid == node.host.uid);
            let mark = found.and_then(|record| record.host.spec.consumer_ref.as_ref());
            let ours =
                mark.is_some_and(|m| m.uid == order.provisioning.uid && m.kind == "Provisioning");
            if !ours {
                return Err(format!(
                    "an order went out for {}, which has {mark:?}",
                    node.host.name
                ));
            }
            let state = found.map(|record| record.host.status.provisioning.state.as_str());
            if state != Some("provisioned") {
                return Err(format!("an order went out for {} in state {state:?}", node.host.name));
            }
        }
        Ok(())
    }

    /// All is quiet: what must be so then.
    async fn rest(&mut self) -> Result<(), String> {
        if self.tell {
            eprintln!("at rest: {}", self.picture());
        }
        self.bench.world.show();
        self.bench.wait(600);
        let mut controller = self.controller.take().unwrap_or_else(|| self.bench.start());
        for _ in 0..6 {
            self.bench.settle(&mut controller).await;
            self.bench.wait(400);
            // Runs end, so that deletions need not wait for them.
            let going: Vec<_> = {
                let state = self.bench.fleet.lock();
                let going = state.journal.iter().filter(|(_, run)| !run.is_final());
                going.map(|(order, _)| order.run).collect()
            };
            for run in going {
                self.bench.work(run, Ends::Badly).await;
            }
            for _ in 0..3 {
                self.neighbours.metal3_rests(&self.bench);
            }
        }
        self.judge()?;
        let state = self.bench.world.lock();
        let mut held: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for record in &state.snapshot.hosts {
            let mark = record.host.spec.consumer_ref.as_ref();
            if let Some(mark) = mark.filter(|mark| mark.kind == "Provisioning") {
                let name = record.host.metadata.name.as_str();
                held.entry(&mark.uid).or_default().push(name);
            }
        }
        for (uid, hosts) in held {
            let owner = state.snapshot.provisionings.iter().find(|p| p.metadata.uid == uid);
            let Some(owner) = owner else {
                return Err(format!("{hosts:?} carry our mark, and their owner {uid} is gone"));
            };
            let mark = consumer_of(owner);
            if hosts.len() > owner.status.nodes.len() {
                return Err(format!(
                    "{} has {hosts:?} for {} nodes",
                    mark.name,
                    owner.status.nodes.len()
                ));
            }
            let known = |host: &&str| owner.status.nodes.iter().any(|node| node.host == **host);
            if !hosts.iter().all(known) {
                return Err(format!("{} has {hosts:?} and knows only some", mark.name));
            }
        }
        Ok(())
    }

    fn picture(&self) -> String {
        let state = self.bench.world.lock();
        let host = |r: &std::sync::Arc<crate::cluster::HostRecord>| {
            let mark =
                r.host.spec.consumer_ref.as_ref().map(|m| m.name.clone()).unwrap_or_default();
            format!("{}={mark}", r.host.metadata.name)
        };
        let hosts: Vec<String> = state.snapshot.hosts.iter().map(host).collect();
        let wish = |p: &std::sync::Arc<bpa_common::api::Provisioning>| {
            let nodes: Vec<String> = p
                .status
                .nodes
                .iter()
                .map(|n| format!("{}:{}:{}", n.name, n.host, n.state))
                .collect();
            let run = p
                .status
                .run
                .as_ref()
                .map(|r| format!("{} {}", r.kind, r.state))
                .unwrap_or_default();
            format!("{}[{} {run} {}]", p.metadata.name, p.status.phase, nodes.join(","))
        };
        let wishes: Vec<String> = state.snapshot.provisionings.iter().map(wish).collect();
        format!("{} | {}", hosts.join(" "), wishes.join(" "))
    }
}

async fn play(seed: u64, tell: bool) -> Result<(), String> {
    let mut play = Play::new(seed, tell);
    for _ in 0..STEPS {
        play.step().await?;
    }
    play.rest().await
}

fn run_seeds(seeds: impl Iterator<Item = u64>, tell: bool) -> Result<(), (u64, String)> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for seed in seeds {
        runtime.block_on(play(seed, tell)).map_err(|problem| (seed, problem))?;
    }
    Ok(())
}

#[test]
fn ten_thousand_schedules_touch_no_foreign_host_and_leave_no_mark_behind() {
    let result = match std::env::var(SEED).ok().and_then(|text| text.parse().ok()) {
        Some(seed) => run_seeds([seed].into_iter(), true),
        None => {
            let halves: Vec<_> = (0..2)
                .map(|half| {
                    let seeds = (0..SCHEDULES).filter(move |seed| seed % 2 == half);
                    std::thread::spawn(move || run_seeds(seeds, false))
                })
                .collect();
            halves.into_iter().try_for_each(|half| half.join().unwrap())
        }
    };
    if let Err((seed, problem)) = result {
        panic!(
            "{problem}\nto see it: {SEED}={seed} cargo test --workspace --lib simulator -- --nocapture"
        );
    }
}
