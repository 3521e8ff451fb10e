//! Each refusal of the list has a host that only it keeps from being taken, and words for it.

use bpa_common::api::metal3::{Bmc, ConsumerRef};
use bpa_common::api::{HostUse, NeighbourKind, ObjectKey, OwnerReference, Provisioning};

use super::*;
use crate::matching::testing::host;
use crate::matching::{Claimant, Offer, plan_among};

fn reasons(change: impl FnOnce(&mut BareMetalHost)) -> Vec<IneligibleReason> {
    let mut bmh = host("h1", 1);
    change(&mut bmh);
    refusals(&bmh).into_iter().map(|i| i.reason).collect()
}

#[test]
fn a_provisioned_free_host_is_eligible() {
    assert_eq!(reasons(|_| ()), []);
    assert_eq!(reasons(|h| h.status.provisioning.state = "externally provisioned".into()), []);
}

/// A host as it is refused, and everything else that there is.
struct World {
    hosts: Vec<BareMetalHost>,
    uses: Vec<HostUse>,
}

impl World {
    fn host(&mut self) -> &mut BareMetalHost {
        &mut self.hosts[0]
    }

    fn label(&mut self, key: &str, value: &str) {
        self.host().metadata.labels.insert(key.to_owned(), value.to_owned());
    }

    fn annotate(&mut self, key: &str) {
        self.host().metadata.annotations.insert(key.to_owned(), "x".to_owned());
    }

    fn state(&mut self, state: &str) {
        self.host().status.provisioning.state = state.to_owned();
    }

    fn used(&mut self, kind: NeighbourKind) {
        let host = self.host().metadata.key();
        self.uses.push(HostUse { host, kind, by: ObjectKey::new("n", "theirs") });
    }

    /// Another record of the same machine, on its way out.
    fn twin(&mut self, change: impl FnOnce(&mut BareMetalHost)) {
        let mut twin = host("old", 9);
        twin.metadata.namespace = "elsewhere".to_owned();
        twin.metadata.deletion_timestamp = Some(jiff::Timestamp::UNIX_EPOCH);
        change(&mut twin);
        self.hosts.push(twin);
    }
}

type Change = fn(&mut World);

