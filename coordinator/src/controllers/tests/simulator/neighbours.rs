//! The neighbours: who else writes to hosts, as they do it, faults included.
//!
//! - Cluster API's provider (CAPM3 up to 1.14): looks, then some time later patches without the
//!   version that it saw: label and reference are merged over whatever is there, so a `uid` of
//!   ours survives. A machine whose annotation names a host writes its mark again on each look,
//!   whatever the host says by then (CAPM3 issues 3189, 3516).
//! - A HostClaim: looks, then replaces only the version that it saw.
//!   On its way out a machine takes the image away, waits, and clears the reference; with node reuse
//!   it leaves a label that reserves the host (facts on Metal3, 2.3).
//! - A HostClaim clears its reference and nothing else.
//! - Metal3 itself: its state machine, a step at a time, with installs that fail or wait; errors
//!   that come and go, a host that is switched off.
//! - A person: deletes a host and makes another of its name; clears a reference by hand; changes an
//!   image.
//!
//! Not imitated: what Cluster API does with machines besides hosts, inspection, and Ironic.

use std::sync::Arc;

use bpa_common::api::metal3::{BareMetalHost, ConsumerRef, Image};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use super::super::super::testing::Bench;
use super::super::super::testing::metal3::{Install, step};
use crate::cluster::HostRecord;
use crate::planning::testing::host;

const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";
const NODE_REUSE: &str = "infrastructure.cluster.x-k8s.io/node-reuse";

/// What each neighbour has in mind.
#[derive(Default)]
pub struct Neighbours {
    /// Hosts (by name) that a machine has chosen and not patched yet.
    chosen: Vec<(String, u32)>,
    /// Machines that believe to have a host.
    machines: Vec<(String, u32)>,
    /// Hosts that a claim has read, with the version that it saw.
    read: Vec<(String, String)>,
    made: u32,
}

fn machine(number: u32) -> ConsumerRef {
    ConsumerRef {
        api_version: "infrastructure.cluster.x-k8s.io/v1beta1".into(),
        kind: "Metal3Machine".into(),
        namespace: "ns".into(),
        name: format!("machine-{number}"),
        ..ConsumerRef::default()
    }
}

fn names(bench: &Bench, pick: impl Fn(&HostRecord) -> bool) -> Vec<String> {
    let state = bench.world.lock();
    let hosts = state.snapshot.hosts.iter().filter(|record| pick(record));
    hosts.map(|record| record.host.metadata.name.clone()).collect()
}

fn is_there(bench: &Bench, name: &str) -> bool {
    !names(bench, |record| record.host.metadata.name == name).is_empty()
}

impl Neighbours {
    /// One of them does something.
    pub fn act(&mut self, bench: &Bench, random: &mut StdRng) {
        match random.random_range(0..16) {
            0 | 1 => self.machine_chooses(bench, random),
            2 | 3 => self.machine_patches(bench, random),
            4 => self.machine_writes_again(bench, random),
            5 => self.claim_reads(bench, random),
            6 => self.claim_writes(bench, random),
            7 => trouble(bench, random),
            8..=12 => metal3(bench, random),
            13 => self.machine_leaves(bench, random),
            14 => claim_leaves(bench, random),
            _ => self.person(bench, random),
        }
    }

    fn machine_chooses(&mut self, bench: &Bench, random: &mut StdRng) {
        let free = names(bench, |record| {
            record.host.spec.consumer_ref.is_none()
                && !record.host.metadata.labels.contains_key(NODE_REUSE)
        });
        if let Some(name) = free.choose(random) {
            self.made += 1;
            self.chosen.push((name.clone(), self.made));
        }
    }

    fn machine_patches(&mut self, bench: &Bench, random: &mut StdRng) {
        if self.chosen.is_empty() {
            return;
        }
        let (name, number) = self.chosen.swap_remove(random.random_range(0..self.chosen.len()));
        if is_there(bench, &name) {
            merge_mark(bench, &name, number);
            self.machines.push((name, number));
        }
    }

    fn machine_writes_again(&mut self, bench: &Bench, random: &mut StdRng) {
        if let Some((name, number)) = self.machines.choose(random)
            && is_there(bench, name)
        {
            merge_mark(bench, name, *number);
        }
    }

    /// One step of a machine's way out.
    fn machine_leaves(&mut self, bench: &Bench, random: &mut StdRng) {
        let theirs = names(bench, |record| {
            let mark = record.host.spec.consumer_ref.as_ref();
            mark.is_some_and(|mark| mark.kind == "Metal3Machine")
        });
        let Some(name) = theirs.choose(random) else { return };
        let reuse = random.random_bool(0.3);
        bench.edit_host(name, |record| {
            let host = &mut record.host;
            if host.spec.image.take().is_some() {
                host.spec.online = false;
            } else if is_empty_or_was_never_installed(host) {
                host.spec.consumer_ref = None;
                host.metadata.labels.remove(CLUSTER_NAME);
                if reuse {
                    host.metadata.labels.insert(NODE_REUSE.into(), "md-theirs".into());
                }
            }
        });
        self.machines.retain(|(machine, _)| machine != name);
    }

    /// Metal3 goes one step on with every host, and all goes well.
    pub fn metal3_rests(&self, bench: &Bench) {
        for name in names(bench, |_| true) {
            metal3_steps(bench, &name, Install::Works);
        }
    }

