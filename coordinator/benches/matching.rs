//! How long a plan takes at 1,000, 10,000 and 100,000 hosts, when it fits and when it does not
//! (explanation and proved remedies included), beside OR-tools' min-cost flow on the same instance
//! in the same run, at equal cost.
//!
//! Ours is measured whole: from the objects to the report. The peer gets the arcs for nothing. It is
//! asked in two ways: with a node for each slot, as an assignment is given to a solver, and with our
//! own grouping of equal slots already done for it. `BPA_BENCH_PEER=no` leaves it out.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use bpa_common::api::metal3::{BareMetalHost, ConsumerRef, Cpu, Disk, Hardware};
use bpa_common::api::{ObjectMeta, Provisioning};
use bpa_coordinator::matching::{
    Catalog, Claimant, Offer, PlanReport, Slot, Wish, accept, misses, plan_all, solve, waste,
};
use serde_json::{Value, json};

/// Hosts of five sizes, two racks, every tenth not to be taken.
fn hosts(count: u32) -> Vec<BareMetalHost> {
    (0..count).map(host).collect()
}

fn host(n: u32) -> BareMetalHost {
    let metadata = ObjectMeta {
        name: format!("host-{n:06}"),
        namespace: "metal3".into(),
        uid: format!("uid-{n}"),
        labels: [("rack".to_owned(), if n.is_multiple_of(2) { "a" } else { "b" }.to_owned())]
            .into(),
        ..ObjectMeta::default()
    };
    let mut host = BareMetalHost::new(metadata, Default::default());
    host.spec.online = true;
    let [_, a, b, c] = n.to_be_bytes();
    host.spec.boot_mac_address = format!("52:54:00:{a:02x}:{b:02x}:{c:02x}");
    host.status.operational_status = "OK".into();
    host.status.provisioning.state = if n % 10 == 9 { "inspecting" } else { "provisioned" }.into();
    let size = 1 + n % 5;
    host.status.hardware = Some(Hardware {
        cpu: Some(Cpu { count: Some(8 * size), ..Cpu::default() }),
        ram_mebibytes: Some(u64::from(size) * 16 * 1024),
        storage: vec![Disk { size_bytes: Some(u64::from(size) << 38), ..Disk::default() }],
        ..Hardware::default()
    });
    host
}

/// Three masters, three kinds of worker; `large` asks for more than there is.
fn provisioning(large: bool, workers: u32) -> Provisioning {
    let memory = if large { "96Gi" } else { "64Gi" };
    let text = format!(
        r#"{{"metadata": {{"name": "bench", "namespace": "default"}}, "spec": {{
            "masters": [{{"m": {{"cpu": 8, "memory": "16Gi", "count": 3}}}}],
            "workers": [
                {{"a": {{"cpu": 16, "memory": "32Gi", "count": {workers}}}}},
                {{"b": {{"cpu": 32, "memory": "{memory}", "count": {workers}}}}},
                {{"c": {{"disk": "512Gi", "count": {workers}, "hostSelector": {{"matchLabels": {{"rack": "a"}}}}}}}}
            ]}}}}"#
    );
    serde_json::from_str(&text).expect("the bench's own manifest is right")
}

/// Runs it several times; the median.
fn median(rounds: usize, mut work: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..rounds)
        .map(|_| {
            let begin = Instant::now();
            work();
            begin.elapsed()
        })
        .collect();
    times.sort();
    times[rounds / 2]
}

/// What the peer is given: a group for each kind of slot, an arc for each host that it can have.
struct Instance {
    demand: Vec<usize>,
    hosts: usize,
    arcs: Vec<[i64; 3]>,
    /// Of our own solution.
    served: usize,
    cost: u64,
}

fn instance(wish: &Provisioning, hosts: &[BareMetalHost], grouped: bool) -> Instance {
    let slots = accept(wish).expect("the bench's own wish is right").slots;
    let catalog = Catalog::new(hosts.iter().map(|host| Offer::read(host, None)).collect());
    let nobody = ConsumerRef::default();
    let who = Claimant { mark: &nobody, installs: false };
    let free = |host: usize| catalog.offers[host].is_free_for(who);
    let mut groups: Vec<(&Slot, usize)> = Vec::new();
    for slot in &slots {
        match groups.iter_mut().find(|(first, _)| grouped && first.need == slot.need) {
            Some((_, count)) => *count += 1,
            None => groups.push((slot, 1)),
        }
    }
    let mut arcs = Vec::new();
    for (group, (slot, _)) in groups.iter().enumerate() {
        for host in (0..catalog.offers.len()).filter(|host| free(*host)) {
            if misses(&slot.need, &catalog, host).is_empty() {
                let cost = waste(&slot.need, &catalog, host);
                arcs.push([group as i64, host as i64, cost as i64]);
            }
        }
    }
    let current = BTreeMap::new();
    let solution = solve(&Wish { slots: &slots, current: &current, domains: None }, &catalog, free);
    let chosen = solution.assignment.host_of;
    let cost = chosen.iter().map(|(slot, host)| waste(&slots[*slot].need, &catalog, *host)).sum();
    let demand = groups.iter().map(|(_, count)| *count).collect();
    Instance { demand, hosts: hosts.len(), arcs, served: chosen.len(), cost }
}

