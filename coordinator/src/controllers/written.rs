//! A status as we wrote it last: the view of the world may lag behind our own writes.

use std::sync::Arc;

use bpa_common::api::{Provisioning, ProvisioningStatus};
use jiff::Timestamp;

/// A status, and when it was written.
#[derive(Debug)]
pub struct Written {
    status: ProvisioningStatus,
    pub time: Timestamp,
    /// The object as it was seen, and the same with our status.
    laid: Option<(Arc<Provisioning>, Arc<Provisioning>)>,
}

impl Written {
    /// A status that was written just now.
    pub fn new(status: ProvisioningStatus, time: Timestamp) -> Self {
        Self { status, time, laid: None }
    }

    /// Gives an object that was seen our status. The same object is laid over once.
    pub fn lay_over(&mut self, seen: &mut Arc<Provisioning>) {
        if let Some((_, ours)) = self.laid.as_ref().filter(|(before, _)| Arc::ptr_eq(before, seen))
        {
            *seen = Arc::clone(ours);
            return;
        }
        let before = Arc::clone(seen);
        if seen.status != self.status {
            Arc::make_mut(seen).status = self.status.clone();
        }
        self.laid = Some((before, Arc::clone(seen)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planning::testing::{at, provisioning};

    #[test]
    fn our_status_wins_and_what_did_not_change_is_shared() {
        let status = ProvisioningStatus { phase: "Ready".into(), ..Default::default() };
        let mut written = Written::new(status.clone(), at(1));
        let seen = Arc::new(provisioning("edge", &["h1"]));
        let lay = |written: &mut Written, seen: &Arc<Provisioning>| {
            let mut object = Arc::clone(seen);
            written.lay_over(&mut object);
            object
        };
        let first = lay(&mut written, &seen);
        assert_eq!((&first.status, &first.spec), (&status, &seen.spec));
        assert!(Arc::ptr_eq(&first, &lay(&mut written, &seen)));
        // The view has caught up: the object of the view itself.
        let caught_up = Arc::new((*first).clone());
        assert!(Arc::ptr_eq(&caught_up, &lay(&mut written, &caught_up)));
        let mut changed = (*seen).clone();
        changed.spec.paused = true;
        assert!(lay(&mut written, &Arc::new(changed)).spec.paused);
    }
}
