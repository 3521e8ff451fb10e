//! The Kubernetes world as the rest of the house sees it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bpa_common::api::metal3::{BareMetalHost, ConsumerRef};
use bpa_common::api::{ObjectKey, OsSpec, Provisioning, ProvisioningStatus, SiteStatus};
use kube::Config;
use secrecy::SecretString;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::cache::Cache;
use super::connect::{self, Connection};
use super::events::Recorder;
use super::follow::{self, WATCHED};
use super::guard::Guard;
use super::health::Scope;
use super::options::KubernetesOptions;
use super::status::Target;
use super::writer::Writer;
use super::{claims, finalizer, outputs, status};
use crate::cluster::kind::Kind;
use crate::cluster::{ClaimOutcome, HostRef, ObjectEvent, Snapshot, World, WorldError};

/// The world of objects of a Kubernetes API server. Clones share everything.
#[derive(Clone)]
pub struct KubernetesWorld {
    inner: Arc<Inner>,
}

struct Inner {
    connection: Connection,
    cache: Arc<Cache>,
    writer: Writer,
    recorder: Recorder,
    scopes: Vec<Option<String>>,
    /// The watches and the teller of events: they end with the world.
    _tasks: JoinSet<()>,
}

impl KubernetesWorld {
    /// Begins to watch. Objects are known some time after: see [`KubernetesWorld::ready`].
    ///
    /// # Errors
    /// [`WorldError::Connect`] when no API server is named or the settings can't be used.
    pub async fn connect(options: KubernetesOptions) -> Result<Self, WorldError> {
        let config = connect::config(&options).await?;
        Self::with_config(config, &options)
    }

    /// As [`KubernetesWorld::connect`], with settings of its own.
    ///
    /// # Errors
    /// [`WorldError::Connect`] when the settings can't be used.
    pub fn with_config(config: Config, options: &KubernetesOptions) -> Result<Self, WorldError> {
        let connection = connect::connect(config, options)?;
        let cache = Arc::new(Cache::new(options.lenient));
        let mut tasks = JoinSet::new();
        for namespace in options.scopes() {
            for (kind, need) in WATCHED {
                let scope = Scope { kind, namespace: namespace.clone() };
                cache.begin(scope.clone(), need);
                let (client, cache) = (connection.client.clone(), Arc::clone(&cache));
                tasks.spawn(follow::follow(client, scope, cache));
            }
        }
        let writer = Writer { client: connection.client.clone(), guard: Guard::free() };
        let (recorder, telling) = Recorder::new(writer.clone(), Arc::clone(&cache));
        tasks.spawn(telling);
        let scopes = options.scopes();
        let inner = Inner { connection, cache, writer, recorder, scopes, _tasks: tasks };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Waits until all objects are known.
    ///
    /// # Errors
    /// [`WorldError::NotReady`] with what is missing when it takes longer than `limit`.
    pub async fn ready(&self, limit: Duration) -> Result<(), WorldError> {
        let mut changes = self.inner.cache.changes();
        let known = async {
            while self.inner.cache.missing().is_some() {
                if changes.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        };
        let waited = tokio::time::timeout(limit, known).await;
        match (waited, self.inner.cache.missing()) {
            (Err(_), Some(what)) => Err(WorldError::NotReady { what }),
            _ => Ok(()),
        }
    }

    /// What is asked before every write. Free until an election is held.
    pub fn guard(&self) -> &Guard {
        &self.inner.writer.guard
    }

    /// The namespaces that count; `None` is all of them.
    pub(super) fn scopes(&self) -> &[Option<String>] {
        &self.inner.scopes
    }

    /// The way to the API server.
    pub(super) fn writer(&self) -> &Writer {
        &self.inner.writer
    }

    /// The settings of the client.
    pub(super) fn config(&self) -> &Config {
        &self.inner.connection.config
    }

    /// The API server's address.
    pub fn server(&self) -> &str {
        &self.inner.connection.server
    }

    /// Namespace of the coordinator's own objects.
    pub fn system_namespace(&self) -> &str {
        &self.inner.connection.system_namespace
    }
}

impl std::fmt::Debug for KubernetesWorld {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KubernetesWorld({})", self.server())
    }
}

impl World for KubernetesWorld {
    async fn snapshot(&self) -> Result<Snapshot, WorldError> {
        let cache = &self.inner.cache;
        cache.snapshot().ok_or_else(|| WorldError::NotReady {
            what: cache.missing().unwrap_or_else(|| "the lists were being read".to_owned()),
        })
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.inner.cache.changes()
    }

    async fn write_provisioning_status(
        &self,
        key: &ObjectKey,
        uid: &str,
        status: &ProvisioningStatus,
    ) -> Result<(), WorldError> {
        let seen = self.inner.cache.version(Kind::Provisioning, key);
        let target = Target::Exactly { uid, seen: seen.as_ref() };
        status::write(&self.inner.writer, Kind::Provisioning, key, target, status).await
    }

    async fn write_site_status(
        &self,
        key: &ObjectKey,
        status: &SiteStatus,
    ) -> Result<(), WorldError> {
        status::write(&self.inner.writer, Kind::Site, key, Target::Named, status).await
    }

    async fn set_finalizer(&self, key: &ObjectKey, present: bool) -> Result<(), WorldError> {
        finalizer::set(&self.inner.writer, key, present).await
    }

    async fn fresh_host(&self, host: &HostRef) -> Result<Option<BareMetalHost>, WorldError> {
        claims::fresh_host(&self.inner.writer, host).await
    }

    async fn claim(
        &self,
        host: &HostRef,
        resource_version: &str,
        consumer: &ConsumerRef,
    ) -> Result<ClaimOutcome, WorldError> {
        claims::claim(&self.inner.writer, host, resource_version, consumer).await
    }

    async fn write_os(
        &self,
        host: &BareMetalHost,
        consumer: &ConsumerRef,
        os: &OsSpec,
    ) -> Result<ClaimOutcome, WorldError> {
        claims::write_os(&self.inner.writer, host, consumer, os).await
    }

    async fn clear_os(
        &self,
        host: &BareMetalHost,
        consumer: &ConsumerRef,
    ) -> Result<ClaimOutcome, WorldError> {
        claims::clear_os(&self.inner.writer, host, consumer).await
    }

    async fn release(&self, host: &HostRef, consumer: &ConsumerRef) -> Result<(), WorldError> {
        claims::release(&self.inner.writer, host, consumer).await
    }

    async fn save_kubeconfig(
        &self,
        provisioning: &Provisioning,
        yaml: &SecretString,
    ) -> Result<String, WorldError> {
        outputs::save_kubeconfig(&self.inner.writer, provisioning, yaml).await
    }

    async fn save_addresses(
        &self,
        provisioning: &Provisioning,
        addresses: &BTreeMap<String, String>,
    ) -> Result<(), WorldError> {
        outputs::save_addresses(&self.inner.writer, provisioning, addresses).await
    }

    async fn record_event(&self, event: ObjectEvent) -> Result<(), WorldError> {
        self.inner.recorder.record(event);
        Ok(())
    }
}
