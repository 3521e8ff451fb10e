//! Hosts and needs for the tests of this room.

use bpa_common::api::ObjectMeta;
use bpa_common::api::metal3::{BareMetalHost, BareMetalHostSpec};
use bpa_common::net::MacAddress;

use super::{HostId, Need, Offer, Slot};

/// Bytes in a GiB.
pub const GIB: u64 = 1 << 30;

/// A MAC address of this number.
pub fn mac(n: u8) -> MacAddress {
    MacAddress::new([0x52, 0x54, 0, 0, 0, n])
}

/// A host as Metal3 shows it: provisioned, online, free.
pub fn host(name: &str, n: u8) -> BareMetalHost {
    let metadata = ObjectMeta {
        name: name.to_owned(),
        namespace: "metal3".to_owned(),
        uid: format!("uid-{name}"),
        ..ObjectMeta::default()
    };
    let spec = BareMetalHostSpec {
        online: true,
        boot_mac_address: mac(n).to_string(),
        ..BareMetalHostSpec::default()
    };
    let mut host = BareMetalHost::new(metadata, spec);
    host.status.operational_status = "OK".to_owned();
    host.status.provisioning.state = "provisioned".to_owned();
    host
}

/// An eligible offer of this size; `n` is its MAC.
pub fn offer(name: &str, n: u8, cpu: u32, memory_gib: u64) -> Offer {
    Offer {
        id: HostId { namespace: "metal3".into(), name: name.into(), uid: format!("uid-{name}") },
        boot_mac: Some(mac(n)),
        macs: vec![mac(n)],
        cpu: Some(cpu),
        memory: Some(memory_gib * GIB),
        disk: Some(100 * GIB),
        ..Offer::default()
    }
}

/// A worker slot with this need.
pub fn slot(name: &str, need: Need) -> Slot {
    Slot { name: name.into(), control_plane: false, worker: true, need, address: None }
}

/// A need of CPUs and memory.
pub fn size(cpu: u32, memory: &str) -> Need {
    Need { cpu: Some(cpu), memory: Some(memory.parse().unwrap()), ..Need::default() }
}
