//! Where the secrets of the hosts come from: a TOML file (or a directory of such files) that only
//! the agent may read. It never leaves the site.
//!
//! ```toml
//! [default]
//! user = "root"
//! password = "…"
//!
//! [[host]]                      # by Metal3 host name, or by `mac`
//! name = "rack1-node7"
//! user = "ops"
//! key = "/etc/bpa/keys/ops"     # OpenSSH private key, mode 0600
//! sudo_password = "…"           # none = `password` is tried for sudo
//!
//! [[pattern]]                   # `*` and `?`; the first that fits, in the order of the file
//! name = "rack2-*"
//! password = "…"
//! ```
//!
//! A host's own entry wins over its MAC's, then the first pattern that fits, then the default.
//! The file is read again at each use, so a mended password needs no restart.

mod entry;
mod error;
mod file;
mod glob;
mod select;
mod source;

pub use entry::{Credential, Selector};
pub use error::CredentialsError;
pub use file::parse;
pub use select::Credentials;
pub use source::CredentialSource;
pub(crate) use source::read_private;