/// The list: what makes a host one of somebody else, the reason, and what its words must name.
const LIST: &[(IneligibleReason, &str, Change)] = {
    use IneligibleReason as R;
    use NeighbourKind as N;
    &[
        (R::Claimed, "Metal3Machine n/theirs", |w| {
            w.host().spec.consumer_ref = Some(ConsumerRef {
                kind: "Metal3Machine".into(),
                namespace: "n".into(),
                name: "theirs".into(),
                ..ConsumerRef::default()
            });
        }),
        (R::Claimed, "is held by", |w| w.host().spec.consumer_ref = Some(ConsumerRef::default())),
        (R::ReservedForNodeReuse, "`cp-x`", |w| w.label(NODE_REUSE, "cp-x")),
        (R::InCluster, "`theirs`", |w| w.label(CLUSTER_NAME, "theirs")),
        (R::OwnedByMachine, "Metal3Machine `theirs`", |w| {
            let owner = OwnerReference {
                kind: "Metal3Machine".into(),
                name: "theirs".into(),
                ..OwnerReference::default()
            };
            w.host().metadata.owner_references.push(owner);
        }),
        (R::UsedByMachine, "Metal3Machine n/theirs", |w| w.used(N::Machine)),
        (R::UsedByClaim, "HostClaim n/theirs", |w| w.used(N::Claim)),
        (R::Deleting, "is being deleted", |w| {
            w.host().metadata.deletion_timestamp = Some(jiff::Timestamp::UNIX_EPOCH);
        }),
        (R::TwinDeleting, "elsewhere/old", |w| {
            w.twin(|old| old.spec.boot_mac_address = "52-54-00-00-00-01".into());
        }),
        (R::TwinDeleting, "elsewhere/old", |w| {
            let bmc = |address: &str| Some(Bmc { address: address.into() });
            w.host().spec.bmc = bmc("redfish://192.0.2.1/redfish/v1/Systems/1");
            w.twin(|old| old.spec.bmc = bmc("Redfish://192.0.2.1/redfish/v1/Systems/1/"));
        }),
        (R::Paused, PAUSED, |w| w.annotate(PAUSED)),
        (R::Detached, DETACHED, |w| w.annotate(DETACHED)),
        (R::Detached, "`detached`", |w| w.host().status.operational_status = "detached".into()),
        (R::MarkedUnhealthy, UNHEALTHY[0], |w| w.annotate(UNHEALTHY[0])),
        (R::MarkedUnhealthy, UNHEALTHY[1], |w| w.annotate(UNHEALTHY[1])),
        (R::InError, "an error: no power", |w| w.host().status.error_message = "no power".into()),
        (R::InError, "`detach error`", |w| w.host().status.error_type = "detach error".into()),
        (R::NotOk, "`servicing`", |w| w.host().status.operational_status = "servicing".into()),
        (R::NotOk, "`delayed`", |w| w.host().status.operational_status = "delayed".into()),
        (R::NotOk, "`discovered`", |w| w.host().status.operational_status = "discovered".into()),
        (R::NotOk, "`a new word`", |w| w.host().status.operational_status = "a new word".into()),
        (R::NotOk, "no operational status yet", |w| {
            w.host().status.operational_status = String::new()
        }),
        (R::RebootHeld, "metal3-remediation-1", |w| {
            w.annotate("reboot.metal3.io/metal3-remediation-1");
        }),
        (R::BlockMove, BLOCK_MOVE, |w| w.annotate(BLOCK_MOVE)),
        (R::BeingProvisionedByOthers, "spec.image is set", |w| {
            w.state("available");
            w.host().spec.image = Some(Image::default());
        }),
        (R::BeingProvisionedByOthers, "spec.customDeploy is set", |w| {
            w.state("ready");
            w.host().spec.custom_deploy = Some(serde_json::json!({"method": "x"}));
        }),
        (R::NotProvisioned, "`inspecting`", |w| w.state("inspecting")),
        (R::NotProvisioned, "`powering off before delete`", |w| {
            w.state("powering off before delete");
        }),
        (R::NotProvisioned, "`a new state`", |w| w.state("a new state")),
        (R::NotProvisioned, "`none yet`", |w| w.host().status = Default::default()),
        (R::Offline, "spec.online is false", |w| w.host().spec.online = false),
    ]
};

fn plan(world: &World) -> crate::matching::ProvisioningPlan {
    let wish = r#"{"metadata": {"name": "p", "namespace": "ns", "uid": "u"},
        "spec": {"masters": [{"m": {}}]}}"#;
    let wish: Provisioning = serde_json::from_str(wish).unwrap();
    let hosts: Vec<_> = world.hosts.iter().map(|host| (host, None)).collect();
    plan_among(&[wish], &hosts, &world.uses, &[]).provisionings.remove(0)
}

fn free() -> World {
    World { hosts: vec![host("h1", 1)], uses: Vec::new() }
}

/// The whole list of what makes a host somebody else's, each sign by itself on a host that would be
/// taken without it.
#[test]
fn each_sign_of_the_list_alone_keeps_a_host_from_being_taken() {
    assert!(plan(&free()).fits, "the host is free without any sign");
    for (number, (reason, words, change)) in LIST.iter().enumerate() {
        let mut world = free();
        change(&mut world);
        let found = plan(&world);
        let lines: Vec<_> = found.ineligible.iter().filter(|l| l.host == "metal3/h1").collect();
        let case = format!("case {number}, {reason:?}: {lines:?}");
        assert!(!found.fits, "{case}");
        assert_eq!(lines.len(), 1, "{case}");
        assert_eq!(lines[0].reason, reason.id(), "{case}");
        let (told, remedy) = lines[0].message.split_once("; ").expect("found; what to do");
        assert!(told.contains(words), "{case}");
        assert_eq!(remedy, reason.remedy(), "{case}");
    }
}

