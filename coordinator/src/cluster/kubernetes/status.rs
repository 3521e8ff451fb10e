//! Statuses: written by server-side apply under one name, and never larger than the store takes.

use bpa_common::api::ObjectKey;
use kube::api::{Patch, PatchParams};
use serde::Serialize;
use serde_json::{Value, json};

use super::FIELD_MANAGER;
use super::fault::Fault;
use super::resource;
use super::writer::{Failed, Writer};
use crate::cluster::WorldError;
use crate::cluster::kind::Kind;

/// Largest status, bytes of JSON. An object may have 1.5 MiB, its spec and the API server's own
/// records of who wrote what included.
pub const MAX_STATUS: usize = 512 << 10;
/// Texts that may be shortened: nothing is decided by them.
const TEXTS: [&str; 8] =
    ["message", "lastLine", "task", "wanted", "found", "fix", "summary", "phase"];
/// Lists whose end may be left out, and how much of them is kept at least.
const LISTS: [(&str, usize); 2] = [("checks", 20), ("sources", 20)];
/// Lengths to which texts are shortened, characters, one after the other.
const LENGTHS: [usize; 5] = [4096, 1024, 256, 96, 48];

/// Writes the status of an object, and nothing else of it. `uid` as far as it is known.
///
/// # Errors
/// [`WorldError::NotFound`] when there is no such object (any more), [`WorldError::Api`] else.
pub async fn write(
    writer: &Writer,
    kind: Kind,
    key: &ObjectKey,
    uid: Option<&str>,
    status: &impl Serialize,
) -> Result<(), WorldError> {
    const ACTION: &str = "write the status of";
    let status = serde_json::to_value(status).map_err(|error| WorldError::Corrupt {
        what: format!("the status of {kind} {key}"),
        message: error.to_string(),
    })?;
    let Some(status) = bounded(status, MAX_STATUS) else {
        return Err(WorldError::Api {
            action: ACTION,
            object: format!("{kind} {key}"),
            problem: format!(
                "it would have more than {} KiB even with its texts shortened: too many nodes for one object, make two clusters of it",
                MAX_STATUS >> 10
            ),
        });
    };
    let wrote = match apply(writer, kind, key, uid, &status).await {
        Err(failed) if failed.fault() == Some(Fault::Unfit) => {
            merge(writer, kind, key, uid, &status).await
        }
        wrote => wrote,
    };
    wrote.map_err(|failed| {
        let is_other = failed.fault() == Some(Fault::Conflict) && uid.is_some();
        match is_other {
            true => WorldError::NotFound { kind: kind.name(), key: key.clone() },
            false => failed.into_world(ACTION, kind, key),
        }
    })
}

/// By server-side apply: what is ours and not in it any more goes.
async fn apply(
    writer: &Writer,
    kind: Kind,
    key: &ObjectKey,
    uid: Option<&str>,
    status: &Value,
) -> Result<(), Failed> {
    let mut metadata = json!({"name": key.name, "namespace": key.namespace});
    if let Some(uid) = uid {
        // Of another object of this name the API server refuses the write.
        metadata["uid"] = json!(uid);
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

/// By a merge, for an object that nothing can be applied to, so that it can be told what is wrong.
async fn merge(
    writer: &Writer,
    kind: Kind,
    key: &ObjectKey,
    uid: Option<&str>,
    status: &Value,
) -> Result<(), Failed> {
    let read = writer.read(async |client: kube::Client| {
        resource::beside(&client, kind, &key.namespace).get(&key.name).await
    });
    let found = read.await?;
    let mut change = json!({"metadata": {"resourceVersion": found.resource_version()}});
    if let Some(uid) = uid {
        change["metadata"]["uid"] = json!(uid);
    }
    change["status"] = instead(&found.into_value()["status"], status);
    let params =
        PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..Default::default() };
    let change = Patch::Merge(&change);
    let wrote = writer.write(async |client: kube::Client| {
        let api = resource::beside(&client, kind, &key.namespace);
        api.patch_status(&key.name, &params, &change).await
    });
    wrote.await.map(drop)
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

/// The status within this many bytes: texts are shortened and long lists cut, and a condition says
/// so. None when that is not enough.
pub fn bounded(mut status: Value, max: usize) -> Option<Value> {
    if size(&status) <= max {
        return Some(status);
    }
    for length in LENGTHS {
        shorten(&mut status, length);
        cut(&mut status);
        say(&mut status);
        if size(&status) <= max {
            return Some(status);
        }
    }
    None
}

fn size(value: &Value) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Counting can't fail, and a value is always JSON.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

fn shorten(value: &mut Value, length: usize) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::String(text) if TEXTS.contains(&name.as_str()) => clip(text, length),
                    other => shorten(other, length),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| shorten(item, length)),
        _ => {}
    }
}

