//! The agent's side of the link: join, dial, resume, back-off.
//!
//! Pure: `backoff` (when again?), `delta` (which lease messages?), `outbox` (which events?),
//! `log_window` (which piece of a log?). The rest is thin: `join` is first contact, `identity` is
//! what it keeps, `dialer` holds sessions, `tell` opens streams, `answer` serves the coordinator's.

mod answer;
mod backoff;
mod delta;
mod dialer;
mod feed;
mod identity;
mod join;
mod log_window;
mod outbox;
mod port;
mod session;
mod tell;

pub use dialer::{LinkStatus, run_session_loop};
pub use feed::WireLeases;
pub use identity::{IdentityError, SiteIdentity};
pub use join::{JoinError, Joined, join};
pub use port::{Desk, LogPiece};
