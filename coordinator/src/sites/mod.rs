//! The coordinator's side of the link: enrolment, sessions, orders out, events and leases in.
//!
//! Pure: `enrol` (may this key be enrolled?), `admit` (may it hold a session?), `leases` (a lease
//! stream becomes a view), `logs` (a piece becomes plain bytes). The rest is thin: `server` accepts,
//! `welcome` serves joins, `session` and `streams` serve agents, `fleet` is what controllers see.

mod admit;
mod audit;
mod enrol;
mod fleet;
mod invite;
mod leases;
mod logs;
mod port;
mod server;
mod session;
mod store;
mod streams;
mod welcome;

pub use fleet::Sites;
pub use invite::{Invitation, JoinLine, SiteAddError, site_add};
pub use port::{Fleet, FleetView, LeaseView, RunSink, SendError, SinkError, SiteView};
pub use server::{ServeError, ServeOptions, serve};
pub use store::{KnownSite, StoreError, known_sites};
