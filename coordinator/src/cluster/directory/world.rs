//! The async face of the directory world: each call runs on a thread that may block.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf, absolute};
use std::sync::{Arc, Mutex, PoisonError};

use bpa_common::api::metal3::{BareMetalHost, ConsumerRef};
use bpa_common::api::{ObjectKey, Provisioning, ProvisioningStatus, SiteStatus};
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::changes::Changes;
use super::core::{Core, Role};
use super::events::{self, EventRecord};
use super::manifest::{Manifest, Place};
use super::state::{self, Lock, StateDir, io_error};
use crate::cluster::files;
use crate::cluster::kind::{Kind, ObjectId, cluster_name};
use crate::cluster::port::{ClaimOutcome, HostRef, ObjectEvent, Snapshot, World, WorldError};

/// A world of manifests in a directory, with what we add kept in a state directory.
#[derive(Clone, Debug)]
pub struct DirectoryWorld {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    core: Mutex<Core>,
    changes: Changes,
    objects: PathBuf,
    state: StateDir,
    _run_lock: Option<Lock>,
}

impl DirectoryWorld {
    /// Opens the world. The runner makes the state directory and is alone in it.
    ///
    /// # Errors
    /// When the state directory can't be made or another runner has it.
    pub fn open(objects: &Path, state_dir: &Path, role: Role) -> Result<Self, WorldError> {
        let full = |path: &Path| absolute(path).map_err(|source| io_error("find", path, source));
        let (objects, root) = (full(objects)?, full(state_dir)?);
        let state = StateDir::at(&root);
        let run_lock = match role {
            Role::Runner => {
                state.create()?;
                Some(state.run_lock()?)
            }
            Role::Reader => None,
        };
        let watched = match role {
            Role::Runner => vec![objects.clone(), root.join("overlay")],
            Role::Reader => vec![objects.clone(), root.join("overlay"), root.join("status")],
        };
        let core = Mutex::new(Core::new(&objects, state.clone(), role));
        let changes = Changes::watch(watched);
        let inner = Inner { core, changes, objects, state, _run_lock: run_lock };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The objects directory, absolute.
    pub fn objects_dir(&self) -> &Path {
        &self.inner.objects
    }

    /// Edits an object beside its manifest, as `kubectl patch --type merge` would.
    ///
    /// # Errors
    /// [`WorldError::NotFound`], or an I/O error.
    pub async fn patch(&self, id: ObjectId, change: Value) -> Result<(), WorldError> {
        self.blocking(move |inner| {
            inner.state.create()?;
            inner.core().edit(&id, &change, None, Timestamp::now())?;
            inner.changes.tick();
            Ok(())
        })
        .await
    }

    /// Events, oldest first.
    ///
    /// # Errors
    /// When the file is there and can't be read.
    pub async fn events(&self) -> Result<Vec<EventRecord>, WorldError> {
        self.blocking(|inner| {
            let path = inner.state.events();
            events::load(&path).map_err(|source| io_error("read", &path, source))
        })
        .await
    }

    /// All objects as plain JSON, with the place of each.
    ///
    /// # Errors
    /// When the directories can't be read.
    pub async fn plain(&self) -> Result<Vec<(ObjectId, Place, Value)>, WorldError> {
        self.blocking(|inner| {
            let read = inner.core().read(Timestamp::now())?;
            let plain = |merged: super::assemble::Merged| (merged.id, merged.place, merged.value);
            Ok(read.objects.into_values().map(plain).collect())
        })
        .await
    }

    /// The manifest of an object as its file has it, without anything of ours.
    ///
    /// # Errors
    /// When the objects directory can't be read.
    pub async fn manifest(&self, id: ObjectId) -> Result<Option<(Place, Value)>, WorldError> {
        self.blocking(move |inner| {
            let found = inner.core().manifest(&id)?;
            Ok(found.map(|Manifest { place, value, .. }| (place, value)))
        })
        .await
    }

    async fn blocking<T, F>(&self, work: F) -> Result<T, WorldError>
    where
        T: Send + 'static,
        F: FnOnce(&Inner) -> Result<T, WorldError> + Send + 'static,
    {
        let inner = Arc::clone(&self.inner);
        tokio::task::spawn_blocking(move || work(&inner)).await.unwrap_or_else(|error| {
            Err(WorldError::Corrupt {
                what: "the world of objects".to_owned(),
                message: format!("a worker stopped: {error}; this is a defect, please report it"),
            })
        })
    }
}

impl Inner {
    /// A panic in another call leaves nothing half done here: files are written at once.
    fn core(&self) -> std::sync::MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_status(
        &self,
        id: &ObjectId,
        uid: Option<&str>,
        status: &impl Serialize,
    ) -> Result<(), WorldError> {
        let core = self.core();
        let current = core.uid(id)?;
        let gone = || WorldError::NotFound { kind: id.kind.name(), key: id.key.clone() };
        let current =
            current.filter(|current| uid.is_none_or(|uid| uid == current)).ok_or_else(gone)?;
        let changed =
            state::store(&self.state.status(id), &json!({"uid": current, "status": status}))?;
        if changed {
            self.changes.tick();
        }
        Ok(())
    }
}

impl World for DirectoryWorld {
    async fn snapshot(&self) -> Result<Snapshot, WorldError> {
        self.blocking(|inner| {
            let (snapshot, again) = inner.core().snapshot(Timestamp::now())?;
            if let Some(delay) = again {
                inner.changes.tick_after(delay);
            }
            Ok(snapshot)
        })
        .await
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.inner.changes.subscribe()
    }

