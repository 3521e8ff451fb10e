//! What is told as an event: conditions that turn, and how runs end.

use bpa_common::api::{Condition, ConditionStatus, ObjectKey, ProvisioningStatus};

use super::words::condition;
use crate::cluster::ObjectEvent;

/// Reasons that only say that something takes its time.
const NORMAL: [&str; 10] = [
    "Claiming",
    "WaitingForLease",
    "WaitingForApproval",
    "Paused",
    "Sent",
    "InProgress",
    "Saving",
    "Resetting",
    "Releasing",
    "WaitingForRun",
];

/// Reasons of `Ready` that no other condition tells.
const OF_DELETION: [&str; 6] =
    ["WaitingForRun", "Resetting", "ResetWaits", "ResetFailed", "ResetImpossible", "Releasing"];

/// Events for what differs between two statuses of one provisioning.
pub fn transitions(
    key: &ObjectKey,
    old: &ProvisioningStatus,
    new: &ProvisioningStatus,
) -> Vec<ObjectEvent> {
    let told = |condition: &Condition| {
        let before = old.conditions.get(&condition.kind);
        let turned =
            before.is_none_or(|b| (b.status, &b.reason) != (condition.status, &condition.reason));
        // `Ready` only repeats what another condition says, until it holds or the object goes.
        turned
            && (condition.kind != "Ready"
                || condition.status == ConditionStatus::True
                || OF_DELETION.contains(&condition.reason.as_str()))
    };
    let mut events: Vec<ObjectEvent> = Vec::new();
    for event in new.conditions.0.iter().filter(|c| told(c)).map(|c| event(key, c)) {
        // A failure shows in the condition of its step and in `Installed`: told once.
        if !events.iter().any(|e| e.reason == event.reason) {
            events.push(event);
        }
    }
    events
}

fn event(key: &ObjectKey, condition: &Condition) -> ObjectEvent {
    let is_doubt = condition.kind == condition::HOSTS_DOUBTFUL;
    let is_normal = !is_doubt
        && (condition.status != ConditionStatus::False
            || NORMAL.contains(&condition.reason.as_str()));
    let reason = match condition.status {
        ConditionStatus::True if !is_doubt => condition.kind.clone(),
        _ => condition.reason.clone(),
    };
    ObjectEvent {
        kind: "Provisioning",
        key: key.clone(),
        warning: !is_normal,
        reason,
        message: if condition.message.is_empty() {
            format!("{} is {:?}", condition.kind, condition.status)
        } else {
            condition.message.clone()
        },
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn status(conditions: &[(&str, ConditionStatus, &str)]) -> ProvisioningStatus {
        let mut status = ProvisioningStatus::default();
        for (kind, state, reason) in conditions {
            status.conditions.set(kind, *state, reason, "words", Timestamp::UNIX_EPOCH, 1);
        }
        status
    }

    fn told(old: &ProvisioningStatus, new: &ProvisioningStatus) -> Vec<(String, bool)> {
        let key = ObjectKey::new("ns", "edge");
        transitions(&key, old, new).into_iter().map(|e| (e.reason, e.warning)).collect()
    }

    #[test]
    fn what_turns_is_told_once_and_waiting_is_no_warning() {
        use ConditionStatus::{False, True};
        let waits = status(&[("AddressesKnown", False, "WaitingForLease"), ("Ready", False, "x")]);
        assert_eq!(told(&status(&[]), &waits), [("WaitingForLease".to_owned(), false)]);
        assert_eq!(told(&waits, &waits), []);
        let known = status(&[("AddressesKnown", True, "Resolved"), ("Ready", True, "Installed")]);
        let wanted = [("AddressesKnown".to_owned(), false), ("Ready".to_owned(), false)];
        assert_eq!(told(&waits, &known), wanted);
        let failed = status(&[("Installed", False, "TaskFailed")]);
        assert_eq!(told(&known, &failed), [("TaskFailed".to_owned(), true)]);
        let twice = status(&[
            ("AccessReady", False, "WrongPassword"),
            ("Installed", False, "WrongPassword"),
        ]);
        assert_eq!(told(&known, &twice), [("WrongPassword".to_owned(), true)]);
        let stuck = status(&[("Ready", False, "ResetFailed")]);
        assert_eq!(told(&known, &stuck), [("ResetFailed".to_owned(), true)]);
        let doubtful = status(&[("HostsDoubtful", True, "HostsContested")]);
        assert_eq!(told(&known, &doubtful), [("HostsContested".to_owned(), true)]);
    }
}
