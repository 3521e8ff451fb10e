//! Why a host can't be taken at all. Each refusal has a name and says what to do.
//!
//! The list is what keeps us from ever taking a host that Metal3, Cluster API or a person uses.
//! What the host itself says is read here; `neighbours` reads what stands elsewhere.

use bpa_common::api::metal3::{BareMetalHost, Image};

mod neighbours;
mod reason;

pub use neighbours::refusals as refusals_of_neighbours;
pub use reason::{Ineligible, IneligibleReason};

/// True when the host is empty and nobody is installing it: Metal3 would, if it were given an image.
pub fn is_installable(host: &BareMetalHost) -> bool {
    let spec = &host.spec;
    let state = host.status.provisioning.state.as_str();
    matches!(state, "available" | "ready")
        && spec.image.is_none()
        && spec.custom_deploy.is_none()
        && !spec.externally_provisioned
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

fn say(found: &mut Vec<Ineligible>, reason: IneligibleReason, words: impl std::fmt::Display) {
    found.push(Ineligible::new(reason, words));
}

/// The beginning of what somebody else wrote: Metal3 puts whole answers of BMCs into its errors.
fn in_brief(text: &str) -> String {
    const MOST: usize = 300;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn by_owner(host: &BareMetalHost, found: &mut Vec<Ineligible>) {
    use IneligibleReason as R;
    if let Some(consumer) = &host.spec.consumer_ref {
        say(
            found,
            R::Claimed,
            format!("is held by {} {}/{}", consumer.kind, consumer.namespace, consumer.name),
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
        say(found, R::Paused, format!("is paused (annotation {PAUSED})"));
    }
    if annotations.contains_key(DETACHED) {
        say(found, R::Detached, format!("is detached from Metal3 (annotation {DETACHED})"));
    } else if host.status.operational_status == "detached" {
        say(found, R::Detached, "is detached from Metal3 (operational status `detached`)");
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
            match (status.error_type.as_str(), in_brief(&status.error_message)) {
                (kind, text) if text.is_empty() => format!("has the error `{kind}`"),
                ("", text) => format!("has an error: {text}"),
                (kind, text) => format!("has the error `{kind}`: {text}"),
            },
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
            let field = if host.spec.image.is_some() { "spec.image" } else { "spec.customDeploy" };
            say(
                found,
                R::BeingProvisionedByOthers,
                format!("is being provisioned by someone ({field} is set)"),
            );
        }
        state => {
            let state = if state.is_empty() { "none yet" } else { state };
            say(
                found,
                R::NotProvisioned,
                format!("is in state `{state}`, wanted `provisioned` or `externally provisioned`"),
            );
        }
    }
}

#[cfg(test)]
mod tests;
