//! PURE: from (spec, status, hosts, leases, site, run) to the next actions and the new status.
//!
//! - `view`: all that a decision looks at, as values; `memory`: what the last effects answered
//! - `round`: all provisionings, oldest first; `stage`: where one of them is
//! - `install`: the way to a cluster, one condition after another: `sites`, `claims`, `addresses`,
//!   `order`, `sending`; `progress` tells what the run does, `standing` what stands after it;
//!   `deletion`: the way back
//! - `action`: what is to be done; `events`: what is told when a condition turns
//! - `site_status`: the status of a Site
//!
//! No I/O, clock or randomness: time and a seed for names come in as values. The same input gives
//! the same decision, so a decision may be made again at any time, by anyone, after any crash.

mod action;
mod addresses;
mod backoff;
mod claims;
mod deletion;
mod draft;
mod events;
mod holding;
mod index;
mod install;
mod memory;
mod order;
mod os;
mod plans;
mod progress;
mod quiet;
mod round;
mod sending;
mod site_status;
mod sites;
mod stage;
mod standing;
mod view;
mod words;

#[cfg(test)]
pub use claims::was_claimed;

pub use action::{Action, Decision};
pub use backoff::Backoff;
pub use events::transitions;
pub use holding::{Holding, holding};
pub use index::HostIndex;
pub use memory::{Answer, Claim, Memory, Told, Trouble};
pub use os::{Install, Leave, judge, leave};
pub use plans::Plans;
pub use quiet::Quiet;
pub use round::{Decided, Round, decide_round};
pub use site_status::{site_status, worth_writing};
pub use standing::{kubeconfig_command, node_addresses};
pub use view::View;
pub use words::{APPROVE, CANCEL, FORCE_DELETE, RETRY};

#[cfg(test)]
pub mod testing;
