//! What a person does with objects through our commands.

use bpa_common::api::ObjectKey;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use serde_json::Value;

use super::fault::Fault;
use super::raw::Raw;
use super::resource;
use super::world::KubernetesWorld;
use super::writer::Failed;
use crate::cluster::WorldError;
use crate::cluster::directory::EventRecord;
use crate::cluster::kind::{Kind, ObjectId};

/// The name under which our commands write: a person's wish, apart from the coordinator's work.
const PERSON: &str = "bpa-coordinator-cli";

/// What `apply` did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    Created,
    Configured,
    Unchanged,
}

impl KubernetesWorld {
    /// Objects of these kinds as the API server has them, as plain JSON.
    ///
    /// # Errors
    /// When a kind can't be listed; one that is not served has no objects.
    pub async fn plain(&self, kinds: &[Kind]) -> Result<Vec<(ObjectId, Value)>, WorldError> {
        let mut all = Vec::new();
        for kind in kinds {
            for scope in self.scopes() {
                let read = self.writer().read(async |client: kube::Client| {
                    let api = resource::objects(&client, *kind, scope.as_deref());
                    api.list(&ListParams::default()).await
                });
                let listed = match read.await {
                    Ok(listed) => listed.items,
                    Err(failed) if failed.fault() == Some(Fault::Unserved) => Vec::new(),
                    Err(failed) => return Err(failed.about("list", kind.to_string())),
                };
                all.extend(listed.into_iter().map(|raw| {
                    let id = ObjectId::new(*kind, raw.key());
                    (id, framed(*kind, raw))
                }));
            }
        }
        Ok(all)
    }

    /// Changes a part of an object, as `kubectl patch --type merge` does.
    ///
    /// # Errors
    /// [`WorldError::NotFound`], or [`WorldError::Api`].
    pub async fn patch(&self, id: &ObjectId, change: &Value) -> Result<(), WorldError> {
        let (params, patch) = (person(), Patch::Merge(change));
        let key = &id.key;
        let wrote = self.writer().write(async |client: kube::Client| {
            resource::beside(&client, id.kind, &key.namespace)
                .patch(&key.name, &params, &patch)
                .await
        });
        wrote.await.map(drop).map_err(|failed| failed.into_world("change", id.kind, key))
    }

    /// Makes or changes an object, as `kubectl apply --server-side` does. What others have set is
    /// never taken over.
    ///
    /// # Errors
    /// [`WorldError::Conflict`] when another manager has a field, [`WorldError::Api`] else.
    pub async fn apply(&self, id: &ObjectId, manifest: &Value) -> Result<Applied, WorldError> {
        let key = &id.key;
        let before = self.get(id).await?;
        let manifest = as_applied(manifest, key);
        let (params, patch) = (person(), Patch::Apply(&manifest));
        let wrote = self.writer().write(async |client: kube::Client| {
            resource::beside(&client, id.kind, &key.namespace)
                .patch(&key.name, &params, &patch)
                .await
        });
        let after = wrote.await.map_err(|failed| match failed.fault() {
            Some(Fault::Conflict) => refused(&failed, id),
            // Nothing of this name is there: its namespace is missing.
            Some(Fault::Missing) => failed.about("apply", id.to_string()),
            _ => failed.into_world("apply", id.kind, key),
        })?;
        Ok(match before {
            None => Applied::Created,
            Some(before) if before.resource_version() == after.resource_version() => {
                Applied::Unchanged
            }
            Some(_) => Applied::Configured,
        })
    }

    /// Asks for an object's deletion.
    ///
    /// # Errors
    /// [`WorldError::NotFound`], [`WorldError::Conflict`] when it is being deleted already.
    pub async fn delete(&self, id: &ObjectId) -> Result<(), WorldError> {
        let key = &id.key;
        match self.get(id).await? {
            None => {
                return Err(WorldError::NotFound { kind: id.kind.name(), key: key.clone() });
            }
            Some(found) if found.is_deleting() => {
                let problem = "it is being deleted already".to_owned();
                return Err(WorldError::Conflict { object: id.to_string(), problem });
            }
            Some(_) => {}
        }
        let params = DeleteParams::default();
        let deleted = self.writer().write(async |client: kube::Client| {
            resource::beside(&client, id.kind, &key.namespace).delete(&key.name, &params).await
        });
        deleted.await.map(drop).map_err(|failed| failed.into_world("delete", id.kind, key))
    }

    /// Our events, oldest first.
    ///
    /// # Errors
    /// When they can't be listed.
    pub async fn events(&self) -> Result<Vec<EventRecord>, WorldError> {
        let mut all = Vec::new();
        for scope in self.scopes() {
            all.extend(super::events::list(self.writer(), scope.as_deref()).await?);
        }
        all.sort_by_key(|event| event.last);
        Ok(all)
    }

    async fn get(&self, id: &ObjectId) -> Result<Option<Raw>, WorldError> {
        let key = &id.key;
        let read = self.writer().read(async |client: kube::Client| {
            resource::beside(&client, id.kind, &key.namespace).get_opt(&key.name).await
        });
        read.await.map_err(|failed| failed.into_world("read", id.kind, key))
    }
}

fn person() -> PatchParams {
    PatchParams { field_manager: Some(PERSON.to_owned()), ..PatchParams::default() }
}

/// A list leaves out what it says once for all: apiVersion and kind.
fn framed(kind: Kind, raw: Raw) -> Value {
    let mut value = raw.into_value();
    if let Value::Object(fields) = &mut value {
        fields.insert("apiVersion".to_owned(), kind.api_version().into());
        fields.insert("kind".to_owned(), kind.name().into());
    }
    value
}

/// The manifest without what only the API server may say, as exported objects have it.
fn as_applied(manifest: &Value, key: &ObjectKey) -> Value {
    let mut value = manifest.clone();
    if let Value::Object(fields) = &mut value {
        fields.remove("status");
        if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
            const SERVERS: [&str; 6] = [
                "managedFields",
                "resourceVersion",
                "uid",
                "generation",
                "creationTimestamp",
                "selfLink",
            ];
            SERVERS.iter().for_each(|field| drop(metadata.remove(*field)));
            metadata.insert("namespace".to_owned(), key.namespace.as_str().into());
        }
    }
    value
}

fn refused(failed: &Failed, id: &ObjectId) -> WorldError {
    let words = match failed {
        Failed::Api(error) => super::fault::words(error),
        _ => String::new(),
    };
    WorldError::Conflict {
        object: id.to_string(),
        problem: format!("{words}; change it with whoever has set these fields, or with kubectl"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_exported_object_can_be_applied_again() {
        let exported = json!({
            "metadata": {"name": "a", "uid": "u", "resourceVersion": "1", "generation": 1,
                "creationTimestamp": "x", "managedFields": [], "labels": {"a": "b"}},
            "spec": {"online": true}, "status": {"x": 1},
        });
        let applied = as_applied(&exported, &ObjectKey::new("n", "a"));
        assert_eq!(
            applied,
            json!({"metadata": {"name": "a", "namespace": "n", "labels": {"a": "b"}},
                "spec": {"online": true}})
        );
    }

    #[test]
    fn an_object_of_a_list_is_whole() {
        let raw: Raw = serde_json::from_value(json!({"metadata": {"name": "a"}})).unwrap();
        let value = framed(Kind::Site, raw);
        assert_eq!(
            (&value["kind"], &value["apiVersion"]),
            (&json!("Site"), &json!("bpa.akraino.org/v1alpha1"))
        );
    }
}
