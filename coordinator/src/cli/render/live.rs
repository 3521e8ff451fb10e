//! A run as it goes on: lines for a screen that is redrawn, and plain lines, one a change.

use bpa_common::api::{Provisioning, RunStatus};
use jiff::Timestamp;

use super::describe::{RETRY, awaited_approval, is_active, step_line};
use super::text::{cell, clean, took};
use super::words;

/// How a watch ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Ready,
    /// Failed, cancelled or refused: nothing more comes without a person.
    NotReady,
}

/// Whether there is nothing more to wait for.
pub fn end(p: &Provisioning) -> Option<End> {
    // A change that the coordinator has not looked at yet will have an effect.
    if p.status.observed_generation != p.metadata.generation || p.metadata.is_deleting() {
        return None;
    }
    if p.metadata.annotations.get(RETRY).is_some_and(|asked| *asked != p.status.handled_retry) {
        return None;
    }
    if p.status.run.as_ref().is_some_and(is_active) {
        return None;
    }
    match p.status.phase.as_str() {
        "Ready" => Some(End::Ready),
        "Failed" | "Cancelled" | "Invalid" => Some(End::NotReady),
        _ => None,
    }
}

/// The screen: what it is, its steps, its nodes.
pub fn screen(p: &Provisioning, now: Timestamp) -> Vec<String> {
    let mut lines = vec![headline(p, now)];
    let message = words::message(p);
    if !message.is_empty() {
        lines.push(format!("  {}", cell(&message)));
    }
    if let Some(hash) = awaited_approval(p) {
        lines.push(format!("  waits for: bpa-coordinator approve {} {hash}", p.metadata.name));
    }
    if let Some(run) = &p.status.run {
        lines.extend(run.steps.iter().map(|step| format!("  {}", step_line(step, now))));
        if run.step == "Kubespray" && is_active(run) {
            let text = format!("phase: {}  task {}: {}", run.phase, run.tasks_done, run.task);
            lines.push(format!("    {}", cell(&text)));
        }
    }
    for node in &p.status.nodes {
        let address = node.address.map(|address| address.to_string()).unwrap_or_default();
        let text =
            format!("{:14} {:16} {:16} {}", node.name, address, node.state, cell(&node.message));
        lines.push(format!("  {}", clean(text.trim_end())));
    }
    lines
}

fn headline(p: &Provisioning, now: Timestamp) -> String {
    let run = p.status.run.as_ref().filter(|run| is_active(run));
    let time = run.and_then(|run| run.started).map(|started| took(started, now));
    let text = format!(
        "{} {} {} {}",
        p.metadata.key(),
        words::phase(p),
        run.map(|run| run.kind.as_str()).unwrap_or_default(),
        time.unwrap_or_default()
    );
    clean(&text.split_whitespace().collect::<Vec<_>>().join("  "))
}

/// What changed, one plain line each. `old` is none at the first look.
pub fn changes(old: Option<&Provisioning>, new: &Provisioning) -> Vec<String> {
    let mut lines = Vec::new();
    let was = |pick: fn(&Provisioning) -> String| old.map(pick).unwrap_or_default();
    if was(words::phase) != words::phase(new) {
        lines.push(format!("{} is {}", new.metadata.key(), words::phase(new)));
    }
    let message = words::message(new);
    // That a step began is told by the step itself, below.
    let again = message.starts_with("at step ");
    if !message.is_empty() && !again && was(words::message) != message {
        lines.push(message.lines().collect::<Vec<_>>().join("; "));
    }
    if let Some(hash) =
        awaited_approval(new).filter(|hash| old.and_then(awaited_approval) != Some(hash))
    {
        lines.push(format!("waits for: bpa-coordinator approve {} {hash}", new.metadata.name));
    }
    if let Some(run) = &new.status.run {
        let before = old.and_then(|old| old.status.run.as_ref()).filter(|old| old.id == run.id);
        lines.extend(run_changes(before, run));
    }
    for node in &new.status.nodes {
        let before = old.and_then(|old| old.status.nodes.iter().find(|old| old.name == node.name));
        if before.is_none_or(|old| (&old.state, &old.message) != (&node.state, &node.message)) {
            let address = node.address.map(|address| format!(" ({address})")).unwrap_or_default();
            let text = format!("node {}{address}: {} {}", node.name, node.state, node.message);
            lines.push(text.trim_end().to_owned());
        }
    }
    lines.iter().map(|line| clean(line)).collect()
}

fn run_changes(old: Option<&RunStatus>, new: &RunStatus) -> Vec<String> {
    let mut lines = Vec::new();
    if old.is_none_or(|old| old.state != new.state) {
        lines.push(format!("run {} ({}): {}", new.id, new.kind, new.state));
    }
    for (index, step) in new.steps.iter().enumerate() {
        let before = old.and_then(|old| old.steps.get(index));
        if before.is_none_or(|old| old.state != step.state) {
            lines.push(format!("step {}: {}", step.name, step.state));
        }
    }
    if !new.phase.is_empty() && old.is_none_or(|old| old.phase != new.phase) {
        lines.push(format!("phase: {} ({} tasks done)", new.phase, new.tasks_done));
    }
    for check in new.checks.iter().filter(|check| check.status != "passed") {
        if old.is_none_or(|old| !old.checks.contains(check)) {
            lines.push(format!(
                "check {} on {}: {}; wanted {}, found {}; {}",
                check.id, check.node, check.status, check.wanted, check.found, check.fix
            ));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, golden, now};
    use super::*;

    #[test]
    fn the_screen_is_as_kept() {
        let mut text = screen(&testing::installing(), now()).join("\n");
        text.push_str("\n\n");
        text.push_str(&screen(&testing::failed(), now()).join("\n"));
        golden("watch.txt", &text);
    }

    #[test]
    fn plain_lines_are_as_kept_and_nothing_is_told_twice() {
        let (first, then) = (testing::installing(), testing::failed());
        let mut lines = changes(None, &first);
        lines.push("--".to_owned());
        lines.extend(changes(Some(&first), &then));
        golden("watch-plain.txt", &(lines.join("\n") + "\n"));
        assert!(changes(Some(&then), &then).is_empty());
    }

    #[test]
    fn a_watch_ends_when_nothing_more_will_come() {
        assert_eq!(end(&testing::installing()), None);
        assert_eq!(end(&testing::ready()), Some(End::Ready));
        assert_eq!(end(&testing::failed()), Some(End::NotReady));
        let mut changed = testing::ready();
        changed.metadata.generation += 1;
        assert_eq!(end(&changed), None, "the coordinator has not looked at the change yet");
        let mut again = testing::failed();
        again.metadata.annotations.insert(RETRY.to_owned(), "now".to_owned());
        assert_eq!(end(&again), None, "another attempt is asked for");
        again.status.handled_retry = "now".to_owned();
        assert_eq!(end(&again), Some(End::NotReady));
        let mut going = testing::ready();
        going.metadata.deletion_timestamp = Some(now());
        assert_eq!(end(&going), None, "it is being deleted");
    }
}
