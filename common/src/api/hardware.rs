//! Hardware as Metal3's inspection found it, in either of its two places.
//!
//! HardwareData and `status.hardware` of the host have the same shape. Metal3 is moving from the
//! second to the first, and either may lack a section (or be missing as a whole): [`Inspected`]
//! reads them together. What is zero, negative or absent was not measured: it is unknown.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::de::{Error as _, Unexpected};
use serde::{Deserialize, Deserializer, Serialize};

use super::metal3::{BareMetalHost, HardwareData};
use crate::net::{MacAddress, host_address};

/// `spec` of HardwareData.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HardwareDataSpec {
    pub hardware: Option<Hardware>,
}

/// Hardware as inspection found it; same schema in both places.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Hardware {
    pub cpu: Option<Cpu>,
    /// MiB; 0 or absent when the inspection could not read it.
    #[serde(deserialize_with = "measured")]
    pub ram_mebibytes: Option<u64>,
    pub nics: Vec<Nic>,
    pub storage: Vec<Disk>,
    pub system_vendor: Option<SystemVendor>,
    pub hostname: String,
}

/// `cpu`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Cpu {
    pub arch: String,
    pub model: String,
    pub flags: Vec<String>,
    /// Logical CPUs (threads), not sockets or cores.
    #[serde(deserialize_with = "measured")]
    pub count: Option<u32>,
}

/// One entry of `nics`; dual stack is two entries with the same MAC.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Nic {
    pub name: String,
    pub model: String,
    pub mac: String,
    /// As seen at inspection: may be stale.
    pub ip: String,
    pub speed_gbps: i64,
    pub pxe: bool,
}

/// One entry of `storage`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Disk {
    pub name: String,
    #[serde(deserialize_with = "measured")]
    pub size_bytes: Option<u64>,
    pub rotational: bool,
    #[serde(rename = "type")]
    pub kind: String,
    pub serial_number: String,
    pub wwn: String,
    pub wwn_with_extension: String,
}

/// `systemVendor`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SystemVendor {
    pub manufacturer: String,
    pub product_name: String,
    pub serial_number: String,
}

/// A whole number above zero, or unknown. A machine without any of it is not what inspection means.
fn measured<'de, D: Deserializer<'de>, T: TryFrom<u64>>(from: D) -> Result<Option<T>, D::Error> {
    let Some(number) = Option::<serde_json::Number>::deserialize(from)? else { return Ok(None) };
    match (number.as_u64(), number.as_i64(), number.as_f64()) {
        (Some(0), ..) | (None, Some(_), _) => Ok(None),
        (Some(found), ..) => Ok(T::try_from(found).ok()),
        (.., found) => {
            let found = Unexpected::Float(found.unwrap_or_default());
            Err(D::Error::invalid_value(found, &"a whole number"))
        }
    }
}

impl Hardware {
    /// The disks, each once: one that is reached over several paths is listed for each of them
    /// (hundreds of entries on machines with a storage network).
    pub fn distinct_disks(&self) -> Vec<&Disk> {
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        let mut disks: Vec<&Disk> = Vec::new();
        for disk in &self.storage {
            let place = disk.identity().map(|id| *seen.entry(id).or_insert(disks.len()));
            match place.and_then(|place| disks.get_mut(place)) {
                Some(known) if known.size_bytes < disk.size_bytes => *known = disk,
                Some(_) => {}
                None => disks.push(disk),
            }
        }
        disks
    }
}

impl Disk {
    /// What is the same on every path to it. The WWN with its extension tells two volumes of one
    /// storage apart.
    fn identity(&self) -> Option<&str> {
        let names = [&self.wwn_with_extension, &self.wwn, &self.serial_number];
        names.into_iter().map(|name| name.trim()).find(|name| !name.is_empty())
    }
}

