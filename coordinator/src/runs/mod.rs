//! Runs as the coordinator knows them: events folded into a record, logs, kept on disk.
//!
//! `record` and `fold` are pure values and functions; `folder` is the layout on disk; `store`
//! says what is known, and `sink` takes what agents tell. Layout, private to the coordinator:
//!
//! ```text
//! STATE/runs/<run id>/order.json     the order as it is sent, written before the first sending
//!                     record.json    the order in brief and the folded state, for readers
//!                     events.jsonl   every event, one a line; the truth after a restart
//!                     log            the playbook's log
//!                     kubeconfig     only until the world of objects has saved it
//! ```

mod events;
mod fold;
mod folder;
mod lanes;
mod log;
mod prune;
mod record;
mod sink;
mod store;

pub use fold::fold;
pub use folder::log_path;
pub use prune::{Needed, may_go};
pub use record::{
    KubeconfigInfo, NodeRecord, Note, OrderSummary, Progress, RunRecord, StepRecord, StepState,
    TaskFailure,
};
pub use store::{RunFacts, RunStore, RunStoreError};

#[cfg(test)]
mod tests;
