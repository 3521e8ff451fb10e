//! The effects of a run, one module per step: access, verify, preflight, inventory, kubespray,
//! collect. Each is idempotent; which comes next is decided in `orders`.

pub mod access;
pub mod check;
pub mod collect;
pub mod inventory;
pub mod kubespray;
mod places;
mod port;
pub mod preflight;
pub mod verify;

pub use places::Places;
pub use port::{Journaled, NodeTarget, StepFailure};
