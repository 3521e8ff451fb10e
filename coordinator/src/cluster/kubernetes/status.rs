//! Statuses: written by server-side apply under one name.

use bpa_common::api::ObjectKey;
use kube::api::{Patch, PatchParams};
use serde::Serialize;
use serde_json::{Value, json};

use super::FIELD_MANAGER;
use super::fault::Fault;
use super::resource;
use super::status_size::{MAX_STATUS, bounded};
use super::writer::{Failed, Writer};
use crate::cluster::WorldError;
use crate::cluster::kind::Kind;

const ACTION: &str = "write the status of";
/// Tries against others who write the same object.
const TRIES: usize = 8;
/// Which object it is whose status is written.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    /// Any of this name.
    Named,
    /// Only the one of this uid, and its version as it was seen last, if it was.
    Exactly { uid: &'a str, seen: Option<&'a (String, String)> },
}

/// Writes the status of an object, and nothing else of it.
///
/// # Errors
/// [`WorldError::NotFound`] when there is no such object (any more), [`WorldError::Api`] else.
pub async fn write(
    writer: &Writer,
    kind: Kind,
    key: &ObjectKey,
    target: Target<'_>,
    status: &impl Serialize,
) -> Result<(), WorldError> {
    let status = fitting(kind, key, status)?;
    let Target::Exactly { uid, seen } = target else {
        let wrote = apply(writer, kind, key, None, &status).await;
        return wrote.map_err(|failed| failed.into_world(ACTION, kind, key));
    };
    // An API server ignores the uid in a write of a status, but not the version.
    let mut version = seen.filter(|(seen, _)| seen == uid).map(|(_, version)| version.clone());
    let mut last = Failed::Slow;
    for _ in 0..TRIES {
        let of = match version.take() {
            Some(version) => version,
            None => fresh_version(writer, kind, key, uid).await?,
        };
        match apply(writer, kind, key, Some(&of), &status).await {
            Ok(()) => return Ok(()),
            // Changed since, or made anew: look which it is.
            Err(failed) if failed.fault() == Some(Fault::Conflict) => last = failed,
            Err(failed) if failed.fault() == Some(Fault::Unfit) => {
                return merge(writer, kind, key, uid, &status).await;
            }
            Err(failed) => return Err(failed.into_world(ACTION, kind, key)),
        }
    }
    Err(last.into_world(ACTION, kind, key))
}

async fn fresh_version(
    writer: &Writer,
    kind: Kind,
    key: &ObjectKey,
    uid: &str,
) -> Result<String, WorldError> {
    let read = writer.read(async |client: kube::Client| {
        resource::beside(&client, kind, &key.namespace).get(&key.name).await
    });
    let found = read.await.map_err(|failed| failed.into_world("read", kind, key))?;
    if found.uid() != uid {
        return Err(WorldError::NotFound { kind: kind.name(), key: key.clone() });
    }
    Ok(found.resource_version().to_owned())
}

/// By server-side apply: what is ours and not in it any more goes.
async fn apply(
    writer: &Writer,
    kind: Kind,
    key: &ObjectKey,
    version: Option<&str>,
    status: &Value,
) -> Result<(), Failed> {
    let mut metadata = json!({"name": key.name, "namespace": key.namespace});
    if let Some(version) = version {
        metadata["resourceVersion"] = json!(version);
    }
    let body = json!({
        "apiVersion": kind.api_version(), "kind": kind.name(),
        "metadata": metadata, "status": status,
    });
    let params = PatchParams::apply(FIELD_MANAGER).force();
    let patch = Patch::Apply(&body);
    let wrote = writer.write(async |client: kube::Client| {
        let api = resource::beside(&client, kind, &key.namespace);
        api.patch_status(&key.name, &params, &patch).await
    });
    wrote.await.map(drop)
}

fn fitting(kind: Kind, key: &ObjectKey, status: &impl Serialize) -> Result<Value, WorldError> {
    let status = serde_json::to_value(status).map_err(|error| WorldError::Corrupt {
        what: format!("the status of {kind} {key}"),
        message: error.to_string(),
    })?;
    bounded(status, MAX_STATUS).ok_or_else(|| WorldError::Api {
        action: ACTION,
        object: format!("{kind} {key}"),
        problem: format!(
            "it would have more than {} KiB even with its texts shortened: too many nodes for one object, make two clusters of it",
            MAX_STATUS >> 10
        ),
    })
}

/// By a merge, for an object that nothing can be applied to, so that it can be told what is wrong.
async fn merge(
    writer: &Writer,
    kind: Kind,
    key: &ObjectKey,
    uid: &str,
    status: &Value,
) -> Result<(), WorldError> {
    let read = writer.read(async |client: kube::Client| {
        resource::beside(&client, kind, &key.namespace).get(&key.name).await
    });
    let found = read.await.map_err(|failed| failed.into_world("read", kind, key))?;
    if uid != found.uid() {
        return Err(WorldError::NotFound { kind: kind.name(), key: key.clone() });
    }
    let mut change = json!({"metadata": {"resourceVersion": found.resource_version()}});
    change["status"] = instead(&found.into_value()["status"], status);
    let params =
        PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..Default::default() };
    let change = Patch::Merge(&change);
    let wrote = writer.write(async |client: kube::Client| {
        let api = resource::beside(&client, kind, &key.namespace);
        api.patch_status(&key.name, &params, &change).await
    });
    wrote.await.map(drop).map_err(|failed| failed.into_world(ACTION, kind, key))
}

/// The merge that makes `new` of `old`: fields that are not in it any more are null.
fn instead(old: &Value, new: &Value) -> Value {
    let (Value::Object(old), Value::Object(new)) = (old, new) else { return new.clone() };
    let gone = old.keys().filter(|name| !new.contains_key(*name));
    let gone = gone.map(|name| (name.clone(), Value::Null));
    let kept = new
        .iter()
        .map(|(name, value)| (name.clone(), instead(old.get(name).unwrap_or(&Value::Null), value)));
    gone.chain(kept).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merge_takes_away_what_is_not_said_any_more() {
        let old = json!({"phase": "Ready", "run": {"id": "r", "task": "t"}, "nodes": [1, 2]});
        let new = json!({"phase": "Invalid", "run": {"id": "r"}});
        let change = instead(&old, &new);
        assert_eq!(
            change,
            json!({"nodes": null, "phase": "Invalid", "run": {"id": "r", "task": null}})
        );
        assert_eq!(instead(&Value::Null, &new), new);
    }
}
