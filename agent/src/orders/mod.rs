//! PURE: may this order run? Which step comes next?
//!
//! No file, no clock, no network: facts come in as values, decisions go out as values. What is
//! decided here is carried out in `runs`.

mod admit;
mod names;
mod next;
#[cfg(test)]
mod next_tests;
mod wish;

pub use admit::{Admit, Ground, KnownRun, admit};
pub use next::{Life, MAX_STARTS, Next, Playbook, RunFacts, StepFact, next, plan};
pub use wish::{Invalid, is_template};
