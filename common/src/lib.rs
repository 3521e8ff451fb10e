//! What `bpa-coordinator` and `bpa-agent` must agree on.
//!
//! No I/O happens here beyond setting up the link. See `docs/ARCHITECTURE.md` for the map.

pub mod api;
pub mod identity;
pub mod link;
pub mod net;
pub mod output;
pub mod telemetry;
pub mod wire;
