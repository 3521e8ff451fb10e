//! What a finished install leaves beside its Provisioning: the kubeconfig as a Secret, and the
//! addresses of the nodes as the original operator's ConfigMap.
//!
//! Others use the same names (Cluster API has `<cluster>-kubeconfig` too). So it is always looked
//! whose an object is before it is written, and one of somebody else is never touched.

use std::collections::BTreeMap;
use std::fmt::Debug;

use bpa_common::api::Provisioning;
use k8s_openapi::ByteString;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::api::PostParams;
use kube::{Api, Resource};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::FIELD_MANAGER;
use super::fault::Fault;
use super::writer::{Failed, Writer};
use crate::cluster::WorldError;
use crate::cluster::kind::{Kind, cluster_name};

/// Key of the kubeconfig in its Secret, as Cluster API has it.
const VALUE: &str = "value";
/// Tries against others who write the same object.
const TRIES: usize = 8;
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
const CLUSTER: &str = "cluster";

/// An object of one of the two kinds.
trait Output:
    Resource<Scope = NamespaceResourceScope, DynamicType = ()>
    + Clone
    + Debug
    + DeserializeOwned
    + Serialize
    + Send
    + Sync
{
    /// Whether both say the same.
    fn same(&self, other: &Self) -> bool;
}

impl Output for Secret {
    fn same(&self, other: &Self) -> bool {
        self.data == other.data
    }
}

impl Output for ConfigMap {
    fn same(&self, other: &Self) -> bool {
        self.data == other.data
    }
}

/// What became of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    Ours,
    /// There is one of this name that is not of this Provisioning.
    SomebodyElses,
}

/// As [`crate::cluster::World::save_kubeconfig`].
pub async fn save_kubeconfig(
    writer: &Writer,
    provisioning: &Provisioning,
    yaml: &SecretString,
) -> Result<String, WorldError> {
    let name = format!("{}-kubeconfig", cluster_name(provisioning));
    let value = ByteString(yaml.expose_secret().as_bytes().to_vec());
    let secret = Secret {
        metadata: meta(provisioning, &name),
        type_: Some("Opaque".to_owned()),
        data: Some(BTreeMap::from([(VALUE.to_owned(), value)])),
        ..Secret::default()
    };
    match keep(writer, provisioning, secret).await? {
        Kept::Ours => Ok(name),
        Kept::SomebodyElses => Err(WorldError::Conflict {
            object: format!("Secret {}/{name}", provisioning.metadata.namespace),
            problem: "there is one already that is not of this Provisioning; rename or remove it, or give the Provisioning another name or `cluster` label".to_owned(),
        }),
    }
}

/// As [`crate::cluster::World::save_addresses`]. A ConfigMap of somebody else is left alone: no
/// cluster waits for this.
pub async fn save_addresses(
    writer: &Writer,
    provisioning: &Provisioning,
    addresses: &BTreeMap<String, String>,
) -> Result<(), WorldError> {
    let name = format!("{}-configmap", cluster_name(provisioning));
    let map = ConfigMap {
        metadata: meta(provisioning, &name),
        data: Some(addresses.clone()),
        ..ConfigMap::default()
    };
    let kept = keep(writer, provisioning, map).await?;
    if kept == Kept::SomebodyElses {
        let provisioning = provisioning.metadata.key();
        tracing::warn!(%provisioning, name, "there is a ConfigMap of this name already; the addresses are not told");
    }
    Ok(())
}

/// Lets the outputs of a Provisioning stay when it goes: its cluster stays too.
///
/// # Errors
/// When the API server can't be reached. What may not be done, or is not there, is no error.
pub async fn let_stay(writer: &Writer, provisioning: &Provisioning) -> Result<(), WorldError> {
    let cluster = cluster_name(provisioning);
    disown::<Secret>(writer, provisioning, &format!("{cluster}-kubeconfig")).await?;
    disown::<ConfigMap>(writer, provisioning, &format!("{cluster}-configmap")).await
}

async fn keep<K: Output>(
    writer: &Writer,
    provisioning: &Provisioning,
    wanted: K,
) -> Result<Kept, WorldError> {
    let name = wanted.meta().name.clone().unwrap_or_default();
    let namespace = &provisioning.metadata.namespace;
    let about = |failed: Failed, action| {
        failed.about(action, format!("{} {namespace}/{name}", K::kind(&())))
    };
    let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), dry_run: false };
    let mut last = Failed::Slow;
    for _ in 0..TRIES {
        let found = get::<K>(writer, namespace, &name).await.map_err(|f| about(f, "read"))?;
        let mut object = wanted.clone();
        if let Some(found) = &found {
            if !is_ours(found.meta(), provisioning) {
                return Ok(Kept::SomebodyElses);
            }
            if found.same(&wanted) && is_owned(found.meta(), provisioning) {
                return Ok(Kept::Ours);
            }
            // The version that was looked at, or none: anything newer is a conflict.
            let version = found.meta().resource_version.clone();
            object.meta_mut().resource_version = version;
        }
        let wrote = writer.write(async |client: kube::Client| {
            let api: Api<K> = Api::namespaced(client, namespace);
            match found.is_none() {
                true => api.create(&params, &object).await,
                false => api.replace(&name, &params, &object).await,
            }
        });
        match wrote.await {
            Ok(_) => return Ok(Kept::Ours),
            // Someone made or changed it in the meantime: look again whose it is.
            Err(failed) if failed.fault() == Some(Fault::Conflict) => last = failed,
            Err(failed) => return Err(about(failed, "write")),
        }
    }
    Err(about(last, "write"))
}

