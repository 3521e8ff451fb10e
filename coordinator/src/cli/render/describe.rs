//! A Provisioning, told whole, as `kubectl describe` does.

use std::fmt::Write as _;

use bpa_common::api::{Approval, Condition, ConditionStatus, Provisioning, RunStatus, Site};
use jiff::Timestamp;

use super::cause::{self, beyond};
use super::get;
use super::table::Table;
use super::text::{age, clean, clip, field, moment, took};
use super::words;
use crate::cluster::ObjectProblem;
use crate::cluster::directory::EventRecord;
use crate::planning::kubeconfig_command;

/// Events that are shown, at most.
const EVENTS: usize = 15;
/// Longest message in the table of events and in that of past runs, characters: so wide that a
/// line fits on a screen of 120. The message is told whole elsewhere.
const SHORT: usize = 64;
const SHORTER: usize = 36;
/// Annotation by which a person approves a plan.
pub const APPROVE: &str = "bpa.akraino.org/approve";
/// Annotation by which a person asks to stop a run.
pub const CANCEL: &str = "bpa.akraino.org/cancel";
/// Annotation by which a person asks for another attempt: any new value.
pub const RETRY: &str = "bpa.akraino.org/retry";
/// Annotation that lets a Provisioning go although its reset can't be done.
pub const FORCE_DELETE: &str = "bpa.akraino.org/force-delete";

/// Everything about a Provisioning.
pub fn provisioning(
    p: &Provisioning,
    events: &[EventRecord],
    problems: &[ObjectProblem],
    sites: &[Site],
    now: Timestamp,
) -> String {
    let mut out = String::new();
    head(&mut out, p, now);
    if let Some(silence) = cause::silence(p, sites, now) {
        field(&mut out, "", &silence);
    }
    for problem in problems.iter().filter(|problem| problem.key == Some(p.metadata.key())) {
        field(&mut out, "Manifest", &format!("{}: {}", problem.place, problem.message));
        field(&mut out, "", "what it said before holds until this is corrected");
    }
    let told = cause::told(&mut out, p);
    conditions(&mut out, &p.status.conditions.0, &told, now);
    nodes(&mut out, p, &told);
    if let Some(run) = &p.status.run {
        self::run(&mut out, run, now);
    }
    about(&mut out, "Provisioning", &p.metadata.key(), events, now);
    history(&mut out, p, now);
    next(&mut out, p);
    out
}

fn head(out: &mut String, p: &Provisioning, now: Timestamp) {
    let (meta, status) = (&p.metadata, &p.status);
    field(out, "Name", &meta.key().to_string());
    field(out, "Phase", &words::phase(p));
    let site = status.site.as_ref().or(p.spec.site.as_ref());
    field(out, "Site", site.map_or("(the only one of the namespace)", |site| site));
    let generation = if status.observed_generation == meta.generation {
        meta.generation.to_string()
    } else {
        format!("{} (the coordinator has acted on {})", meta.generation, status.observed_generation)
    };
    field(out, "Generation", &generation);
    if let Some(created) = meta.creation_timestamp {
        field(out, "Created", &format!("{} ({} ago)", moment(created), age(created, now)));
    }
    if let Some(deleted) = meta.deletion_timestamp {
        let policy = p.spec.deletion_policy;
        field(out, "Deleted", &format!("{} ago, policy {policy:?}", age(deleted, now)));
    }
    if p.spec.paused {
        field(out, "Paused", "yes: nothing is done until spec.paused is false");
    }
    if let Some(plan) = &status.plan {
        field(out, "Plan", &format!("{} ({})", plan.summary, plan.hash));
    }
    if let Some(version) = &status.kubernetes_version {
        field(out, "Kubernetes", version);
    }
    if let Some(path) = &status.kubeconfig_secret {
        field(out, "Kubeconfig", path);
    }
}

pub(super) fn section(out: &mut String, title: &str) {
    let _ = writeln!(out, "\n{title}");
}

