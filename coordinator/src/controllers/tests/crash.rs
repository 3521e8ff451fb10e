//! The coordinator dies between any two effects and is started anew: there is one order, one
//! owner, one end.

use bpa_common::api::DeletionPolicy;

use super::super::testing::{Bench, Crash, Ends};
use crate::planning::testing::provisioning;

/// More effects than a whole life has.
const MOST: usize = 40;

/// A whole life: install, success, deletion with reset. Starts anew after each death.
async fn life(bench: &Bench) {
    let mut worked = Vec::new();
    for _ in 0..6 {
        let mut controller = bench.start();
        let lived = bench.settle(&mut controller).await;
        drop(controller);
        bench.fuse.set(None);
        if !lived {
            continue;
        }
        let waiting: Vec<_> = {
            let state = bench.fleet.lock();
            state.journal.iter().map(|(order, _)| order.run).collect()
        };
        for run in waiting {
            if !worked.contains(&run) {
                bench.work(run, Ends::Well).await;
                worked.push(run);
            }
        }
    }
}

#[tokio::test]
async fn a_crash_before_or_after_any_effect_gives_exactly_one_order() {
    let mut died = 0;
    for effect in 1..=MOST {
        for after in [false, true] {
            let bench = Bench::edge();
            bench.fuse.set(Some(Crash { effect, after }));
            let mut controller = bench.start();
            let lived = bench.settle(&mut controller).await;
            drop(controller);
            bench.fuse.set(None);
            died += usize::from(!lived);
            life(&bench).await;
            let state = bench.fleet.lock();
            assert_eq!(state.journal.len(), 1, "crash at {effect}, after: {after}");
            drop(state);
            let status = bench.status("edge");
            assert_eq!(status.phase, "Ready", "crash at {effect}, after: {after}: {status:#?}");
            assert_eq!(status.history.len(), 1);
            assert_eq!(bench.world.lock().kubeconfigs.len(), 1);
        }
    }
    assert!(died >= 10, "the effects were not reached: {died}");
}

#[tokio::test]
async fn a_crash_after_the_run_has_ended_loses_neither_kubeconfig_nor_success() {
    for effect in 1..=8 {
        for after in [false, true] {
            let bench = Bench::edge();
            let mut controller = bench.run().await;
            bench.work(bench.run_id("edge"), Ends::Well).await;
            bench.fuse.set(Some(Crash { effect, after }));
            bench.settle(&mut controller).await;
            drop(controller);
            bench.fuse.set(None);
            bench.run().await;
            assert_eq!(bench.status("edge").phase, "Ready", "crash at {effect}, after: {after}");
            assert_eq!(bench.world.lock().kubeconfigs["edge"], "marked-kubeconfig");
            assert!(!bench.runs.facts().values().any(|facts| facts.has_kubeconfig));
            assert_eq!(bench.fleet.lock().received.len(), 1);
        }
    }
}

#[tokio::test]
async fn a_crash_in_a_deletion_resets_once_and_leaves_no_mark_behind() {
    for effect in 1..=MOST {
        for after in [false, true] {
            let mut object = provisioning("edge", &["h1", "h2"]);
            object.spec.deletion_policy = DeletionPolicy::Reset;
            let bench = Bench::new(vec![object]);
            let mut controller = bench.run().await;
            bench.work(bench.run_id("edge"), Ends::Well).await;
            bench.settle(&mut controller).await;
            bench.delete("edge");
            bench.fuse.set(Some(Crash { effect, after }));
            let lived = bench.settle(&mut controller).await;
            drop(controller);
            bench.fuse.set(None);
            life(&bench).await;
            let place = format!("crash at {effect}, after: {after}");
            assert!(bench.object("edge").is_none(), "{place}");
            assert_eq!((bench.holder("h1"), bench.holder("h2")), (None, None), "{place}");
            assert_eq!(bench.fleet.lock().journal.len(), 2, "{place}");
            if lived {
                break;
            }
        }
    }
}
