//! From an object as it came to our type. One that does not fit is a problem of its own. Pure.

use bpa_common::api::Provisioning;
use bpa_common::api::metal3::{BareMetalHost, Hardware, HardwareData};
use bpa_common::net::host_address;
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

/// Most disks and NICs of one host that are kept.
const MOST: usize = 1024;

/// The CPU's flags alone are hundreds of words for each host; a storage network shows each disk on
/// many paths, and network cards show hundreds of virtual functions.
fn trim_hardware(hardware: &mut Hardware) {
    if let Some(cpu) = &mut hardware.cpu {
        cpu.flags = Vec::new();
    }
    hardware.storage = hardware.distinct_disks().into_iter().cloned().collect();
    if hardware.storage.len() > MOST {
        hardware.storage.sort_by_key(|disk| std::cmp::Reverse(disk.size_bytes));
    }
    if hardware.nics.len() > MOST {
        hardware.nics.sort_by_key(|nic| (!nic.pxe, host_address(&nic.ip).is_none()));
    }
    hardware.storage.truncate(MOST);
    hardware.nics.truncate(MOST);
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

    /// Bug 40: hundreds of paths to a few disks, hundreds of virtual functions of a few NICs.
    #[test]
    fn long_lists_are_cut_and_what_counts_is_kept() {
        let disk = |n: u64| json!({"sizeBytes": 1000 + n % 8, "wwn": format!("0x{}", n % 8)});
        let nic = |n: u64| json!({"mac": format!("02:00:00:00:{:02x}:{:02x}", n / 256, n % 256)});
        let mut nics: Vec<Value> = (0..5000).map(nic).collect();
        nics.push(json!({"mac": "52:54:00:aa:01:01", "pxe": true}));
        let disks: Vec<Value> = (0..800).map(disk).collect();
        let other = (0..5000).map(|n| json!({"sizeBytes": n + 1})).collect::<Vec<_>>();
        let read = |disks: &[Value]| -> Hardware {
            let hardware = json!({"storage": disks, "nics": nics});
            let value = json!({"metadata": {"name": "h", "namespace": "m"}, "spec": {"hardware": hardware}});
            let data = typed::<HardwareData>(Kind::Hardware, raw(value)).map(trim_data).unwrap();
            data.spec.hardware.unwrap()
        };
        let hardware = read(&disks);
        assert_eq!((hardware.storage.len(), hardware.nics.len()), (8, MOST));
        assert!(hardware.nics[0].pxe);
        let largest = read(&other).storage.iter().filter_map(|disk| disk.size_bytes).max();
        assert_eq!(largest, Some(5000));
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
