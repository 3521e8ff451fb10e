//! Claims: the mark on a host is written only over the very version that was read, and never over
//! another's.

use bpa_common::api::metal3::{BareMetalHost, ConsumerRef};
use bpa_common::api::{ObjectKey, OsMark, OsSpec};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::fault::Fault;
use super::raw::Raw;
use super::resource;
use super::writer::{Failed, Writer};
use super::{FIELD_MANAGER, decode};
use crate::cluster::kind::Kind;
use crate::cluster::{ClaimOutcome, HostRef, WorldError, os_patch};

/// Tries of a release against others who write the same host.
const TRIES: usize = 8;

/// The host as the API server has it now. None when it, or this one of its name, is gone.
pub async fn fresh(writer: &Writer, host: &HostRef) -> Result<Option<Raw>, WorldError> {
    let read = writer.read(async |client: kube::Client| {
        resource::beside(&client, Kind::Host, &host.key.namespace).get_opt(&host.key.name).await
    });
    match read.await {
        Ok(found) => Ok(found.filter(|found| found.uid() == host.uid)),
        Err(failed) if is_gone(&failed) => Ok(None),
        Err(failed) => Err(failed.into_world("read", Kind::Host, &host.key)),
    }
}

/// As [`crate::cluster::World::fresh_host`].
pub async fn fresh_host(
    writer: &Writer,
    host: &HostRef,
) -> Result<Option<BareMetalHost>, WorldError> {
    fresh(writer, host).await?.map(|raw| typed(&raw, &host.key)).transpose()
}

fn typed(raw: &Raw, key: &ObjectKey) -> Result<BareMetalHost, WorldError> {
    decode::typed(Kind::Host, raw.clone()).map_err(|problem| WorldError::Corrupt {
        what: format!("BareMetalHost {key}"),
        message: problem.message,
    })
}

/// As [`crate::cluster::World::claim`].
pub async fn claim(
    writer: &Writer,
    host: &HostRef,
    resource_version: &str,
    consumer: &ConsumerRef,
) -> Result<ClaimOutcome, WorldError> {
    let Some(found) = fresh(writer, host).await? else { return Ok(ClaimOutcome::Changed) };
    if let Some(outcome) = verdict(&found, consumer, &host.key)? {
        return Ok(outcome);
    }
    if found.resource_version() != resource_version {
        return Ok(ClaimOutcome::Changed);
    }
    let mark = json!({"spec": {"consumerRef": consumer}});
    match patch(writer, host, resource_version, mark).await {
        // What counts is what the API server kept.
        Ok(after) => Ok(verdict(&after, consumer, &host.key)?.unwrap_or(ClaimOutcome::Changed)),
        Err(failed) if failed.fault() == Some(Fault::Conflict) => {
            // Perhaps it was our own write, whose answer was lost.
            let now = fresh(writer, host).await?;
            let now = now.map(|now| verdict(&now, consumer, &host.key)).transpose()?.flatten();
            Ok(now.unwrap_or(ClaimOutcome::Changed))
        }
        Err(failed) if is_gone(&failed) => Ok(ClaimOutcome::Changed),
        Err(failed) => Err(failed.into_world("claim", Kind::Host, &host.key)),
    }
}

/// As [`crate::cluster::World::release`].
pub async fn release(
    writer: &Writer,
    host: &HostRef,
    consumer: &ConsumerRef,
) -> Result<(), WorldError> {
    let mut last = None;
    for _ in 0..TRIES {
        let Some(found) = fresh(writer, host).await? else { return Ok(()) };
        if !matches!(verdict(&found, consumer, &host.key)?, Some(ClaimOutcome::Ours)) {
            return Ok(());
        }
        let clear = os_patch::release(&typed(&found, &host.key)?, &consumer.uid);
        match patch(writer, host, found.resource_version(), clear).await {
            Ok(_) => return Ok(()),
            Err(failed) if failed.fault() == Some(Fault::Conflict) => last = Some(failed),
            Err(failed) if is_gone(&failed) => return Ok(()),
            Err(failed) => return Err(failed.into_world("release", Kind::Host, &host.key)),
        }
    }
    let failed = last.unwrap_or(Failed::Slow);
    Err(failed.into_world("release", Kind::Host, &host.key))
}

/// As [`crate::cluster::World::write_os`].
pub async fn write_os(
    writer: &Writer,
    host: &BareMetalHost,
    consumer: &ConsumerRef,
    os: &OsSpec,
) -> Result<ClaimOutcome, WorldError> {
    let wanted = os.image_url();
    let change = os_patch::install(host, &consumer.uid, os);
    let (outcome, after) = change_ours(writer, host, consumer, change).await?;
    let kept = after.is_none_or(|after| {
        after.spec.image.is_some_and(|image| image.url.trim() == wanted)
            && OsMark::of(&after.metadata.annotations).is_some()
    });
    if !kept {
        let object = format!("BareMetalHost {}", host.metadata.key());
        let problem = "the API server did not keep spec.image as it was written; look for an old CustomResourceDefinition of Metal3, or for a webhook that changes hosts".to_owned();
        return Err(WorldError::Conflict { object, problem });
    }
    Ok(outcome)
}

