//! From merged JSON objects to a typed [`Snapshot`]; an object that does not fit is a problem.

use std::collections::BTreeMap;
use std::sync::Arc;

use bpa_common::api::metal3::{BareMetalHost, HardwareData};
use bpa_common::api::{Cluster, ObjectKey, Provisioning, Site, Software};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::manifest::{self, Place};
use crate::cluster::decode;
use crate::cluster::kind::{Kind, ObjectId};
use crate::cluster::port::{HostRecord, ObjectProblem, Snapshot};

/// An object with everything on it that we know.
#[derive(Clone, Debug)]
pub struct Merged {
    pub id: ObjectId,
    pub place: Place,
    pub value: Value,
}

/// Reads one object as its type.
///
/// # Errors
/// The path of the field that does not fit, what was found and wanted.
pub fn typed<T: DeserializeOwned>(merged: &Merged) -> Result<T, ObjectProblem> {
    decode::from_value(merged.value.clone()).map_err(|problem| {
        let message = format!("{problem}; correct it in {}", merged.place.file);
        manifest::problem(&merged.place, Some(merged.id.clone()), message)
    })
}

/// Whether an object fits its type.
///
/// # Errors
/// As [`typed`].
pub fn check(merged: &Merged) -> Result<(), ObjectProblem> {
    match merged.id.kind {
        Kind::Host => typed::<BareMetalHost>(merged).map(drop),
        Kind::Hardware => typed::<HardwareData>(merged).map(drop),
        Kind::Site => typed::<Site>(merged).map(drop),
        Kind::Provisioning => typed::<Provisioning>(merged).map(drop),
        Kind::Software => typed::<Software>(merged).map(drop),
        Kind::Cluster => typed::<Cluster>(merged).map(drop),
    }
}

/// Makes a snapshot of these objects.
pub fn snapshot(objects: Vec<Merged>, problems: Vec<ObjectProblem>) -> Snapshot {
    let mut snapshot = Snapshot { problems, ..Snapshot::default() };
    let mut hardware: BTreeMap<ObjectKey, HardwareData> = BTreeMap::new();
    for object in &objects {
        let problems = &mut snapshot.problems;
        match object.id.kind {
            Kind::Host => push(object, problems, |host| {
                snapshot.hosts.push(Arc::new(HostRecord { host, hardware: None }));
            }),
            Kind::Hardware => push(object, problems, |data: HardwareData| {
                hardware.insert(data.metadata.key(), data);
            }),
            Kind::Site => push(object, problems, |site| snapshot.sites.push(site)),
            Kind::Provisioning => {
                push(object, problems, |p| snapshot.provisionings.push(Arc::new(p)))
            }
            Kind::Software => push(object, problems, |s| snapshot.softwares.push(s)),
            Kind::Cluster => push(object, problems, |c| snapshot.clusters.push(c)),
        }
    }
    for record in snapshot.hosts.iter_mut().filter_map(Arc::get_mut) {
        record.hardware = hardware.remove(&record.host.metadata.key());
    }
    snapshot
}

fn push<T: DeserializeOwned>(
    object: &Merged,
    problems: &mut Vec<ObjectProblem>,
    mut take: impl FnMut(T),
) {
    match typed(object) {
        Ok(value) => take(value),
        Err(problem) => problems.push(problem),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(text: &str) -> Vec<Merged> {
        let parsed = manifest::parse("a.yaml", text);
        assert!(parsed.problems.is_empty(), "{parsed:?}");
        let merge = |m: manifest::Manifest| Merged { id: m.id, place: m.place, value: m.value };
        parsed.manifests.into_iter().map(merge).collect()
    }

    #[test]
    fn hardware_finds_its_host_and_one_that_does_not_fit_is_said() {
        let text = "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {name: a, namespace: m}\nspec: {online: true, bootMACAddress: 52:54:00:aa:01:01}\n---\napiVersion: metal3.io/v1alpha1\nkind: HardwareData\nmetadata: {name: a, namespace: m}\nspec: {hardware: {cpu: {count: 4}}}\n---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {name: b}\nspec: {online: 7}\n";
        let snapshot = snapshot(merged(text), Vec::new());
        assert_eq!(snapshot.hosts.len(), 1);
        let hardware = snapshot.hosts[0].hardware.as_ref().unwrap();
        assert_eq!(hardware.spec.hardware.as_ref().unwrap().cpu.as_ref().unwrap().count, Some(4));
        let problem = &snapshot.problems[0];
        assert_eq!(problem.place, "a.yaml, document 3");
        assert!(
            problem.message.starts_with("spec.online: wanted true or false"),
            "{}",
            problem.message
        );
        assert_eq!(problem.key.as_ref().unwrap().to_string(), "default/b");
    }

    #[test]
    fn a_mistake_deep_in_a_need_is_named_by_its_path() {
        let text = "apiVersion: bpa.akraino.org/v1alpha1\nkind: Provisioning\nmetadata: {name: p}\nspec:\n  masters:\n  - m-0: {memory: ten}\n";
        let message = snapshot(merged(text), Vec::new()).problems.remove(0).message;
        assert!(message.starts_with("spec.masters[0].m-0.memory: "), "{message}");
        assert!(message.contains("`ten` is not a quantity"), "{message}");
    }

    #[test]
    fn a_mac_that_became_a_number_gets_the_clear_message() {
        let text = "apiVersion: bpa.akraino.org/v1alpha1\nkind: Provisioning\nmetadata: {name: p}\nspec:\n  masters:\n  - m-0: {mac-address: 30582134}\n";
        let message = snapshot(merged(text), Vec::new()).problems.remove(0).message;
        assert!(message.contains("base-60") && message.contains("quotes"), "{message}");
    }

    #[test]
    fn absurd_objects_hurt_no_other_and_are_told_shortly() {
        let object = |name: &str, spec: &str| {
            format!(
                "apiVersion: bpa.akraino.org/v1alpha1\nkind: Provisioning\nmetadata: {{name: {name}}}\nspec: {spec}\n---\n"
            )
        };
        let long = "x".repeat(1 << 20);
        let items: Vec<String> =
            (0..10_000).map(|n| format!("{{w-{n}: {{count: 1000}}}}")).collect();
        let text = [
            object("good", "{masters: [{m: {cpu: 4}}]}"),
            object("many", &format!("{{masters: [{}]}}", items.join(","))),
            object("long", &format!("{{masters: [{{m: {{memory: {long}}}}}]}}")),
            object("negative", "{masters: [{m: {memory: -1}}]}"),
            object("huge", "{masters: [{m: {disk: 1e400}}]}"),
            object("deep", &format!("{{vars: {}1{}}}", "[".repeat(100), "]".repeat(100))),
        ]
        .concat();
        let parsed = manifest::parse("a.yaml", &text);
        let merge = |m: manifest::Manifest| Merged { id: m.id, place: m.place, value: m.value };
        let found = snapshot(parsed.manifests.into_iter().map(merge).collect(), parsed.problems);
        let accepted: Vec<(&str, bool)> = found
            .provisionings
            .iter()
            .map(|p| (p.metadata.name.as_str(), crate::matching::accept(p).is_ok()))
            .collect();
        assert_eq!(accepted, [("good", true), ("many", false)]);
        let places: Vec<&str> = found.problems.iter().map(|p| p.place.as_str()).collect();
        assert_eq!(places.len(), 4, "{places:?}");
        assert!(found.problems.iter().all(|problem| problem.message.len() < 800));
    }
}
