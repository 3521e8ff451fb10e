//! Conditions as of `metav1.Condition`: one per type, times change only when the status does.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ConditionStatus {
    True,
    False,
    #[default]
    Unknown,
}

/// One `metav1.Condition`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// What holds or does not, such as `Ready`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// CamelCase word that programs can match.
    pub reason: String,
    /// What a person reads: what was wanted, found, and what to do.
    #[serde(default)]
    pub message: String,
    /// When `status` changed last.
    pub last_transition_time: Timestamp,
    /// The generation of the spec that this was said about.
    #[serde(default)]
    pub observed_generation: u64,
}

/// The conditions of one object, in the order in which they were first set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
pub struct Conditions(pub Vec<Condition>);

impl Conditions {
    /// Sets a condition. The transition time is kept unless the status changes.
    pub fn set(
        &mut self,
        kind: &str,
        status: ConditionStatus,
        reason: &str,
        message: impl Into<String>,
        now: Timestamp,
        generation: u64,
    ) {
        let message = message.into();
        let new = Condition {
            kind: kind.to_owned(),
            status,
            reason: reason.to_owned(),
            message,
            last_transition_time: now,
            observed_generation: generation,
        };
        match self.0.iter_mut().find(|c| c.kind == kind) {
            Some(old) => {
                let time = if old.status == status { old.last_transition_time } else { now };
                *old = Condition { last_transition_time: time, ..new };
            }
            None => self.0.push(new),
        }
    }

    /// The condition of this type, if it was ever set.
    pub fn get(&self, kind: &str) -> Option<&Condition> {
        self.0.iter().find(|c| c.kind == kind)
    }

    /// True only when the condition was set to `True`.
    pub fn is_true(&self, kind: &str) -> bool {
        self.get(kind).is_some_and(|c| c.status == ConditionStatus::True)
    }

    /// Removes a condition that no longer says anything.
    pub fn remove(&mut self, kind: &str) {
        self.0.retain(|c| c.kind != kind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transition_time_changes_only_with_the_status() {
        let (t1, t2) = (Timestamp::UNIX_EPOCH, Timestamp::from_second(60).unwrap());
        let mut conditions = Conditions::default();
        conditions.set("Ready", ConditionStatus::False, "Waiting", "host1", t1, 1);
        conditions.set("Ready", ConditionStatus::False, "Waiting", "host2", t2, 1);
        let ready = conditions.get("Ready").unwrap();
        assert_eq!((ready.last_transition_time, ready.message.as_str()), (t1, "host2"));
        conditions.set("Ready", ConditionStatus::True, "Done", "", t2, 2);
        assert_eq!(conditions.get("Ready").unwrap().last_transition_time, t2);
        assert!(conditions.is_true("Ready") && !conditions.is_true("Installed"));
        assert_eq!(conditions.0.len(), 1);
    }
}
