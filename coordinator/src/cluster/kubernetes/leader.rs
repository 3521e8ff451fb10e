//! The election: a thin loop around [`super::lease`].

use std::time::{Duration, Instant};

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease as LeaseObject, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::Api;
use kube::api::PostParams;

use super::FIELD_MANAGER;
use super::Guard;
use super::fault::Fault;
use super::lease::{Decision, EVERY, LEASE, Lease, Observer, WRITE_FOR};
use super::world::KubernetesWorld;
use super::writer::{CALL_LIMIT, Failed, Writer};
use crate::cluster::WorldError;

/// Name of the Lease in the coordinator's own namespace.
pub const LEASE_NAME: &str = "bpa-coordinator";

/// A candidate, and then the leader.
pub struct Election {
    writer: Writer,
    guard: Guard,
    namespace: String,
    /// Of this process alone: a restarted one is another.
    me: String,
    observer: Observer,
    last_word: String,
}

/// What one look found.
enum Look {
    Leading,
    Held {
        by: String,
        wait: Duration,
    },
    /// It was written between our look and our write.
    Changed,
    /// There is no Lease although it was ours.
    Deleted,
}

impl Election {
    /// A candidate. From now on nothing is written until the election is won.
    pub fn new(world: &KubernetesWorld, host: &str) -> Self {
        let guard = world.guard().clone();
        guard.close();
        let writer = Writer { client: world.writer().client.clone(), guard: Guard::free() };
        let me = format!("{host}_{}", uuid::Uuid::new_v4());
        let namespace = world.system_namespace().to_owned();
        Self {
            writer,
            guard,
            namespace,
            me,
            observer: Observer::default(),
            last_word: String::new(),
        }
    }

    /// Our name in the Lease.
    pub fn identity(&self) -> &str {
        &self.me
    }

    /// Waits until we lead. `say` is told what is waited for, when that changes.
    pub async fn win(&mut self, mut say: impl FnMut(&str)) {
        loop {
            let wait = match self.look(false).await {
                Ok(Look::Leading) => return,
                Ok(Look::Changed | Look::Deleted) => EVERY / 4,
                Ok(Look::Held { by, wait }) => {
                    self.tell(format!("waiting for the lease that {by} holds"), &mut say);
                    wait.min(EVERY)
                }
                Err(error) => {
                    self.tell(format!("can't take the lease: {error}"), &mut say);
                    EVERY
                }
            };
            tokio::time::sleep(wait.max(Duration::from_millis(50))).await;
        }
    }

    fn tell(&mut self, word: String, say: &mut impl FnMut(&str)) {
        if self.last_word != word {
            say(&word);
            self.last_word = word;
        }
    }

    /// Renews until the lease is another's; returns whose. While it can't be renewed nothing is
    /// written, and `say` is told why; if nobody took it in the meantime it goes on as before, and
    /// `say` is told nothing.
    pub async fn hold(&mut self, mut say: impl FnMut(Option<&str>)) -> String {
        let mut in_trouble = false;
        let why = loop {
            tokio::time::sleep(EVERY).await;
            let trouble = match self.look(true).await {
                Ok(Look::Leading) => {
                    if std::mem::take(&mut in_trouble) {
                        say(None);
                    }
                    continue;
                }
                Ok(Look::Held { by, .. }) => break format!("{by} has taken the lease"),
                Ok(Look::Deleted) => break "the Lease was deleted or given away".to_owned(),
                Ok(Look::Changed) => "somebody wrote it at the same time".to_owned(),
                Err(error) => error.to_string(),
            };
            if self.guard.check(Instant::now()).is_err() && !in_trouble {
                in_trouble = true;
                say(Some(&format!("the lease can't be renewed: {trouble}")));
            }
        };
        self.guard.close();
        why
    }

    /// Gives the lease back, so that another need not wait. Nothing is written any more.
    pub async fn resign(self) {
        self.guard.close();
        let Ok(Some(current)) = self.read().await else { return };
        if holder(&current) != self.me {
            return;
        }
        let mut spec = current.spec.clone().unwrap_or_default();
        (spec.holder_identity, spec.lease_duration_seconds) = (Some(String::new()), Some(1));
        let lease = LeaseObject { spec: Some(spec), ..current };
        if let Err(failed) = self.write(&lease, false).await {
            tracing::debug!(error = %failed.about("give back", self.words()), "the lease runs out by itself");
        }
    }

