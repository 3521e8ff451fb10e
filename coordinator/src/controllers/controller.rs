//! One pass over everything: observe, decide, report, act.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bpa_common::api::{Provisioning, Site, SiteStatus};
use bpa_common::wire::v1::RunId;
use jiff::{SignedDuration, Timestamp};
use tokio::task::{Id, JoinError, JoinSet};

use super::act::{Outcome, Parts};
use super::pace::{Write, write_when};
use super::tally::Tally;
use super::written::Written;
use crate::cluster::{ObjectEvent, Snapshot, World, WorldError};
use crate::matching::Others;
use crate::planning::{
    Claim, Decided, HostIndex, Memory, Plans, Quiet, Round, Told, Trouble, decide_round,
    site_status, transitions, worth_writing,
};
use crate::runs::{Needed, RunStore, may_go};
use crate::sites::Fleet;

/// How often old runs are looked for.
const PRUNE_EVERY: SignedDuration = SignedDuration::from_mins(10);

/// The effect of which a failure is told when a status can't be written.
const WRITING: &str = "write the status";

/// The only writer of statuses and claims.
pub struct Controller<W, F> {
    parts: Parts<W, F>,
    /// By uid of the provisioning.
    memories: BTreeMap<String, Memory>,
    tallies: BTreeMap<String, Tally>,
    /// Statuses as we wrote them last: a view of the world may lag behind our own writes.
    written: BTreeMap<String, Written>,
    hosts: HostIndex,
    plans: Plans,
    quiet: Quiet,
    /// When old runs were looked for last.
    pruned: Option<Timestamp>,
    /// Runs that could go then: they go when that is so the next time too.
    old_runs: BTreeSet<RunId>,
    /// By uid of the site.
    sites: BTreeMap<String, SiteStatus>,
    approved: Option<BTreeMap<String, bool>>,
    /// Effects that are under way, at most one list for each provisioning.
    acting: JoinSet<Vec<Outcome>>,
    busy: BTreeMap<Id, String>,
}

impl<W: World, F: Fleet> Controller<W, F> {
    /// A controller that remembers nothing: all it needs is in the world.
    pub fn new(world: Arc<W>, fleet: Arc<F>, runs: Arc<RunStore>) -> Self {
        let epoch = fleet.epoch();
        Self {
            parts: Parts { world, fleet, runs, epoch },
            memories: BTreeMap::new(),
            tallies: BTreeMap::new(),
            written: BTreeMap::new(),
            hosts: HostIndex::default(),
            plans: Plans::default(),
            quiet: Quiet::default(),
            pruned: None,
            old_runs: BTreeSet::new(),
            sites: BTreeMap::new(),
            approved: None,
            acting: JoinSet::new(),
            busy: BTreeMap::new(),
        }
    }

    /// Looks at everything once. Returns when to look again although nothing changed. `seed` is
    /// random.
    pub async fn pass(&mut self, now: Timestamp, seed: [u8; 16]) -> Option<Timestamp> {
        self.collect(now);
        let mut snapshot = match self.parts.world.snapshot().await {
            Ok(snapshot) => snapshot,
            Err(error) => {
                tracing::warn!(%error, "the world of objects can't be read; trying again");
                return None;
            }
        };
        self.hosts.update(&snapshot.hosts, &snapshot.uses);
        self.remember(&mut snapshot);
        self.prune(&snapshot, now);
        self.tell_sites(&snapshot.sites, now).await;
        let unseen = snapshot.unseen();
        let decided = {
            let (fleet, runs) = (self.parts.fleet.view(), self.parts.runs.facts());
            let round = Round {
                now,
                epoch: self.parts.epoch,
                provisionings: &snapshot.provisionings,
                hosts: &self.hosts,
                installs_os: snapshot.installs_os,
                others: Others { choosers: &snapshot.choosers, unseen: &unseen },
                sites: &snapshot.sites,
                fleet: &fleet,
                runs: &runs,
                memories: &self.memories,
                seed,
            };
            decide_round(&round, &mut self.plans, &mut self.quiet)
        };
        let objects: BTreeMap<&str, &Provisioning> =
            snapshot.provisionings.iter().map(|p| (p.metadata.uid.as_str(), &**p)).collect();
        let mut next: Option<Timestamp> = None;
        for one in decided {
            let recheck = one.decision.recheck;
            let later = match objects.get(one.uid.as_str()) {
                // What is under way was decided from an older view: wait for what it found out.
                Some(_) if self.busy.values().any(|uid| *uid == one.uid) => None,
                Some(object) => self.carry_out(object, one, now).await,
                None => None,
            };
            next = [next, recheck, later].into_iter().flatten().min();
        }
        next
    }

