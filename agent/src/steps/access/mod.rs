//! Gets SSH access to a host, and is the only module that names russh.
//!
//! The order matters, and keeps a mistake small:
//! 1. the port is waited for; the host key is compared with the pin, before anything is sent;
//! 2. the site's own key is tried; only where it is refused are the credentials used;
//! 3. the machine is asked who it is (`verify`) before anything is changed on it;
//! 4. the site's public key is installed, and a new connection proves that it suffices;
//! 5. the host key is pinned, only now that the machine is known to be the right one;
//! 6. sudo is tried, where the account is not root.

mod auth;
mod become_root;
mod dial;
mod granted;
mod handler;
mod install_key;
mod known_hosts;
mod pins;
mod prepare;
mod problem;
mod progress;
mod session;
mod site_key;

pub use become_root::Become;
pub use granted::Access;
pub use known_hosts::known_hosts;
pub use pins::{Pin, Pins, PinsError};
pub use prepare::{AccessContext, prepare};
pub(crate) use problem::Problem;
pub use progress::Progress;
pub use session::{Output, Session};
pub use site_key::{SiteKey, SiteKeyError};

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
