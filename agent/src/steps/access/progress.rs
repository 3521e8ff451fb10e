//! What the user sees while a host is being reached.

use std::time::Duration;

/// One thing that happened; its text is meant for a Node event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The port does not answer yet.
    Waiting { why: String, waited: Duration, limit: Duration },
    /// The credentials can't be read; where the site's key is installed they are not needed.
    WithoutCredentials { why: String },
    /// The site's key is in the account's `authorized_keys` now.
    KeyInstalled { user: String, origin: String },
    /// First contact with this installation: its host key is remembered from now on.
    Pinned { fingerprint: String },
    /// First contact with a new installation: its pin takes the place of the earlier one's.
    PinReplaced { old: String, new: String },
}

impl std::fmt::Display for Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Waiting { why, waited, limit } => write!(
                f,
                "waiting for SSH: {why} ({} s of at most {} s)",
                seconds(waited),
                seconds(limit)
            ),
            Self::WithoutCredentials { why } => {
                write!(f, "going on with the site's key alone: {why}")
            }
            Self::KeyInstalled { user, origin } => {
                write!(f, "the site's key was installed for {user} (credentials: {origin})")
            }
            Self::Pinned { fingerprint } => {
                write!(f, "first contact: host key {fingerprint} is trusted from now on")
            }
            Self::PinReplaced { old, new } => write!(
                f,
                "new installation of the OS: host key {new} is trusted from now on, in place of {old}"
            ),
        }
    }
}

fn seconds(time: &Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_millis() >= 500)
}