    /// Has old runs removed, now and then and beside all else. Not while a Provisioning can't be read:
    /// what its status names is not known then.
    fn prune(&mut self, snapshot: &Snapshot, now: Timestamp) {
        let is_early = self.pruned.is_some_and(|last| now.duration_since(last) < PRUNE_EVERY);
        if is_early || snapshot.problems.iter().any(|problem| problem.kind == "Provisioning") {
            return;
        }
        self.pruned = Some(now);
        let mut needed = Needed::default();
        for provisioning in &snapshot.provisionings {
            needed.provisionings.insert(provisioning.metadata.uid.clone());
            let status = &provisioning.status;
            let run = status.run.iter().map(|run| &run.id);
            let named = run.chain(status.history.iter().map(|entry| &entry.run));
            needed.named.extend(named.filter_map(|id| id.parse::<RunId>().ok()));
        }
        let old = may_go(&self.parts.runs.facts(), &needed, now).into_iter().collect();
        let before = std::mem::replace(&mut self.old_runs, old);
        let going: Vec<RunId> = self.old_runs.intersection(&before).copied().collect();
        let runs = Arc::clone(&self.parts.runs);
        tokio::spawn(async move {
            for run in going {
                match runs.remove(run).await {
                    Ok(()) => tracing::debug!(%run, "an old run was removed"),
                    Err(error) => tracing::warn!(%error, "an old run can't be removed"),
                }
            }
        });
    }

    /// Waits until an effect that is under way is done; for ever when none is.
    pub async fn any_done(&mut self, now: impl FnOnce() -> Timestamp) {
        match self.acting.join_next_with_id().await {
            Some(done) => self.learn(done, now()),
            None => std::future::pending().await,
        }
    }

    /// How many standing clusters are not decided about until they change.
    #[cfg(test)]
    pub fn quiet(&self) -> usize {
        self.quiet.count()
    }

    /// Whether effects are under way.
    #[cfg(test)]
    pub fn is_acting(&self) -> bool {
        !self.acting.is_empty()
    }

    /// Takes in what effects have found out.
    fn collect(&mut self, now: Timestamp) {
        while let Some(done) = self.acting.try_join_next_with_id() {
            self.learn(done, now);
        }
    }

    /// Our own last writes win over a view that may lag; what is gone is forgotten. What did not
    /// change is the same shared object as in the last pass.
    fn remember(&mut self, snapshot: &mut Snapshot) {
        let mut written = std::mem::take(&mut self.written);
        for provisioning in &mut snapshot.provisionings {
            let uid = provisioning.metadata.uid.clone();
            if let Some(mut known) = written.remove(&uid) {
                known.lay_over(provisioning);
                self.written.insert(uid, known);
            }
        }
        let there: BTreeSet<&str> =
            snapshot.provisionings.iter().map(|p| p.metadata.uid.as_str()).collect();
        let there = |uid: &str| there.contains(uid);
        self.memories.retain(|uid, _| there(uid));
        self.tallies.retain(|uid, _| there(uid));
        self.plans.retain(there);
        self.quiet.retain(there);
    }

    /// Writes the status if it differs, then, and only then, begins the actions.
    async fn carry_out(
        &mut self,
        object: &Provisioning,
        one: Decided,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let Decided { key, uid, old, decision } = one;
        let last = self.written.get(&uid).map(|known| known.time);
        match write_when(&old, &decision.status, last, now) {
            Write::No => {}
            // Actions never depend on progress alone, but they must not wait for it either.
            Write::At(time) if decision.actions.is_empty() => return Some(time),
            Write::Now | Write::At(_) => {
                let write =
                    self.parts.world.write_provisioning_status(&key, &uid, &decision.status).await;
                if let Err(error) = write {
                    if object.spec.unreadable.is_some() && !self.writing_failed(&uid) {
                        // Perhaps its status can't be written for that very reason: told otherwise.
                        self.record(transitions(&key, &old, &decision.status)).await;
                    }
                    return self.write_failed(&uid, error, now);
                }
                self.record(transitions(&key, &old, &decision.status)).await;
                self.written.insert(uid.clone(), Written::new(decision.status.clone(), now));
                if self.writing_failed(&uid)
                    && let Some(memory) = self.memories.get_mut(&uid)
                {
                    memory.trouble = None;
                    memory.revision += 1;
                }
            }
        }
        if !decision.actions.is_empty() {
            let mut object = object.clone();
            object.status = decision.status;
            let work = self.parts.clone().act(object, decision.actions);
            self.busy.insert(self.acting.spawn(work).id(), uid);
        }
        None
    }

