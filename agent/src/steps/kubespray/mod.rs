//! The playbook: started under a supervisor, followed by its events, judged by them.
//!
//! Exit code 0 is not success: a playbook that ran nothing ends with it too. Success is exit code
//! 0 *and* a final recap that names every expected host as worked on, with no failure. What the
//! playbook tells comes from a callback plug-in of ours, as one JSON object a line, in a file that
//! a restarted agent reads again from its start.

mod bundle;
mod digest;
mod environment;
mod follow;
mod line;
mod play;
mod verdict;

pub use bundle::{Bundle, Manifest};
pub use digest::{Digest, HostFailure};
pub use environment::{CALLBACK_FILE, PLUGIN, environment};
pub use follow::Follower;
pub use line::{HostStats, Line, Told};
pub use play::{Played, Playing, Stage, play};
pub use verdict::{Verdict, judge};
