//! The way to a cluster, one condition after another. Each step looks at the world anew: nothing
//! is remembered that can't be seen again.

use bpa_common::api::{Approval, NodeStatus, PlanBefore, PlanStatus, RunStatus};
use bpa_common::wire::v1::{Order, RunId};

use super::draft::{Draft, Held};
use super::stage::{Belief, Stage, digest, stage, wants_retry};
use super::words::{APPROVE, RETRY, condition, node_state, run_state};
use super::{addresses, claims, order, os, progress, sending, sites, standing};
use crate::matching::{Accepted, Claimant, HostId};
use crate::sites::LeaseView;

/// Decides for a provisioning that is to be there.
pub fn decide(draft: &mut Draft<'_>) {
    draft.status.observed_generation = draft.view.provisioning.metadata.generation;
    draft.status.lost_hosts = claims::lost(draft.view.provisioning, draft.view.hosts);
    let accepted = accepted(draft);
    doubts(draft);
    match stage(draft.view) {
        Stage::Preparing(kept) => {
            os::forget_failures(draft);
            if accepted.and_then(|accepted| prepare(draft, &accepted, kept)).is_err() {
                forget_after_hold(draft);
            }
        }
        Stage::Found(report) => standing::found(draft, &report),
        Stage::InRun(run, belief) => in_run(draft, run, belief),
        Stage::After(run, state) => standing::after(draft, run, state, accepted.ok()),
    }
    claims::release_others(draft);
    ready(draft);
    draft.status.phase = phase(draft).to_owned();
}

/// Whether the spec can be worked on.
fn accepted(draft: &mut Draft<'_>) -> Result<Accepted, Held> {
    const KIND: &str = condition::ACCEPTED;
    let view = draft.view;
    let mut problems = view.plan.report.problems.clone();
    problems.extend(order::problems(view.provisioning));
    let Some(accepted) = view.plan.accepted.clone().filter(|_| problems.is_empty()) else {
        return Err(draft.held(KIND, "InvalidSpec", problems.join("; ")));
    };
    if let Some(other) = &view.clash {
        let message = format!(
            "cluster `{}` is made by Provisioning {other} already; choose another name (label `cluster`, or the object's name)",
            accepted.cluster
        );
        return Err(draft.held(KIND, "ClusterNameTaken", message));
    }
    let count = accepted.slots.len();
    let word = if count == 1 { "node" } else { "nodes" };
    let mut message = format!("cluster {} with {count} {word}", accepted.cluster);
    if view.provisioning.spec.os.is_some() && !view.installs_os {
        message.push_str(
            "; spec.os is not carried out in a directory of manifests, where no Metal3 is: hosts must have Linux installed",
        );
    }
    for warning in &accepted.warnings {
        message.push_str("; ");
        message.push_str(warning);
    }
    draft.yes(KIND, "Valid", message);
    Ok(accepted)
}

/// From a spec to an order on its way. `kept` is a run's id that was chosen and never sent.
fn prepare(draft: &mut Draft<'_>, accepted: &Accepted, kept: Option<RunId>) -> Result<(), Held> {
    begin_attempt(draft);
    let view = draft.view;
    let site = sites::choose(draft)?;
    draft.status.site = Some(site.metadata.name.clone());
    matched(draft)?;
    if view.provisioning.spec.paused {
        let message = "spec.paused is true: nothing is claimed or started until it is false";
        return Err(draft.held(condition::HOSTS_CLAIMED, "Paused", message));
    }
    approved(draft)?;
    claims::claim(draft)?;
    os::provisioned(draft)?;
    let none = LeaseView::default();
    let leases = match view.plan.hosts.iter().all(|(slot, _)| slot.address.is_some()) {
        // All addresses are in the spec: no lease is needed, and so no connection yet.
        true => &none,
        false => &sites::connected(draft, site, condition::ADDRESSES_KNOWN)?.leases,
    };
    addresses::resolve(draft, leases)?;
    sites::can_take_order(draft, site, accepted.kubernetes_version.as_deref())?;
    let order = order::install(draft, accepted, kept.unwrap_or(view.fresh_run))?;
    draft.status.run = Some(RunStatus {
        id: order.run.to_string(),
        kind: "Install".to_owned(),
        generation: order.generation,
        digest: digest(view.provisioning, &accepted.cluster),
        state: run_state::SENT.to_owned(),
        ..RunStatus::default()
    });
    if let Some(value) = view.annotation(RETRY) {
        draft.status.handled_retry = value.to_owned();
    }
    sending::send(draft, &site.metadata.name, order);
    Ok(())
}

