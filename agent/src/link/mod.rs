//! The agent's side of the link: join, dial, resume, back-off.

mod feed;
mod join;
mod port;
mod session;

pub use feed::WireLeases;
pub use join::{JoinError, Joined, join};
pub use port::{Desk, LogPiece};
pub use session::{IdentityError, LinkStatus, SiteIdentity, run_session_loop};
