//! `bpa-coordinator`: decides which host takes which role, and hands work orders to sites.
//!
//! Rooms, and what may enter them (see `docs/ARCHITECTURE.md`):
//! `matching` and `planning` are pure; `cluster` is the port to the world of objects; `controllers`
//! observe, decide, act, report; `sites` speaks with agents; `runs` keeps what agents told;
//! `web` answers probes; `cli` is the command line.

pub mod cli;
pub mod cluster;
pub mod controllers;
pub mod matching;
pub mod planning;
pub mod runs;
pub mod sites;
pub mod web;
