//! What is told as an event: conditions that turn, and how runs end.

use bpa_common::api::{Condition, ConditionStatus, ObjectKey, ProvisioningStatus};

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
        // `Ready` only repeats what another condition says, until it holds.
        turned && (condition.kind != "Ready" || condition.status == ConditionStatus::True)
    };
    new.conditions.0.iter().filter(|c| told(c)).map(|c| event(key, c)).collect()
}

fn event(key: &ObjectKey, condition: &Condition) -> ObjectEvent {
    let is_normal =
        condition.status != ConditionStatus::False || NORMAL.contains(&condition.reason.as_str());
    let reason = match condition.status {
        ConditionStatus::True => condition.kind.clone(),
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
