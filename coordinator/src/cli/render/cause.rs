//! Why a Provisioning is where it is: what `describe` says first, and nowhere again.

use std::fmt::Write as _;

use bpa_common::api::{ConditionStatus, Provisioning, Site};
use jiff::Timestamp;

use super::describe::{is_active, section};
use super::text::{age, clean};
use super::words;

/// Tells the cause. Returns what was told, so that it is told once.
pub fn told(out: &mut String, p: &Provisioning) -> String {
    let status = &p.status;
    let ready = status.conditions.get("Ready").filter(|c| c.status != ConditionStatus::True);
    let (title, reason, text) = match (&status.run, ready) {
        _ if p.metadata.is_deleting() => {
            let Some(ready) = ready else { return String::new() };
            ("What is being done", ready.reason.clone(), ready.message.clone())
        }
        // What goes on is told below, with its steps.
        (Some(run), ready) if is_active(run) && run.message.is_empty() => {
            return ready.map(|ready| ready.message.clone()).unwrap_or_default();
        }
        (Some(run), _) if !run.message.is_empty() => {
            let reason = if run.reason.is_empty() { &run.state } else { &run.reason };
            let title = if is_active(run) { "What goes on" } else { "What happened" };
            (title, reason.clone(), run.message.clone())
        }
        (_, Some(ready)) => {
            let wrong = matches!(status.phase.as_str(), "Invalid" | "Failed");
            let title = if wrong { "What is wrong" } else { "What it waits for" };
            (title, ready.reason.clone(), words::message(p))
        }
        (_, None) => return String::new(),
    };
    if text.is_empty() {
        return text;
    }
    section(out, &format!("{title}: {}", clean(&reason)));
    for line in text.lines() {
        let _ = writeln!(out, "  {}", clean(line));
    }
    text
}

/// What a message says that was not told already.
pub fn beyond<'a>(message: &'a str, told: &str) -> &'a str {
    if told.is_empty() {
        return message;
    }
    match message.strip_prefix(told) {
        Some(more) => more.trim_start_matches([';', ' ', '\n']),
        None if told.starts_with(message.trim_end_matches('…')) => "",
        None => message,
    }
}

/// A warning when a run goes on at a site that tells nothing now.
pub fn silence(p: &Provisioning, sites: &[Site], now: Timestamp) -> Option<String> {
    p.status.run.as_ref().filter(|run| is_active(run))?;
    let name = p.status.site.as_deref()?;
    let site = sites
        .iter()
        .find(|s| s.metadata.name == name && s.metadata.namespace == p.metadata.namespace)?;
    if site.status.connected {
        return None;
    }
    let seen = site.status.last_seen.map(|seen| format!(" for {}", age(seen, now)));
    Some(format!(
        "not connected{}: what is below is what it told last; the run goes on there",
        seen.unwrap_or_default()
    ))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, now};
    use super::*;

    #[test]
    fn what_was_told_is_not_told_again() {
        assert_eq!(beyond("no lease; boot it", "no lease"), "boot it");
        assert_eq!(beyond("no le…", "no lease"), "");
        assert_eq!(beyond("no lease", "no address"), "no lease");
        assert_eq!(beyond("no lease", ""), "no lease");
    }

    #[test]
    fn a_deletion_says_what_is_being_done_and_not_what_was() {
        let mut p = testing::failed();
        p.metadata.deletion_timestamp = Some(now());
        p.status.conditions.set(
            "Ready",
            ConditionStatus::False,
            "Releasing",
            "2 hosts are being released",
            now(),
            2,
        );
        let mut out = String::new();
        assert_eq!(told(&mut out, &p), "2 hosts are being released");
        assert!(out.contains("What is being done: Releasing"), "{out}");
    }

    #[test]
    fn a_cause_of_waiting_is_told_and_a_run_tells_itself() {
        let mut p = testing::installing();
        let mut out = String::new();
        assert!(told(&mut out, &p).contains("57 tasks"));
        assert_eq!(out, "");
        p.status.run = None;
        told(&mut out, &p);
        assert!(out.contains("What it waits for: Reason\n  the playbook runs"), "{out}");
    }

    #[test]
    fn a_site_that_is_gone_in_the_middle_of_a_run_is_noticed() {
        let mut site = testing::site();
        let p = testing::installing();
        assert_eq!(silence(&p, std::slice::from_ref(&site), now()), None);
        site.status.connected = false;
        let text = silence(&p, std::slice::from_ref(&site), now()).unwrap();
        assert!(text.starts_with("not connected for 3s"), "{text}");
        assert_eq!(silence(&testing::ready(), &[site], now()), None, "nothing runs");
    }
}