/// No reason is without a case, but those that are about our own plans (tested with them).
#[test]
fn every_reason_has_a_case() {
    use IneligibleReason as R;
    for reason in R::ALL {
        let listed = LIST.iter().any(|(listed, ..)| listed == reason);
        let of_plans = matches!(reason, R::Assigned | R::InstallFailed);
        assert!(listed != of_plans, "{reason:?}");
    }
}

/// `docs/plan.md` has the list, word for word.
#[test]
fn the_documentation_has_exactly_these_reasons() {
    let docs = include_str!("../../../../docs/plan.md");
    let (_, table) = docs.split_once("| `reason` |").expect("the table of reasons");
    let rows: Vec<&str> = table.lines().skip(2).take_while(|line| line.starts_with('|')).collect();
    let wanted: Vec<String> = IneligibleReason::ALL
        .iter()
        .map(|reason| format!("| `{}` | {} | {} |", reason.id(), reason.sign(), reason.remedy()))
        .collect();
    assert_eq!(rows, wanted, "docs/plan.md should have:\n{}", wanted.join("\n"));
}

/// Two records of one machine (BMO issue 1385): none is taken until one remains.
#[test]
fn bug_51_of_two_records_of_a_machine_none_is_taken_until_one_remains() {
    let mut world = free();
    world.twin(|old| old.spec.boot_mac_address = world_mac());
    let reasons: Vec<String> = plan(&world).ineligible.into_iter().map(|l| l.reason).collect();
    assert_eq!(reasons, ["Deleting", "TwinDeleting"]);
    world.hosts.pop();
    assert!(plan(&world).fits, "the old one is gone");
    // A NIC that both show, while they boot from others, makes them no twins.
    let mut world = free();
    let nic = |mac: &str| bpa_common::api::metal3::Hardware {
        nics: vec![bpa_common::api::metal3::Nic { mac: mac.into(), ..Default::default() }],
        ..Default::default()
    };
    world.host().status.hardware = Some(nic("02:00:00:00:00:01"));
    world.twin(|old| old.status.hardware = Some(nic("02:00:00:00:00:01")));
    assert!(plan(&world).fits);
    // Without boot MACs the first NIC is what names a machine.
    world.hosts.iter_mut().for_each(|host| host.spec.boot_mac_address.clear());
    assert!(!plan(&world).fits);
    // One that boots from a NIC of the other.
    let mut world = free();
    world.host().status.hardware = Some(nic("52:54:00:00:00:09"));
    world.twin(|_| ());
    assert!(!plan(&world).fits);
}

fn world_mac() -> String {
    crate::matching::testing::mac(1).to_string()
}

/// What many hosts show alike names no machine, and is not compared host by host.
#[test]
fn what_all_hosts_have_alike_makes_no_twins() {
    let mut world = free();
    for n in 0..40 {
        world.twin(|old| {
            old.metadata.name = format!("old-{n}");
            old.spec.boot_mac_address = world_mac();
        });
    }
    assert!(plan(&world).ineligible.iter().all(|line| line.reason == "Deleting"));
}

#[test]
fn a_host_of_another_namespace_or_name_is_not_meant() {
    let mut world = free();
    for (namespace, name) in [("metal3", "h2"), ("other", "h1"), ("metal3", "h")] {
        let host = ObjectKey::new(namespace, name);
        let by = ObjectKey::new("n", "theirs");
        world.uses.push(HostUse { host, kind: NeighbourKind::Machine, by });
    }
    assert!(plan(&world).fits);
}

#[test]
fn a_long_error_is_told_in_brief() {
    let mut bmh = host("h1", 1);
    bmh.status.error_message = "é".repeat(100_000);
    assert!(refusals(&bmh)[0].message.chars().count() < 400);
}

