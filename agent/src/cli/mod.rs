//! The command line of `bpa-agent`.

pub mod leases;
pub mod output;
