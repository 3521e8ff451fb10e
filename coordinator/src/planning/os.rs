//! Operating systems: Metal3 installs them on empty hosts that are ours, and wipes those again that
//! are given back unused. A host that had its system before is never touched here.

use std::collections::BTreeMap;

use bpa_common::api::metal3::BareMetalHost;
use bpa_common::api::{FailedHost, NodeStatus, OsMark, OsSpec};

use super::action::Action;
use super::claims::host_of;
use super::draft::{Draft, Held};
use super::view::{View, host_ref};
use super::words::{RETRY, condition, node_state};
use crate::matching::{HostId, Ineligible, IneligibleReason, is_installable};

/// Installs that may fail on one host before another host is chosen.
const MOST_FAILURES: u32 = 3;

/// How far a host of ours is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Install {
    /// It had its system before: nothing of it is ours to write.
    Before,
    /// It is empty, or has an older image of ours: the image is to be written.
    Write,
    /// Metal3 is at it; in words that follow the host's name.
    Going(String),
    /// Metal3 has failed and will try again: its error, and how often by its own count.
    Failed(String, i64),
    /// Something that we must not write over keeps it from going on.
    Stopped(String),
    /// Our image is on it.
    Done,
}

/// Judges a host that is ours. Metal3 keeps no observed generation, so "done" is our image in the
/// status as in the spec (BareMetalHost `status.provisioning.image.url`).
pub fn judge(host: &BareMetalHost, provisioning: &str, os: Option<&OsSpec>) -> Install {
    let mark = OsMark::of(&host.metadata.annotations).filter(|m| m.provisioning == provisioning);
    let state = host.status.provisioning.state.as_str();
    let shown = if state.is_empty() { "none yet" } else { state };
    let going = || Install::Going(format!("is in state `{shown}`"));
    // Its image was taken away: whatever the state says yet, Metal3 is about to wipe it.
    let leaving = mark.as_ref().is_some_and(|mark| mark.image.is_none());
    let written = mark.and_then(|mark| mark.image);
    match (os, written) {
        (Some(os), Some(written)) => ours(host, &written, os).unwrap_or_else(going),
        (Some(os), None) if is_installable(host) => {
            data_of_others(host, os).map_or(Install::Write, Install::Stopped)
        }
        _ if is_provisioned(state) && !leaving => Install::Before,
        _ => going(),
    }
}

fn is_provisioned(state: &str) -> bool {
    matches!(state, "provisioned" | "externally provisioned")
}

/// A host on which we have written this image. None: Metal3 is at it.
fn ours(host: &BareMetalHost, written: &str, os: &OsSpec) -> Option<Install> {
    let status = &host.status;
    let url = |image: &Option<bpa_common::api::metal3::Image>| {
        image.as_ref().map(|image| image.url.trim().to_owned()).unwrap_or_default()
    };
    let found = url(&host.spec.image);
    if found != written {
        let found = if found.is_empty() { "no image".to_owned() } else { format!("`{found}`") };
        return Some(Install::Stopped(format!(
            "has {found} in spec.image where `{written}` was written; someone has changed it, and it is not written back: set it again, or clear spec.consumerRef so that another host is chosen"
        )));
    }
    if written != os.image_url() {
        return Some(data_of_others(host, os).map_or(Install::Write, Install::Stopped));
    }
    if !host.spec.online {
        return Some(Install::Stopped(
            "was switched off by someone (spec.online is false), and Metal3 installs nothing without power; set spec.online to true".to_owned(),
        ));
    }
    if !status.error_message.is_empty() || !status.error_type.is_empty() {
        let kind = if status.error_type.is_empty() { "an error" } else { &status.error_type };
        let count = status.error_count.max(status.provisioning_fail_count);
        return Some(Install::Failed(format!("has {kind}: {}", status.error_message), count));
    }
    if status.provisioning.state == "provisioned" && url(&status.provisioning.image) == written {
        return Some(Install::Done);
    }
    (status.operational_status == "delayed").then(|| {
        Install::Going(
            "waits for its turn (`delayed`): Metal3 installs only so many hosts at a time"
                .to_owned(),
        )
    })
}

