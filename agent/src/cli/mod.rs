//! The command line of `bpa-agent`.
