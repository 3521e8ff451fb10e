//! Ten thousand hosts and those who change them.

use std::ops::Range;
use std::path::Path;

use bpa_common::net::MacAddress;
use futures_util::{StreamExt, stream};
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client, Config};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

pub const SITES: usize = 100;
pub const HOSTS_OF_A_SITE: usize = 100;
const NAMESPACE: &str = "edge";
/// Requests at once.
const AT_ONCE: usize = 24;

/// The name of a site.
pub fn site(number: usize) -> String {
    format!("site-{number:03}")
}

/// The MAC of a host.
pub fn mac(number: usize) -> MacAddress {
    let [.., a, b, c] = (number as u32).to_be_bytes();
    MacAddress::new([0x52, 0x54, 0, a, b, c])
}

/// Who makes and changes objects.
pub struct Crowd {
    runtime: Runtime,
    client: Client,
    sites: usize,
}

fn resource(group: &str, kind: &str, plural: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1alpha1", kind), plural)
}

impl Crowd {
    /// A crowd with these rights.
    pub fn connect(kubeconfig: &Path, hosts: usize) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = Runtime::new().expect("a runtime");
        let client = runtime.block_on(async {
            let file = Kubeconfig::read_from(kubeconfig).expect("a kubeconfig");
            let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await;
            Client::try_from(config.expect("a configuration")).expect("a client")
        });
        let crowd = Self { runtime, client, sites: (hosts / HOSTS_OF_A_SITE).clamp(1, SITES) };
        crowd.runtime.block_on(async {
            let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Namespace"));
            let api: Api<DynamicObject> = Api::all_with(crowd.client.clone(), &resource);
            let value =
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
            create(&api, value).await;
            let sites = crowd.api("bpa.akraino.org", "Site", "sites");
            for number in 0..SITES {
                create(
                    &sites,
                    json!({
                        "apiVersion": "bpa.akraino.org/v1alpha1", "kind": "Site",
                        "metadata": {"name": site(number), "namespace": NAMESPACE},
                        "spec": {"approved": true},
                    }),
                )
                .await;
            }
        });
        crowd
    }

    fn api(&self, group: &str, kind: &str, plural: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), NAMESPACE, &resource(group, kind, plural))
    }

    fn hosts(&self) -> Api<DynamicObject> {
        self.api("metal3.io", "BareMetalHost", "baremetalhosts")
    }

    /// Makes hosts with hardware, provisioned and free.
    pub fn make_hosts(&self, count: usize) {
        let (hosts, data) = (self.hosts(), self.api("metal3.io", "HardwareData", "hardwaredata"));
        self.runtime.block_on(stream::iter(0..count).for_each_concurrent(AT_ONCE, |n| {
            let (hosts, data) = (hosts.clone(), data.clone());
            async move {
                create(&hosts, host(n)).await;
                status(&hosts, &format!("host-{n:05}"), host_status()).await;
                create(&data, hardware(n)).await;
            }
        }));
    }

    /// The name of a Provisioning.
    pub fn name(number: usize) -> String {
        format!("cluster-{number:05}")
    }

    /// Makes Provisionings of three nodes, each on its site.
    pub fn make_provisionings(&self, numbers: Range<usize>) {
        let api = self.api("bpa.akraino.org", "Provisioning", "provisionings");
        self.runtime.block_on(stream::iter(numbers).for_each_concurrent(AT_ONCE, |n| {
            let api = api.clone();
            async move { create(&api, provisioning(n, self.sites)).await }
        }));
    }

    /// Changes as others make them: statuses of hosts that flap, labels, Provisionings that nobody
    /// can serve and that are deleted again.
    pub fn churn(&self, part: usize, changes: usize, hosts: usize, provisionings: usize) {
        let (api, wishes) =
            (self.hosts(), self.api("bpa.akraino.org", "Provisioning", "provisionings"));
        self.runtime.block_on(stream::iter(0..changes).for_each_concurrent(8, |n| {
            let (api, wishes) = (api.clone(), wishes.clone());
            async move {
                let host = format!("host-{:05}", (n * 7919 + part) % hosts);
                match n % 10 {
                    0 => {
                        let name = format!("never-{part}-{n}");
                        let mut wish = provisioning(provisionings + n, self.sites);
                        wish["metadata"]["name"] = json!(name);
                        wish["spec"]["masters"] = json!([{"m": {"cpu": 1000}}]);
                        create(&wishes, wish).await;
                        let _ = wishes.delete(&name, &Default::default()).await;
                    }
                    1..=3 => {
                        let label =
                            json!({"metadata": {"labels": {"round": format!("{part}-{n}")}}});
                        merge(&api, &host, label).await;
                    }
                    _ => {
                        status(
                            &api,
                            &host,
                            json!({"poweredOn": n % 2 == 0, "lastUpdated": "2026-12-01T00:00:00Z"}),
                        )
                        .await
                    }
                }
            }
        }));
    }
}

