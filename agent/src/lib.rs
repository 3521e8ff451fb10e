//! `bpa-agent`: works at the site, beside its DHCP server.
//!
//! Rooms, and what may enter them (see `docs/ARCHITECTURE.md`): `orders` and the lease parsers are
//! pure; `journal` is the durable record; `runs` drives the steps of a run; `steps` are the
//! effects; `supervisor` outlives the agent and owns a running playbook; `link` dials the
//! coordinator; `credentials` is where secrets come from; `cli` is the command line.

pub mod cli;
pub mod config;
pub mod credentials;
pub mod journal;
pub mod leases;
pub mod link;
pub mod orders;
pub mod private;
pub mod runs;
pub mod steps;
pub mod supervisor;
