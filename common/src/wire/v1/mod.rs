//! Messages of protocol version 1, by stream.

mod event;
mod hello;
mod ids;
mod lease;
mod log;
mod order;

pub use event::{
    Check, CheckOutcome, Event, EventBody, Failure, HostRecap, NodeState, Outcome, SecretBytes,
    Step, StepEnd,
};
pub use hello::{
    BundleReport, ConnectRefused, Heartbeat, Hello, HostReport, RunReport, RunState, Welcome,
};
pub use ids::{ObjectId, RunId};
pub use lease::{
    LeaseDelta, LeaseEntry, LeaseQuery, LeaseReply, LeaseSnapshot, LeaseSource, LeaseState,
};
pub use log::{LogAck, LogChunk, LogOpen};
pub use order::{
    CancelOrder, CancelReply, ClusterPlan, Order, OrderKind, OrderNode, OrderRefusal, OrderReply,
};
