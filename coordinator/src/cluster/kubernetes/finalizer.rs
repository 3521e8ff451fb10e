//! Our finalizer on Provisionings: set before anything is claimed, taken off when all is undone.

use bpa_common::api::{DeletionPolicy, ObjectKey};
use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::FIELD_MANAGER;
use super::fault::Fault;
use super::raw::Raw;
use super::writer::{Failed, Writer};
use super::{decode, outputs, resource};
use crate::cluster::WorldError;
use crate::cluster::directory::FINALIZER;
use crate::cluster::kind::Kind;

const KIND: Kind = Kind::Provisioning;
/// Tries against others who write the same object.
const TRIES: usize = 8;

/// As [`crate::cluster::World::set_finalizer`]. Others' finalizers stay as they are.
pub async fn set(writer: &Writer, key: &ObjectKey, present: bool) -> Result<(), WorldError> {
    let mut last = Failed::Slow;
    for _ in 0..TRIES {
        let read = writer.read(async |client: kube::Client| {
            resource::beside(&client, KIND, &key.namespace).get(&key.name).await
        });
        let found = match read.await {
            Ok(found) => found,
            Err(failed) if failed.fault() == Some(Fault::Missing) && !present => return Ok(()),
            Err(failed) => return Err(failed.into_world("read", KIND, key)),
        };
        let Some(finalizers) = changed(found.finalizers(), present) else { return Ok(()) };
        if present && found.is_deleting() {
            return Err(WorldError::NotFound { kind: KIND.name(), key: key.clone() });
        }
        if found.is_deleting() {
            let_outputs_stay(writer, &found).await?;
        }
        let change = json!({"metadata": {
            "uid": found.uid(), "resourceVersion": found.resource_version(),
            "finalizers": finalizers,
        }});
        let params =
            PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..Default::default() };
        let change = Patch::Merge(&change);
        let wrote = writer.write(async |client: kube::Client| {
            resource::beside(&client, KIND, &key.namespace).patch(&key.name, &params, &change).await
        });
        match wrote.await {
            Ok(_) => return Ok(()),
            Err(failed) if failed.fault() == Some(Fault::Missing) && !present => return Ok(()),
            Err(failed) if failed.fault() == Some(Fault::Conflict) => last = failed,
            Err(failed) => return Err(failed.into_world("change the finalizers of", KIND, key)),
        }
    }
    Err(last.into_world("change the finalizers of", KIND, key))
}

/// With `Retain` the cluster stays, and so does what is needed to use it.
async fn let_outputs_stay(writer: &Writer, found: &Raw) -> Result<(), WorldError> {
    match decode::provisioning(found.clone()) {
        Ok(provisioning) if provisioning.spec.deletion_policy == DeletionPolicy::Retain => {
            outputs::let_stay(writer, &provisioning).await
        }
        // One that can't be read must be able to go.
        _ => Ok(()),
    }
}

/// The list with or without ours; none when it is so already.
fn changed(found: &[String], present: bool) -> Option<Vec<String>> {
    if found.iter().any(|name| name == FINALIZER) == present {
        return None;
    }
    let mut list: Vec<String> = found.iter().filter(|name| *name != FINALIZER).cloned().collect();
    if present {
        list.push(FINALIZER.to_owned());
    }
    Some(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_finalizers_are_kept_in_their_order() {
        let list = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        let others = list(&["b/x", "a/y"]);
        let with = changed(&others, true).unwrap();
        assert_eq!(with, list(&["b/x", "a/y", FINALIZER]));
        assert_eq!(changed(&with, true), None);
        assert_eq!(changed(&with, false), Some(others.clone()));
        assert_eq!(changed(&others, false), None);
    }
}
