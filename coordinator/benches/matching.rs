//! How long a plan takes at 1,000 and 10,000 hosts, when it fits and when it does not
//! (explanation and proved remedies included).

use std::hint::black_box;

use bpa_common::api::metal3::{BareMetalHost, Cpu, Disk, Hardware};
use bpa_common::api::{ObjectMeta, Provisioning};
use bpa_coordinator::matching::plan_all;
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};

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

fn matching(c: &mut Criterion) {
    let mut group = c.benchmark_group("plan");
    group.sample_size(10);
    for count in [1_000u32, 10_000] {
        let hosts = hosts(count);
        let refs: Vec<_> = hosts.iter().map(|h| (h, None)).collect();
        for (name, large) in [("fits", false), ("explains", true)] {
            let wish = [provisioning(large, (count / 20).min(300))];
            assert_eq!(plan_all(&wish, &refs).fits, !large);
            group.bench_with_input(BenchmarkId::new(name, count), &wish, |b, wish| {
                b.iter(|| black_box(plan_all(black_box(wish), black_box(&refs))));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, matching);
criterion_main!(benches);
