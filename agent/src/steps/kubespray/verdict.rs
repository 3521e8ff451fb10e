//! Whether a playbook did what it was started for. Events decide first, the exit code second.

use super::digest::{Digest, HostFailure};
use crate::steps::StepFailure;
use crate::supervisor::Exit;

/// How a playbook came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It worked on every expected host, and nothing failed.
    Success,
    Cancelled,
    Failure(StepFailure),
}

/// Judges an ended playbook. `playbooks` is how many were to run, `log_end` the end of its log.
pub fn judge(
    exit: &Exit,
    digest: &Digest,
    expected: &[&str],
    playbooks: usize,
    log_end: &str,
) -> Verdict {
    if exit.cancelled {
        return Verdict::Cancelled;
    }
    if let Some(error) = &exit.error {
        return failure("PlaybookNotStarted", None, error.clone(), "run `bpa-agent doctor`");
    }
    if let Some(first) = worst(digest) {
        return failed_task(first, digest);
    }
    let how = match (exit.code, exit.signal) {
        (Some(0), _) => None,
        (Some(code), _) => Some(format!("exit code {code}")),
        (None, signal) => Some(format!("signal {}", signal.unwrap_or(0))),
    };
    if let Some(how) = how {
        let said = last_error(log_end);
        let message = format!("ansible-playbook ended with {how} and no failed task: {said}");
        return failure("PlaybookError", None, message, "the end of the log says more");
    }
    if let Some(host) = digest.stats.iter().find(|(_, s)| s.failed > 0 || s.unreachable > 0) {
        let message = format!("{} failed, and no task says why", host.0);
        return failure("TaskFailed", Some(host.0), message, "the log says more");
    }
    let idle: Vec<&str> = expected
        .iter()
        .copied()
        .filter(|host| digest.stats.get(*host).is_none_or(|stats| stats.ok == 0))
        .collect();
    if digest.recaps < playbooks || !idle.is_empty() {
        let message = match (digest.recaps, idle.as_slice()) {
            (0, _) => "the playbook ended with exit code 0 and without a recap".to_owned(),
            (_, []) => format!("{} of {playbooks} playbooks came to their end", digest.recaps),
            (_, hosts) => format!(
                "the playbook ended with exit code 0, but did nothing on {}",
                hosts.join(", ")
            ),
        };
        let fix = "see that the bundle's playbooks work on the groups kube_control_plane, \
                   kube_node and etcd; `bpa-agent logs` shows what it said";
        return failure("NothingDone", idle.first().copied(), message, fix);
    }
    Verdict::Success
}

/// The first failure of a host that the recap calls failed; without a recap, the first of all.
fn worst(digest: &Digest) -> Option<&HostFailure> {
    let lost = |host: &str| match digest.stats.get(host) {
        _ if digest.recaps == 0 => true,
        Some(stats) => stats.failed > 0 || stats.unreachable > 0,
        None => true,
    };
    digest.failures.iter().find(|f| lost(&f.host))
}

fn failed_task(first: &HostFailure, digest: &Digest) -> Verdict {
    let others: Vec<&str> =
        digest.failures.iter().filter(|f| f.host != first.host).map(|f| f.host.as_str()).collect();
    let more = match others.as_slice() {
        [] => String::new(),
        hosts => format!(" (also failed: {})", hosts.join(", ")),
    };
    let place = if first.path.is_empty() { String::new() } else { format!(" at {}", first.path) };
    let task = if first.task.is_empty() { "a task" } else { &first.task };
    let message = format!("`{task}`{place}: {}{more}", first.message);
    let node = Some(first.host.as_str());
    if first.unreachable {
        let fix = "see that the host is up and answers SSH, then apply the Provisioning again";
        return failure("HostUnreachable", node, message, fix);
    }
    let fix = "mend what the message names on that host or in the Provisioning, then apply it \
               again: what was done is not done again";
    failure("TaskFailed", node, message, fix)
}

fn failure(reason: &'static str, node: Option<&str>, message: String, fix: &str) -> Verdict {
    let node = node.map(str::to_owned);
    Verdict::Failure(StepFailure { reason, node, message, fix: fix.to_owned() })
}

