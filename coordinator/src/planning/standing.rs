//! What stands: a run that has ended, one that only the site remembers, and the kubeconfig.

use std::collections::BTreeMap;
use std::sync::Arc;

use bpa_common::api::{KubeconfigPlace, NodeStatus, RunStatus};
use bpa_common::wire::v1::{RunId, RunReport, RunState};

use super::action::Action;
use super::draft::Draft;
use super::stage::{Belief, digest};
use super::words::{condition, run_state};
use super::{addresses, claims, install, progress};
use crate::matching::Accepted;
use crate::sites::SiteView;

/// The site knows more than we do: its run is taken over, nothing is started.
pub fn found(draft: &mut Draft<'_>, report: &RunReport) {
    install::begin_attempt(draft);
    let view = draft.view;
    let at = |(_, site): &(&String, &Arc<SiteView>)| site.standing.contains(report);
    draft.status.site = view.fleet.iter().find(at).map(|(name, _)| name.clone());
    draft.status.run = Some(RunStatus {
        id: report.run.to_string(),
        kind: "Install".to_owned(),
        generation: report.generation,
        state: run_state::ACCEPTED.to_owned(),
        ..RunStatus::default()
    });
    draft.yes(
        condition::ORDER_ACCEPTED,
        "FoundAtSite",
        format!("the site tells of run {}, which this coordinator did not remember", report.run),
    );
}

/// After a run that stands.
pub fn after(draft: &mut Draft<'_>, run: RunId, state: RunState, accepted: Option<Accepted>) {
    progress::tell(draft, run, Belief::Ended(state));
    keep_kubeconfig(draft, run);
    if state != RunState::Succeeded {
        return;
    }
    if draft.status.conditions.get(condition::KUBECONFIG_SAVED).is_none() {
        let message = "the run has succeeded, but its kubeconfig has not come home; it is at the site, in the folder that `bpa-agent runs` names";
        draft.held(condition::KUBECONFIG_SAVED, "NotReceived", message);
    }
    tell_addresses(draft, run);
    // Held is told by its condition; a standing cluster stands all the same.
    let _ = claims::verify(draft);
    let site = draft.status.site.clone().unwrap_or_default();
    if let Some(view) = draft.view.fleet.get(&site).filter(|view| view.connected) {
        let moved = addresses::moved(draft, &view.leases);
        if moved.is_empty() {
            let all = draft.status.nodes.len();
            let message = format!("{all} of {all} hosts have an address");
            draft.yes(condition::ADDRESSES_KNOWN, "Resolved", message);
        } else {
            let message =
                format!("{}; reserve the old addresses in the DHCP server", moved.join("; "));
            draft.held(condition::ADDRESSES_KNOWN, "AddressChanged", message);
        }
    }
    let installed = draft.status.run.as_ref().map(|r| r.digest.clone()).unwrap_or_default();
    if let Some(accepted) = accepted
        && !installed.is_empty()
        && digest(draft.view.provisioning, &accepted.cluster) != installed
    {
        let message = "the spec differs from what was installed; changes of a standing cluster are not carried out yet, and it is never installed over: delete the Provisioning with deletionPolicy Reset and apply the new one";
        draft.yes(condition::ACCEPTED, "ChangeNotCarriedOut", message);
    }
}

/// Tells the addresses of an installed cluster once; again after a restart, which changes nothing.
fn tell_addresses(draft: &mut Draft<'_>, run: RunId) {
    let told = draft.view.memory.told_addresses == Some(run);
    if !told && draft.status.conditions.is_true(condition::INSTALLED) && draft.may_act() {
        draft.actions.push(Action::SaveAddresses { run });
    }
}

/// The keys that the original operator wrote: `MASTER_<node>` and `WORKER_<node>`, a node of both
/// roles with both.
pub fn node_addresses(nodes: &[NodeStatus]) -> BTreeMap<String, String> {
    let mut addresses = BTreeMap::new();
    for node in nodes {
        let Some(address) = node.address else { continue };
        for role in &node.roles {
            let prefix = if role == "control-plane" { "MASTER" } else { "WORKER" };
            addresses.insert(format!("{prefix}_{}", node.name), address.to_string());
        }
    }
    addresses
}

/// The command with which a person uses a kubeconfig: a file, or a Secret.
pub fn kubeconfig_command(namespace: &str, place: &str) -> String {
    if place.starts_with('/') {
        return format!("kubectl --kubeconfig {place} get nodes");
    }
    format!(
        "kubectl get secret -n {namespace} {place} -o jsonpath='{{.data.value}}' | base64 -d > {place}; kubectl --kubeconfig {place} get nodes"
    )
}

/// Saves the kubeconfig that came home, then forgets the copy that waits in the store of runs.
pub fn keep_kubeconfig(draft: &mut Draft<'_>, run: RunId) {
    const KIND: &str = condition::KUBECONFIG_SAVED;
    let view = draft.view;
    let Some(facts) = view.facts(run) else { return };
    let told = facts.record.progress.kubeconfig.clone();
    if view.provisioning.spec.kubeconfig == KubeconfigPlace::Site {
        if facts.has_kubeconfig && draft.may_act() {
            draft.actions.push(Action::ForgetKubeconfig { run });
        }
        if told.is_some() {
            draft.yes(
                KIND,
                "KeptAtSite",
                "spec.kubeconfig is Site: it stays on the bootstrap host",
            );
        }
        return;
    }
    if let Some((_, place)) = view.memory.saved.as_ref().filter(|(saved, _)| *saved == run) {
        draft.status.kubeconfig_secret = Some(place.clone());
        let namespace = &view.provisioning.metadata.namespace;
        draft.yes(KIND, "Saved", kubeconfig_command(namespace, place));
    }
    if draft.status.conditions.is_true(KIND) {
        // Written already, or written with this very status: actions come after it.
        if facts.has_kubeconfig && draft.may_act() {
            draft.actions.push(Action::ForgetKubeconfig { run });
        }
    } else if facts.has_kubeconfig {
        let message = match &view.memory.trouble {
            Some(trouble) => format!("can't {}: {}", trouble.action, trouble.message),
            None => "the kubeconfig came home and is being saved".to_owned(),
        };
        draft.open(KIND, "Saving", message);
        if draft.may_act() {
            draft.actions.push(Action::SaveKubeconfig { run });
        }
    } else if let Some(info) = told {
        let message = format!(
            "the kubeconfig of {} was told, but its bytes are not here; it is at the site",
            info.server
        );
        draft.held(KIND, "NotKept", message);
    }
}