    async fn write_provisioning_status(
        &self,
        key: &ObjectKey,
        uid: &str,
        status: &ProvisioningStatus,
    ) -> Result<(), WorldError> {
        let id = ObjectId::new(Kind::Provisioning, key.clone());
        let (uid, status) = (uid.to_owned(), status.clone());
        self.blocking(move |inner| inner.write_status(&id, Some(&uid), &status)).await
    }

    async fn write_site_status(
        &self,
        key: &ObjectKey,
        status: &SiteStatus,
    ) -> Result<(), WorldError> {
        let id = ObjectId::new(Kind::Site, key.clone());
        let status = status.clone();
        self.blocking(move |inner| inner.write_status(&id, None, &status)).await
    }

    async fn set_finalizer(&self, key: &ObjectKey, present: bool) -> Result<(), WorldError> {
        let key = key.clone();
        self.blocking(move |inner| {
            inner.core().set_finalizer(&key, present, Timestamp::now())?;
            inner.changes.tick();
            Ok(())
        })
        .await
    }

    async fn fresh_host(&self, host: &HostRef) -> Result<Option<BareMetalHost>, WorldError> {
        let host = host.clone();
        self.blocking(move |inner| inner.core().fresh(&host, Timestamp::now())).await
    }

    async fn claim(
        &self,
        host: &HostRef,
        resource_version: &str,
        consumer: &ConsumerRef,
    ) -> Result<ClaimOutcome, WorldError> {
        let (host, version) = (host.clone(), resource_version.to_owned());
        let consumer = consumer.clone();
        self.blocking(move |inner| {
            let outcome = inner.core().claim(&host, &version, &consumer, Timestamp::now())?;
            inner.changes.tick();
            Ok(outcome)
        })
        .await
    }

    async fn release(&self, host: &HostRef, consumer: &ConsumerRef) -> Result<(), WorldError> {
        let (host, consumer) = (host.clone(), consumer.clone());
        self.blocking(move |inner| {
            inner.core().release(&host, &consumer, Timestamp::now())?;
            inner.changes.tick();
            Ok(())
        })
        .await
    }

    async fn save_kubeconfig(
        &self,
        provisioning: &Provisioning,
        yaml: &SecretString,
    ) -> Result<String, WorldError> {
        let id = ObjectId::new(Kind::Provisioning, provisioning.metadata.key());
        let yaml = yaml.clone();
        self.blocking(move |inner| {
            inner.state.create()?;
            let path = inner.state.kubeconfig(&id);
            files::write_private(&path, yaml.expose_secret().as_bytes())
                .map_err(|source| io_error("write", &path, source))?;
            Ok(path.display().to_string())
        })
        .await
    }

    async fn save_addresses(
        &self,
        provisioning: &Provisioning,
        addresses: &BTreeMap<String, String>,
    ) -> Result<(), WorldError> {
        let id = ObjectId::new(Kind::Provisioning, provisioning.metadata.key());
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "namespace": id.key.namespace,
                "name": format!("{}-configmap", cluster_name(provisioning)),
                "labels": {"cluster": cluster_name(provisioning)},
            },
            "data": addresses,
        });
        self.blocking(move |inner| {
            inner.state.create()?;
            state::store(&inner.state.configmap(&id), &map).map(drop)
        })
        .await
    }

    async fn record_event(&self, event: ObjectEvent) -> Result<(), WorldError> {
        self.blocking(move |inner| {
            inner.state.create()?;
            let _lock = inner.state.edit_lock()?;
            let path = inner.state.events();
            events::record(&path, event, Timestamp::now())
                .map_err(|source| io_error("write", &path, source))
        })
        .await
    }
}