/// The last line of the log that says what is wrong.
fn last_error(log_end: &str) -> &str {
    let lines = || log_end.lines().map(str::trim).filter(|l| !l.is_empty());
    lines()
        .rfind(|l| l.starts_with("ERROR!") || l.starts_with("[ERROR]") || l.contains("error:"))
        .or_else(|| lines().next_back())
        .unwrap_or("it said nothing")
}

#[cfg(test)]
mod tests {
    use super::super::line::{HostStats, Line};
    use super::*;

    fn exit(code: i32) -> Exit {
        Exit { code: Some(code), signal: None, error: None, cancelled: false }
    }

    fn digest(hosts: &[(&str, HostStats)]) -> Digest {
        let stats = hosts.iter().map(|(name, stats)| ((*name).to_owned(), *stats)).collect();
        let mut digest = Digest::default();
        (digest.stats, digest.recaps) = (stats, 1);
        digest
    }

    fn ok() -> HostStats {
        HostStats { ok: 3, ..HostStats::default() }
    }

    fn reason(verdict: Verdict) -> (&'static str, String) {
        match verdict {
            Verdict::Failure(f) => (f.reason, f.to_string()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn success_needs_the_code_a_recap_and_every_host() {
        let both = digest(&[("cp1", ok()), ("w1", ok())]);
        assert_eq!(judge(&exit(0), &both, &["cp1", "w1"], 1, ""), Verdict::Success);
        let (why, text) = reason(judge(&exit(0), &both, &["cp1", "w2"], 1, ""));
        assert!(why == "NothingDone" && text.contains("w2"), "{text}");
        let idle = digest(&[("cp1", HostStats::default())]);
        assert_eq!(reason(judge(&exit(0), &idle, &["cp1"], 1, "")).0, "NothingDone");
        let none = Digest::default();
        assert_eq!(reason(judge(&exit(0), &none, &["cp1"], 1, "")).0, "NothingDone");
        assert_eq!(reason(judge(&exit(0), &both, &["cp1"], 2, "")).0, "NothingDone");
    }

    #[test]
    fn the_first_failed_task_of_a_failed_host_is_the_reason() {
        let mut digest = digest(&[
            ("cp1", ok()),
            ("w1", HostStats { failed: 1, ..ok() }),
            ("w2", HostStats { unreachable: 1, ..ok() }),
        ]);
        for text in [
            r#"{"seq":1,"ts":1,"event":"task","uuid":"t","name":"Get it","path":"/b/x.yml:7"}"#,
            r#"{"seq":2,"ts":1,"event":"failed","host":"cp1","task":"t","msg":"rescued later"}"#,
            r#"{"seq":3,"ts":1,"event":"failed","host":"w1","task":"t","msg":"404"}"#,
            r#"{"seq":4,"ts":1,"event":"unreachable","host":"w2","task":"t","msg":"gone"}"#,
        ] {
            digest.take(Line::parse(text).unwrap());
        }
        let (why, text) = reason(judge(&exit(2), &digest, &["cp1", "w1", "w2"], 1, ""));
        assert_eq!(why, "TaskFailed");
        assert!(text.starts_with("w1: `Get it` at /b/x.yml:7: 404 (also failed:"), "{text}");
    }

    #[test]
    fn what_no_event_explains_is_explained_by_the_log() {
        let log = "[WARNING]: x\nERROR! the role 'nope' was not found\n\nThe error appears in";
        let (why, text) = reason(judge(&exit(4), &Digest::default(), &["cp1"], 1, log));
        assert!(why == "PlaybookError" && text.contains("'nope'"), "{text}");
        let killed = Exit { code: None, signal: Some(9), error: None, cancelled: false };
        assert!(reason(judge(&killed, &Digest::default(), &[], 1, "")).1.contains("signal 9"));
    }

    #[test]
    fn a_cancelled_playbook_is_no_failure() {
        let cancelled = Exit { cancelled: true, ..exit(99) };
        assert_eq!(judge(&cancelled, &Digest::default(), &["a"], 1, ""), Verdict::Cancelled);
    }
}
