//! What a directory of manifests can't say: uid, generation and time of creation. Pure.

use std::collections::{BTreeMap, BTreeSet};

use bpa_common::api::ObjectKey;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::cluster::kind::{Kind, ObjectId};

/// What was given to objects, by `Kind namespace/name`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ledger {
    entries: BTreeMap<String, Entry>,
}

/// What one object was given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    pub uid: String,
    pub first_seen: Timestamp,
    /// Counts changes of `spec`.
    pub generation: u64,
    spec_hash: String,
}

impl Ledger {
    /// Completes the metadata of a merged object: uid, generation, creation time and resource
    /// version. True when the ledger changed.
    pub fn complete(&mut self, id: &ObjectId, value: &mut Value, now: Timestamp) -> bool {
        let given_uid = text(value, "uid");
        let given_generation = value["metadata"]["generation"].as_u64().unwrap_or(0);
        let spec_hash = hash(&value["spec"]);
        let name = id.to_string();
        let old = self.entries.get(&name);
        let entry = match old {
            // Another uid in the manifest: another object of the same name.
            Some(old) if given_uid.is_empty() || given_uid == old.uid => {
                let counted = old.generation + u64::from(old.spec_hash != spec_hash);
                Entry { generation: counted.max(given_generation), spec_hash, ..old.clone() }
            }
            _ => Entry {
                uid: if given_uid.is_empty() { uid_of(&name, now) } else { given_uid },
                first_seen: now,
                generation: given_generation.max(1),
                spec_hash,
            },
        };
        let metadata = &mut value["metadata"];
        metadata["uid"] = entry.uid.clone().into();
        metadata["generation"] = generation_of(id.kind, given_generation, &entry).into();
        if metadata.get("creationTimestamp").is_none() {
            metadata["creationTimestamp"] = entry.first_seen.to_string().into();
        }
        let version = hash(value);
        value["metadata"]["resourceVersion"] = version.into();
        let changed = old != Some(&entry);
        if changed {
            self.entries.insert(name, entry);
        }
        changed
    }

    /// Forgets an object that is gone: one that comes later under its name is another.
    pub fn forget(&mut self, id: &ObjectId) -> bool {
        self.entries.remove(&id.to_string()).is_some()
    }

    /// Objects of the ledger that are not among these names.
    pub fn missing(&self, present: &BTreeSet<String>) -> Vec<ObjectId> {
        self.entries
            .keys()
            .filter(|name| !present.contains(*name))
            .filter_map(|n| id_of(n))
            .collect()
    }

    /// What this object was given.
    pub fn get(&self, id: &ObjectId) -> Option<&Entry> {
        self.entries.get(&id.to_string())
    }
}

/// Reads back what `ObjectId` prints.
fn id_of(name: &str) -> Option<ObjectId> {
    let (kind, key) = name.split_once(' ')?;
    let (namespace, name) = key.split_once('/')?;
    let kind = Kind::ALL.into_iter().find(|known| known.name() == kind)?;
    Some(ObjectId::new(kind, ObjectKey::new(namespace, name)))
}

/// Metal3 counts the generations of its objects itself; ours are edited by hand in files.
fn generation_of(kind: Kind, given: u64, entry: &Entry) -> u64 {
    match kind {
        Kind::Host | Kind::Hardware if given > 0 => given,
        _ => entry.generation,
    }
}

fn text(value: &Value, field: &str) -> String {
    value["metadata"][field].as_str().unwrap_or_default().to_owned()
}

/// A hash of a value as 16 hexadecimal digits.
pub fn hash(value: &Value) -> String {
    hex(&Sha256::digest(value.to_string().as_bytes())[..8])
}

/// Looks like a UUID and is the same again only for the same object first seen at the same time.
fn uid_of(name: &str, first_seen: Timestamp) -> String {
    let digest = Sha256::digest(format!("bpa object {name} {}", first_seen.as_nanosecond()));
    let hex = hex(&digest[..16]);
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn id(kind: Kind) -> ObjectId {
        ObjectId::new(kind, ObjectKey::new("default", "a"))
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn completed(ledger: &mut Ledger, kind: Kind, mut value: Value, second: i64) -> Value {
        ledger.complete(&id(kind), &mut value, at(second));
        value["metadata"].clone()
    }

    #[test]
    fn a_hand_written_object_keeps_its_uid_and_counts_its_specs() {
        let mut ledger = Ledger::default();
        let one = json!({"metadata": {"name": "a"}, "spec": {"x": 1}});
        let two = json!({"metadata": {"name": "a", "labels": {"l": "1"}}, "spec": {"x": 2}});
        let first = completed(&mut ledger, Kind::Provisioning, one.clone(), 1);
        let again = completed(&mut ledger, Kind::Provisioning, one.clone(), 2);
        assert_eq!(first, again);
        assert_eq!(first["creationTimestamp"], "1970-01-01T00:00:01Z");
        let changed = completed(&mut ledger, Kind::Provisioning, two, 3);
        assert_eq!((&changed["generation"], &changed["uid"]), (&json!(2), &first["uid"]));
        assert_ne!(changed["resourceVersion"], first["resourceVersion"]);
        let back = completed(&mut ledger, Kind::Provisioning, one, 4);
        assert_eq!(back["generation"], 3, "a generation never comes back");
    }

    #[test]
    fn an_object_made_again_is_another_one() {
        let mut ledger = Ledger::default();
        let value = json!({"metadata": {"name": "a"}, "spec": {}});
        let first = completed(&mut ledger, Kind::Provisioning, value.clone(), 1);
        assert_eq!(ledger.missing(&BTreeSet::new()), [id(Kind::Provisioning)]);
        assert!(ledger.forget(&id(Kind::Provisioning)));
        let second = completed(&mut ledger, Kind::Provisioning, value, 2);
        assert_ne!(first["uid"], second["uid"]);
        assert_eq!(second["uid"].as_str().unwrap().len(), 36);
    }

    #[test]
    fn what_metal3_says_of_a_host_holds() {
        let mut ledger = Ledger::default();
        let host = |uid: &str, online: bool| json!({"metadata": {"uid": uid, "generation": 7, "creationTimestamp": "2026-01-01T00:00:00Z"}, "spec": {"online": online}});
        let first = completed(&mut ledger, Kind::Host, host("u1", true), 1);
        assert_eq!(
            (&first["uid"], &first["generation"], &first["creationTimestamp"]),
            (&json!("u1"), &json!(7), &json!("2026-01-01T00:00:00Z"))
        );
        assert_eq!(completed(&mut ledger, Kind::Host, host("u1", false), 2)["generation"], 7);
        assert_eq!(completed(&mut ledger, Kind::Host, host("u2", false), 3)["uid"], "u2");
    }

    #[test]
    fn a_generation_of_an_export_is_where_the_count_goes_on() {
        let mut ledger = Ledger::default();
        let exported = |x: u32| json!({"metadata": {"generation": 5}, "spec": {"x": x}});
        let first = completed(&mut ledger, Kind::Provisioning, exported(1), 1);
        let edited = completed(&mut ledger, Kind::Provisioning, exported(2), 2);
        assert_eq!((&first["generation"], &edited["generation"]), (&json!(5), &json!(6)));
    }
}
