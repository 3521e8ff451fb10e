//! PURE: whether a host can be taken, and what is against it, as decisions see it.

use std::sync::Arc;

use bpa_common::api::metal3::ConsumerRef;

use crate::cluster::{HostRecord, Snapshot};
use crate::matching::{Catalog, Claimant, Offer};

/// `yes`, or `no` with a line for each reason. The other hosts count too: one may be the same machine.
pub fn free(record: &HostRecord, snapshot: &Snapshot) -> String {
    let read = |host: &Arc<HostRecord>| Arc::new(Offer::read(&host.host, host.hardware.as_ref()));
    let catalog = Catalog::of(snapshot.hosts.iter().map(read).collect(), &snapshot.uses);
    let metadata = &record.host.metadata;
    let found = catalog.offers.iter().find(|offer| {
        (&offer.id.namespace, &offer.id.name, &offer.id.uid)
            == (&metadata.namespace, &metadata.name, &metadata.uid)
    });
    let Some(offer) = found else { return String::new() };
    // Not even a mark without any content is that of this one.
    let nobody = ConsumerRef { kind: "nobody".to_owned(), ..ConsumerRef::default() };
    let reasons: Vec<String> = offer
        .refusals(Claimant { mark: &nobody, installs: snapshot.installs_os })
        .map(|refusal| format!("{}: {}", refusal.reason.id(), refusal.message))
        .collect();
    match (reasons.as_slice(), offer.installable) {
        ([], true) => "yes, with spec.os: it has no operating system".to_owned(),
        ([], false) => "yes".to_owned(),
        (some, _) => format!("no\n{}", some.join("\n")),
    }
}

#[cfg(test)]
mod tests {
    use bpa_common::api::{HostUse, NeighbourKind, ObjectKey};

    use super::super::testing;
    use super::*;

    #[test]
    fn what_is_against_a_host_is_told_with_what_stands_elsewhere() {
        let mut record = testing::host();
        record.host.spec.consumer_ref = None;
        let told = |record: &HostRecord, uses: Vec<HostUse>| {
            let hosts = vec![Arc::new(record.clone())];
            free(record, &Snapshot { hosts, uses, installs_os: true, ..Snapshot::default() })
        };
        assert_eq!(told(&record, vec![]), "yes");
        let used = HostUse {
            host: record.host.metadata.key(),
            kind: NeighbourKind::Claim,
            by: ObjectKey::new("n", "c"),
        };
        let words = told(&record, vec![used]);
        assert!(words.starts_with("no\nUsedByClaim: is the host of HostClaim n/c; "), "{words}");
        record.host.status.provisioning.state = "available".to_owned();
        assert_eq!(told(&record, vec![]), "yes, with spec.os: it has no operating system");
        let hosts = vec![Arc::new(record.clone())];
        let nobody_installs = Snapshot { hosts, ..Snapshot::default() };
        assert!(free(&record, &nobody_installs).starts_with("no\nNotProvisioned: "));
        record.host.status.provisioning.state = "inspecting".to_owned();
        assert!(told(&record, vec![]).starts_with("no\nNotProvisioned: "));
        record.host.spec.consumer_ref = Some(ConsumerRef::default());
        assert!(told(&record, vec![]).contains("\nClaimed: "), "a mark of whomever");
        assert_eq!(free(&record, &Snapshot::default()), "", "nothing is known of it");
    }
}
