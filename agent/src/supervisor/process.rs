//! Processes by more than their number: numbers are used again.

use std::fs;

use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};

/// One process of one boot of this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessId {
    pub pid: i32,
    /// Clock ticks between boot and its start.
    pub start: u64,
    /// Identifies the boot.
    pub boot: String,
}

impl ProcessId {
    /// The process that has this number now; none when there is none.
    pub fn of(pid: i32) -> Option<Self> {
        let (start, _) = stat(pid)?;
        Some(Self { pid, start, boot: boot_id() })
    }

    /// This process.
    pub fn own() -> Option<Self> {
        Self::of(rustix::process::getpid().as_raw_nonzero().get())
    }

    /// True while this very process runs. A zombie does not run.
    pub fn lives(&self) -> bool {
        self.boot == boot_id()
            && stat(self.pid).is_some_and(|(start, state)| start == self.start && state != 'Z')
    }

    /// Sends a signal to the process group that it leads, if it lives.
    pub fn signal_group(&self, signal: Signal) {
        if self.lives()
            && let Some(pid) = Pid::from_raw(self.pid)
        {
            // It may end between the look and the signal: then there is nobody to tell.
            let _ = rustix::process::kill_process_group(pid, signal);
        }
    }
}

/// Start time and state letter, from `/proc/PID/stat`.
fn stat(pid: i32) -> Option<(u64, char)> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The name, in parentheses, may hold anything: fields are counted after the last one.
fn parse_stat(text: &str) -> Option<(u64, char)> {
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    let start = fields.nth(18)?.parse().ok()?;
    Some((start, state))
}

fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives_and_one_with_its_number_but_another_start_does_not() {
        let own = ProcessId::own().unwrap();
        assert!(own.lives());
        assert!(!ProcessId { start: own.start + 1, ..own.clone() }.lives());
        assert!(!ProcessId { boot: "another".into(), ..own }.lives());
    }

    #[test]
    fn a_name_with_parentheses_does_not_confuse() {
        let text = "12 (a) b (c)) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 20 21";
        assert_eq!(parse_stat(text), Some((4242, 'S')));
        assert_eq!(parse_stat("12 (a"), None);
        assert_eq!(parse_stat(""), None);
    }
}