/// Data that someone has given to the host and that ours would write over.
fn data_of_others(host: &BareMetalHost, os: &OsSpec) -> Option<String> {
    let mark = OsMark::of(&host.metadata.annotations).unwrap_or_default();
    let fields = [
        ("userData", &host.spec.user_data, &os.user_data_secret, &mark.user_data),
        ("networkData", &host.spec.network_data, &os.network_data_secret, &mark.network_data),
    ];
    fields.into_iter().find_map(|(field, found, wanted, written)| {
        let found = &found.as_ref()?.name;
        let wanted = wanted.as_ref()?;
        (found != wanted && Some(found) != written.as_ref()).then(|| {
            format!(
                "has the Secret `{found}` in spec.{field}, set by someone, where spec.os wants `{wanted}`; clear it there, or leave it out of spec.os"
            )
        })
    })
}

/// Has the system installed on all chosen hosts. Held until it is on every one.
pub fn provisioned(draft: &mut Draft<'_>) -> Result<(), Held> {
    const KIND: &str = condition::HOSTS_PROVISIONED;
    let view = draft.view;
    let os = view.provisioning.spec.os.as_ref().filter(|_| view.installs_os);
    let mut tally = Tally::default();
    for index in 0..draft.status.nodes.len() {
        let id = host_of(&draft.status.nodes[index]);
        let Some(record) = view.hosts.get(&id) else { continue };
        let install = judge(&record.host, &view.provisioning.metadata.uid, os);
        if install == Install::Write && draft.may_act() {
            let (host, consumer) = (host_ref(record), view.consumer());
            let os = Box::new(os.cloned().unwrap_or_default());
            draft.actions.push(Action::InstallOs { host, consumer, os });
        }
        let before = view.provisioning.status.nodes.iter().find(|old| host_of(old) == id);
        let node = &mut draft.status.nodes[index];
        if let Some(failed) = note(node, before, install, &mut tally) {
            let generation = view.provisioning.metadata.generation;
            draft.status.failed_hosts.push(FailedHost { generation, ..failed });
        }
    }
    if tally.waiting.is_empty() {
        let message = match (tally.done, os) {
            (0, _) | (_, None) => "Linux is installed on all hosts".to_owned(),
            (done, Some(os)) => format!(
                "Linux is installed on all hosts, on {done} of them by Metal3 ({})",
                os.image_url()
            ),
        };
        draft.yes(KIND, "Provisioned", message);
        return Ok(());
    }
    let all = draft.status.nodes.len();
    let mut message = format!(
        "{} of {all} hosts have Linux; {}",
        tally.done + tally.before,
        tally.waiting.join("; ")
    );
    if let Some(trouble) = &view.memory.trouble {
        message.push_str(&format!("; last try to {}: {}", trouble.action, trouble.message));
    }
    Err(draft.held(KIND, tally.reason(), message))
}

/// How many hosts are how far.
#[derive(Default)]
struct Tally {
    before: usize,
    done: usize,
    failed: bool,
    stopped: bool,
    /// In words, a part for each host.
    waiting: Vec<String>,
}

impl Tally {
    fn reason(&self) -> &'static str {
        match (self.stopped, self.failed) {
            (true, _) => "Stopped",
            (false, true) => "ProvisioningFailed",
            (false, false) => "Provisioning",
        }
    }
}

