//! The event stream: batches from the agent, acknowledgements from the coordinator.

use serde::{Deserialize, Serialize};

use super::Event;

/// Events in order of their sequence numbers, at least one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventBatch {
    pub events: Vec<Event>,
}

/// All events up to this one are kept by the coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventAck {
    pub seq: u64,
}
