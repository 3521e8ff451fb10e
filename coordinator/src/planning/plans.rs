//! Plans that are kept from one round to the next, where making them anew could give nothing else.
//!
//! Only of wishes that did not fit: those are the dear ones, and there may be many that wait. Such a
//! plan holds as long as the wish is the same and no host became free or new, since with fewer hosts
//! it fits no better (`adding a host never makes a fitting set unfit`).

use std::collections::BTreeMap;
use std::sync::Arc;

use bpa_common::api::Provisioning;

use super::index::HostIndex;
use crate::matching::{HostId, Ineligible, Planned};

/// What is kept between rounds. Forgetting it costs time and nothing else.
#[derive(Debug, Default)]
pub struct Plans {
    /// By uid of the wish.
    unfit: BTreeMap<String, Unfit>,
    /// Who had or had chosen which host, by uid of the wish, at the end of the last round.
    held: BTreeMap<HostId, String>,
    /// Grows whenever a host may have become free for someone.
    gains: u64,
    /// Of the hosts, in the last round.
    host_gains: u64,
}

#[derive(Debug)]
struct Unfit {
    wish: Arc<Provisioning>,
    /// What spoke against hosts for this wish alone.
    elsewhere: BTreeMap<HostId, Ineligible>,
    gains: u64,
    planned: Arc<Planned>,
}

impl Plans {
    /// Begins a round with these hosts and who holds which.
    pub fn begin(&mut self, hosts: &HostIndex, held: BTreeMap<HostId, String>) {
        let freed = self.held.iter().any(|(host, owner)| held.get(host) != Some(owner));
        if freed || hosts.gains() != self.host_gains {
            self.gains += 1;
        }
        self.held = held;
        self.host_gains = hosts.gains();
    }

    /// Notes a host that a wish has chosen in this round: it may lose it again unwritten.
    pub fn chosen(&mut self, host: HostId, uid: &str) {
        self.held.entry(host).or_insert_with(|| uid.to_owned());
    }

    /// Forgets the plan of a wish that needs none now.
    pub fn drop_one(&mut self, uid: &str) {
        let old = self.unfit.remove(uid);
        self.gains += u64::from(old.is_some_and(|old| !old.planned.reserved.is_empty()));
    }

    /// The plan of a wish: one that is kept, if it still holds, else a new one.
    pub fn plan(
        &mut self,
        wish: &Arc<Provisioning>,
        elsewhere: BTreeMap<HostId, Ineligible>,
        make: impl FnOnce(&BTreeMap<HostId, Ineligible>) -> Planned,
    ) -> Arc<Planned> {
        let uid = &wish.metadata.uid;
        let known = self.unfit.get(uid).filter(|known| {
            Arc::ptr_eq(&known.wish, wish)
                && known.gains == self.gains
                && known.elsewhere == elsewhere
        });
        if let Some(known) = known {
            // In tests each plan that is kept is made anew beside it.
            #[cfg(test)]
            assert!(!make(&elsewhere).report.fits, "it would fit: {uid}");
            return Arc::clone(&known.planned);
        }
        let planned = Arc::new(make(&elsewhere));
        let old = self.unfit.remove(uid).map(|old| old.planned);
        if old.is_some_and(|old| old.reserved.iter().any(|host| !planned.reserved.contains(host))) {
            // Younger ones may have what it held back.
            self.gains += 1;
        }
        if planned.accepted.is_some() && !planned.report.fits {
            let (wish, gains) = (Arc::clone(wish), self.gains);
            let planned = Arc::clone(&planned);
            self.unfit.insert(uid.clone(), Unfit { wish, elsewhere, gains, planned });
        }
        planned
    }

    /// Forgets wishes that are gone.
    pub fn retain(&mut self, is_there: impl Fn(&str) -> bool) {
        let gone: Vec<String> = self.unfit.keys().filter(|uid| !is_there(uid)).cloned().collect();
        gone.iter().for_each(|uid| self.drop_one(uid));
    }
}

#[cfg(test)]
#[path = "plans_tests.rs"]
mod tests;
