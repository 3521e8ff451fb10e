//! Why a host can't be taken at all. Each refusal has a name and says what to do.
//!
//! The list is what keeps us from ever taking a host that Metal3, Cluster API or a person uses.

use bpa_common::api::metal3::{BareMetalHost, Image};

/// A named reason against a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IneligibleReason {
    Claimed,
    ReservedForNodeReuse,
    InCluster,
    OwnedByMachine,
    Deleting,
    Paused,
    Detached,
    MarkedUnhealthy,
    InError,
    NotOk,
    RebootHeld,
    BlockMove,
    BeingProvisionedByOthers,
    NotProvisioned,
    Offline,
    /// Another Provisioning has it in its plan, or someone was faster.
    Assigned,
    /// Metal3 failed to install it for this Provisioning.
    InstallFailed,
}

impl IneligibleReason {
    /// The stable identifier, as in JSON.
    pub fn id(self) -> String {
        format!("{self:?}")
    }
}

/// True when the host is empty and nobody is installing it: Metal3 would, if it were given an image.
pub fn is_installable(host: &BareMetalHost) -> bool {
    let spec = &host.spec;
    let state = host.status.provisioning.state.as_str();
    matches!(state, "available" | "ready")
        && spec.image.is_none()
        && spec.custom_deploy.is_none()
        && !spec.externally_provisioned
}

/// A reason with its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ineligible {
    pub reason: IneligibleReason,
    pub message: String,
}

const NODE_REUSE: &str = "infrastructure.cluster.x-k8s.io/node-reuse";
const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";
const PAUSED: &str = "baremetalhost.metal3.io/paused";
const DETACHED: &str = "baremetalhost.metal3.io/detached";
const UNHEALTHY: [&str; 2] = ["capm3.metal3.io/unhealthy", "capi.metal3.io/unhealthy"];
const BLOCK_MOVE: &str = "clusterctl.cluster.x-k8s.io/block-move";
const REBOOT_HELD: &str = "reboot.metal3.io/";

/// All reasons against this host, in a fixed order. [`IneligibleReason::Claimed`] does not hold for
/// the claim's own owner: see [`super::Offer::refusals`].
pub fn refusals(host: &BareMetalHost) -> Vec<Ineligible> {
    let mut found = Vec::new();
    by_owner(host, &mut found);
    by_annotation(host, &mut found);
    by_state(host, &mut found);
    found
}

fn say(found: &mut Vec<Ineligible>, reason: IneligibleReason, message: impl Into<String>) {
    found.push(Ineligible { reason, message: message.into() });
}

fn by_owner(host: &BareMetalHost, found: &mut Vec<Ineligible>) {
    use IneligibleReason as R;
    if let Some(consumer) = &host.spec.consumer_ref {
        say(
            found,
            R::Claimed,
            format!(
                "is held by {} {}/{}; release it there, or choose another host",
                consumer.kind, consumer.namespace, consumer.name
            ),
        );
    }
    if let Some(value) = host.metadata.labels.get(NODE_REUSE) {
        say(
            found,
            R::ReservedForNodeReuse,
            format!("is reserved for reuse by `{value}` (label {NODE_REUSE})"),
        );
    }
    if let Some(cluster) = host.metadata.labels.get(CLUSTER_NAME) {
        say(
            found,
            R::InCluster,
            format!("belongs to the Cluster API cluster `{cluster}` (label {CLUSTER_NAME})"),
        );
    }
    if let Some(owner) = host.metadata.owner_references.iter().find(|o| o.kind == "Metal3Machine") {
        say(found, R::OwnedByMachine, format!("is owned by Metal3Machine `{}`", owner.name));
    }
    if host.metadata.is_deleting() {
        say(found, R::Deleting, "is being deleted");
    }
}

fn by_annotation(host: &BareMetalHost, found: &mut Vec<Ineligible>) {
    use IneligibleReason as R;
    let annotations = &host.metadata.annotations;
    if annotations.contains_key(PAUSED) {
        say(
            found,
            R::Paused,
            format!("is paused (annotation {PAUSED}); whoever paused it must remove that"),
        );
    }
    if annotations.contains_key(DETACHED) || host.status.operational_status == "detached" {
        say(found, R::Detached, format!("is detached from Metal3 (annotation {DETACHED})"));
    }
    if let Some(key) = UNHEALTHY.iter().find(|k| annotations.contains_key(**k)) {
        say(found, R::MarkedUnhealthy, format!("is marked unhealthy (annotation {key})"));
    }
    if let Some(key) = annotations.keys().find(|k| k.starts_with(REBOOT_HELD)) {
        say(found, R::RebootHeld, format!("is held in a reboot (annotation {key})"));
    }
    if annotations.contains_key(BLOCK_MOVE) {
        say(
            found,
            R::BlockMove,
            format!("is blocked by a running clusterctl move (annotation {BLOCK_MOVE})"),
        );
    }
}

