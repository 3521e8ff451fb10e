//! Leases: which address has this machine now?
//!
//! `parsers` read what each DHCP server writes (pure); `table` holds what all sources said and
//! answers for a MAC (pure, time comes in as a value); `follow` watches the files and publishes a
//! new view whenever an answer changes.
//!
//! Two steps, never one: first, per address, the record in force; then, per MAC, all addresses that
//! are bound now. The newest answers, and more than one is said.

mod choice;
mod escape;
mod follow;
mod kind;
pub mod parsers;
mod record;
#[cfg(test)]
mod statements;
mod table;
mod why;

pub use escape::{escaped, hex};
pub use follow::{LeaseFeed, read_once, start};
pub use kind::{SourceKind, SourceSpec, UnknownKind};
pub use record::{Binding, Ends, Record, Skip, SourceTable};
pub use table::{Answer, Lease, LeaseView, SourceView};
pub use why::why;
