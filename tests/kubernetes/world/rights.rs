//! The rights of `deploy/rbac.yaml` are exact: each is needed, and nothing beyond is allowed.

use std::collections::BTreeMap;

use bpa_common::api::{ProvisioningStatus, SiteStatus};
use bpa_coordinator::cluster::kubernetes::{Election, SecretVault};
use bpa_coordinator::cluster::{ClaimOutcome, ObjectEvent, Vault};
use bpa_tests::root;
use kube::config::{KubeConfigOptions, Kubeconfig};
use secrecy::SecretString;
use serde_json::{Value, json};

use super::*;

/// Longest that something which must fail is waited for.
const SHORT: Duration = Duration::from_secs(20);

const MACHINE: &str = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3Machine
metadata: {name: machine, annotations: {metal3.io/BareMetalHost: metal3/h7}}
spec: {image: {url: 'http://192.0.2.1/x.img', checksum: abc}}
";

const TEMPLATE: &str = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3MachineTemplate
metadata: {name: template}
spec: {template: {spec: {image: {url: 'http://192.0.2.1/x.img', checksum: abc}}}}
";

/// One right: which role it is in, and what it allows.
#[derive(Clone, Debug, PartialEq)]
struct Right {
    role: &'static str,
    group: String,
    resource: String,
    verb: String,
}

/// Every single right of both roles, as kubectl reads the file.
fn rights() -> Vec<Right> {
    let path = root().join("deploy/rbac.yaml").display().to_string();
    let kubectl = shared().kubectl(User::Admin);
    let mut rights = Vec::new();
    for role in ["ClusterRole", "Role"] {
        let name = format!("{}/bpa-coordinator", role.to_lowercase());
        let text = kubectl.in_namespace("bpa-system").run(&["get", &name, "-o", "json"]);
        let object: Value = serde_json::from_str(&text).unwrap();
        for rule in object["rules"].as_array().unwrap() {
            let list = |field: &str| -> Vec<String> {
                rule[field].as_array().unwrap().iter().map(|v| v.as_str().unwrap().into()).collect()
            };
            for group in list("apiGroups") {
                for resource in list("resources") {
                    for verb in list("verbs") {
                        let (group, resource) = (group.clone(), resource.clone());
                        rights.push(Right { role, group, resource, verb });
                    }
                }
            }
        }
    }
    assert!(rights.len() > 30, "{path}: {rights:?}");
    assert!(
        rights.iter().all(|r| ![&r.group, &r.resource, &r.verb].iter().any(|t| t.contains('*')))
    );
    rights
}

/// A user of its own with all rights but one, in two namespaces of its own.
struct Case {
    name: String,
    without: Option<Right>,
}

