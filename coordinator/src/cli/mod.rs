//! The command line of `bpa-coordinator`.
