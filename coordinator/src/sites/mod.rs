//! The coordinator's side of the link: enrolment, sessions, orders out, events and leases in.

mod fleet;
mod invite;
mod port;
mod server;

pub use fleet::Sites;
pub use invite::{Invitation, JoinLine, SiteAddError, site_add};
pub use port::{Fleet, LeaseView, RunSink, SendError, SinkError, SiteView};
pub use server::{ServeError, ServeOptions, serve};