#[test]
fn each_state_that_is_not_ready_refuses() {
    use IneligibleReason as R;
    assert_eq!(reasons(|h| h.status.error_message = "no power".into()), [R::InError]);
    assert_eq!(reasons(|h| h.status.operational_status = "servicing".into()), [R::NotOk]);
    assert_eq!(reasons(|h| h.spec.online = false), [R::Offline]);
    for state in ["available", "inspecting", "registering", "deprovisioning", "a new state", ""] {
        assert_eq!(
            reasons(|h| h.status.provisioning.state = state.into()),
            [R::NotProvisioned],
            "{state}"
        );
    }
    let image = |url: &str| Some(Image { url: url.into(), checksum: None });
    assert_eq!(
        reasons(|h| h.status.provisioning.image = image("a")),
        [R::BeingProvisionedByOthers],
        "someone has cleared the image: it will be wiped"
    );
    assert_eq!(
        reasons(|h| {
            h.status.provisioning.image = image("a");
            h.spec.image = image("a");
        }),
        []
    );
    assert_eq!(
        reasons(|h| {
            h.status.provisioning.state = "available".into();
            h.spec.image = Some(Default::default());
        }),
        [R::BeingProvisionedByOthers]
    );
}

#[test]
fn our_own_claim_does_not_refuse_but_one_that_only_looks_alike_does() {
    let ours = ConsumerRef {
        kind: "Provisioning".into(),
        name: "a".into(),
        uid: "1".into(),
        ..Default::default()
    };
    let mut bmh = host("h1", 1);
    bmh.spec.consumer_ref = Some(ours.clone());
    let offer = Offer::read(&bmh, None);
    fn by(mark: &ConsumerRef) -> Claimant<'_> {
        Claimant { mark, installs: false }
    }
    assert_eq!(offer.refusals(by(&ours)).count(), 0);
    let nobody = ConsumerRef::default();
    assert!(offer.is_free_for(by(&ours)) && !offer.is_free_for(by(&nobody)));
    let other = ConsumerRef { uid: "2".into(), ..ours.clone() };
    let found: Vec<_> = offer.refusals(by(&other)).collect();
    assert_eq!(found[0].reason, IneligibleReason::Claimed);
}

/// An empty host is for those only who have an operating system installed; while that is done
/// for one, its state and errors speak against it for all others.
#[test]
fn an_empty_host_is_free_for_who_has_it_installed() {
    let ours = ConsumerRef { kind: "Provisioning".into(), uid: "1".into(), ..Default::default() };
    let (with, without) =
        (Claimant { mark: &ours, installs: true }, Claimant { mark: &ours, installs: false });
    let free = |bmh: &BareMetalHost, who| Offer::read(bmh, None).is_free_for(who);
    let mut bmh = host("h1", 1);
    bmh.spec.online = false;
    for state in ["available", "ready"] {
        bmh.status.provisioning.state = state.into();
        assert!(free(&bmh, with) && !free(&bmh, without), "{state}");
    }
    let image = |h: &mut BareMetalHost| h.spec.image = Some(Default::default());
    let deploy = |h: &mut BareMetalHost| h.spec.custom_deploy = Some(Default::default());
    let flag = |h: &mut BareMetalHost| h.spec.externally_provisioned = true;
    let error = |h: &mut BareMetalHost| h.status.error_message = "no power".into();
    let preparing = |h: &mut BareMetalHost| h.status.provisioning.state = "preparing".into();
    for change in [image, deploy, flag, error, preparing] {
        let mut other = bmh.clone();
        change(&mut other);
        assert!(!free(&other, with), "someone else's work, or not ready");
        other.metadata.annotations.insert(
            bpa_common::api::OS_MARK.into(),
            r#"{"provisioning":"1","image":"u","online":true}"#.into(),
        );
        assert!(!free(&other, with), "the note alone does not make it ours");
        other.spec.consumer_ref = Some(ours.clone());
        assert!(free(&other, with) || other.metadata.annotations.is_empty());
        assert!(!free(&other, without), "spec.os was taken away");
    }
}