async fn create(api: &Api<DynamicObject>, value: Value) {
    let object: DynamicObject = serde_json::from_value(value).expect("an object");
    api.create(&PostParams::default(), &object).await.expect("it is taken");
}

async fn merge(api: &Api<DynamicObject>, name: &str, patch: Value) {
    api.patch(name, &PatchParams::default(), &Patch::Merge(&patch)).await.expect("it is changed");
}

async fn status(api: &Api<DynamicObject>, name: &str, status: Value) {
    let patch = json!({"status": status});
    let params = PatchParams::default();
    api.patch_status(name, &params, &Patch::Merge(&patch)).await.expect("it is changed");
}

fn host(n: usize) -> Value {
    json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
        "metadata": {"name": format!("host-{n:05}"), "namespace": NAMESPACE,
            "labels": {"site": site(n / HOSTS_OF_A_SITE % SITES), "rack": format!("r{}", n % 4)}},
        "spec": {"online": true, "bootMACAddress": mac(n).to_string(), "image": image(),
            "bmc": {"address": format!("redfish://10.1.{}.{}/redfish/v1/Systems/1", n / 256, n % 256), "credentialsName": format!("host-{n:05}-bmc")}},
    })
}

fn host_status() -> Value {
    json!({
        "operationalStatus": "OK", "errorMessage": "", "errorCount": 0, "poweredOn": true,
        "hardwareProfile": "unknown",
        "provisioning": {"state": "provisioned", "ID": "f2d6e0c4-0000-4000-8000-000000000000",
            "image": image()},
    })
}

fn image() -> Value {
    json!({"url": "http://images.site/debian.qcow2", "checksum": "http://images.site/debian.sum"})
}

/// As inspection fills it in: flags, eight NICs, eight disks.
fn hardware(n: usize) -> Value {
    let size = 1 + n % 5;
    let flags: Vec<String> = (0..120).map(|flag| format!("flag{flag}")).collect();
    let nic = |i: usize| {
        json!({"name": format!("eno{i}"), "model": "0x8086 0x1572", "speedGbps": 25, "pxe": i == 0,
        "mac": if i == 0 { mac(n).to_string() } else { MacAddress::new([0x02, i as u8, (n >> 16) as u8, (n >> 8) as u8, n as u8, 1]).to_string() }})
    };
    let disk = |i: usize| {
        json!({"name": format!("/dev/disk/by-path/pci-0000:00:{i:02}.0"), "sizeBytes": 960_197_124_096u64,
        "type": "SSD", "model": "a disk", "vendor": "a vendor", "serialNumber": format!("S{n}{i}"), "wwn": format!("0x{n:08x}{i:08x}")})
    };
    json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "HardwareData",
        "metadata": {"name": format!("host-{n:05}"), "namespace": NAMESPACE},
        "spec": {"hardware": {
            "cpu": {"arch": "x86_64", "model": "a processor", "clockMegahertz": 2400, "count": 16 * size, "flags": flags},
            "ramMebibytes": 65536 * size,
            "hostname": format!("host-{n:05}"),
            "nics": (0..8).map(nic).collect::<Vec<_>>(),
            "storage": (0..8).map(disk).collect::<Vec<_>>(),
            "systemVendor": {"manufacturer": "a maker", "productName": "a server", "serialNumber": format!("X{n:05}")},
        }},
    })
}

fn provisioning(n: usize, sites: usize) -> Value {
    let site = site(n % sites);
    json!({
        "apiVersion": "bpa.akraino.org/v1alpha1", "kind": "Provisioning",
        "metadata": {"name": Crowd::name(n), "namespace": NAMESPACE, "labels": {"cluster": Crowd::name(n)}},
        "spec": {
            "site": site,
            "hostSelector": {"matchLabels": {"site": site}},
            "masters": [{"m": {"cpu": 16, "memory": "32Gi"}}],
            "workers": [{"w": {"cpu": 16, "memory": "48Gi", "count": 2}}],
            "kubeconfig": "Site",
        },
    })
}
