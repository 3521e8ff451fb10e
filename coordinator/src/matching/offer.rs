//! An offer: what a host has, as Metal3 knows it. Every part may be unknown.

use std::collections::BTreeMap;
use std::net::IpAddr;

use bpa_common::api::OsMark;
use bpa_common::api::metal3::{BareMetalHost, ConsumerRef, HardwareData, Inspected, readable_mac};
use bpa_common::net::MacAddress;

use super::eligibility::{Ineligible, IneligibleReason, is_installable, refusals};

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
    /// What stands in `bootMACAddress` when it is not one MAC.
    pub odd_boot_mac: Option<String>,
    /// All unicast MACs, the boot MAC first, then as [`Inspected::nics`] has them.
    pub macs: Vec<MacAddress>,
    /// Addresses that it had when it was inspected; they may be stale.
    pub inspected: Vec<IpAddr>,
    /// Logical CPUs; none = unknown.
    pub cpu: Option<u32>,
    /// Bytes; none = unknown.
    pub memory: Option<u64>,
    /// The largest disk in bytes; none = unknown.
    pub disk: Option<u64>,
    pub serial: Option<String>,
    /// `x86_64`, `aarch64`; none = unknown.
    pub architecture: Option<String>,
    pub labels: BTreeMap<String, String>,
    /// Identifies the OS installation: a new one may have new host keys.
    pub installation: String,
    /// Who has it.
    pub consumer: Option<ConsumerRef>,
    /// Why this host can't be taken by others than who has it; empty = it can.
    pub ineligible: Vec<Ineligible>,
    /// It is being deleted.
    pub deleting: bool,
    /// Address of its BMC, to be compared only.
    pub bmc: Option<String>,
    /// It has no operating system, and Metal3 would install one.
    pub installable: bool,
    /// Uid of the Provisioning for which its operating system is or was installed by us.
    pub installed_for: Option<String>,
}

/// Who wants a host.
#[derive(Clone, Copy, Debug)]
pub struct Claimant<'a> {
    /// The mark that it puts on its hosts.
    pub mark: &'a ConsumerRef,
    /// It may have Metal3 install hosts that have no operating system.
    pub installs: bool,
}

impl Offer {
    /// Reads a host. HardwareData is preferred section by section, then `status.hardware`, else the
    /// part is unknown.
    pub fn read(host: &BareMetalHost, data: Option<&HardwareData>) -> Self {
        let inspected = Inspected::of(host, data);
        let boot_mac = readable_mac(&host.spec.boot_mac_address);
        let nics = inspected.nics();
        let mut macs: Vec<MacAddress> = boot_mac.into_iter().collect();
        macs.extend(nics.iter().map(|nic| nic.mac).filter(|mac| Some(*mac) != boot_mac));
        Self {
            id: HostId {
                namespace: host.metadata.namespace.clone(),
                name: host.metadata.name.clone(),
                uid: host.metadata.uid.clone(),
            },
            boot_mac,
            macs,
            odd_boot_mac: odd_boot_mac(host, boot_mac),
            inspected: nics.into_iter().flat_map(|nic| nic.addresses).collect(),
            cpu: inspected.cpus(),
            memory: inspected.memory(),
            disk: inspected.disks().into_iter().filter_map(|disk| disk.size_bytes).max(),
            serial: inspected.serial().map(str::to_owned),
            architecture: inspected.architecture().map(str::to_owned),
            labels: host.metadata.labels.clone(),
            installation: installation(host),
            consumer: host.spec.consumer_ref.clone(),
            ineligible: refusals(host),
            deleting: host.metadata.is_deleting(),
            bmc: bmc(host),
            installable: is_installable(host),
            installed_for: OsMark::of(&host.metadata.annotations).map(|mark| mark.provisioning),
        }
    }

    /// What speaks against this host for a claimant. Having it does not; while it is being installed
    /// for that very claimant, its state does not either.
    pub fn refusals(&self, who: Claimant<'_>) -> impl Iterator<Item = &Ineligible> {
        use IneligibleReason as R;
        let own = self.consumer.as_ref() == Some(who.mark);
        let installing = own && who.installs && self.is_installed_for(who);
        let installable = who.installs && self.installable;
        self.ineligible.iter().filter(move |refusal| match refusal.reason {
            R::Claimed => !own,
            R::NotProvisioned => !installing && !installable,
            R::BeingProvisionedByOthers | R::InError | R::NotOk | R::Offline => !installing,
            _ => true,
        })
    }

    /// True when this claimant can take the host, or has it.
    pub fn is_free_for(&self, who: Claimant<'_>) -> bool {
        self.refusals(who).next().is_none()
    }

    /// True when Metal3 installs, has installed or would install this host for the claimant.
    pub fn is_installed_by(&self, who: Claimant<'_>) -> bool {
        who.installs && (self.installable || self.is_installed_for(who))
    }

    fn is_installed_for(&self, who: Claimant<'_>) -> bool {
        self.installed_for.as_ref() == Some(&who.mark.uid)
    }
}

/// What stands where the boot MAC should be and is none; its beginning.
fn odd_boot_mac(host: &BareMetalHost, read: Option<MacAddress>) -> Option<String> {
    let text = host.spec.boot_mac_address.trim();
    (read.is_none() && !text.is_empty()).then(|| text.chars().take(80).collect())
}

fn bmc(host: &BareMetalHost) -> Option<String> {
    let address = host.spec.bmc.as_ref()?.address.trim().trim_end_matches('/').to_lowercase();
    (!address.is_empty()).then_some(address)
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
    use bpa_common::api::metal3::{Cpu, Disk, Hardware, Nic};

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
