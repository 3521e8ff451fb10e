//! What is told of chosen hosts although it stops nothing.

use bpa_common::api::{HostChooser, HostSelector, NeighbourKind, ObjectKey, OsSpec};
use serde_json::json;

use super::super::testing::Bench;
use crate::cluster::ObjectProblem;
use crate::planning::testing::provisioning;

/// One node that Metal3 is to install on the one host that is empty.
fn bench() -> Bench {
    let mut edge = provisioning("edge", &["h1"]);
    edge.spec.masters = vec![[("m".to_owned(), None)].into()];
    let image = json!({"url": "http://site/image", "checksum": "c"});
    edge.spec.os = Some(OsSpec { image, ..OsSpec::default() });
    let bench = Bench::new(vec![edge]);
    bench.edit_host("h1", |record| {
        record.host.status.provisioning.state = "available".into();
        record.host.spec.online = false;
    });
    for name in ["h2", "h3", "h4"] {
        bench.edit_host(name, |record| record.host.status.error_message = "broken".into());
    }
    bench
}

fn machine(namespace: &str) -> HostChooser {
    let by = ObjectKey::new(namespace, "worker-0");
    HostChooser { kind: NeighbourKind::Machine, by, selector: HostSelector::default() }
}

#[tokio::test]
async fn that_cluster_api_may_take_the_same_host_is_told_as_a_warning_until_it_is_over() {
    let bench = bench();
    bench.edit("edge", |p| p.spec.paused = true);
    let namespace = bench.world.lock().snapshot.hosts[0].host.metadata.namespace.clone();
    bench.world.lock().snapshot.choosers = vec![machine("elsewhere")];
    let mut controller = bench.run().await;
    assert_eq!(bench.words("edge", "HostsDoubtful"), "", "not a host of that namespace");
    bench.world.lock().snapshot.choosers = vec![machine(&namespace)];
    bench.settle(&mut controller).await;
    let words = bench.words("edge", "HostsDoubtful");
    let wanted = format!("HostsContested: Metal3Machine {namespace}/worker-0 (no hostSelector");
    assert!(words.starts_with(&wanted) && words.contains("may be given h1,"), "{words}");
    let events: Vec<(String, bool)> = (bench.world.lock().events.iter())
        .filter(|event| event.reason == "HostsContested")
        .map(|event| (event.key.name.clone(), event.warning))
        .collect();
    assert_eq!(events, [("edge".to_owned(), true)], "told once");
    // It stops nothing, and is over once Metal3 has the host for us.
    bench.edit("edge", |p| p.spec.paused = false);
    for _ in 0..4 {
        bench.settle(&mut controller).await;
        bench.wait(5);
    }
    assert_eq!(bench.holder("h1").as_deref(), Some("Provisioning edge"));
    assert!(bench.status("edge").nodes[0].state == "Provisioning");
    assert_eq!(bench.words("edge", "HostsDoubtful"), "");
}

/// As after an upgrade of the program without its rights.
#[tokio::test]
async fn that_others_cannot_be_seen_is_told_in_words_that_stay() {
    let bench = bench();
    bench.edit("edge", |p| p.spec.paused = true);
    let hidden = |age: u32| ObjectProblem {
        place: "Metal3Machine in all namespaces".into(),
        kind: "Metal3Machine".into(),
        key: None,
        message: format!("what is shown may be {age} s old: forbidden"),
    };
    let of_one = ObjectProblem { key: Some(ObjectKey::new("n", "x")), ..hidden(0) };
    bench.world.lock().snapshot.problems = vec![of_one];
    let mut controller = bench.run().await;
    assert_eq!(bench.words("edge", "HostsDoubtful"), "");
    bench.world.lock().snapshot.problems = vec![hidden(1)];
    bench.settle(&mut controller).await;
    let words = bench.words("edge", "HostsDoubtful");
    assert!(words.starts_with("OthersNotSeen: Metal3Machine in all namespaces can't"), "{words}");
    let writes = bench.world.writes();
    bench.world.lock().snapshot.problems = vec![hidden(2)];
    bench.settle(&mut controller).await;
    assert_eq!(bench.world.writes(), writes, "nothing new is to be said");
}
