//! Random worlds: whatever happens in whatever order, the promises hold.

use bpa_common::api::DeletionPolicy;
use bpa_common::api::metal3::ConsumerRef;
use proptest::prelude::*;

use super::super::testing::{Bench, Crash, Ends};
use crate::planning::testing::{at, provisioning, site_view};
use crate::planning::{CANCEL, RETRY};

/// One thing that happens.
#[derive(Clone, Copy, Debug)]
enum Happens {
    Passes(u8),
    Crash(u8, bool),
    Ends(u8, u8),
    Retry(u8),
    Cancel(u8),
    Edit(u8),
    Delete(u8),
    Foreign(u8),
    Cleared(u8),
    Cut,
    Reconnect,
    Leases(u8),
    ReplyLost,
    JournalLost,
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        6 => (1u8..4).prop_map(Happens::Passes),
        3 => (1u8..6, any::<bool>()).prop_map(|(n, after)| Happens::Crash(n, after)),
        4 => (0u8..3, 0u8..4).prop_map(|(n, end)| Happens::Ends(n, end)),
        2 => (0u8..2).prop_map(Happens::Retry),
        1 => (0u8..2).prop_map(Happens::Cancel),
        2 => (0u8..2).prop_map(Happens::Edit),
        1 => (0u8..2).prop_map(Happens::Delete),
        1 => (1u8..5).prop_map(Happens::Foreign),
        1 => (1u8..5).prop_map(Happens::Cleared),
        1 => Just(Happens::Cut),
        2 => Just(Happens::Reconnect),
        2 => (0u8..16).prop_map(Happens::Leases),
        2 => Just(Happens::ReplyLost),
        1 => Just(Happens::JournalLost),
    ]
}

const NAMES: [&str; 2] = ["edge", "late"];

fn name(n: u8) -> &'static str {
    NAMES[usize::from(n) % 2]
}

fn foreign() -> ConsumerRef {
    ConsumerRef { kind: "Metal3Machine".into(), name: "other".into(), ..ConsumerRef::default() }
}

fn bench() -> Bench {
    let mut late = provisioning("late", &["h2", "h3"]);
    late.metadata.creation_timestamp = Some(at(50));
    late.spec.deletion_policy = DeletionPolicy::Reset;
    Bench::new(vec![provisioning("edge", &["h1", "h2"]), late])
}

async fn play(bench: &Bench, story: &[Happens]) {
    let mut controller = bench.start();
    for (step, what) in story.iter().enumerate() {
        match *what {
            Happens::Passes(count) => {
                for _ in 0..count {
                    let now = *bench.now.lock().unwrap();
                    controller.pass(now, uuid::Uuid::new_v4().into_bytes()).await;
                    while controller.is_acting() {
                        controller.any_done(|| now).await;
                    }
                    bench.wait(7);
                }
            }
            Happens::Crash(effect, after) => {
                bench.fuse.set(Some(Crash { effect: effect.into(), after }));
                // It may live; either way another one is started.
                let _ = tokio::time::timeout(
                    std::time::Duration::from_secs(5),
                    bench.settle_a_little(&mut controller),
                )
                .await;
                bench.fuse.set(None);
                controller = bench.start();
            }
            Happens::Ends(n, end) => {
                let run = {
                    let state = bench.fleet.lock();
                    let going: Vec<_> =
                        state.journal.iter().filter(|(_, run)| !run.is_final()).collect();
                    going.get(usize::from(n)).map(|(order, _)| order.run)
                };
                let ends = [Ends::Not, Ends::Well, Ends::Badly, Ends::Cancelled];
                if let Some(run) = run {
                    bench.work(run, ends[usize::from(end)]).await;
                }
            }
            Happens::JournalLost => bench.fleet.lock().lose_journal(),
            Happens::ReplyLost => bench.fleet.lock().lose_replies += 1,
            Happens::Cut => bench.fleet.cut(),
            Happens::Reconnect => bench.fleet.reconnect(),
            Happens::Leases(bits) => {
                let numbers: Vec<u8> = (1..=4).filter(|n| bits >> (n - 1) & 1 == 1).collect();
                let leases = site_view(&numbers).leases;
                bench.fleet.lock().view.get_mut("north").unwrap().leases = leases;
            }
            Happens::Foreign(n) => {
                bench.edit_host(&format!("h{n}"), |h| h.host.spec.consumer_ref = Some(foreign()));
            }
            Happens::Cleared(n) => {
                bench.edit_host(&format!("h{n}"), |h| h.host.spec.consumer_ref = None);
            }
            Happens::Retry(n) => edit(bench, n, RETRY, &format!("try {step}")),
            Happens::Cancel(n) => {
                let run = bench.status(name(n)).run.map(|run| run.id).unwrap_or_default();
                edit(bench, n, CANCEL, &run);
            }
            Happens::Edit(n) => {
                if bench.object(name(n)).is_some() {
                    bench.edit(name(n), |p| {
                        let var = serde_json::Value::from(step);
                        p.spec.kubernetes.vars.insert("x".into(), var);
                    });
                }
            }
            Happens::Delete(n) => {
                if bench.object(name(n)).is_some() {
                    bench.delete(name(n));
                }
            }
        }
    }
}

fn edit(bench: &Bench, n: u8, key: &str, value: &str) {
    if bench.object(name(n)).is_some() {
        bench.annotate(name(n), key, value);
    }
}

/// What must hold of everything that ever reached the agent and the world.
fn judge(bench: &Bench) -> Result<(), TestCaseError> {
    let state = bench.fleet.lock();
    for (index, order) in state.received.iter().enumerate() {
        for later in &state.received[index + 1..] {
            if order.run == later.run {
                prop_assert_eq!(order, later, "a run has one order");
            }
        }
    }
    // Nobody asked (no retry, no new generation): then no second run of one kind.
    for (uid, asked) in [("uid-edge", "edge"), ("uid-late", "late")] {
        let mut runs: Vec<_> = state
            .received
            .iter()
            .filter(|o| o.provisioning.uid == uid)
            .map(|o| (o.run, o.generation, format!("{:?}", o.kind)))
            .collect();
        runs.sort();
        runs.dedup();
        let attempts = state.attempts.get(asked).copied().unwrap_or(0) + 1;
        let mut by_generation = std::collections::BTreeMap::new();
        for (_, generation, kind) in runs {
            *by_generation.entry((generation, kind)).or_insert(0) += 1;
        }
        for (which, count) in by_generation {
            prop_assert!(
                count <= attempts,
                "{count} runs of {uid} {which:?}, asked {attempts} times"
            );
        }
    }
    // A success is never followed by another install of the same object.
    let all = state.all_runs();
    for (index, (order, run)) in all.iter().enumerate() {
        let succeeded = *run == bpa_common::wire::v1::RunState::Succeeded;
        let install = bpa_common::wire::v1::OrderKind::Install;
        if succeeded && order.kind == install {
            for (later, _) in &all[index + 1..] {
                prop_assert!(
                    later.provisioning.uid != order.provisioning.uid || later.kind != install,
                    "a standing cluster was installed over"
                );
            }
        }
    }
    drop(state);
    prop_assert!(bench.world.lock().foreign_touched.is_empty(), "a host of others was touched");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn no_order_is_doubled_and_no_foreign_host_is_touched(
        story in prop::collection::vec(happens(), 1..40),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let bench = bench();
        runtime.block_on(play(&bench, &story));
        judge(&bench)?;
    }
}
