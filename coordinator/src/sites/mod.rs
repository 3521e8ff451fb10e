//! The coordinator's side of the link: enrolment, sessions, orders out, events and leases in.

mod port;

pub use port::{Fleet, LeaseView, RunSink, SendError, SinkError, SiteView};
