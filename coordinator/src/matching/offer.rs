//! An offer: what a host has, as Metal3 knows it. Every part may be unknown.

use std::collections::BTreeMap;

use bpa_common::api::metal3::{BareMetalHost, ConsumerRef, Hardware, HardwareData};
use bpa_common::net::MacAddress;

use super::eligibility::{Ineligible, IneligibleReason, refusals};

/// A host, exactly: one recreated under the same name is another.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId {
    pub namespace: String,
    pub name: String,
    pub uid: String,
}

impl std::fmt::Display for HostId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// What a host has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    pub id: HostId,
    /// Empty or unreadable boot MACs are none; they never match.
    pub boot_mac: Option<MacAddress>,
    /// All unicast MACs, the boot MAC first, then PXE NICs, then the rest as inspected.
    pub macs: Vec<MacAddress>,
    /// Logical CPUs; none = unknown.
    pub cpu: Option<u32>,
    /// Bytes; none = unknown.
    pub memory: Option<u64>,
    /// The largest disk in bytes; none = unknown.
    pub disk: Option<u64>,
    pub serial: Option<String>,
    pub labels: BTreeMap<String, String>,
    /// Identifies the OS installation: a new one may have new host keys.
    pub installation: String,
    /// Who has it.
    pub consumer: Option<ConsumerRef>,
    /// Why this host can't be taken by others than who has it; empty = it can.
    pub ineligible: Vec<Ineligible>,
}

impl Offer {
    /// Reads a host. HardwareData is preferred section by section (Metal3 is moving there),
    /// then `status.hardware`, else the part is unknown.
    pub fn read(host: &BareMetalHost, data: Option<&HardwareData>) -> Self {
        let places: Vec<&Hardware> = data
            .and_then(|d| d.spec.hardware.as_ref())
            .into_iter()
            .chain(host.status.hardware.as_ref())
            .collect();
        let boot_mac =
            host.spec.boot_mac_address.trim().parse().ok().filter(|m: &MacAddress| m.is_unicast());
        Self {
            id: HostId {
                namespace: host.metadata.namespace.clone(),
                name: host.metadata.name.clone(),
                uid: host.metadata.uid.clone(),
            },
            boot_mac,
            macs: all_macs(boot_mac, &places),
            cpu: places.iter().find_map(|h| h.cpu.as_ref()?.count.filter(|n| *n > 0)),
            memory: places
                .iter()
                .find_map(|h| h.ram_mebibytes.filter(|m| *m > 0))
                .and_then(|mib| mib.checked_mul(1 << 20)),
            disk: places.iter().find_map(|h| {
                h.storage.iter().filter_map(|d| d.size_bytes).filter(|b| *b > 0).max()
            }),
            serial: places
                .iter()
                .filter_map(|h| h.system_vendor.as_ref())
                .map(|v| v.serial_number.trim().to_owned())
                .find(|s| !s.is_empty()),
            labels: host.metadata.labels.clone(),
            installation: installation(host),
            consumer: host.spec.consumer_ref.clone(),
            ineligible: refusals(host),
        }
    }

    /// What speaks against this host for the owner of a mark: having it himself does not.
    pub fn refusals(&self, ours: Option<&ConsumerRef>) -> impl Iterator<Item = &Ineligible> {
        let own = ours.is_some() && self.consumer.as_ref() == ours;
        self.ineligible.iter().filter(move |i| !own || i.reason != IneligibleReason::Claimed)
    }

    /// True when the owner of this mark can take the host, or has it.
    pub fn is_free_for(&self, ours: Option<&ConsumerRef>) -> bool {
        self.refusals(ours).next().is_none()
    }
}

fn all_macs(boot: Option<MacAddress>, places: &[&Hardware]) -> Vec<MacAddress> {
    let nics = places.iter().map(|h| &h.nics).find(|n| !n.is_empty());
    let read = |pxe: bool| {
        nics.into_iter()
            .flatten()
            .filter(move |nic| nic.pxe == pxe)
            .filter_map(|nic| nic.mac.trim().parse().ok())
            .filter(|m: &MacAddress| m.is_unicast())
    };
    let mut macs: Vec<MacAddress> = Vec::new();
    for mac in boot.into_iter().chain(read(true)).chain(read(false)) {
        if !macs.contains(&mac) {
            macs.push(mac);
        }
    }
    macs
}

/// Metal3 gives each provisioning an ID; the image tells a re-image apart where the ID stays.
fn installation(host: &BareMetalHost) -> String {
    let provisioning = &host.status.provisioning;
    let image = provisioning.image.as_ref().or(host.spec.image.as_ref());
    format!("{}|{}", provisioning.id, image.map_or("", |i| i.url.as_str()))
}

#[cfg(test)]
mod tests {
    use bpa_common::api::ObjectMeta;
    use bpa_common::api::metal3::{Cpu, Disk, Nic};

    use super::*;
    use crate::matching::testing::{GIB, host};

    #[test]
    fn hardware_data_comes_first_section_by_section_then_status_then_unknown() {
        let mut bmh = host("h1", 1);
        bmh.status.hardware = Some(Hardware {
            cpu: Some(Cpu { count: Some(8), ..Cpu::default() }),
            ram_mebibytes: Some(4096),
            ..Hardware::default()
        });
        let mut data = HardwareData::new(ObjectMeta::default(), Default::default());
        data.spec.hardware = Some(Hardware {
            cpu: Some(Cpu { count: Some(16), ..Cpu::default() }),
            storage: vec![
                Disk { size_bytes: Some(10 * GIB), ..Disk::default() },
                Disk { size_bytes: Some(20 * GIB), ..Disk::default() },
            ],
            ..Hardware::default()
        });
        let offer = Offer::read(&bmh, Some(&data));
        assert_eq!(
            (offer.cpu, offer.memory, offer.disk),
            (Some(16), Some(4 * GIB), Some(20 * GIB))
        );
        bmh.status.hardware = None;
        let offer = Offer::read(&bmh, None);
        assert_eq!((offer.cpu, offer.memory, offer.disk), (None, None, None));
    }

    #[test]
    fn zero_is_unknown_and_dual_stack_nics_are_one() {
        let mut bmh = host("h1", 1);
        let nic = |mac: &str, pxe| Nic { mac: mac.to_owned(), pxe, ..Nic::default() };
        bmh.status.hardware = Some(Hardware {
            ram_mebibytes: Some(0),
            nics: vec![
                nic("52:54:00:00:00:aa", false),
                nic("52:54:00:00:00:AA", false),
                nic("", false),
                nic("52:54:00:00:00:bb", true),
            ],
            ..Hardware::default()
        });
        let offer = Offer::read(&bmh, None);
        let macs: Vec<String> = offer.macs.iter().map(ToString::to_string).collect();
        assert_eq!(macs, ["52:54:00:00:00:01", "52:54:00:00:00:bb", "52:54:00:00:00:aa"]);
        assert_eq!(offer.memory, None);
    }
}
