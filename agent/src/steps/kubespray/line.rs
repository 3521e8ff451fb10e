//! One line of the callback's file.

use std::collections::BTreeMap;

use serde::Deserialize;

/// A line: its number, its time, what it tells.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Line {
    /// From 1, within one playbook process.
    pub seq: u64,
    /// Seconds since 1970.
    pub ts: f64,
    #[serde(flatten)]
    pub told: Told,
}

impl Line {
    /// Reads a line; none when it is none of ours.
    pub fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Milliseconds since 1970.
    pub fn at_ms(&self) -> i64 {
        (self.ts * 1000.0) as i64
    }
}

/// What a line tells.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Told {
    Start {
        #[serde(default)]
        playbook: String,
    },
    Play {
        name: String,
    },
    #[serde(alias = "handler")]
    Task {
        uuid: String,
        name: String,
        #[serde(default)]
        path: String,
    },
    Failed(Bad),
    Unreachable(Bad),
    ItemFailed(Bad),
    Retry(Bad),
    Stats {
        hosts: BTreeMap<String, HostStats>,
    },
    NoHostsMatched,
    NoHostsRemaining,
    /// What says nothing that is shown.
    #[serde(other)]
    Other,
}

/// What went wrong on a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Bad {
    pub host: String,
    /// The task's uuid.
    pub task: String,
    pub msg: Option<String>,
    pub stderr: Option<String>,
    pub stdout: Option<String>,
    pub rc: Option<i64>,
    pub no_log: bool,
    pub ignored: bool,
    pub attempts: Option<u32>,
}

/// A host's counts at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct HostStats {
    pub ok: u32,
    pub changed: u32,
    pub failed: u32,
    pub unreachable: u32,
    pub skipped: u32,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_of_the_callback_are_read() {
        let line = Line::parse(
            r#"{"seq": 3, "ts": 1764550000.25, "event": "handler", "uuid": "u", "name": "Restart", "path": "/b/x.yml:3", "action": "systemd"}"#,
        )
        .unwrap();
        assert_eq!((line.seq, line.at_ms()), (3, 1_764_550_000_250));
        assert!(matches!(line.told, Told::Task { ref name, .. } if name == "Restart"));
        let other = Line::parse(r#"{"seq":1,"ts":1,"event":"host_start","host":"a"}"#).unwrap();
        assert_eq!(other.told, Told::Other);
        let bad = r#"{"seq":1,"ts":1,"event":"failed","host":"a","task":"u","rc":2,"no_log":true}"#;
        assert!(matches!(Line::parse(bad).unwrap().told, Told::Failed(Bad { no_log: true, .. })));
        assert_eq!(Line::parse("PLAY [all] ****"), None);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,200}") {
            let _ = Line::parse(&text);
        }
    }
}
