//! The command line of `bpa-agent`.

pub mod keys;
pub mod leases;
pub mod output;