/// Conditions in words, and below them what those say that do not hold, unless it was `told`.
pub fn conditions(out: &mut String, conditions: &[Condition], told: &str, now: Timestamp) {
    if conditions.is_empty() {
        return;
    }
    section(out, "Conditions:");
    let mut table = Table::new(&["TYPE", "HOLDS", "SINCE", "IN WORDS"]);
    for c in conditions {
        table.row([
            c.kind.clone(),
            words::mark(c.status).to_owned(),
            age(c.last_transition_time, now),
            words::condition(&c.kind, c.status),
        ]);
    }
    out.push_str(&table.render("  "));
    let tells = |c: &Condition| c.status != ConditionStatus::True || c.kind == "HostsDoubtful";
    let open = |c: &&Condition| tells(c) && !c.message.trim().is_empty();
    for c in conditions.iter().filter(open) {
        let message = beyond(&c.message, told);
        if message.is_empty() {
            continue;
        }
        let mut lines = message.lines();
        let first = lines.next().unwrap_or_default();
        let _ = writeln!(out, "  {} ({}): {}", clean(&c.kind), clean(&c.reason), clean(first));
        for line in lines {
            let _ = writeln!(out, "    {}", clean(line));
        }
    }
}

fn nodes(out: &mut String, p: &Provisioning, told: &str) {
    if p.status.nodes.is_empty() && p.status.lost_hosts.is_empty() {
        return;
    }
    section(out, "Nodes:");
    let mut table = Table::new(&["NAME", "ROLES", "HOST", "MAC", "ADDRESS", "FROM", "STATE"]);
    for node in &p.status.nodes {
        table.row([
            node.name.clone(),
            node.roles.join(","),
            format!("{}/{}", node.host_namespace, node.host),
            node.mac.map(|mac| mac.to_string()).unwrap_or_default(),
            node.address.map(|address| address.to_string()).unwrap_or_default(),
            node.address_source.clone(),
            node.state.clone(),
        ]);
    }
    out.push_str(&table.render("  "));
    for lost in &p.status.lost_hosts {
        let host = clean(&format!("{}/{}", lost.namespace, lost.name));
        let _ = writeln!(
            out,
            "  Lost: {host} was ours and someone else has it now; it is never taken back"
        );
    }
    let says = |message: &str| !message.is_empty() && !told.contains(message);
    for node in p.status.nodes.iter().filter(|node| says(&node.message)) {
        let mut lines = node.message.lines();
        let first = lines.next().unwrap_or_default();
        let _ = writeln!(out, "  {}: {}", clean(&node.name), clean(first));
        lines.for_each(|line| {
            let _ = writeln!(out, "    {}", clean(line));
        });
    }
}

fn run(out: &mut String, run: &RunStatus, now: Timestamp) {
    section(out, &format!("Run: {} {}", clean(&run.kind), clean(&run.id)));
    let mut line = |name: &str, text: &str| {
        if !text.is_empty() {
            let _ = writeln!(out, "  {:10} {}", format!("{name}:"), clean(text));
        }
    };
    line("State", &run.state);
    if let Some(started) = run.started {
        let lasted = took(started, run.finished.unwrap_or(now));
        line(
            "Started",
            &format!(
                "{}, {} {lasted}",
                moment(started),
                if run.finished.is_some() { "took" } else { "for" }
            ),
        );
    }
    line("Phase", &run.phase);
    if run.tasks_done > 0 {
        line("Task", &format!("{} (number {})", run.task, run.tasks_done));
    }
    line("Last line", &run.last_line);
    for step in &run.steps {
        let _ = writeln!(out, "  {}", step_line(step, now));
    }
    let bad: Vec<_> = run.checks.iter().filter(|check| check.status != "passed").collect();
    if bad.is_empty() {
        return;
    }
    section(out, "Checks that did not pass:");
    let mut table = Table::telling(&["NODE", "CHECK", "STATUS", "WANTED", "FOUND", "WHAT TO DO"]);
    for check in bad {
        table.row([&check.node, &check.id, &check.status, &check.wanted, &check.found, &check.fix]);
    }
    out.push_str(&table.render("  "));
}

/// One step with a mark and how long it took.
pub fn step_line(step: &bpa_common::api::StepStatus, now: Timestamp) -> String {
    let mark = match step.state.as_str() {
        "Done" => "✔",
        "Failed" => "✘",
        "Running" => "▶",
        _ => "·",
    };
    let time = step.started.map(|started| took(started, step.finished.unwrap_or(now)));
    let text = format!("{mark} {:10} {:8} {}", step.name, step.state, time.unwrap_or_default());
    clean(text.trim_end())
}

/// The newest events about an object.
pub fn about(
    out: &mut String,
    kind: &str,
    key: &bpa_common::api::ObjectKey,
    events: &[EventRecord],
    now: Timestamp,
) {
    let ours: Vec<_> = events.iter().filter(|e| e.kind == kind && e.key == *key).collect();
    if ours.is_empty() {
        return;
    }
    section(out, "Events:");
    let mut table = Table::telling(&["LAST SEEN", "TYPE", "REASON", "COUNT", "MESSAGE"]);
    for event in &ours[ours.len().saturating_sub(EVENTS)..] {
        table.row([
            age(event.last, now),
            get::kind_of_event(event).to_owned(),
            event.reason.clone(),
            event.count.to_string(),
            clip(&event.message, SHORT),
        ]);
    }
    out.push_str(&table.render("  "));
}

