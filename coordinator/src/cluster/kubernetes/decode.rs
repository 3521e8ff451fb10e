//! From an object as it came to our type. One that does not fit is a problem of its own. Pure.

use bpa_common::api::Provisioning;
use bpa_common::api::metal3::{BareMetalHost, Hardware, HardwareData};
use serde::de::DeserializeOwned;

use super::raw::Raw;
use crate::cluster::ObjectProblem;
use crate::cluster::decode::{self, FieldProblem};
use crate::cluster::kind::{Kind, ObjectId};

/// Reads one object as its type.
///
/// # Errors
/// The field that does not fit, what was wanted and found.
pub fn typed<T: DeserializeOwned>(kind: Kind, raw: Raw) -> Result<T, ObjectProblem> {
    let id = ObjectId::new(kind, raw.key());
    decode::from_value(raw.into_value()).map_err(|problem| object_problem(id, &problem))
}

/// Reads a Provisioning. One whose spec can't be read tells that in its status.
///
/// # Errors
/// When its metadata or its status can't be read.
pub fn provisioning(raw: Raw) -> Result<Provisioning, ObjectProblem> {
    let id = ObjectId::new(Kind::Provisioning, raw.key());
    decode::provisioning(raw.into_value()).map_err(|problem| object_problem(id, &problem))
}

fn object_problem(id: ObjectId, problem: &FieldProblem) -> ObjectProblem {
    let message = format!(
        "{problem}; correct it with: kubectl edit {} -n {} {}",
        super::resource::plural(id.kind),
        id.key.namespace,
        id.key.name
    );
    ObjectProblem {
        place: id.to_string(),
        kind: id.kind.name().to_owned(),
        key: Some(id.key),
        message,
    }
}

/// A host without what decisions never look at.
pub fn trim_host(mut host: BareMetalHost) -> BareMetalHost {
    if let Some(hardware) = &mut host.status.hardware {
        trim_hardware(hardware);
    }
    host
}

/// Inspection data without what decisions never look at.
pub fn trim_data(mut data: HardwareData) -> HardwareData {
    if let Some(hardware) = &mut data.spec.hardware {
        trim_hardware(hardware);
    }
    data
}

/// The CPU's flags alone are hundreds of words for each host.
fn trim_hardware(hardware: &mut Hardware) {
    if let Some(cpu) = &mut hardware.cpu {
        cpu.flags = Vec::new();
    }
    hardware.nics.shrink_to_fit();
    hardware.storage.shrink_to_fit();
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn raw(value: Value) -> Raw {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_host_keeps_what_decisions_need_and_no_more() {
        let hardware = json!({"cpu": {"count": 8, "flags": ["sse", "avx"]}, "ramMebibytes": 1024,
            "nics": [{"mac": "52:54:00:aa:01:01"}]});
        let host: BareMetalHost = typed(
            Kind::Host,
            raw(json!({"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
                "metadata": {"name": "h", "namespace": "m", "uid": "u", "resourceVersion": "3",
                    "creationTimestamp": "2026-12-01T00:00:00Z", "labels": {"rack": "a"}},
                "spec": {"online": true, "bmc": {"address": "ipmi://x"}},
                "status": {"provisioning": {"state": "provisioned"}, "hardware": hardware}})),
        )
        .map(trim_host)
        .unwrap();
        assert_eq!(host.metadata.labels["rack"], "a");
        assert_eq!(host.metadata.resource_version, "3");
        assert_eq!(host.status.provisioning.state, "provisioned");
        let hardware = host.status.hardware.unwrap();
        assert_eq!(hardware.cpu.as_ref().unwrap().count, Some(8));
        assert!(hardware.cpu.unwrap().flags.is_empty());
        assert_eq!(hardware.nics.len(), 1);
    }

    #[test]
    fn a_mistake_names_the_object_the_field_and_what_to_do() {
        let value = json!({"metadata": {"name": "p", "namespace": "n"},
            "spec": {"masters": [{"m-0": {"memory": "ten"}}]}});
        let problem = typed::<Provisioning>(Kind::Provisioning, raw(value)).unwrap_err();
        assert_eq!(problem.place, "Provisioning n/p");
        assert!(problem.message.starts_with("spec.masters[0].m-0.memory: "), "{problem:?}");
        assert!(problem.message.ends_with("kubectl edit provisionings -n n p"), "{problem:?}");
    }
}