/// Solving alone, as the peer does it: slots and offers are there, no report is made.
fn solver_alone(wish: &Provisioning, hosts: &[BareMetalHost]) -> Duration {
    let slots = accept(wish).expect("the bench's own wish is right").slots;
    let catalog = Catalog::new(hosts.iter().map(|host| Offer::read(host, None)).collect());
    let nobody = ConsumerRef::default();
    let who = Claimant { mark: &nobody, installs: false };
    let current = BTreeMap::new();
    let wish = Wish { slots: &slots, current: &current, domains: None };
    median(if hosts.len() < 100_000 { 15 } else { 5 }, || {
        let free = |host: usize| catalog.offers[host].is_free_for(who);
        black_box(solve(black_box(&wish), &catalog, free));
    })
}

/// A Python that has OR-tools, made once.
fn peer() -> Option<PathBuf> {
    if std::env::var("BPA_BENCH_PEER").is_ok_and(|text| text == "no") {
        return None;
    }
    let cache = std::env::var("BPA_CACHE").map_or_else(
        |_| Path::new(&std::env::var("HOME").expect("a home")).join(".cache/bpa"),
        PathBuf::from,
    );
    let dir = cache.join("ortools");
    let python = dir.join("bin/python");
    let has_it = |python: &Path| {
        Command::new(python).args(["-c", "import ortools"]).status().is_ok_and(|s| s.success())
    };
    if !has_it(&python) {
        let make = Command::new("python3").args(["-m", "venv"]).arg(&dir).status();
        assert!(make.is_ok_and(|s| s.success()), "python3 -m venv works");
        let get = Command::new(&python).args(["-m", "pip", "install", "-q", "ortools"]).status();
        assert!(get.is_ok_and(|s| s.success()), "pip installs ortools");
    }
    Some(python)
}

fn ask_peer(python: &Path, instance: &Instance, rounds: usize) -> Value {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("instance");
    let head = json!({"groups": instance.demand.len(), "hosts": instance.hosts, "demand": instance.demand});
    std::fs::write(path.with_extension("json"), head.to_string()).expect("it can be written");
    let bytes: Vec<u8> = instance.arcs.iter().flatten().flat_map(|n| n.to_ne_bytes()).collect();
    std::fs::write(path.with_extension("arcs"), bytes).expect("it can be written");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/ortools_peer.py");
    let output = Command::new(python)
        .arg(script)
        .arg(&path)
        .arg(rounds.to_string())
        .output()
        .expect("the peer runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("the peer prints JSON")
}

/// More arcs than this take the peer gigabytes and minutes.
const MOST_ARCS: usize = 8_000_000;

fn main() {
    let python = peer();
    println!(
        "one plan, median             ours  (solving)   OR-tools, slots: ratios     OR-tools, grouped: ratios"
    );
    for count in [1_000u32, 10_000, 100_000] {
        let hosts = hosts(count);
        let refs: Vec<_> = hosts.iter().map(|host| (host, None)).collect();
        for (name, large) in [("fits", false), ("is explained", true)] {
            let wish = provisioning(large, (count / 20).min(300));
            let wishes = [wish.clone()];
            let check: PlanReport = plan_all(&wishes, &refs);
            assert_eq!(check.fits, !large);
            let ours = median(if count < 100_000 { 15 } else { 5 }, || {
                black_box(plan_all(black_box(&wishes), black_box(&refs)));
            });
            let alone = solver_alone(&wish, &hosts);
            print!(
                "{count:>7} hosts, {name:<12} {:>8.2} ms {:>8.2} ms",
                ours.as_secs_f64() * 1000.0,
                alone.as_secs_f64() * 1000.0
            );
            for grouped in [false, true] {
                let Some(python) = &python else { continue };
                let instance = instance(&wish, &hosts, grouped);
                if instance.arcs.len() > MOST_ARCS {
                    print!("   ({} million arcs: not tried)", instance.arcs.len() / 1_000_000);
                    continue;
                }
                let told = ask_peer(python, &instance, if grouped { 5 } else { 1 });
                assert_eq!(told["served"], instance.served, "both serve as many");
                if !large {
                    assert_eq!(told["cost"], instance.cost, "at equal cost");
                }
                let seconds = told["whole"].as_f64().unwrap_or(f64::NAN);
                let [whole, solved] = [ours, alone].map(|time| seconds / time.as_secs_f64());
                print!("   {:>10.2} ms {whole:>6.1}x {solved:>6.1}x", seconds * 1000.0);
            }
            println!();
        }
    }
}
