//! All objects as they were seen last, ready to be shared.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Instant;

use bpa_common::api::{
    Cluster, NeighbourKind, ObjectKey, ObjectMeta, Provisioning, Site, Software,
};
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use super::decode;
use super::fault::Fault;
use super::health::{Health, Need, Scope, Watched};
use super::pair::Pair;
use super::raw::Raw;
use crate::cluster::kind::Kind;
use crate::cluster::neighbours::{self, Neighbour};
use crate::cluster::{ObjectProblem, Snapshot};

/// What is known of the objects. Read by decisions, written by watches.
#[derive(Debug)]
pub struct Cache {
    shelves: RwLock<Shelves>,
    changes: watch::Sender<u64>,
}

/// An object, or why it can't be used.
type Item<T> = Result<Arc<T>, ObjectProblem>;
type Shelf<T> = BTreeMap<ObjectKey, Item<T>>;

#[derive(Debug)]
struct Shelves {
    hosts: BTreeMap<ObjectKey, Pair>,
    provisionings: Shelf<Provisioning>,
    sites: Shelf<Site>,
    softwares: Shelf<Software>,
    clusters: Shelf<Cluster>,
    /// Only those that have a host or choose one.
    neighbours: BTreeMap<(NeighbourKind, ObjectKey), Neighbour>,
    health: Health,
}

impl Cache {
    /// An empty one. `lenient` as in [`Health::new`].
    pub fn new(lenient: bool) -> Self {
        let shelves = Shelves {
            hosts: BTreeMap::new(),
            provisionings: Shelf::new(),
            sites: Shelf::new(),
            softwares: Shelf::new(),
            clusters: Shelf::new(),
            neighbours: BTreeMap::new(),
            health: Health::new(lenient),
        };
        Self { shelves: RwLock::new(shelves), changes: watch::channel(0).0 }
    }

