//! Progress changes many times a second; people read it once a second.

use bpa_common::api::{ProvisioningStatus, RunStatus};
use jiff::{SignedDuration, Timestamp};

/// Least time between two writes that differ in progress only.
const EVERY: SignedDuration = SignedDuration::from_secs(1);

/// When a status is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    No,
    Now,
    /// Only progress differs, and the last write was just now.
    At(Timestamp),
}

/// Compares the status that is written with the new one.
pub fn write_when(
    old: &ProvisioningStatus,
    new: &ProvisioningStatus,
    last: Option<Timestamp>,
    now: Timestamp,
) -> Write {
    if old == new {
        return Write::No;
    }
    let due = last.map_or(now, |last| last + EVERY);
    if due <= now || calm(old) != calm(new) { Write::Now } else { Write::At(due) }
}

/// The status without what changes with every task.
fn calm(status: &ProvisioningStatus) -> ProvisioningStatus {
    let run = status.run.as_ref().map(|run| RunStatus {
        task: String::new(),
        tasks_done: 0,
        last_line: String::new(),
        ..run.clone()
    });
    ProvisioningStatus { run, ..status.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_written_once_a_second_and_all_else_at_once() {
        let at = |ms| Timestamp::from_millisecond(ms).unwrap();
        let status = |task: &str, step: &str| ProvisioningStatus {
            run: Some(RunStatus { task: task.into(), step: step.into(), ..RunStatus::default() }),
            ..ProvisioningStatus::default()
        };
        let old = status("a", "Kubespray");
        let when = |new: &ProvisioningStatus, now| write_when(&old, new, Some(at(0)), at(now));
        assert_eq!(when(&old, 500), Write::No);
        assert_eq!(when(&status("b", "Kubespray"), 500), Write::At(at(1000)));
        assert_eq!(when(&status("b", "Kubespray"), 1000), Write::Now);
        assert_eq!(when(&status("a", "Collect"), 500), Write::Now);
        assert_eq!(write_when(&old, &status("b", "Kubespray"), None, at(0)), Write::Now);
    }
}