/// Notes on a node how far its host is. Returns the host when it has failed for the last time.
fn note(
    node: &mut NodeStatus,
    before: Option<&NodeStatus>,
    install: Install,
    tally: &mut Tally,
) -> Option<FailedHost> {
    let state = match &install {
        Install::Before => {
            tally.before += 1;
            return None;
        }
        Install::Done => {
            tally.done += 1;
            return None;
        }
        Install::Failed(..) => node_state::PROVISIONING_FAILED,
        Install::Write | Install::Going(_) | Install::Stopped(_) => node_state::PROVISIONING,
    };
    node.state = state.to_owned();
    node.os_failures = before.map_or(0, |before| before.os_failures);
    node.message = match install {
        Install::Failed(message, count) => {
            tally.failed = true;
            let is_new = before.is_none_or(|before| before.state != state);
            node.os_failures += u32::from(is_new);
            let failures = node.os_failures.max(u32::try_from(count).unwrap_or(0));
            let id = host_of(node);
            if failures >= MOST_FAILURES {
                tally.waiting.push(format!("{} {message}; it is given up", node.host));
                let (namespace, name, uid) = (id.namespace, id.name, id.uid);
                return Some(FailedHost { namespace, name, uid, message, generation: 0 });
            }
            format!("{message} (failure {failures} of {MOST_FAILURES}; Metal3 tries again)")
        }
        Install::Stopped(message) => {
            tally.stopped = true;
            message
        }
        Install::Going(message) => message,
        _ => "is given its image".to_owned(),
    };
    tally.waiting.push(format!("{} {}", node.host, node.message));
    None
}

/// Hosts that have failed too often for this provisioning. Another spec or a retry is a new chance.
pub fn given_up(view: &View<'_>) -> BTreeMap<HostId, FailedHost> {
    let status = &view.provisioning.status;
    let generation = view.provisioning.metadata.generation;
    let entry = |failed: &FailedHost| {
        let FailedHost { namespace, name, uid, .. } = failed.clone();
        (HostId { namespace, name, uid }, failed.clone())
    };
    let failed = status.failed_hosts.iter().filter(|failed| failed.generation == generation);
    failed.filter(|_| !asks_again(view)).map(entry).collect()
}

fn asks_again(view: &View<'_>) -> bool {
    !view.provisioning.status.failed_hosts.is_empty() && super::stage::wants_retry(view)
}

/// Forgets what a new chance makes void, and hosts that are gone.
pub fn forget_failures(draft: &mut Draft<'_>) {
    if asks_again(draft.view)
        && let Some(value) = draft.view.annotation(RETRY)
    {
        draft.status.handled_retry = value.to_owned();
    }
    let failed = given_up(draft.view).into_iter();
    let there = failed.filter(|(id, _)| draft.view.hosts.get(id).is_some());
    draft.status.failed_hosts = there.map(|(_, failed)| failed).collect();
}

/// What is told of a host that has failed too often.
pub fn bar(failed: &FailedHost) -> Ineligible {
    let message = format!(
        "could not be installed after {MOST_FAILURES} tries ({}); mend it, then ask for a retry",
        failed.message
    );
    Ineligible { reason: IneligibleReason::InstallFailed, message }
}

/// The next step of giving a host back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leave {
    /// Take our mark off.
    Release,
    /// Take the image away first.
    Clear,
    /// Metal3 wipes it; in words that follow the host's name.
    Wait(String),
}

/// How a host of ours goes. `wipe`: what Metal3 installed for us is taken away again. Our mark stays
/// until the host is empty, as Cluster API's provider does it.
pub fn leave(host: &BareMetalHost, provisioning: &str, wipe: bool) -> Leave {
    let mark = OsMark::of(&host.metadata.annotations).filter(|m| m.provisioning == provisioning);
    let Some(mark) = mark else { return Leave::Release };
    let found = host.spec.image.as_ref().map(|image| image.url.trim());
    match &mark.image {
        Some(_) if !wipe => Leave::Release,
        // Someone has chosen another image: it is theirs now.
        Some(written) if found.is_some_and(|found| found != written) => Leave::Release,
        Some(_) => Leave::Clear,
        None if found.is_some() || is_empty(host) => Leave::Release,
        None => {
            let status = &host.status;
            let mut words = format!("is in state `{}`", status.provisioning.state);
            if !status.error_message.is_empty() {
                words.push_str(&format!(" with the error: {}", status.error_message));
            }
            Leave::Wait(words)
        }
    }
}

fn is_empty(host: &BareMetalHost) -> bool {
    match host.status.provisioning.state.as_str() {
        "" | "unmanaged" | "registering" | "inspecting" | "ready" | "available" => true,
        "externally provisioned" => !host.status.powered_on,
        _ => false,
    }
}

#[cfg(test)]
#[path = "os_tests.rs"]
mod tests;