/// What comes after a condition that does not hold was found for another state of the world.
fn forget_after_hold(draft: &mut Draft<'_>) {
    let conditions = &mut draft.status.conditions;
    let mut way = condition::WAY.iter();
    way.find(|kind| conditions.get(kind).is_some() && !conditions.is_true(kind));
    way.for_each(|kind| conditions.remove(kind));
}

/// A new attempt begins: what the last run told does not hold for it.
pub fn begin_attempt(draft: &mut Draft<'_>) {
    if draft.status.run.take().is_some() {
        for kind in condition::OF_A_RUN {
            draft.status.conditions.remove(kind);
        }
    }
}

/// Writes the chosen hosts into the status: the intent, before anything is claimed.
fn matched(draft: &mut Draft<'_>) -> Result<(), Held> {
    const KIND: &str = condition::HOSTS_MATCHED;
    let plan = &draft.view.plan;
    if !plan.report.fits {
        return Err(unmatched(draft));
    }
    let old = std::mem::take(&mut draft.status.nodes);
    for (slot, offer) in &plan.hosts {
        let same = old.iter().find(|n| n.name == slot.name && claims::host_of(n) == offer.id);
        let claimed = same.is_some_and(claims::was_claimed);
        let state = if claimed { node_state::CLAIMED } else { node_state::SELECTED }.to_owned();
        draft.status.nodes.push(NodeStatus {
            name: slot.name.clone(),
            roles: slot.roles(),
            host_namespace: offer.id.namespace.clone(),
            host: offer.id.name.clone(),
            host_uid: offer.id.uid.clone(),
            mac: same
                .and_then(|n| n.mac)
                .or_else(|| addresses::macs_of(slot, offer).first().copied()),
            address: same.and_then(|n| n.address),
            address_source: same.map(|n| n.address_source.clone()).unwrap_or_default(),
            state,
            os_failures: 0,
            message: String::new(),
        });
    }
    let words: Vec<String> =
        draft.status.nodes.iter().map(|n| format!("{} on {}", n.name, n.host)).collect();
    let summary = words.join(", ");
    let hash = plan.report.hash.clone();
    let before = before(draft, &hash, &old);
    draft.status.plan = Some(PlanStatus { hash, summary: summary.clone(), before });
    draft.yes(KIND, "Matched", summary);
    Ok(())
}

/// What a person should know of the hosts of a plan, as long as it is one.
fn doubts(draft: &mut Draft<'_>) {
    const KIND: &str = condition::HOSTS_DOUBTFUL;
    let doubts = &draft.view.plan.doubts;
    let Some(first) = doubts.first() else {
        draft.status.conditions.remove(KIND);
        return;
    };
    let messages: Vec<&str> = doubts.iter().map(|doubt| doubt.message.as_str()).collect();
    draft.yes(KIND, first.reason, messages.join("\n"));
}

