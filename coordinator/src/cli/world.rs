//! The world that a command works on: a directory of manifests, or a Kubernetes API server.
//!
//! Commands ask this one, and do each thing in one way; only here the two worlds differ.

use std::time::Duration;

use bpa_common::api::Site;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::args::{Common, KubernetesArgs};
use super::exit::CliError;
use super::manifest_files;
use crate::cluster::directory::{DirectoryWorld, EventRecord, Role, load_text};
use crate::cluster::kind::{Kind, ObjectId};
use crate::cluster::kubernetes::{KubernetesOptions, KubernetesWorld};
use crate::cluster::{Snapshot, World, WorldError};

/// How long a command waits until the objects are known.
const READY: Duration = Duration::from_secs(15);

/// One of the two worlds.
#[derive(Clone, Debug)]
pub enum AnyWorld {
    Directory(DirectoryWorld),
    Kubernetes(KubernetesWorld),
}

/// Where the API server is, as the command line says.
pub fn options(args: &KubernetesArgs, lenient: bool) -> KubernetesOptions {
    KubernetesOptions {
        kubeconfig: args.kubeconfig.clone(),
        namespaces: args.namespaces.clone(),
        system_namespace: args.system_namespace.clone(),
        lenient,
    }
}

impl AnyWorld {
    /// Opens the world for reading and small edits; a running coordinator is not disturbed.
    ///
    /// # Errors
    /// When it can't be reached or read.
    pub async fn open(common: &Common) -> Result<Self, CliError> {
        if !common.kubernetes.on {
            let world = DirectoryWorld::open(&common.objects, &common.state, Role::Reader)?;
            return Ok(Self::Directory(world));
        }
        let world = KubernetesWorld::connect(options(&common.kubernetes, true)).await?;
        world.ready(READY).await?;
        Ok(Self::Kubernetes(world))
    }

    /// All objects as they are now.
    ///
    /// # Errors
    /// As [`World::snapshot`].
    pub async fn snapshot(&self) -> Result<Snapshot, WorldError> {
        match self {
            Self::Directory(world) => world.snapshot().await,
            Self::Kubernetes(world) => world.snapshot().await,
        }
    }

    /// Counts changes.
    pub fn changes(&self) -> watch::Receiver<u64> {
        match self {
            Self::Directory(world) => world.changes(),
            Self::Kubernetes(world) => world.changes(),
        }
    }

    /// Changes a part of an object, as `kubectl patch --type merge` does.
    ///
    /// # Errors
    /// [`WorldError::NotFound`], or why it can't be written.
    pub async fn patch(&self, id: ObjectId, change: Value) -> Result<(), WorldError> {
        match self {
            Self::Directory(world) => world.patch(id, change).await,
            Self::Kubernetes(world) => world.patch(&id, &change).await,
        }
    }

    /// Objects of these kinds as plain JSON.
    ///
    /// # Errors
    /// When they can't be read.
    pub async fn plain(&self, kinds: &[Kind]) -> Result<Vec<(ObjectId, Value)>, WorldError> {
        match self {
            Self::Directory(world) => {
                let all = world.plain().await?;
                let wanted = all.into_iter().filter(|(id, ..)| kinds.contains(&id.kind));
                Ok(wanted.map(|(id, _, value)| (id, value)).collect())
            }
            Self::Kubernetes(world) => world.plain(kinds).await,
        }
    }

    /// Events, oldest first.
    ///
    /// # Errors
    /// When they can't be read.
    pub async fn events(&self) -> Result<Vec<EventRecord>, WorldError> {
        match self {
            Self::Directory(world) => world.events().await,
            Self::Kubernetes(world) => world.events().await,
        }
    }

    /// Makes the object of a site that was invited.
    ///
    /// # Errors
    /// When it can't be written.
    pub async fn create_site(&self, site: &Site) -> Result<(), CliError> {
        let mut value = serde_json::to_value(site).map_err(CliError::other)?;
        if let Some(fields) = value.as_object_mut() {
            fields.remove("status");
        }
        match self {
            Self::Directory(world) => {
                let loaded = load_text("a new object", &value.to_string());
                manifest_files::apply(world, &loaded).await.map(drop)
            }
            Self::Kubernetes(world) => {
                // Only its existence is ours to say: approval is another's word.
                value["spec"] = json!({});
                let id = ObjectId::new(Kind::Site, site.metadata.key());
                Ok(world.apply(&id, &value).await.map(drop)?)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_api_server_that_is_not_there_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let common = Common {
            objects: dir.path().join("objects"),
            state: dir.path().join("state"),
            output: super::super::output::Output::Table,
            kubernetes: KubernetesArgs {
                on: true,
                kubeconfig: Some(dir.path().join("none")),
                ..Default::default()
            },
            log: None,
        };
        let error = AnyWorld::open(&common).await.unwrap_err().to_string();
        assert!(error.contains("none") && error.contains("Kubernetes"), "{error}");
    }
}