impl Case {
    fn manifest(&self, rights: &[Right]) -> String {
        let name = &self.name;
        let mut objects = Vec::new();
        for (role, namespace) in [("ClusterRole", name.clone()), ("Role", format!("{name}-system"))]
        {
            objects.push(
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}),
            );
            let rules: Vec<Value> = rights
                .iter()
                .filter(|right| right.role == role && self.without.as_ref() != Some(right))
                .map(|r| json!({"apiGroups": [r.group], "resources": [r.resource], "verbs": [r.verb]}))
                .collect();
            let meta = json!({"name": "bpa-coordinator", "namespace": namespace});
            let api = "rbac.authorization.k8s.io/v1";
            objects
                .push(json!({"apiVersion": api, "kind": "Role", "metadata": meta, "rules": rules}));
            objects.push(json!({"apiVersion": api, "kind": "RoleBinding", "metadata": meta,
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "bpa-coordinator"},
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name}]}));
        }
        objects.iter().map(|object| format!("{object}\n---\n")).collect()
    }

    /// Everything that the coordinator does, as this user.
    async fn exercise(&self) -> Result<(), String> {
        let kubectl = shared().kubectl(User::Admin).in_namespace(&self.name);
        let read = Kubeconfig::read_from(kubectl.kubeconfig()).unwrap();
        let mut config = kube::Config::from_custom_kubeconfig(read, &KubeConfigOptions::default())
            .await
            .unwrap();
        config.auth_info.impersonate = Some(self.name.clone());
        let system = format!("{}-system", self.name);
        let options = KubernetesOptions {
            namespaces: vec![self.name.clone()],
            system_namespace: Some(system.clone()),
            ..Default::default()
        };
        let world = KubernetesWorld::with_config(config, &options).unwrap();
        lead(&world, &system).await?;
        secrets(&world).await?;
        world.ready(Duration::from_secs(3)).await.map_err(words)?;
        self.watches(&world, &kubectl).await?;
        self.writes(&world).await?;
        self.events(&world, &kubectl).await
    }

    async fn watches(&self, world: &KubernetesWorld, kubectl: &Kubectl) -> Result<(), String> {
        let kubectl = kubectl.clone();
        let label = move || {
            let kinds = "bmh,hardwaredata,site,software,clusters.bpa.akraino.org,bpa";
            kubectl.run(&["label", kinds, "--all", "seen=yes", "--overwrite"]);
            kubectl.apply(MACHINE);
            kubectl.apply(TEMPLATE);
            kubectl.apply("apiVersion: metal3.io/v1alpha1\nkind: HostClaim\nmetadata: {name: claim}\nspec: {poweredOn: true}\n");
            let bound = json!({"status": {"bareMetalHost": {"name": "h8", "namespace": "m"}}});
            kubectl.patch("hostclaim", "claim", "status", &bound);
        };
        tokio::task::spawn_blocking(label).await.unwrap();
        let seen = |labels: &BTreeMap<String, String>| labels.contains_key("seen");
        for _ in 0..SHORT.as_millis() / 100 {
            let all = world.snapshot().await.map_err(words)?;
            if let Some(problem) = all.problems.first() {
                return Err(format!("{}: {}", problem.place, problem.message));
            }
            let host = &all.hosts[0];
            let hardware = host.hardware.as_ref().unwrap();
            if seen(&host.host.metadata.labels)
                && seen(&hardware.metadata.labels)
                && seen(&all.sites[0].metadata.labels)
                && seen(&all.softwares[0].metadata.labels)
                && seen(&all.clusters[0].metadata.labels)
                && seen(&all.provisionings[0].metadata.labels)
                && all.uses.len() == 2
                && all.choosers.len() == 1
            {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Err("a change is not seen".to_owned())
    }

    async fn writes(&self, world: &KubernetesWorld) -> Result<(), String> {
        let all = world.snapshot().await.map_err(words)?;
        let (edge, record) = (&all.provisionings[0], &all.hosts[0]);
        let (key, ours, host) = (edge.metadata.key(), consumer(edge), host_ref(record));
        world.set_finalizer(&key, true).await.map_err(words)?;
        let status = ProvisioningStatus { phase: "Waiting".into(), ..Default::default() };
        world.write_provisioning_status(&key, &edge.metadata.uid, &status).await.map_err(words)?;
        let site = all.sites[0].metadata.key();
        world.write_site_status(&site, &SiteStatus::default()).await.map_err(words)?;
        let version = &record.host.metadata.resource_version;
        let claim = world.claim(&host, version, &ours).await.map_err(words)?;
        assert_eq!(claim, ClaimOutcome::Ours);
        world.release(&host, &ours).await.map_err(words)?;
        for text in ["one", "two"] {
            world.save_kubeconfig(edge, &SecretString::from(text)).await.map_err(words)?;
            let addresses = BTreeMap::from([("MASTER_m-0".to_owned(), text.to_owned())]);
            world.save_addresses(edge, &addresses).await.map_err(words)?;
        }
        world.set_finalizer(&key, false).await.map_err(words)
    }

    /// An event, and later its count.
    async fn events(&self, world: &KubernetesWorld, kubectl: &Kubectl) -> Result<(), String> {
        let event = || ObjectEvent {
            kind: "Provisioning",
            key: ObjectKey::new(&self.name, "edge"),
            warning: false,
            reason: "Again".into(),
            message: "and again".into(),
        };
        world.record_event(event()).await.map_err(words)?;
        world.record_event(event()).await.map_err(words)?;
        for _ in 0..40 {
            let text = kubectl.run(&["get", "events", "-o", "json"]);
            let list: Value = serde_json::from_str(&text).unwrap();
            if list["items"][0]["count"] == 2 {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        Err("the count of an event is not written".to_owned())
    }
}

fn words(error: impl std::fmt::Display) -> String {
    error.to_string()
}

async fn lead(world: &KubernetesWorld, system: &str) -> Result<(), String> {
    let mut election = Election::new(world, "case");
    let mut last = String::new();
    let won =
        tokio::time::timeout(Duration::from_secs(3), election.win(|word| last = word.to_owned()));
    if won.await.is_err() {
        return Err(last);
    }
    election.resign().await;
    let kubectl = shared().kubectl(User::Admin).in_namespace(system);
    let lease = kubectl.get("lease", "bpa-coordinator");
    if lease["spec"]["holderIdentity"] != "" {
        return Err("the lease is not given back".to_owned());
    }
    // The rest is written without an election.
    world.guard().extend(std::time::Instant::now() + LONG * 10);
    Ok(())
}

async fn secrets(world: &KubernetesWorld) -> Result<(), String> {
    let vault = SecretVault::open(world).map_err(words)?;
    let work = move || {
        vault.put("epoch", b"1").map_err(words)?;
        vault.put("epoch", b"2").map_err(words)?;
        vault.get("epoch").map(drop).map_err(words)
    };
    tokio::task::spawn_blocking(work).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_right_is_needed_and_together_they_are_enough() {
    let rights = rights();
    let mut cases = vec![Case { name: "rights-all".into(), without: None }];
    for (n, right) in rights.iter().enumerate() {
        cases.push(Case { name: format!("rights-{n}"), without: Some(right.clone()) });
    }
    let admin = shared().kubectl(User::Admin);
    let roles: String = cases.iter().map(|case| case.manifest(&rights)).collect();
    admin.apply(&roles);
    let cluster = "---\napiVersion: bpa.akraino.org/v1alpha1\nkind: Cluster\nmetadata: {name: c}\nspec: {clusterName: edge, provisioning: {name: edge}}\n";
    for case in &cases {
        admin.in_namespace(&case.name).apply(&format!("{OBJECTS}{cluster}"));
    }
    let results = futures_util::future::join_all(
        cases.iter().map(|case| async move { (case, case.exercise().await) }),
    );
    let mut wrong = Vec::new();
    for (case, result) in results.await {
        match (&case.without, result) {
            (None, Err(error)) => wrong.push(format!("all rights are not enough: {error}")),
            (Some(right), Ok(())) => wrong.push(format!("not needed: {right:?}")),
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn nothing_beyond_is_allowed() {
    let kubectl = shared().kubectl(User::Coordinator);
    let may = |what: &[&str]| {
        let ran = kubectl.try_run(&[&["auth", "can-i"], what].concat(), "");
        ran.out.trim() == "yes"
    };
    assert!(may(&["list", "baremetalhosts.metal3.io", "-A"]));
    for what in [
        &["list", "secrets", "-A"][..],
        &["watch", "secrets", "-A"],
        &["delete", "secrets", "-A"],
        &["patch", "secrets", "-A"],
        &["list", "secrets", "-n", "bpa-system"],
        &["create", "baremetalhosts.metal3.io", "-A"],
        &["delete", "baremetalhosts.metal3.io", "-A"],
        &["patch", "baremetalhosts.metal3.io", "--subresource=status", "-A"],
        &["patch", "hardwaredata.metal3.io", "-A"],
        &["create", "provisionings.bpa.akraino.org", "-A"],
        &["delete", "provisionings.bpa.akraino.org", "-A"],
        &["patch", "sites.bpa.akraino.org", "-A"],
        &["get", "leases.coordination.k8s.io", "-n", "default"],
        &["get", "pods", "-A"],
        &["get", "nodes"],
        &["create", "pods", "-n", "bpa-system"],
        &["escalate", "clusterroles"],
        &["impersonate", "users"],
    ] {
        assert!(!may(what), "{what:?}");
    }
}
