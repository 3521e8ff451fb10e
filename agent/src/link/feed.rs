//! The lease view as the link reads it.

use bpa_common::wire::v1::{LeaseEntry, LeaseSource};

use crate::leases::LeaseView;

/// A view of all leases at one moment. The link gets it as `watch::Receiver<Arc<impl WireLeases>>`
/// and works out what changed by itself.
pub trait WireLeases: Send + Sync + 'static {
    /// Health of the sources; entries point into this list.
    fn wire_sources(&self) -> Vec<LeaseSource>;
    /// All leases in force, in any order, one per (mac, address, source, state).
    fn wire_entries(&self) -> Vec<LeaseEntry>;
}

impl WireLeases for LeaseView {
    fn wire_sources(&self) -> Vec<LeaseSource> {
        Self::wire_sources(self)
    }

    fn wire_entries(&self) -> Vec<LeaseEntry> {
        Self::wire_entries(self)
    }
}