async fn disown<K: Output>(
    writer: &Writer,
    provisioning: &Provisioning,
    name: &str,
) -> Result<(), WorldError> {
    let namespace = &provisioning.metadata.namespace;
    let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), dry_run: false };
    let passes = |failed: &Failed| matches!(failed.fault(), None | Some(Fault::Later(_)));
    for _ in 0..TRIES {
        let mut object = match get::<K>(writer, namespace, name).await {
            Ok(Some(found)) if is_owned(found.meta(), provisioning) => found,
            Err(failed) if passes(&failed) => {
                return Err(failed.about("read", format!("{} {namespace}/{name}", K::kind(&()))));
            }
            _ => return Ok(()),
        };
        let meta = object.meta_mut();
        let uid = &provisioning.metadata.uid;
        meta.owner_references.iter_mut().for_each(|owners| owners.retain(|o| o.uid != *uid));
        meta.managed_fields = None;
        let wrote = writer.write(async |client: kube::Client| {
            let api: Api<K> = Api::namespaced(client, namespace);
            api.replace(name, &params, &object).await
        });
        match wrote.await {
            Err(failed) if failed.fault() == Some(Fault::Conflict) => {}
            Err(failed) if passes(&failed) => {
                return Err(failed.about("keep", format!("{} {namespace}/{name}", K::kind(&()))));
            }
            _ => return Ok(()),
        }
    }
    Ok(())
}

async fn get<K: Output>(writer: &Writer, namespace: &str, name: &str) -> Result<Option<K>, Failed> {
    let read = writer.read(async |client: kube::Client| {
        let api: Api<K> = Api::namespaced(client, namespace);
        api.get_opt(name).await
    });
    read.await
}

/// True for an object that goes when this very Provisioning goes.
fn is_owned(meta: &ObjectMeta, provisioning: &Provisioning) -> bool {
    let owners = meta.owner_references.iter().flatten();
    owners.into_iter().any(|owner| owner.uid == provisioning.metadata.uid)
}

/// True for an object that we made for this Provisioning, or for an earlier one whose cluster
/// stayed: then nobody owns it.
fn is_ours(meta: &ObjectMeta, provisioning: &Provisioning) -> bool {
    let label = |name: &str| meta.labels.as_ref().and_then(|labels| labels.get(name));
    let stayed = meta.owner_references.as_ref().is_none_or(Vec::is_empty)
        && label(MANAGED_BY).is_some_and(|by| by == FIELD_MANAGER)
        && label(CLUSTER).is_some_and(|cluster| cluster == cluster_name(provisioning));
    stayed || is_owned(meta, provisioning)
}

/// Metadata of an object that goes when its Provisioning goes.
fn meta(provisioning: &Provisioning, name: &str) -> ObjectMeta {
    let owner = OwnerReference {
        api_version: Kind::Provisioning.api_version().to_owned(),
        kind: Kind::Provisioning.name().to_owned(),
        name: provisioning.metadata.name.clone(),
        uid: provisioning.metadata.uid.clone(),
        controller: Some(true),
        block_owner_deletion: None,
    };
    let labels = [(MANAGED_BY, FIELD_MANAGER), (CLUSTER, cluster_name(provisioning))];
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: Some(provisioning.metadata.namespace.clone()),
        labels: Some(labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into()),
        owner_references: Some(vec![owner]),
        ..ObjectMeta::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provisioning(uid: &str) -> Provisioning {
        serde_json::from_value(serde_json::json!({
            "metadata": {"name": "p", "namespace": "n", "uid": uid, "labels": {"cluster": "edge"}},
            "spec": {}
        }))
        .unwrap()
    }

    #[test]
    fn the_cluster_has_the_name_of_its_label_or_of_its_object() {
        let mut p = provisioning("u");
        assert_eq!(cluster_name(&p), "edge");
        p.metadata.labels.clear();
        assert_eq!(cluster_name(&p), "p");
    }

    #[test]
    fn only_an_object_of_this_very_provisioning_is_ours() {
        let p = provisioning("u");
        let made = meta(&p, "edge-kubeconfig");
        assert!(is_ours(&made, &p) && is_owned(&made, &p));
        assert!(!is_ours(&made, &provisioning("u2")), "one of the same name is another");
        let theirs = ObjectMeta { name: made.name.clone(), ..ObjectMeta::default() };
        assert!(!is_ours(&theirs, &p));
    }

    #[test]
    fn what_stayed_of_an_earlier_one_is_taken_over() {
        let stayed = ObjectMeta {
            owner_references: Some(Vec::new()),
            ..meta(&provisioning("u"), "edge-kubeconfig")
        };
        let again = provisioning("u2");
        assert!(is_ours(&stayed, &again) && !is_owned(&stayed, &again));
    }
}