/// A network card, whatever the number of its entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InspectedNic {
    pub mac: MacAddress,
    /// The host booted from it.
    pub pxe: bool,
    /// At the time of the inspection; of both families, in the order of the list, none that can't
    /// be a host's.
    pub addresses: Vec<IpAddr>,
}

/// What is known of a machine, from both places.
#[derive(Clone, Copy, Debug, Default)]
pub struct Inspected<'a> {
    places: [Option<&'a Hardware>; 2],
}

impl<'a> Inspected<'a> {
    /// Of this host and its HardwareData, which is preferred section by section.
    pub fn of(host: &'a BareMetalHost, data: Option<&'a HardwareData>) -> Self {
        let data = data.and_then(|data| data.spec.hardware.as_ref());
        Self { places: [data, host.status.hardware.as_ref()] }
    }

    fn first<T>(self, section: impl Fn(&'a Hardware) -> Option<T>) -> Option<T> {
        self.places.into_iter().flatten().find_map(section)
    }

    /// Logical CPUs (threads).
    pub fn cpus(self) -> Option<u32> {
        self.first(|hardware| hardware.cpu.as_ref()?.count.filter(|count| *count > 0))
    }

    /// Bytes. One too large for any machine is unknown.
    pub fn memory(self) -> Option<u64> {
        self.first(|hardware| hardware.ram_mebibytes.filter(|mib| *mib > 0)?.checked_mul(1 << 20))
    }

    /// The disks of known size, each once.
    pub fn disks(self) -> Vec<&'a Disk> {
        let sized = |hardware: &'a Hardware| {
            let mut disks = hardware.distinct_disks();
            disks.retain(|disk| disk.size_bytes.is_some_and(|bytes| bytes > 0));
            (!disks.is_empty()).then_some(disks)
        };
        self.first(sized).unwrap_or_default()
    }

    /// `x86_64`, `aarch64`. Metal3 assumes its own before the inspection: that is no knowledge.
    pub fn architecture(self) -> Option<&'a str> {
        let text = |hardware: &'a Hardware| Some(hardware.cpu.as_ref()?.arch.trim());
        self.first(|hardware| text(hardware).filter(|arch| !arch.is_empty()))
    }

    /// Serial number of the machine.
    pub fn serial(self) -> Option<&'a str> {
        let text =
            |hardware: &'a Hardware| Some(hardware.system_vendor.as_ref()?.serial_number.trim());
        self.first(|hardware| text(hardware).filter(|serial| !serial.is_empty()))
    }

    /// The NICs with a MAC that can be a machine's, each once. Dual stack is two entries of one MAC.
    /// First those from which the host booted, then those that had an address, then the rest: a
    /// BMC's own card, or one without a cable, has none.
    pub fn nics(self) -> Vec<InspectedNic> {
        let mut places: BTreeMap<MacAddress, usize> = BTreeMap::new();
        let mut nics: Vec<InspectedNic> = Vec::new();
        let entries = self.first(|hardware| Some(&hardware.nics).filter(|nics| !nics.is_empty()));
        for entry in entries.into_iter().flatten() {
            let Some(mac) = readable_mac(&entry.mac) else { continue };
            let place = *places.entry(mac).or_insert(nics.len());
            if place == nics.len() {
                nics.push(InspectedNic { mac, pxe: false, addresses: Vec::new() });
            }
            let nic = &mut nics[place];
            nic.pxe |= entry.pxe;
            let address = host_address(&entry.ip);
            nic.addresses.extend(address.filter(|new| !nic.addresses.contains(new)));
        }
        nics.sort_by_key(|nic| (!nic.pxe, nic.addresses.is_empty()));
        nics
    }
}

/// A MAC that names a machine. The definition of a BareMetalHost lets any text pass that contains
/// one; only a text that is one counts.
pub fn readable_mac(text: &str) -> Option<MacAddress> {
    text.trim().parse().ok().filter(|mac: &MacAddress| mac.is_unicast())
}

#[cfg(test)]
#[path = "hardware_tests.rs"]
mod tests;
