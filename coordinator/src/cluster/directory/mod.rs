//! The embedded world: a directory of manifests is the input, a state directory keeps the rest.
//!
//! - `manifest`, `merge`, `overlay`, `ledger`, `tracker`, `assemble`: pure.
//! - `scan`: reads the objects directory. The user's files are never rewritten.
//! - `state`, `held`, `events`: files of the state directory (0700, files 0600, atomic).
//! - `core`, `claims`: put them together; `changes` tells when to look again.

mod assemble;
mod changes;
mod claims;
mod core;
mod events;
mod held;
mod ledger;
mod load;
mod manifest;
mod merge;
mod overlay;
mod scan;
mod state;
mod tracker;
mod world;

pub use changes::Changes;
pub use core::Role;
pub use events::EventRecord;
pub use held::FINALIZER;
pub use load::{Loaded, load_files, load_text};
pub use manifest::Place;
pub use state::{Lock, running};
pub use world::DirectoryWorld;

#[cfg(test)]
mod tests;
