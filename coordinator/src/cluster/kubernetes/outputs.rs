//! What a finished install leaves beside its Provisioning: the kubeconfig as a Secret.

use std::collections::BTreeMap;

use bpa_common::api::{ObjectKey, Provisioning};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Api;
use kube::api::PostParams;
use secrecy::{ExposeSecret, SecretString};

use super::FIELD_MANAGER;
use super::fault::Fault;
use super::writer::{Failed, Writer};
use crate::cluster::WorldError;
use crate::cluster::kind::Kind;

/// Key of the kubeconfig in its Secret, as Cluster API has it.
const VALUE: &str = "value";
/// Tries against others who write the same object.
const TRIES: usize = 8;

/// Name of the cluster that a Provisioning makes.
pub fn cluster_name(provisioning: &Provisioning) -> &str {
    let metadata = &provisioning.metadata;
    metadata.labels.get("cluster").unwrap_or(&metadata.name)
}

/// As [`crate::cluster::World::save_kubeconfig`]. A Secret of this name that belongs to someone
/// else (Cluster API uses the same names) is never touched.
pub async fn save_kubeconfig(
    writer: &Writer,
    provisioning: &Provisioning,
    yaml: &SecretString,
) -> Result<String, WorldError> {
    const ACTION: &str = "save the kubeconfig in";
    let name = format!("{}-kubeconfig", cluster_name(provisioning));
    let key = ObjectKey::new(&provisioning.metadata.namespace, &name);
    let object = || format!("Secret {key}");
    let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), dry_run: false };
    let mut last = Failed::Slow;
    for _ in 0..TRIES {
        let read =
            writer.read(async |client: kube::Client| secrets(&client, &key).get_opt(&name).await);
        let found = read.await.map_err(|failed| failed.about(ACTION, object()))?;
        let (meta, is_new) = match &found {
            None => (meta(provisioning, &name), true),
            Some(found) if !is_ours(found, provisioning) => {
                return Err(WorldError::Api {
                    action: ACTION,
                    object: object(),
                    problem: "there is one already that is not of this Provisioning; rename or remove it, or give the Provisioning another name or `cluster` label".to_owned(),
                });
            }
            Some(found) if value(found) == Some(yaml.expose_secret().as_bytes()) => {
                return Ok(name);
            }
            Some(found) => (found.metadata.clone(), false),
        };
        let secret = Secret {
            metadata: ObjectMeta { managed_fields: None, ..meta },
            type_: Some("Opaque".to_owned()),
            data: Some(BTreeMap::from([(
                VALUE.to_owned(),
                ByteString(yaml.expose_secret().as_bytes().to_vec()),
            )])),
            ..Secret::default()
        };
        let wrote = writer.write(async |client: kube::Client| {
            let api = secrets(&client, &key);
            match is_new {
                true => api.create(&params, &secret).await,
                false => api.replace(&name, &params, &secret).await,
            }
        });
        match wrote.await {
            Ok(_) => return Ok(name),
            // Someone made or changed it in the meantime: look again whose it is.
            Err(failed) if failed.fault() == Some(Fault::Conflict) => last = failed,
            Err(failed) => return Err(failed.about(ACTION, object())),
        }
    }
    Err(last.about(ACTION, object()))
}

fn secrets(client: &kube::Client, key: &ObjectKey) -> Api<Secret> {
    Api::namespaced(client.clone(), &key.namespace)
}

fn value(secret: &Secret) -> Option<&[u8]> {
    Some(&secret.data.as_ref()?.get(VALUE)?.0)
}

fn is_ours(secret: &Secret, provisioning: &Provisioning) -> bool {
    let owners = secret.metadata.owner_references.iter().flatten();
    owners.into_iter().any(|owner| owner.uid == provisioning.metadata.uid)
}

/// Metadata of an object that goes when its Provisioning goes.
pub fn meta(provisioning: &Provisioning, name: &str) -> ObjectMeta {
    let owner = OwnerReference {
        api_version: Kind::Provisioning.api_version().to_owned(),
        kind: Kind::Provisioning.name().to_owned(),
        name: provisioning.metadata.name.clone(),
        uid: provisioning.metadata.uid.clone(),
        controller: Some(true),
        block_owner_deletion: None,
    };
    let labels =
        [("app.kubernetes.io/managed-by", FIELD_MANAGER), ("cluster", cluster_name(provisioning))];
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

    fn provisioning() -> Provisioning {
        serde_json::from_value(serde_json::json!({
            "metadata": {"name": "p", "namespace": "n", "uid": "u", "labels": {"cluster": "edge"}},
            "spec": {}
        }))
        .unwrap()
    }

    #[test]
    fn the_cluster_has_the_name_of_its_label_or_of_its_object() {
        let mut p = provisioning();
        assert_eq!(cluster_name(&p), "edge");
        p.metadata.labels.clear();
        assert_eq!(cluster_name(&p), "p");
    }

    #[test]
    fn only_a_secret_of_this_very_provisioning_is_ours() {
        let p = provisioning();
        let mut secret = Secret { metadata: meta(&p, "edge-kubeconfig"), ..Secret::default() };
        assert!(is_ours(&secret, &p));
        let mut again = provisioning();
        again.metadata.uid = "u2".into();
        assert!(!is_ours(&secret, &again), "one of the same name is another");
        secret.metadata.owner_references = None;
        assert!(!is_ours(&secret, &p));
    }
}