fn clip(text: &mut String, length: usize) {
    const MARK: char = '…';
    if let Some((end, _)) = text.char_indices().nth(length) {
        text.truncate(end);
        text.push(MARK);
    }
}

fn cut(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let keep = LISTS.iter().find(|(list, _)| list == name).map(|(_, keep)| *keep);
                if let (Value::Array(items), Some(keep)) = (&mut *field, keep) {
                    items.truncate(keep);
                }
                cut(field);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(cut),
        _ => {}
    }
}

/// Type of the condition that says that a status is not whole.
const COMPLETE: &str = "StatusComplete";

fn say(status: &mut Value) {
    let Some(Value::Array(conditions)) = status.get_mut("conditions") else { return };
    if conditions.iter().any(|condition| condition["type"] == COMPLETE) {
        return;
    }
    let latest = conditions.iter().filter_map(|c| c["lastTransitionTime"].as_str()).max();
    let time = latest.unwrap_or("1970-01-01T00:00:00Z").to_owned();
    conditions.push(json!({
        "type": COMPLETE, "status": "False", "reason": "Shortened", "lastTransitionTime": time,
        "message": "the status is larger than an object may be: texts and lists of checks are shortened here; bpa-coordinator logs has all of it",
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(nodes: usize, message: usize) -> Value {
        let node = |n: usize| json!({"name": format!("worker-{n}"), "hostUid": "0123456789abcdef", "message": "m".repeat(message)});
        json!({
            "phase": "Failed",
            "conditions": [{"type": "Ready", "status": "False", "reason": "X", "message": "why",
                "lastTransitionTime": "2026-12-01T00:00:00Z"}],
            "nodes": (0..nodes).map(node).collect::<Vec<_>>(),
            "run": {"checks": (0..nodes).map(|n| json!({"id": n.to_string()})).collect::<Vec<_>>()},
        })
    }

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

    #[test]
    fn a_status_that_fits_is_left_as_it_is() {
        let status = status(10, 100);
        assert_eq!(bounded(status.clone(), MAX_STATUS), Some(status));
    }

    #[test]
    fn a_large_one_is_shortened_and_says_so_and_keeps_what_decisions_need() {
        let large = status(200, 100_000);
        let bound = bounded(large.clone(), MAX_STATUS).unwrap();
        assert!(size(&bound) <= MAX_STATUS);
        assert_eq!(bound["nodes"].as_array().unwrap().len(), 200, "no node is forgotten");
        assert_eq!(bound["nodes"][7]["hostUid"], large["nodes"][7]["hostUid"]);
        assert_eq!(bound["run"]["checks"].as_array().unwrap().len(), 20);
        let said = &bound["conditions"][1];
        assert_eq!((&said["type"], &said["status"]), (&json!(COMPLETE), &json!("False")));
        assert_eq!(said["lastTransitionTime"], "2026-12-01T00:00:00Z");
        assert_eq!(bounded(large, MAX_STATUS), Some(bound), "the same again");
    }

    #[test]
    fn what_can_not_be_made_to_fit_is_not_written_half() {
        assert_eq!(bounded(status(20_000, 10), MAX_STATUS), None);
    }

    #[test]
    fn texts_are_cut_between_characters() {
        let mut text = "äöü".to_owned();
        clip(&mut text, 2);
        assert_eq!(text, "äö…");
        clip(&mut text, 3);
        assert_eq!(text, "äö…");
    }
}
