//! The agent's side of the link: join, dial, resume, back-off.

mod port;

pub use port::{Desk, LogPiece};