    async fn record(&self, events: Vec<ObjectEvent>) {
        for event in events {
            tell(&event);
            let key = event.key.clone();
            if let Err(error) = self.parts.world.record_event(event).await {
                tracing::warn!(%error, object = %key, "an event could not be recorded");
            }
        }
    }

    /// Whether the status of this one could not be written the last time.
    fn writing_failed(&self, uid: &str) -> bool {
        let trouble = self.memories.get(uid).and_then(|memory| memory.trouble.as_ref());
        trouble.is_some_and(|trouble| trouble.action == WRITING)
    }

    fn write_failed(&mut self, uid: &str, error: WorldError, now: Timestamp) -> Option<Timestamp> {
        if matches!(error, WorldError::NotFound { .. }) {
            // It went away between the look and the write: the next look will not show it.
            return None;
        }
        tracing::warn!(%error, uid, "a status could not be written; trying again");
        let again_at = self.tallies.entry(uid.to_owned()).or_default().trouble(now);
        let trouble = Trouble { action: WRITING.into(), message: error.to_string(), again_at };
        let memory = self.memories.entry(uid.to_owned()).or_default();
        memory.trouble = Some(trouble);
        memory.revision += 1;
        Some(again_at)
    }

    fn learn(&mut self, done: Result<(Id, Vec<Outcome>), JoinError>, now: Timestamp) {
        let (id, outcomes) = match done {
            Ok(done) => done,
            Err(error) => {
                tracing::error!(%error, "an effect has panicked");
                let (action, message) = ("carry out an action".into(), error.to_string());
                (error.id(), vec![Outcome::Trouble { action, message }])
            }
        };
        let Some(uid) = self.busy.remove(&id) else { return };
        let memory = self.memories.entry(uid.clone()).or_default();
        memory.revision += 1;
        let tally = self.tallies.entry(uid).or_default();
        for outcome in outcomes {
            if !matches!(outcome, Outcome::Trouble { .. }) {
                memory.trouble = None;
                tally.fine();
            }
            match outcome {
                Outcome::Fine | Outcome::NotYet => {}
                Outcome::Order { run, answer, session } => {
                    let again_at = tally.order(&answer, now);
                    memory.taken_in = Some((run, session));
                    memory.order = Some(Told { run, answer, again_at });
                }
                Outcome::Cancel { run, answer } => {
                    memory.cancel = Some(Told { run, answer, again_at: tally.cancel(now) });
                }
                Outcome::Saved { run, place } => memory.saved = Some((run, place)),
                Outcome::Addresses { run } => memory.told_addresses = Some(run),
                Outcome::Claimed { host } => {
                    let new = Claim { written: now, confirmed: false };
                    memory.claims.entry(host).or_insert(new);
                }
                Outcome::Confirmed { host } => {
                    let new = Claim { written: now, confirmed: true };
                    memory.claims.entry(host).or_insert(new).confirmed = true;
                }
                Outcome::Refused { host, version, by } => {
                    memory.claims.remove(&host);
                    memory.refused.insert(host, (version, by));
                }
                Outcome::Trouble { action, message } => {
                    tracing::warn!(action, message, "an effect failed; trying again");
                    let again_at = tally.trouble(now);
                    memory.trouble = Some(Trouble { action, message, again_at });
                }
            }
        }
    }

    /// Tells the fleet who is approved, and the sites' statuses what their agents say.
    async fn tell_sites(&mut self, sites: &[Site], now: Timestamp) {
        let mut approved = BTreeMap::new();
        for site in sites {
            // One name in two namespaces: both must agree.
            let entry = approved.entry(site.metadata.name.clone()).or_insert(true);
            *entry &= site.spec.approved;
        }
        if self.approved.as_ref() != Some(&approved) {
            self.parts.fleet.set_approved(approved.clone());
            self.approved = Some(approved);
        }
        let fleet = self.parts.fleet.view();
        for site in sites {
            let uid = &site.metadata.uid;
            let mut site = site.clone();
            if let Some(status) = self.sites.get(uid) {
                site.status = status.clone();
            }
            let new = site_status(&site, fleet.get(&site.metadata.name).map(|view| &**view), now);
            if !worth_writing(&site.status, &new) {
                continue;
            }
            match self.parts.world.write_site_status(&site.metadata.key(), &new).await {
                Ok(()) => drop(self.sites.insert(uid.clone(), new)),
                Err(error) => {
                    tracing::warn!(%error, site = site.metadata.name, "a site's status could not be written; trying again");
                }
            }
        }
    }
}

/// What turned, for whoever reads the log.
fn tell(event: &ObjectEvent) {
    let (object, reason, message) = (&event.key, &event.reason, &event.message);
    if event.warning {
        tracing::warn!(%object, reason, "{message}");
    } else {
        tracing::info!(%object, reason, "{message}");
    }
}
