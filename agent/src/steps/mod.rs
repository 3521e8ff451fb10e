//! The effects of a run, one module per step: access, verify, preflight, inventory, kubespray,
//! collect. Each is idempotent; which comes next is decided in `orders`.

mod port;

pub use port::{Journaled, NodeTarget, StepFailure};
