//! One lane per site: what one agent tells is written in its order, and sites don't wait for one
//! another.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Locks by name.
#[derive(Debug, Default)]
pub struct Lanes(Mutex<BTreeMap<String, Arc<Mutex<()>>>>);

impl Lanes {
    /// Runs `work` alone in this lane. It blocks: call it where blocking is allowed.
    pub fn run<T>(&self, name: &str, work: impl FnOnce() -> T) -> T {
        let lane = {
            // A panic elsewhere leaves nothing half done in a map of locks.
            let mut lanes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(lanes.entry(name.to_owned()).or_default())
        };
        let _alone = lane.lock().unwrap_or_else(PoisonError::into_inner);
        work()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn another_lane_is_free_while_one_is_busy() {
        let lanes = Lanes::default();
        let (told, heard) = mpsc::channel();
        lanes.run("north", || lanes.run("south", || told.send(1).unwrap()));
        assert_eq!(heard.recv(), Ok(1));
    }
}