fn history(out: &mut String, p: &Provisioning, now: Timestamp) {
    if p.status.history.is_empty() {
        return;
    }
    section(out, "History, newest first:");
    let mut table = Table::new(&["ENDED", "KIND", "GEN", "OUTCOME", "TOOK", "RUN", "MESSAGE"]);
    for entry in &p.status.history {
        let lasted = entry.started.zip(entry.finished).map(|(from, to)| took(from, to));
        table.row([
            entry.finished.map(|end| format!("{} ago", age(end, now))).unwrap_or_default(),
            entry.kind.clone(),
            entry.generation.to_string(),
            entry.outcome.clone(),
            lasted.unwrap_or_default(),
            entry.run.clone(),
            clip(&entry.message, SHORTER),
        ]);
    }
    out.push_str(&table.render("  "));
}

/// The commands that make sense now.
fn next(out: &mut String, p: &Provisioning) {
    let name = &p.metadata.name;
    let mut lines = Vec::new();
    if let Some(hash) = awaited_approval(p) {
        lines.push(format!("bpa-coordinator approve {name} {hash}"));
    }
    if let Some(place) = &p.status.kubeconfig_secret {
        lines.push(kubeconfig_command(&p.metadata.namespace, place));
    }
    if let Some(run) = &p.status.run {
        if is_active(run) {
            lines.push(format!("bpa-coordinator watch {name}"));
        }
        if matches!(run.state.as_str(), "Failed" | "Cancelled" | "Lost") {
            lines.push(format!("bpa-coordinator retry {name}"));
        }
        lines.push(format!("bpa-coordinator logs {name}"));
    }
    if lines.is_empty() {
        return;
    }
    section(out, "Commands:");
    for line in lines {
        let _ = writeln!(out, "  {}", clean(&line));
    }
}

/// The hash of the plan that waits for a person, if one does.
pub fn awaited_approval(p: &Provisioning) -> Option<&str> {
    let plan = p.status.plan.as_ref().filter(|plan| !plan.hash.is_empty())?;
    let waits = p.spec.approval == Approval::Manual
        && p.metadata.annotations.get(APPROVE) != Some(&plan.hash);
    waits.then_some(plan.hash.as_str())
}

/// True while something more will happen in this run.
pub fn is_active(run: &RunStatus) -> bool {
    matches!(run.state.as_str(), "Sent" | "Accepted" | "Running")
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, golden, now};
    use super::*;

    fn told(p: &Provisioning) -> String {
        provisioning(p, &testing::events(), &[], &[testing::site()], now())
    }

    #[test]
    fn the_story_of_an_install_is_as_kept() {
        golden("describe-installing.txt", &told(&testing::installing()));
        golden("describe-failed.txt", &told(&testing::failed()));
        golden("describe-ready.txt", &told(&testing::ready()));
    }

    #[test]
    fn a_failure_says_what_where_and_what_to_do_and_hides_no_bytes() {
        let text = told(&testing::failed());
        for wanted in
            ["WrongPassword", "w-0 (10.77.0.52)", "credentials file", "choose a larger host"]
        {
            assert!(text.contains(wanted), "{wanted}: {text}");
        }
        assert!(!text.contains('\u{1b}'));
    }

    #[test]
    fn a_plan_that_waits_shows_the_command_that_approves_it() {
        let mut p = testing::installing();
        p.spec.approval = Approval::Manual;
        assert!(told(&p).contains("bpa-coordinator approve edge 0123456789ab"));
        p.metadata.annotations.insert(APPROVE.to_owned(), "0123456789ab".to_owned());
        assert_eq!(awaited_approval(&p), None);
    }

    #[test]
    fn a_manifest_that_broke_is_named() {
        let p = testing::installing();
        let problem = ObjectProblem {
            place: "edge.yaml, document 1".to_owned(),
            kind: "Provisioning".to_owned(),
            key: Some(p.metadata.key()),
            message: "spec.masters: wrong".to_owned(),
        };
        let text = provisioning(&p, &[], &[problem], &[], now());
        assert!(text.contains("edge.yaml, document 1: spec.masters: wrong"), "{text}");
    }
}
