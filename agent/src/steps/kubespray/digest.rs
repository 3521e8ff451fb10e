//! Turns the callback's lines into events, and remembers what decides about success. Pure: time
//! comes with the lines.

use std::collections::{BTreeMap, HashMap};

use bpa_common::wire::v1::{EventBody, HostRecap, NodeState};

use super::line::{Bad, HostStats, Line, Told};
use crate::supervisor::Redactor;

/// Task events come no closer than this, milliseconds: about five a second.
const PACE_MS: i64 = 200;
/// Longest message of a failure, bytes.
const LONGEST: usize = 1500;

/// A failure of a task on a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostFailure {
    pub host: String,
    pub task: String,
    /// `file:line` of the task.
    pub path: String,
    pub message: String,
    /// The host did not answer, as opposed to: the task failed there.
    pub unreachable: bool,
}

/// What a playbook has told so far.
#[derive(Debug, Default)]
pub struct Digest {
    redactor: Redactor,
    tasks: HashMap<String, (String, String)>,
    /// Tasks begun so far.
    pub done: u64,
    /// First failure per host that was not ignored, in the order of time.
    pub failures: Vec<HostFailure>,
    /// The newest recap, and how many came (one per playbook).
    pub stats: BTreeMap<String, HostStats>,
    pub recaps: usize,
    /// A play had no hosts at all.
    pub no_hosts_matched: bool,
    told_at: i64,
    waiting: Option<String>,
}

impl Digest {
    /// Takes these secrets out of what is told.
    pub fn new(redactor: Redactor) -> Self {
        Self { redactor, ..Self::default() }
    }

