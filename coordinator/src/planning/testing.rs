//! Objects for the tests of planning and of the controllers.

use std::collections::BTreeMap;

use bpa_common::api::metal3::{BareMetalHost, BareMetalHostSpec};
use bpa_common::api::{
    MacList, NodeNeed, ObjectMeta, Provisioning, ProvisioningSpec, Site, SiteSpec,
};
use bpa_common::net::MacAddress;
use bpa_common::wire::v1::{BundleReport, LeaseEntry, LeaseSource, LeaseState};
use jiff::Timestamp;

use crate::cluster::HostRecord;
use crate::matching::{Need, Offer, Slot};
use crate::sites::{LeaseView, SiteView};

/// A time of this second.
pub fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// A MAC of this number.
pub fn mac(n: u8) -> MacAddress {
    MacAddress::new([0x52, 0x54, 0, 0, 0, n])
}

/// The number in a name such as `h12`.
fn number(name: &str) -> u8 {
    name.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or(0)
}

/// A provisioned, free host; its number gives its MAC.
pub fn host(name: &str) -> HostRecord {
    let metadata = ObjectMeta {
        name: name.to_owned(),
        namespace: "ns".to_owned(),
        uid: format!("uid-{name}"),
        resource_version: "1".to_owned(),
        ..ObjectMeta::default()
    };
    let spec = BareMetalHostSpec {
        online: true,
        boot_mac_address: mac(number(name)).to_string(),
        ..BareMetalHostSpec::default()
    };
    let mut host = BareMetalHost::new(metadata, spec);
    host.status.operational_status = "OK".to_owned();
    host.status.provisioning.state = "provisioned".to_owned();
    HostRecord { host, hardware: None }
}

/// A provisioning whose nodes are these hosts, named by MAC; the first is the master.
pub fn provisioning(name: &str, hosts: &[&str]) -> Provisioning {
    let entry = |host: &&str| {
        let need = NodeNeed { mac_address: MacList(vec![mac(number(host))]), ..Default::default() };
        BTreeMap::from([(format!("n-{host}"), Some(need))])
    };
    let spec = ProvisioningSpec {
        masters: hosts.iter().take(1).map(entry).collect(),
        workers: hosts.iter().skip(1).map(entry).collect(),
        ..ProvisioningSpec::default()
    };
    let metadata = ObjectMeta {
        name: name.to_owned(),
        namespace: "ns".to_owned(),
        uid: format!("uid-{name}"),
        generation: 1,
        creation_timestamp: Some(at(1)),
        ..ObjectMeta::default()
    };
    Provisioning::new(metadata, spec)
}

/// An approved site.
pub fn site(name: &str) -> Site {
    let metadata = ObjectMeta {
        name: name.to_owned(),
        namespace: "ns".to_owned(),
        uid: format!("uid-{name}"),
        ..ObjectMeta::default()
    };
    Site::new(metadata, SiteSpec { approved: true, description: String::new() })
}

/// A lease of 10.0.0.n for the MAC of number n.
pub fn lease(n: u8) -> LeaseEntry {
    LeaseEntry {
        mac: mac(n),
        address: format!("10.0.0.{n}").parse().unwrap(),
        state: LeaseState::Bound,
        expires: None,
        renewed: Some(1),
        source: 0,
        client_id: String::new(),
        hostname: String::new(),
        chosen: false,
    }
}

/// Leases for these numbers.
pub fn leases(numbers: &[u8]) -> LeaseView {
    let source = LeaseSource {
        kind: "kea".into(),
        path: "/var/lib/kea/leases.csv".into(),
        records: 1,
        skipped: 0,
        age_seconds: 0,
        error: String::new(),
    };
    LeaseView {
        by_mac: numbers.iter().map(|n| (mac(*n), vec![lease(*n)])).collect(),
        sources: vec![source],
        received: Some(at(1)),
    }
}

/// A connected site with a complete bundle and leases for these numbers.
pub fn site_view(numbers: &[u8]) -> SiteView {
    SiteView {
        connected: true,
        session: 1,
        last_seen: Some(at(1)),
        leases: leases(numbers),
        bundles: vec![BundleReport {
            name: "small".into(),
            version: "1".into(),
            kubernetes_versions: vec!["1.35.4".into()],
            problems: Vec::new(),
        }],
        ..SiteView::default()
    }
}

/// A slot and an offer that fits it.
pub fn slot_and_offer(name: &str) -> (Slot, Offer) {
    let slot = Slot {
        name: name.to_owned(),
        control_plane: true,
        worker: false,
        need: Need::default(),
        address: None,
    };
    (slot, Offer { boot_mac: Some(mac(1)), macs: vec![mac(1)], ..Offer::default() })
}
