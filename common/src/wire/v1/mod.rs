//! Messages of protocol version 1, by stream.

mod event;
mod flow;
mod hello;
mod ids;
mod join;
mod lease;
mod log;
mod order;

pub use event::{
    Check, CheckOutcome, Event, EventBody, Failure, HostRecap, NodeState, Outcome, SecretBytes,
    Step, StepEnd,
};
pub use flow::{EventAck, EventBatch};
pub use hello::{
    BundleReport, ConnectRefused, Heartbeat, Hello, HostReport, RunReport, RunState, Welcome,
};
pub use ids::{ObjectId, RunId};
pub use join::{JoinGranted, JoinLineBody, JoinRefused, JoinRequest};
pub use lease::{
    LeaseDelta, LeaseEntry, LeaseQuery, LeaseReply, LeaseSnapshot, LeaseSource, LeaseState,
};
pub use log::{LogAck, LogChunk, LogOpen};
pub use order::{
    CancelOrder, CancelReply, ClusterPlan, Order, OrderKind, OrderNode, OrderRefusal, OrderReply,
};