    /// Takes a line in; gives what is to be told now.
    pub fn take(&mut self, line: Line) -> Vec<EventBody> {
        let at = line.at_ms();
        match line.told {
            Told::Play { name } => {
                let name = self.clean(&name);
                vec![EventBody::Phase { name }]
            }
            Told::Task { uuid, name, path } => {
                let name = self.clean(&name);
                self.done += 1;
                self.tasks.insert(uuid, (name.clone(), path));
                self.waiting = Some(name);
                self.tick(at).into_iter().collect()
            }
            Told::Failed(bad) if !bad.ignored => self.failed(bad, false),
            Told::Unreachable(bad) if !bad.ignored => self.failed(bad, true),
            Told::Retry(bad) => self.retry(&bad),
            Told::Stats { hosts } => {
                self.stats = hosts;
                self.recaps += 1;
                vec![EventBody::Recap { hosts: self.recap() }]
            }
            Told::NoHostsMatched => {
                self.no_hosts_matched = true;
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// The task that waits to be told, when it is time for one.
    pub fn tick(&mut self, now_ms: i64) -> Option<EventBody> {
        if now_ms - self.told_at < PACE_MS {
            return None;
        }
        let name = self.waiting.take()?;
        self.told_at = now_ms;
        Some(EventBody::Task { name, done: self.done })
    }

    fn failed(&mut self, bad: Bad, unreachable: bool) -> Vec<EventBody> {
        let (task, path) = self.tasks.get(&bad.task).cloned().unwrap_or_default();
        let message = self.message(&bad);
        let failure =
            HostFailure { host: bad.host, task, path, message: message.clone(), unreachable };
        let told = EventBody::TaskFailed {
            node: failure.host.clone(),
            task: failure.task.clone(),
            path: failure.path.clone(),
            message: message.clone(),
        };
        let node = EventBody::Node {
            node: failure.host.clone(),
            state: NodeState::Failed,
            address: None,
            message,
        };
        if !self.failures.iter().any(|f| f.host == failure.host) {
            self.failures.push(failure);
        }
        vec![told, node]
    }

    fn retry(&mut self, bad: &Bad) -> Vec<EventBody> {
        // The first try again is worth a word, the fiftieth is not.
        if bad.attempts != Some(1) {
            return Vec::new();
        }
        let task = self.tasks.get(&bad.task).map_or("a task", |(name, _)| name.as_str());
        let message = format!("{}: `{task}` is tried again", bad.host);
        vec![EventBody::Note { message }]
    }

    /// What went wrong, as short as it can be said.
    fn message(&mut self, bad: &Bad) -> String {
        if bad.no_log {
            return "the playbook hides the output of this task (no_log)".to_owned();
        }
        let useful = |text: &Option<String>| {
            text.as_deref().map(str::trim).filter(|t| !t.is_empty()).map(str::to_owned)
        };
        let msg = useful(&bad.msg);
        // These say nothing without what the program wrote.
        let empty = msg.as_deref().is_none_or(|m| m.starts_with("non-zero return code"))
            || msg.as_deref().is_some_and(|m| m.contains("MODULE FAILURE"));
        let detail = useful(&bad.stderr).or_else(|| useful(&bad.stdout)).filter(|_| empty);
        let code = bad.rc.map(|rc| format!(" (exit code {rc})")).unwrap_or_default();
        let text = match (msg, detail) {
            (Some(msg), Some(detail)) => format!("{msg}{code}: {}", tail(&detail)),
            (Some(msg), None) => msg,
            (None, Some(detail)) => format!("{}{code}", tail(&detail)),
            (None, None) => format!("the task failed without a word{code}"),
        };
        self.clean(&text)
    }

    fn clean(&mut self, text: &str) -> String {
        let mut clean = self.redactor.line(text).into_owned();
        if clean.len() > LONGEST {
            let end = (0..=LONGEST).rev().find(|i| clean.is_char_boundary(*i)).unwrap_or(0);
            clean.truncate(end);
            clean.push('…');
        }
        clean
    }

    /// The recap as it is told.
    pub fn recap(&self) -> Vec<HostRecap> {
        self.stats
            .iter()
            .map(|(node, stats)| HostRecap {
                node: node.clone(),
                ok: stats.ok,
                changed: stats.changed,
                failed: stats.failed,
                unreachable: stats.unreachable,
                skipped: stats.skipped,
            })
            .collect()
    }
}

/// The last lines of a program's output: that is where it says why.
fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(4)..].join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(seq: u64, ts: f64, told: &str) -> Line {
        Line::parse(&format!(r#"{{"seq":{seq},"ts":{ts},{told}}}"#)).unwrap()
    }

    fn task(seq: u64, ts: f64, name: &str) -> Line {
        line(
            seq,
            ts,
            &format!(r#""event":"task","uuid":"t{seq}","name":"{name}","path":"/b/a.yml:{seq}""#),
        )
    }

    #[test]
    fn tasks_are_told_at_a_pace_and_the_last_one_is_not_lost() {
        let mut digest = Digest::default();
        let mut told = Vec::new();
        for n in 0..100 {
            told.extend(digest.take(task(n, 100.0 + n as f64 * 0.01, &format!("task {n}"))));
        }
        assert_eq!(told.len(), 5, "{told:?}");
        assert_eq!(digest.done, 100);
        assert_eq!(
            digest.tick(101_300),
            Some(EventBody::Task { name: "task 99".into(), done: 100 })
        );
        assert_eq!(digest.tick(109_000), None, "nothing waits");
    }

    #[test]
    fn a_failure_is_told_at_once_with_task_and_path_and_ignored_ones_are_not() {
        let mut digest = Digest::default();
        digest.take(task(1, 100.0, "Install runc"));
        let ignored = r#""event":"failed","host":"cp1","task":"t1","msg":"x","ignored":true"#;
        assert_eq!(digest.take(line(2, 100.1, ignored)), []);
        let failed = r#""event":"failed","host":"w1","task":"t1","msg":"non-zero return code","rc":2,"stderr":"a\nE: no space left""#;
        let told = digest.take(line(3, 100.1, failed));
        let EventBody::TaskFailed { node, task, path, message } = &told[0] else {
            panic!("{told:?}")
        };
        assert_eq!(
            (node.as_str(), task.as_str(), path.as_str()),
            ("w1", "Install runc", "/b/a.yml:1")
        );
        assert_eq!(message, "non-zero return code (exit code 2): a | E: no space left");
        assert!(matches!(&told[1], EventBody::Node { state: NodeState::Failed, .. }));
        digest.take(line(4, 100.2, r#""event":"failed","host":"w1","task":"t1","msg":"again""#));
        assert_eq!(digest.failures.len(), 1, "the first one of a host counts");
    }

    #[test]
    fn hidden_output_stays_hidden_and_secrets_are_taken_out() {
        let mut digest = Digest::new(Redactor::new(["PLANTED-1".to_owned()]));
        let hidden = r#""event":"failed","host":"w1","task":"t","msg":"PLANTED-2","no_log":true"#;
        assert!(!format!("{:?}", digest.take(line(1, 1.0, hidden))).contains("PLANTED"));
        let shown = r#""event":"unreachable","host":"w2","task":"t","msg":"sudo PLANTED-1 failed""#;
        let told = format!("{:?}", digest.take(line(2, 1.0, shown)));
        assert!(told.contains("[redacted]") && !told.contains("PLANTED"), "{told}");
        assert!(digest.failures[1].unreachable);
    }

    #[test]
    fn a_recap_is_told_and_kept() {
        let mut digest = Digest::default();
        let stats = r#""event":"stats","hosts":{"cp1":{"ok":5,"changed":2,"failed":0,"unreachable":0,"skipped":1,"rescued":0,"ignored":0}}"#;
        let told = digest.take(line(9, 2.0, stats));
        assert!(matches!(&told[0], EventBody::Recap { hosts } if hosts[0].ok == 5));
        assert_eq!((digest.recaps, digest.stats["cp1"].ok), (1, 5));
    }
}
