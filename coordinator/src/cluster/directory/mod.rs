//! The embedded world: a directory of manifests is the input, a state directory keeps the rest.
//!
//! - `manifest`, `header`, `merge`, `overlay`, `ledger`, `tracker`, `assemble`: pure.
//! - `scan`: reads the objects directory. The user's files are never rewritten.
//! - `state`, `held`, `events`: files of the state directory (0700, files 0600, atomic).
//! - `core` reads, `compose` puts an object together, `edit`, `claims` and `upkeep` change what is
//!   kept; `changes` tells when to look again; `world` is the async face.

mod assemble;
mod changes;
mod claims;
mod compose;
mod core;
mod edit;
mod events;
mod header;
mod held;
mod ledger;
mod load;
mod manifest;
pub(crate) mod merge;
mod overlay;
mod scan;
mod state;
mod tracker;
mod upkeep;
mod world;

pub use changes::Changes;
pub use core::Role;
pub use events::EventRecord;
pub use held::FINALIZER;
pub use load::{Loaded, load_files, load_text};
pub use manifest::Place;
pub use state::{Lock, lock_for_run, running};
pub use world::DirectoryWorld;

#[cfg(test)]
mod tests;