    fn claim_reads(&mut self, bench: &Bench, random: &mut StdRng) {
        let state = bench.world.lock();
        let free: Vec<_> =
            state.snapshot.hosts.iter().filter(|r| r.host.spec.consumer_ref.is_none()).collect();
        if let Some(record) = free.choose(random) {
            let metadata = &record.host.metadata;
            self.read.push((metadata.name.clone(), metadata.resource_version.clone()));
        }
    }

    fn claim_writes(&mut self, bench: &Bench, random: &mut StdRng) {
        if self.read.is_empty() {
            return;
        }
        let (name, version) = self.read.swap_remove(random.random_range(0..self.read.len()));
        let same = names(bench, |record| {
            let metadata = &record.host.metadata;
            metadata.name == name && metadata.resource_version == version
        });
        if !same.is_empty() {
            let claim = ConsumerRef {
                api_version: "metal3.io/v1alpha1".into(),
                kind: "HostClaim".into(),
                namespace: "ns".into(),
                name: format!("claim-{name}"),
                uid: "uid-claim".into(),
            };
            bench.edit_host(&name, |record| record.host.spec.consumer_ref = Some(claim));
        }
    }

    fn person(&mut self, bench: &Bench, random: &mut StdRng) {
        let name = format!("h{}", random.random_range(1..5));
        match random.random_range(0..4) {
            0 => {
                // Gone, and perhaps another one of that name.
                let mut state = bench.world.lock();
                state.snapshot.hosts.retain(|record| record.host.metadata.name != name);
                if random.random_bool(0.7) {
                    self.made += 1;
                    let mut new = a_host(&name, random);
                    new.host.metadata.uid = format!("uid-{name}-{}", self.made);
                    new.host.metadata.resource_version = (1000 * self.made).to_string();
                    state.snapshot.hosts.push(Arc::new(new));
                    state.snapshot.hosts.sort_by_key(|r| r.host.metadata.name.clone());
                }
            }
            1 if is_there(bench, &name) => {
                bench.edit_host(&name, |record| {
                    record.host.spec.consumer_ref = None;
                    record.host.metadata.labels.remove(CLUSTER_NAME);
                    record.host.metadata.labels.remove(NODE_REUSE);
                });
            }
            2 if is_there(bench, &name) => bench.edit_host(&name, |record| {
                if let Some(image) = &mut record.host.spec.image {
                    image.url = "http://elsewhere/by-hand".into();
                }
            }),
            _ => {}
        }
    }
}

/// A merge patch without a version: fields that it does not name stay. An empty host gets its image
/// in the same patch.
fn merge_mark(bench: &Bench, name: &str, number: u32) {
    bench.edit_host(name, |record| {
        let old = record.host.spec.consumer_ref.take();
        let uid = old.map(|old| old.uid).unwrap_or_default();
        record.host.spec.consumer_ref = Some(ConsumerRef { uid, ..machine(number) });
        record.host.metadata.labels.insert(CLUSTER_NAME.into(), "theirs".into());
        if record.host.status.provisioning.state == "available" {
            let url = "http://theirs/image".into();
            record.host.spec.image = Some(Image { url, checksum: None });
            record.host.spec.online = true;
        }
    });
}

/// A host as Metal3 may show it at first: with a system of its own, or empty.
pub fn a_host(name: &str, random: &mut StdRng) -> HostRecord {
    let mut new = host(name);
    if random.random_bool(0.5) {
        new.host.status.provisioning.state = "available".into();
        new.host.spec.online = random.random_bool(0.5);
    }
    new
}

/// As Cluster API's provider waits for: empty, or never installed by it.
fn is_empty_or_was_never_installed(host: &BareMetalHost) -> bool {
    let provisioning = &host.status.provisioning;
    provisioning.state == "available" || provisioning.image.is_none()
}

fn claim_leaves(bench: &Bench, random: &mut StdRng) {
    let theirs = names(bench, |record| {
        record.host.spec.consumer_ref.as_ref().is_some_and(|mark| mark.kind == "HostClaim")
    });
    if let Some(name) = theirs.choose(random) {
        bench.edit_host(name, |record| record.host.spec.consumer_ref = None);
    }
}

/// Metal3 goes one step on with one host.
fn metal3(bench: &Bench, random: &mut StdRng) {
    let name = format!("h{}", random.random_range(1..5));
    let install = match random.random_range(0..10) {
        0 | 1 => Install::Fails,
        2 => Install::Delayed,
        _ => Install::Works,
    };
    metal3_steps(bench, &name, install);
}

fn metal3_steps(bench: &Bench, name: &str, install: Install) {
    let found = {
        let state = bench.world.lock();
        let mut hosts = state.snapshot.hosts.iter();
        hosts.find(|record| record.host.metadata.name == name).map(|record| record.host.clone())
    };
    let Some(mut host) = found else { return };
    if step(&mut host, install) {
        bench.edit_host(name, |record| record.host.status = host.status);
    }
}

/// Errors and power, which come and go.
fn trouble(bench: &Bench, random: &mut StdRng) {
    let name = format!("h{}", random.random_range(1..5));
    if !is_there(bench, &name) {
        return;
    }
    let kind = random.random_range(0..3);
    bench.edit_host(&name, |record| match kind {
        0 => record.host.status.error_message = "no power".into(),
        1 => record.host.spec.online = !record.host.spec.online,
        _ => {
            record.host.status.error_message.clear();
            record.host.status.error_type.clear();
            record.host.status.operational_status = "OK".into();
            record.host.spec.online = true;
        }
    });
}