    // Each change below leaves the shelves whole, so a poisoned lock is as good.
    fn read(&self) -> RwLockReadGuard<'_, Shelves> {
        self.shelves.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Shelves> {
        self.shelves.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts changes.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn tick(&self) {
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// A watch begins.
    pub fn begin(&self, scope: Scope, need: Need) {
        self.write().health.add(scope, need);
    }

    /// Everything of a watch was listed: what it did not show is gone.
    pub fn listed(&self, scope: &Scope, seen: &BTreeSet<ObjectKey>) {
        let gone = |key: &ObjectKey| {
            let inside = scope.namespace.as_ref().is_none_or(|name| *name == key.namespace);
            inside && !seen.contains(key)
        };
        let mut shelves = self.write();
        let gone: Vec<ObjectKey> =
            shelves.keys(scope.kind).into_iter().filter(|key| gone(key)).collect();
        for key in &gone {
            shelves.remove(scope.kind, key);
        }
        shelves.health.listed(scope);
        drop(shelves);
        self.tick();
    }

    /// An object came or changed. `tell` is false while a list is being read.
    pub fn put(&self, scope: &Scope, raw: Raw, tell: bool) {
        let kind = match scope.kind {
            Watched::Object(kind) => kind,
            Watched::Neighbour(kind) => return self.put_neighbour(scope, kind, raw, tell),
        };
        let key = raw.key();
        // Decoding is done before the lock is taken.
        let put: Box<dyn FnOnce(&mut Shelves)> = match kind {
            Kind::Host => {
                let host = decode::typed(kind, raw).map(decode::trim_host);
                Box::new(|shelves| shelves.hosts.entry(key).or_default().put_host(host))
            }
            Kind::Hardware => {
                let data = decode::typed(kind, raw).map(decode::trim_data);
                Box::new(|shelves| shelves.hosts.entry(key).or_default().put_data(data))
            }
            Kind::Provisioning => {
                let item = decode::provisioning(raw).map(Arc::new);
                Box::new(|shelves| drop(shelves.provisionings.insert(key, item)))
            }
            Kind::Site => {
                let item = item(kind, raw);
                Box::new(|shelves| drop(shelves.sites.insert(key, item)))
            }
            Kind::Software => {
                let item = item(kind, raw);
                Box::new(|shelves| drop(shelves.softwares.insert(key, item)))
            }
            Kind::Cluster => {
                let item = item(kind, raw);
                Box::new(|shelves| drop(shelves.clusters.insert(key, item)))
            }
        };
        let mut shelves = self.write();
        put(&mut shelves);
        shelves.health.heard(scope);
        drop(shelves);
        if tell {
            self.tick();
        }
    }

    fn put_neighbour(&self, scope: &Scope, kind: NeighbourKind, raw: Raw, tell: bool) {
        let key = (kind, raw.key());
        let new = neighbours::read(kind, raw.key(), &raw.into_value());
        let mut shelves = self.write();
        let old = match new.clone() {
            Some(found) => shelves.neighbours.insert(key, found),
            None => shelves.neighbours.remove(&key),
        };
        shelves.health.heard(scope);
        drop(shelves);
        if tell && old != new {
            self.tick();
        }
    }

    /// An object is gone.
    pub fn remove(&self, scope: &Scope, key: &ObjectKey) {
        let mut shelves = self.write();
        shelves.remove(scope.kind, key);
        shelves.health.heard(scope);
        drop(shelves);
        self.tick();
    }

    /// A watch failed. True when this is news.
    pub fn failed(&self, scope: &Scope, fault: Fault, message: String) -> bool {
        let mut shelves = self.write();
        let was_missing = shelves.health.missing().is_some();
        let news = shelves.health.failed(scope, fault, message, Instant::now());
        let turned = was_missing && shelves.health.missing().is_none();
        drop(shelves);
        if news || turned {
            self.tick();
        }
        news
    }

    /// What is not known yet, in words.
    pub fn missing(&self) -> Option<String> {
        self.read().health.missing()
    }

    /// Everything, shared; none while something is not known yet.
    pub fn snapshot(&self) -> Option<Snapshot> {
        let shelves = self.read();
        if shelves.health.missing().is_some() {
            return None;
        }
        let mut problems = shelves.health.problems(Instant::now());
        problems.extend(shelves.hosts.values().flat_map(Pair::problems).cloned());
        let mut snapshot = Snapshot {
            hosts: shelves.hosts.values().filter_map(|pair| pair.record.clone()).collect(),
            provisionings: good(&shelves.provisionings, &mut problems),
            sites: owned(good(&shelves.sites, &mut problems)),
            softwares: owned(good(&shelves.softwares, &mut problems)),
            clusters: owned(good(&shelves.clusters, &mut problems)),
            installs_os: true,
            ..Snapshot::default()
        };
        snapshot.problems = problems;
        for neighbour in shelves.neighbours.values() {
            snapshot.put_neighbour(neighbour.clone());
        }
        Some(snapshot)
    }

    /// The uid of an object, if it is known and can be used.
    pub fn uid(&self, kind: Kind, key: &ObjectKey) -> Option<String> {
        self.version(kind, key).map(|(uid, _)| uid)
    }

    /// The uid of an object and its version as it was seen last.
    pub fn version(&self, kind: Kind, key: &ObjectKey) -> Option<(String, String)> {
        fn of<T>(
            shelf: &Shelf<T>,
            key: &ObjectKey,
            meta: fn(&T) -> &ObjectMeta,
        ) -> Option<(String, String)> {
            Some(id(meta(shelf.get(key)?.as_ref().ok()?)))
        }
        let shelves = self.read();
        match kind {
            Kind::Host | Kind::Hardware => {
                Some(id(&shelves.hosts.get(key)?.record.as_ref()?.host.metadata))
            }
            Kind::Provisioning => of(&shelves.provisionings, key, |p| &p.metadata),
            Kind::Site => of(&shelves.sites, key, |site| &site.metadata),
            Kind::Software => of(&shelves.softwares, key, |software| &software.metadata),
            Kind::Cluster => of(&shelves.clusters, key, |cluster| &cluster.metadata),
        }
    }
}

fn id(meta: &ObjectMeta) -> (String, String) {
    (meta.uid.clone(), meta.resource_version.clone())
}

impl Shelves {
    fn remove(&mut self, kind: Watched, key: &ObjectKey) {
        let kind = match kind {
            Watched::Object(kind) => kind,
            Watched::Neighbour(kind) => {
                self.neighbours.remove(&(kind, key.clone()));
                return;
            }
        };
        match kind {
            Kind::Host | Kind::Hardware => {
                let Some(pair) = self.hosts.get_mut(key) else { return };
                if kind == Kind::Host {
                    pair.remove_host()
                } else {
                    pair.remove_data()
                }
                if !pair.has_host() && !pair.has_data() {
                    self.hosts.remove(key);
                }
            }
            Kind::Provisioning => drop(self.provisionings.remove(key)),
            Kind::Site => drop(self.sites.remove(key)),
            Kind::Software => drop(self.softwares.remove(key)),
            Kind::Cluster => drop(self.clusters.remove(key)),
        }
    }

    fn keys(&self, kind: Watched) -> Vec<ObjectKey> {
        let kind = match kind {
            Watched::Object(kind) => kind,
            Watched::Neighbour(kind) => {
                let of_kind = self.neighbours.keys().filter(|(found, _)| *found == kind);
                return of_kind.map(|(_, key)| key.clone()).collect();
            }
        };
        match kind {
            Kind::Host | Kind::Hardware => {
                let there = |pair: &Pair| match kind {
                    Kind::Host => pair.has_host(),
                    _ => pair.has_data(),
                };
                self.hosts.iter().filter(|(_, pair)| there(pair)).map(|(k, _)| k.clone()).collect()
            }
            Kind::Provisioning => self.provisionings.keys().cloned().collect(),
            Kind::Site => self.sites.keys().cloned().collect(),
            Kind::Software => self.softwares.keys().cloned().collect(),
            Kind::Cluster => self.clusters.keys().cloned().collect(),
        }
    }
}

fn item<T: DeserializeOwned>(kind: Kind, raw: Raw) -> Item<T> {
    decode::typed(kind, raw).map(Arc::new)
}

fn good<T>(shelf: &Shelf<T>, problems: &mut Vec<ObjectProblem>) -> Vec<Arc<T>> {
    problems.extend(shelf.values().filter_map(|item| item.as_ref().err()).cloned());
    shelf.values().filter_map(|item| item.as_ref().ok()).cloned().collect()
}

fn owned<T: Clone>(shared: Vec<Arc<T>>) -> Vec<T> {
    shared.into_iter().map(Arc::unwrap_or_clone).collect()
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
