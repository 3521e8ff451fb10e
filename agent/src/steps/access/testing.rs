//! What tests of hosts share.

use bpa_common::net::MacAddress;

use crate::steps::NodeTarget;

/// A machine on loopback with one MAC.
pub(crate) fn target(name: &str, port: u16) -> NodeTarget {
    NodeTarget {
        name: name.into(),
        host: name.into(),
        address: [127, 0, 0, 1].into(),
        port,
        macs: vec![MacAddress::new([0x52, 0x54, 0, 0xaa, 0, 1])],
        serial: None,
        host_uid: format!("uid-{name}"),
        installation: "one".into(),
        control_plane: true,
        cpu: None,
        memory_bytes: None,
        disk_bytes: None,
    }
}
