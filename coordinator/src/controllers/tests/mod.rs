//! The loop on a world and a fleet in memory: each test is a sentence about what users see.

mod crash;
mod deletion;
mod directory;
mod doubts;
mod os;
mod random;
mod refusals;
mod runs;
mod simulator;
mod statements;
mod two_phases;
mod waiting;

use super::testing::{Bench, Ends};

#[tokio::test]
async fn the_nine_steps_lead_to_a_cluster_that_answers() {
    let bench = Bench::edge();
    let mut controller = bench.run().await;
    let run = bench.run_id("edge");
    assert_eq!(bench.fleet.lock().received.len(), 1);
    assert_eq!(bench.holder("h1").as_deref(), Some("Provisioning edge"));
    assert_eq!(bench.holder("h3"), None);
    assert_eq!(bench.status("edge").phase, "Installing");
    assert!(bench.fleet.lock().approved["north"]);

    bench.work(run, Ends::Not).await;
    bench.settle(&mut controller).await;
    let status = bench.status("edge");
    assert!(status.conditions.is_true("AccessReady"));
    assert!(status.conditions.is_true("PreflightPassed"));
    assert_eq!(status.run.as_ref().unwrap().step, "Kubespray");
    assert_eq!(status.nodes[0].state, "AccessReady");

    bench.work(run, Ends::Well).await;
    bench.settle(&mut controller).await;
    let status = bench.status("edge");
    assert_eq!(status.phase, "Ready", "{status:#?}");
    assert_eq!(status.kubeconfig_secret.as_deref(), Some("/state/edge/kubeconfig"));
    assert_eq!(bench.world.lock().kubeconfigs["edge"], "marked-kubeconfig");
    assert!(!bench.runs.facts()[&run].has_kubeconfig, "the waiting copy is gone");
    assert_eq!(status.kubernetes_version.as_deref(), Some("1.35.4"));
    assert_eq!(status.history.len(), 1);
    let kinds: Vec<&str> = status.conditions.0.iter().map(|c| c.kind.as_str()).collect();
    assert_eq!(kinds.len(), 11, "{kinds:?}");
    assert!(bench.world.lock().events.iter().any(|e| e.reason == "Ready" && !e.warning));
}

#[tokio::test]
async fn the_order_says_what_the_agent_must_know_and_nothing_else() {
    let bench = Bench::edge();
    bench.run().await;
    let order = bench.fleet.lock().received[0].clone();
    assert_eq!((order.generation, order.epoch, order.kubeconfig_home), (1, 1, true));
    assert_eq!(order.provisioning.uid, "uid-edge");
    assert_eq!(order.cluster.name, "edge");
    let nodes: Vec<_> =
        order.nodes.iter().map(|n| (n.name.as_str(), n.control_plane, n.worker, n.etcd)).collect();
    assert_eq!(nodes, [("n-h1", true, false, true), ("n-h2", false, true, false)]);
    assert_eq!(order.nodes[0].mac, crate::planning::testing::mac(1));
    assert_eq!(order.nodes[0].address, None, "the agent asks its own leases");
    assert_eq!(order.run.to_string().as_bytes()[14], b'4', "a UUID of version 4");
}

#[tokio::test]
async fn nothing_happens_again_when_nothing_changes() {
    let bench = Bench::edge();
    let mut controller = bench.run().await;
    bench.work(bench.run_id("edge"), Ends::Well).await;
    bench.settle(&mut controller).await;
    let status = bench.status("edge");
    for change in ["restart", "label", "annotation", "retry", "reconnect"] {
        match change {
            "label" => {
                bench.edit("edge", |p| drop(p.metadata.labels.insert("a".into(), "b".into())))
            }
            "annotation" => bench.annotate("edge", "a", "b"),
            "retry" => bench.annotate("edge", crate::planning::RETRY, "now"),
            "reconnect" => bench.fleet.reconnect(),
            _ => {}
        }
        bench.run().await;
        assert_eq!(bench.fleet.lock().received.len(), 1, "after {change}");
        assert_eq!(bench.status("edge"), status, "after {change}");
    }
}

#[tokio::test]
async fn the_loop_itself_runs_and_stops_when_asked() {
    let bench = Bench::edge();
    let cancel = tokio_util::sync::CancellationToken::new();
    let work =
        super::run(bench.world.clone(), bench.fleet.clone(), bench.runs.clone(), cancel.clone());
    let check = async {
        while bench.fleet.lock().journal.is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        let run = bench.fleet.lock().journal[0].0.run;
        bench.work(run, Ends::Well).await;
        while bench.status("edge").phase != "Ready" {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        cancel.cancel();
    };
    tokio::join!(work, check);
    assert!(bench.status("edge").conditions.is_true("KubeconfigSaved"));
}

#[tokio::test]
async fn a_site_tells_what_it_is_and_heartbeats_are_not_written_each_time() {
    let bench = Bench::new(Vec::new());
    let mut controller = bench.run().await;
    let written = bench.world.lock().snapshot.sites[0].status.clone();
    assert!(written.connected && written.conditions.is_true("Approved"));
    assert_eq!((written.leases.count, written.bundles[0].name.as_str()), (3, "small"));
    let beat = |second| {
        let time = crate::planning::testing::at(second);
        bench.fleet.lock().view.get_mut("north").unwrap().last_seen = Some(time);
    };
    beat(5);
    bench.settle(&mut controller).await;
    assert_eq!(bench.world.lock().snapshot.sites[0].status, written);
    beat(11);
    bench.settle(&mut controller).await;
    assert_ne!(bench.world.lock().snapshot.sites[0].status, written);
}