/// The plan that this one overtakes, and what is different now.
fn before(draft: &Draft<'_>, hash: &str, old: &[NodeStatus]) -> Option<PlanBefore> {
    let last = draft.status.plan.as_ref()?;
    if last.hash == hash {
        return last.before.clone();
    }
    let now = &draft.status.nodes;
    let mut changes = Vec::new();
    for node in now {
        match old.iter().find(|other| other.name == node.name) {
            None => changes.push(format!("{} is new, on {}", node.name, node.host)),
            Some(was) if claims::host_of(was) != claims::host_of(node) => {
                changes.push(format!(
                    "{} moves from {} to {}{}",
                    node.name,
                    was.host,
                    node.host,
                    lost_why(draft, was)
                ));
            }
            Some(was) if was.roles != node.roles => {
                changes.push(format!("{} is {} now", node.name, node.roles.join(" and ")));
            }
            Some(_) => {}
        }
    }
    let gone = old.iter().filter(|was| !now.iter().any(|node| node.name == was.name));
    changes.extend(gone.map(|was| format!("{} is not asked for any more", was.name)));
    Some(PlanBefore { hash: last.hash.clone(), changes: changes.join(", ") })
}

/// Why a host can't be had any more, if that is why a node moves.
fn lost_why(draft: &Draft<'_>, was: &NodeStatus) -> String {
    let Some(record) = draft.view.hosts.get(&claims::host_of(was)) else {
        return " (it is gone)".to_owned();
    };
    match refusal(draft, &claims::host_of(was)) {
        Some(message) => format!(" (it {message})"),
        None => {
            let state = &record.host.status.provisioning.state;
            format!(" (it does not meet the need any more; its state is {state})")
        }
    }
}

/// What speaks against a host that was chosen.
fn refusal(draft: &Draft<'_>, host: &HostId) -> Option<String> {
    let view = draft.view;
    let failed = os::given_up(view).remove(host).map(|failed| os::bar(&failed).message);
    let os = view.provisioning.spec.os.is_some() && view.installs_os;
    let who = Claimant { mark: &view.consumer(), installs: os };
    let refusals = || view.hosts.offer(host)?.refusals(who).next().map(|r| r.message.clone());
    failed.or_else(refusals)
}

fn unmatched(draft: &mut Draft<'_>) -> Held {
    let report = &draft.view.plan.report;
    // The first line says it in short; a line each for what is wanted, why not, and what would do.
    let mut message = report.explanation.as_ref().map(|e| e.summary.clone()).unwrap_or_default();
    let explanation = report.explanation.as_ref();
    for miss in explanation.iter().flat_map(|e| &e.near_misses).take(5) {
        let short = miss.short_by.as_ref().map(|s| format!(", short by {s}")).unwrap_or_default();
        message.push_str(&format!(
            "\n{} for {}: {} wanted {}, found {}{short}",
            miss.hosts(),
            miss.slot,
            miss.requirement,
            miss.wanted,
            miss.found
        ));
    }
    let against = &draft.view.plan.against;
    for group in &against.groups {
        message.push_str(&format!("\n{} {}", group.names(), group.message));
    }
    if against.more > 0 {
        message.push_str(&format!("\nand {} more reasons against hosts", against.more));
    }
    for remedy in explanation.iter().flat_map(|e| &e.remedies).take(2) {
        message.push_str(&format!("\nwould fit: {}", remedy.message));
    }
    for lost in &draft.status.lost_hosts {
        message.push_str(&format!(
            "\n{} was ours and is not taken back by itself, because its consumerRef was changed by someone",
            lost.name
        ));
    }
    draft.held(condition::HOSTS_MATCHED, "NoFit", message)
}

/// A plan that waits for a person.
fn approved(draft: &mut Draft<'_>) -> Result<(), Held> {
    let view = draft.view;
    let hash = &view.plan.report.hash;
    if view.provisioning.spec.approval == Approval::Automatic
        || view.annotation(APPROVE) == Some(hash)
    {
        return Ok(());
    }
    let name = &view.provisioning.metadata.name;
    let message = match view.annotation(APPROVE) {
        None => format!(
            "plan {hash} waits for approval: `bpa-coordinator approve {name}`, or annotation {APPROVE}: {hash}"
        ),
        Some(old) => {
            let before = draft.status.plan.as_ref().and_then(|plan| plan.before.as_ref());
            let changes = before.filter(|before| before.hash == old).map(|b| b.changes.as_str());
            format!(
                "plan {old} was approved, but the plan is {hash} now: {}; approve that one, or undo the change",
                changes.unwrap_or("the hosts have changed since")
            )
        }
    };
    Err(draft.held(condition::HOSTS_CLAIMED, "WaitingForApproval", message))
}

