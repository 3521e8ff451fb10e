//! The effects of a run, one module per step: access, verify, preflight, inventory, kubespray,
//! collect. Each is idempotent; which comes next is decided in `orders`.

pub mod access;
mod port;
pub mod preflight;
pub mod verify;

pub use port::{Journaled, NodeTarget, StepFailure};