/// Metal3 follows `spec.image`; its status shows the old state for a while.
fn is_about_to_go(host: &BareMetalHost) -> bool {
    let url = |image: Option<&Image>| image.map(|image| image.url.trim().to_owned());
    let on_disk = url(host.status.provisioning.image.as_ref()).filter(|url| !url.is_empty());
    let externally = host.status.provisioning.state == "externally provisioned";
    !externally && on_disk.is_some() && on_disk != url(host.spec.image.as_ref())
}

fn by_state(host: &BareMetalHost, found: &mut Vec<Ineligible>) {
    use IneligibleReason as R;
    let status = &host.status;
    if !status.error_message.is_empty() || !status.error_type.is_empty() {
        say(
            found,
            R::InError,
            format!("has the error `{}`: {}", status.error_type, status.error_message),
        );
    } else if !matches!(status.operational_status.as_str(), "OK" | "detached" | "") {
        say(
            found,
            R::NotOk,
            format!("has the operational status `{}`, wanted OK", status.operational_status),
        );
    } else if status.operational_status.is_empty() && !status.provisioning.state.is_empty() {
        say(found, R::NotOk, "has no operational status yet, wanted OK");
    }
    match status.provisioning.state.as_str() {
        "provisioned" | "externally provisioned" => {
            if is_about_to_go(host) {
                say(
                    found,
                    R::BeingProvisionedByOthers,
                    "is about to be wiped or installed anew by someone (spec.image is not what is on its disk)",
                );
            }
            if !host.spec.online {
                say(found, R::Offline, "is provisioned but switched off (spec.online is false)");
            }
        }
        "available" | "ready" if host.spec.image.is_some() || host.spec.custom_deploy.is_some() => {
            say(
                found,
                R::BeingProvisionedByOthers,
                "is being provisioned by someone (an image is set)",
            );
        }
        state if is_installable(host) => {
            say(
                found,
                R::NotProvisioned,
                format!(
                    "is in state `{state}`, wanted `provisioned` or `externally provisioned`: install Linux on it, or let Metal3 do that by spec.os"
                ),
            );
        }
        state => {
            let state = if state.is_empty() { "none yet" } else { state };
            say(
                found,
                R::NotProvisioned,
                format!(
                    "is in state `{state}`, wanted `provisioned` or `externally provisioned`: Linux must be installed first"
                ),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use bpa_common::api::OwnerReference;
    use bpa_common::api::metal3::ConsumerRef;

    use super::*;
    use crate::matching::testing::host;
    use crate::matching::{Claimant, Offer};

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

    #[test]
    fn each_sign_of_another_owner_refuses() {
        use IneligibleReason as R;
        assert_eq!(reasons(|h| h.spec.consumer_ref = Some(ConsumerRef::default())), [R::Claimed]);
        assert_eq!(
            reasons(|h| drop(h.metadata.labels.insert(NODE_REUSE.into(), "cp-x".into()))),
            [R::ReservedForNodeReuse]
        );
        assert_eq!(
            reasons(|h| drop(h.metadata.labels.insert(CLUSTER_NAME.into(), "c".into()))),
            [R::InCluster]
        );
        assert_eq!(
            reasons(|h| h
                .metadata
                .owner_references
                .push(OwnerReference { kind: "Metal3Machine".into(), ..Default::default() })),
            [R::OwnedByMachine]
        );
        assert_eq!(
            reasons(|h| h.metadata.deletion_timestamp = Some(jiff::Timestamp::UNIX_EPOCH)),
            [R::Deleting]
        );
    }

    #[test]
    fn each_annotation_of_others_refuses() {
        use IneligibleReason as R;
        for (key, reason) in [
            (PAUSED, R::Paused),
            (DETACHED, R::Detached),
            (UNHEALTHY[0], R::MarkedUnhealthy),
            (UNHEALTHY[1], R::MarkedUnhealthy),
            ("reboot.metal3.io/metal3-remediation-1", R::RebootHeld),
            (BLOCK_MOVE, R::BlockMove),
        ] {
            assert_eq!(
                reasons(|h| drop(h.metadata.annotations.insert(key.into(), String::new()))),
                [reason],
                "{key}"
            );
        }
    }

    #[test]
    fn each_state_that_is_not_ready_refuses() {
        use IneligibleReason as R;
        assert_eq!(reasons(|h| h.status.error_message = "no power".into()), [R::InError]);
        assert_eq!(reasons(|h| h.status.operational_status = "servicing".into()), [R::NotOk]);
        assert_eq!(reasons(|h| h.spec.online = false), [R::Offline]);
        for state in ["available", "inspecting", "registering", "deprovisioning", "a new state", ""]
        {
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
        let ours =
            ConsumerRef { kind: "Provisioning".into(), uid: "1".into(), ..Default::default() };
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
}