    /// Looks once, and takes or renews the lease if that may be.
    async fn look(&mut self, leading: bool) -> Result<Look, WorldError> {
        let current = self.read().await?;
        let is_free = current.as_ref().is_none_or(|lease| holder(lease).is_empty());
        if is_free && leading {
            // Another may take it, or has had it, since it was ours.
            self.guard.close();
            return Ok(Look::Deleted);
        }
        let seen = current.as_ref().map(|lease| Lease {
            holder: holder(lease).to_owned(),
            seconds: duration(lease),
            version: lease.metadata.resource_version.clone().unwrap_or_default(),
        });
        let by = seen.as_ref().map(|lease| lease.holder.clone()).unwrap_or_default();
        let now = Instant::now();
        if let Decision::Wait(wait) = self.observer.observe(seen, &self.me, now) {
            // Also when we thought it was ours: from here on it surely is not.
            self.guard.close();
            return Ok(Look::Held { by, wait });
        }
        let is_new = current.is_none();
        let lease = self.ours(current.unwrap_or_default());
        let began = Instant::now();
        match self.write(&lease, is_new).await {
            Ok(()) => {
                self.guard.extend(began + WRITE_FOR);
                Ok(Look::Leading)
            }
            Err(failed) if failed.fault() == Some(Fault::Conflict) => Ok(Look::Changed),
            Err(failed) => Err(failed.about("write", self.words())),
        }
    }

    fn ours(&self, current: LeaseObject) -> LeaseObject {
        let now = MicroTime(Timestamp::now());
        let old = current.spec.unwrap_or_default();
        let stays = old.holder_identity.as_deref() == Some(&self.me);
        let transitions = old.lease_transitions.unwrap_or(0);
        let metadata = ObjectMeta {
            name: Some(LEASE_NAME.to_owned()),
            namespace: Some(self.namespace.clone()),
            managed_fields: None,
            ..current.metadata
        };
        let spec = LeaseSpec {
            holder_identity: Some(self.me.clone()),
            lease_duration_seconds: i32::try_from(LEASE.as_secs()).ok(),
            acquire_time: if stays { old.acquire_time } else { Some(now.clone()) },
            renew_time: Some(now),
            lease_transitions: Some(if stays {
                transitions
            } else {
                transitions.saturating_add(1)
            }),
            ..LeaseSpec::default()
        };
        LeaseObject { metadata, spec: Some(spec) }
    }

    async fn read(&self) -> Result<Option<LeaseObject>, WorldError> {
        let api = self.api();
        let read = tokio::time::timeout(CALL_LIMIT, api.get_opt(LEASE_NAME)).await;
        let read = read
            .map_err(|_| Failed::Slow)
            .and_then(|got| got.map_err(|e| Failed::Api(Box::new(e))));
        read.map_err(|failed| failed.about("read", self.words()))
    }

    /// One try and no more: the moment at which it was begun counts.
    async fn write(&self, lease: &LeaseObject, is_new: bool) -> Result<(), Failed> {
        let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), dry_run: false };
        let api = self.api();
        let call = async {
            match is_new {
                true => api.create(&params, lease).await,
                false => api.replace(LEASE_NAME, &params, lease).await,
            }
        };
        match tokio::time::timeout(CALL_LIMIT, call).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(Failed::Api(Box::new(error))),
            Err(_) => Err(Failed::Slow),
        }
    }

    fn api(&self) -> Api<LeaseObject> {
        Api::namespaced(self.writer.client.clone(), &self.namespace)
    }

    fn words(&self) -> String {
        format!("Lease {}/{LEASE_NAME}", self.namespace)
    }
}

fn holder(lease: &LeaseObject) -> &str {
    lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref()).unwrap_or_default()
}

fn duration(lease: &LeaseObject) -> u64 {
    let seconds = lease.spec.as_ref().and_then(|spec| spec.lease_duration_seconds);
    seconds.and_then(|seconds| seconds.try_into().ok()).unwrap_or(0)
}