/// A run that has not ended.
fn in_run(draft: &mut Draft<'_>, run: RunId, belief: Belief) {
    progress::tell(draft, run, belief);
    standing::keep_kubeconfig(draft, run);
    let site = draft.status.site.clone().unwrap_or_default();
    if wants_retry(draft.view) && belief != Belief::Lost {
        // Asked while a run is going: that run is the attempt.
        let value = draft.view.annotation(RETRY).unwrap_or_default().to_owned();
        draft.status.handled_retry = value;
    }
    let ours = claims::verify(draft);
    if sending::cancel_wanted(draft, run) {
        sending::cancel(draft, &site, run);
    } else if belief == Belief::Unanswered && ours.is_ok() {
        resend(draft, run, &site);
    }
}

/// Sends again what was kept before the first sending.
fn resend(draft: &mut Draft<'_>, run: RunId, site: &str) {
    let view = draft.view;
    let namespace = &view.provisioning.metadata.namespace;
    let object =
        view.sites.iter().find(|s| s.metadata.name == site && s.metadata.namespace == *namespace);
    let Some(object) = object else {
        let message = format!("Site {site} was removed; the order waits until it is there again");
        draft.held(condition::ORDER_ACCEPTED, "SiteUnknown", message);
        return;
    };
    let kept = view.facts(run).and_then(|facts| facts.order.as_deref().cloned());
    if let Some(order) = kept
        && sites::can_take_order(draft, object, None).is_ok()
    {
        // The epoch is this coordinator's; all else is as it was.
        sending::send(draft, site, Order { epoch: view.epoch, ..order });
    }
}

/// The sum of all.
fn ready(draft: &mut Draft<'_>) {
    const KIND: &str = condition::READY;
    let conditions = &draft.status.conditions;
    if conditions.is_true(condition::INSTALLED) && conditions.is_true(condition::KUBECONFIG_SAVED) {
        draft.yes(KIND, "Installed", "the cluster is installed and answers");
        return;
    }
    // The first condition on the way that does not hold is what a person must look at.
    let first = condition::WAY
        .into_iter()
        .filter_map(|kind| conditions.get(kind))
        .find(|c| c.status != bpa_common::api::ConditionStatus::True)
        .map(|c| (c.reason.clone(), in_brief(&c.message)));
    let (reason, message) = first.unwrap_or_else(|| ("InProgress".to_owned(), String::new()));
    draft.held(KIND, &reason, message);
}

/// The first line of a message, as one row of a table has room for: the condition that it comes
/// from has the whole.
fn in_brief(message: &str) -> String {
    const MOST: usize = 200;
    let message = message.lines().next().unwrap_or_default();
    match message.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &message[..end]),
        None => message.to_owned(),
    }
}

fn phase(draft: &Draft<'_>) -> &'static str {
    let status = &draft.status;
    let conditions = &status.conditions;
    let run = status.run.as_ref().map(|run| run.state.as_str());
    let reason = |kind| conditions.get(kind).map(|c| c.reason.as_str()).unwrap_or_default();
    match run {
        Some(run_state::ACCEPTED | run_state::RUNNING) => "Installing",
        Some(run_state::SUCCEEDED) if conditions.is_true(condition::READY) => "Ready",
        Some(run_state::SUCCEEDED) if reason(condition::KUBECONFIG_SAVED) == "Saving" => {
            "Installing"
        }
        Some(run_state::SUCCEEDED) => "Waiting",
        Some(run_state::FAILED | run_state::LOST) => "Failed",
        Some(run_state::CANCELLED) => "Cancelled",
        _ if matches!(reason(condition::ACCEPTED), "InvalidSpec" | "ClusterNameTaken") => "Invalid",
        _ if reason(condition::HOSTS_CLAIMED) == "Paused" => "Paused",
        _ => "Waiting",
    }
}
