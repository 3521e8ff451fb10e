//! Which runs are old enough to be forgotten. Pure.

use std::collections::{BTreeMap, BTreeSet};

use bpa_common::wire::v1::RunId;
use jiff::{SignedDuration, Timestamp};

use super::store::RunFacts;

/// How long a run that no status names any more is kept, so that its log can still be read.
pub const KEPT_FOR: SignedDuration = SignedDuration::from_hours(7 * 24);
/// Most of those that are kept, the newest ones.
pub const MOST_KEPT: usize = 200;

/// What must stay, whatever its age.
#[derive(Debug, Default)]
pub struct Needed {
    /// Runs that a status names, as the current one or in its history.
    pub named: BTreeSet<RunId>,
    /// Uids of the Provisionings that are there.
    pub provisionings: BTreeSet<String>,
}

/// The runs that may go. What stays: a run that a status names (a reset is made from its order), one
/// that has not ended, one whose kubeconfig is not saved yet, and the last one that each site has
/// told of, since it says up to where the site's events are known.
pub fn may_go(runs: &BTreeMap<RunId, RunFacts>, needed: &Needed, now: Timestamp) -> Vec<RunId> {
    let mut last: BTreeMap<&str, u64> = BTreeMap::new();
    for facts in runs.values() {
        let seq = last.entry(&facts.record.site).or_default();
        *seq = (*seq).max(facts.record.progress.last_seq);
    }
    let mut old: Vec<(Option<Timestamp>, RunId)> = runs
        .iter()
        .filter(|(run, facts)| {
            let progress = &facts.record.progress;
            let order = facts.record.order.as_ref();
            let is_gone =
                !order.is_some_and(|o| needed.provisionings.contains(&o.provisioning.uid));
            // An order that no site has told of is over when its Provisioning is gone.
            let ended = progress.state().map_or(is_gone, |state| state.is_final());
            let is_last = progress.last_seq > 0
                && last.get(facts.record.site.as_str()) == Some(&progress.last_seq);
            ended && !is_last && !facts.has_kubeconfig && !needed.named.contains(*run)
        })
        .map(|(run, facts)| (facts.record.progress.finished, *run))
        .collect();
    // Newest first; those of no known time are the oldest.
    old.sort_by(|a, b| b.cmp(a));
    let is_kept = |place: usize, time: Option<Timestamp>| {
        place < MOST_KEPT && time.is_some_and(|time| now.duration_since(time) < KEPT_FOR)
    };
    let going = old.into_iter().enumerate().filter(|(place, (time, _))| !is_kept(*place, *time));
    going.map(|(_, (_, run))| run).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bpa_common::wire::v1::{ObjectId, OrderKind, Outcome};
    use proptest::prelude::*;

    use super::*;
    use crate::runs::record::{OrderSummary, Progress, RunRecord};

    fn at(hours: i64) -> Timestamp {
        Timestamp::from_second(hours * 3600).unwrap()
    }

    /// A run of site `s` and provisioning `p` that ended at this hour.
    fn run(seq: u64, finished: Option<i64>) -> RunFacts {
        let order = OrderSummary {
            provisioning: ObjectId { uid: "p".into(), ..ObjectId::default() },
            generation: 1,
            kind: OrderKind::Install,
            cluster: "c".into(),
            nodes: Vec::new(),
            kubeconfig_home: true,
        };
        let progress = Progress {
            last_seq: seq,
            accepted: seq > 0,
            finished: finished.map(at),
            outcome: finished.map(|_| Outcome::Succeeded),
            ..Progress::default()
        };
        let record = RunRecord { site: "s".into(), order: Some(order), progress };
        RunFacts { record: Arc::new(record), ..RunFacts::default() }
    }

    fn id(n: u32) -> RunId {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&n.to_be_bytes());
        RunId(bytes)
    }

    fn going(runs: &[RunFacts], needed: &Needed, hours: i64) -> Vec<RunId> {
        let runs = runs.iter().enumerate().map(|(n, facts)| (id(n as u32), facts.clone()));
        may_go(&runs.collect(), needed, at(hours))
    }

    #[test]
    fn old_ended_runs_that_nobody_names_go_after_a_week() {
        let runs = [run(1, Some(0)), run(2, Some(100)), run(3, Some(100))];
        let nothing = Needed::default();
        assert_eq!(going(&runs, &nothing, 167), []);
        assert_eq!(going(&runs, &nothing, 168), [id(0)]);
        // The last one that the site told of stays: it says up to where its events are known.
        assert_eq!(going(&runs, &nothing, 9999), [id(1), id(0)]);
        let named = Needed { named: [id(0), id(1)].into(), ..Needed::default() };
        assert_eq!(going(&runs, &named, 9999), []);
    }

    #[test]
    fn what_goes_on_or_waits_stays() {
        let mut waits = run(1, Some(0));
        waits.has_kubeconfig = true;
        let last = run(9, Some(0));
        let goes_on = run(3, None);
        let runs = [waits, goes_on, last];
        assert_eq!(going(&runs, &Needed::default(), 9999), []);
        // An order that no site told of: sent perhaps, as long as its Provisioning is there.
        let unsent = [run(0, None), run(9, Some(0))];
        let there = Needed { provisionings: ["p".to_owned()].into(), ..Needed::default() };
        assert_eq!(going(&unsent, &there, 9999), []);
        assert_eq!(going(&unsent, &Needed::default(), 0), [id(0)]);
    }

    proptest! {
        #[test]
        fn at_most_so_many_stay_and_never_one_that_is_needed_goes(
            ends in prop::collection::vec(prop::option::of(0i64..400), 0..600),
            names in prop::collection::btree_set(0u32..600, 0..20),
            hours in 0i64..600,
        ) {
            let runs: Vec<RunFacts> =
                ends.iter().enumerate().map(|(n, end)| run(n as u64 + 1, *end)).collect();
            let needed = Needed { named: names.into_iter().map(id).collect(), ..Needed::default() };
            let gone = going(&runs, &needed, hours);
            let is_open = |run: &RunId| (0..runs.len()).any(|n| id(n as u32) == *run && ends[n].is_none());
            prop_assert!(!gone.iter().any(|run| needed.named.contains(run) || is_open(run)));
            let open = ends.iter().filter(|end| end.is_none()).count();
            prop_assert!(runs.len() - gone.len() <= MOST_KEPT + needed.named.len() + open + 1);
        }
    }
}