/// As [`crate::cluster::World::clear_os`].
pub async fn clear_os(
    writer: &Writer,
    host: &BareMetalHost,
    consumer: &ConsumerRef,
) -> Result<ClaimOutcome, WorldError> {
    match os_patch::clear(host, &consumer.uid) {
        Some(change) => Ok(change_ours(writer, host, consumer, change).await?.0),
        None => Ok(ClaimOutcome::Ours),
    }
}

/// Writes to a host that is ours, over the very version that was read.
async fn change_ours(
    writer: &Writer,
    host: &BareMetalHost,
    consumer: &ConsumerRef,
    change: Value,
) -> Result<(ClaimOutcome, Option<BareMetalHost>), WorldError> {
    let key = host.metadata.key();
    match &host.spec.consumer_ref {
        Some(found) if found == consumer => {}
        Some(found) => return Ok((ClaimOutcome::Taken(found.clone()), None)),
        None => return Ok((ClaimOutcome::Changed, None)),
    }
    let target = HostRef { key: key.clone(), uid: host.metadata.uid.clone() };
    match patch(writer, &target, &host.metadata.resource_version, change).await {
        Ok(after) => Ok((ClaimOutcome::Ours, Some(typed(&after, &key)?))),
        Err(failed) if failed.fault() == Some(Fault::Conflict) || is_gone(&failed) => {
            Ok((ClaimOutcome::Changed, None))
        }
        Err(failed) => Err(failed.into_world("change", Kind::Host, &key)),
    }
}

/// Writes to a host of exactly this uid and version; anything newer is a conflict.
pub async fn patch(
    writer: &Writer,
    host: &HostRef,
    resource_version: &str,
    mut change: Value,
) -> Result<Raw, Failed> {
    change["metadata"]["uid"] = json!(host.uid);
    change["metadata"]["resourceVersion"] = json!(resource_version);
    let params =
        PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..Default::default() };
    let change = Patch::Merge(&change);
    let wrote = writer.write(async |client: kube::Client| {
        let api = resource::beside(&client, Kind::Host, &host.key.namespace);
        api.patch(&host.key.name, &params, &change).await
    });
    wrote.await
}

/// Whose the host is; none when it is free.
fn verdict(
    raw: &Raw,
    ours: &ConsumerRef,
    key: &ObjectKey,
) -> Result<Option<ClaimOutcome>, WorldError> {
    Ok(match typed(raw, key)?.spec.consumer_ref {
        None => None,
        Some(found) if found == *ours => Some(ClaimOutcome::Ours),
        Some(found) => Some(ClaimOutcome::Taken(found)),
    })
}

fn is_gone(failed: &Failed) -> bool {
    failed.fault() == Some(Fault::Missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours() -> ConsumerRef {
        ConsumerRef {
            api_version: "bpa.akraino.org/v1alpha1".into(),
            kind: "Provisioning".into(),
            namespace: "default".into(),
            name: "edge".into(),
            uid: "u".into(),
        }
    }

    fn verdict_of(consumer: Value) -> Result<Option<ClaimOutcome>, WorldError> {
        let key = ObjectKey::new("m", "h");
        let host = json!({"metadata": {"name": "h", "namespace": "m"},
            "spec": {"online": true, "consumerRef": consumer}});
        verdict(&serde_json::from_value(host).unwrap(), &ours(), &key)
    }

    #[test]
    fn every_field_of_a_mark_counts() {
        let mut mark = json!(ours());
        assert_eq!(verdict_of(mark.clone()).unwrap(), Some(ClaimOutcome::Ours));
        assert_eq!(verdict_of(Value::Null).unwrap(), None);
        for field in ["apiVersion", "kind", "namespace", "name", "uid"] {
            let kept = mark[field].take();
            mark[field] = json!("other");
            let found = verdict_of(mark.clone()).unwrap();
            assert!(matches!(found, Some(ClaimOutcome::Taken(_))), "{field}");
            mark[field] = kept;
        }
        assert!(matches!(verdict_of(json!({})).unwrap(), Some(ClaimOutcome::Taken(_))));
    }

    #[test]
    fn a_mark_that_can_not_be_read_is_nobodys_leave_to_write() {
        assert!(verdict_of(json!({"name": 7})).is_err());
    }
}
