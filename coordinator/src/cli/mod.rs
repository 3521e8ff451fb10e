//! The command line of `bpa-coordinator`.
pub mod plan;
pub mod plan_text;
