//! Objects that an API server stored under the definitions of the original, which checked nothing;
//! then ours came. Each bad one affects only itself.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bpa_coordinator::cluster::kubernetes::{KubernetesOptions, KubernetesWorld};
use bpa_coordinator::cluster::{Snapshot, World};
use bpa_coordinator::matching::accept;
use bpa_tests::kubernetes::{ControlPlane, User};
use bpa_tests::wait::until;
use bpa_tests::{binary, root};

/// The original's definition, in the version that API servers still take.
fn legacy(kind: &str, plural: &str) -> String {
    let singular = kind.to_lowercase();
    format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n\
         metadata: {{name: {plural}.bpa.akraino.org}}\n\
         spec:\n  group: bpa.akraino.org\n  scope: Namespaced\n  \
         names: {{kind: {kind}, listKind: {kind}List, plural: {plural}, singular: {singular}}}\n  \
         versions:\n  - name: v1alpha1\n    served: true\n    storage: true\n    \
         subresources: {{status: {{}}}}\n    schema:\n      openAPIV3Schema:\n        \
         type: object\n        x-kubernetes-preserve-unknown-fields: true\n---\n"
    )
}

const BAD: [(&str, &str, &str); 19] = [
    ("strings", "{masters: [m-0, m-1]}", "spec.masters[0]: wanted a map of names"),
    ("need", "{masters: [{m: 4Gi}]}", "spec.masters[0].m: wanted a map of fields"),
    ("inner", "{masters: [{m: {cpu: {a: 1}}}]}", "spec.masters[0].m.cpu: wanted a whole number"),
    ("size", "{masters: [{m: {memory: [8Gi]}}]}", "spec.masters[0].m.memory: wanted a quantity"),
    ("place", "{masters: [{m: {address: 5}}]}", "spec.masters[0].m.address: "),
    ("plugin", "{masters: [{m: {}}], KUDPlugins: emco}", "spec.KUDPlugins: wanted a list"),
    ("net", "{masters: [{m: {}}], PodSubnet: 7}", "spec.PodSubnet: wanted text"),
    ("bare", "null", "at least one control plane node is needed"),
    (
        "same",
        "{masters: [{a: {mac-address: \"52:54:00:aa:03:01\"}}], workers: [{b: {mac-address: \"52:54:00:aa:03:01\"}}]}",
        "52:54:00:aa:03:01 is asked for by `a` and `b`",
    ),
    ("text", "{masters: m-0}", "spec.masters: wanted a list, found the text \"m-0\""),
    ("map", "{masters: {m-0: {}}}", "spec.masters: wanted a list, found a map"),
    ("words", "{masters: [{m-0: {cpu: ten}}]}", "spec.masters[0].m-0.cpu: wanted a whole number"),
    ("unit", "{masters: [{m-0: {memory: 8GB}}]}", "`8GB` is not a quantity: its unit is not known"),
    ("negative", "{masters: [{m-0: {memory: -1}}]}", "a size can't be negative"),
    ("huge", "{masters: [{m-0: {disk: 1e400}}]}", "its exponent is too large"),
    ("number", "{masters: [{m-0: {mac-address: 30582134}}]}", "put the MAC in quotes"),
    ("count", "{masters: [{m-0: {count: 4000000000}}]}", "at most 1000 are possible"),
    ("name", "{masters: [{\"Node_A\\n[all]\": {}}]}", "can't be a host name"),
    ("draft", "{master: {cpu: 10}, worker: {cpu: 20}, replicas: 2}", "write `masters:`"),
];

/// Of these an API server takes no status: its own rules fail on a value of another type. They are
/// told by an Event.
const NO_STATUS: [&str; 6] = ["strings", "need", "inner", "size", "place", "net"];

fn provisioning(name: &str, spec: &str) -> String {
    format!(
        "apiVersion: bpa.akraino.org/v1alpha1\nkind: Provisioning\nmetadata: {{name: {name}}}\nspec: {spec}\n---\n"
    )
}

fn fill(plane: &ControlPlane) {
    let kubectl = plane.kubectl(User::Admin);
    let definitions = legacy("Provisioning", "provisionings") + &legacy("Software", "softwares");
    kubectl.apply(&definitions);
    for name in ["provisionings.bpa.akraino.org", "softwares.bpa.akraino.org"] {
        kubectl.run(&["wait", "--for=condition=Established", &format!("crd/{name}")]);
    }
    let mut objects: String = BAD.iter().map(|(name, spec, _)| provisioning(name, spec)).collect();
    objects += &provisioning("good", "{masters: [{m-0: {cpu: 4}}], workers: null, hostfile: /x}");
    objects += "apiVersion: bpa.akraino.org/v1alpha1\nkind: Software\nmetadata: {name: bad}\nspec: {masterSoftware: htop}\n---\n";
    objects += "apiVersion: bpa.akraino.org/v1alpha1\nkind: Software\nmetadata: {name: good}\nspec: {masterSoftware: [htop]}\n";
    kubectl.in_namespace("default").apply(&objects);
    // Ten thousand items, and a text of a megabyte.
    let items: Vec<String> = (0..10_000).map(|n| format!("{{w-{n}: {{count: 1000}}}}")).collect();
    for (name, spec) in [
        ("many", format!("{{masters: [{}]}}", items.join(","))),
        ("long", format!("{{masters: [{{m-0: {{memory: {}}}}}]}}", "x".repeat(1 << 20))),
    ] {
        let ran = kubectl.try_run(&["create", "-f", "-"], &provisioning(name, &spec));
        assert_eq!(ran.code, 0, "{name}: {}", ran.err);
    }
}

fn snapshot(plane: &ControlPlane) -> Snapshot {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let options = KubernetesOptions {
            kubeconfig: Some(plane.kubeconfig(User::Coordinator)),
            ..KubernetesOptions::default()
        };
        let world = KubernetesWorld::connect(options).await.unwrap();
        world.ready(Duration::from_secs(60)).await.unwrap();
        world.snapshot().await.unwrap()
    })
}

#[test]
fn statement_81_what_was_stored_unchecked_affects_only_itself() {
    let plane = ControlPlane::start();
    fill(&plane);
    let ours = root().join("deploy/crds").display().to_string();
    let kubectl = plane.kubectl(User::Admin).in_namespace("default");
    kubectl.run(&["apply", "--server-side", "--force-conflicts", "-f", &ours]);
    plane.install_definitions();
    let snapshot = snapshot(&plane);
    let refusal = |name: &str| {
        let found = snapshot.provisionings.iter().find(|p| p.metadata.name == name);
        let found = found.unwrap_or_else(|| panic!("{name} is not there"));
        accept(found).err().map(|refused| refused.to_string()).unwrap_or_default()
    };
    for (name, _, words) in BAD {
        assert!(refusal(name).contains(words), "{name}: {}", refusal(name));
    }
    assert!(refusal("many").contains("10000000 nodes are asked for"), "{}", refusal("many"));
    let long = refusal("long");
    assert!(long.contains("is not a quantity") && long.len() < 700, "{} bytes", long.len());
    assert_eq!(refusal("good"), "");
    // A Software has no status of ours yet: its problem is told beside the objects.
    assert_eq!(snapshot.softwares.len(), 1);
    let problem = snapshot.problems.iter().find(|problem| problem.kind == "Software").unwrap();
    assert_eq!(problem.place, "Software default/bad");
    assert!(problem.message.starts_with("spec.masterSoftware: wanted a list"), "{problem:?}");
    assert!(problem.message.contains("kubectl edit softwares -n default bad"), "{problem:?}");
}

/// A coordinator that does not outlive its test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn coordinator(plane: &ControlPlane, dir: &Path) -> Running {
    let log = std::fs::File::create(dir.join("log")).unwrap();
    let mut command = Command::new(binary("bpa-coordinator"));
    command.arg("--kubernetes").arg("--kubeconfig").arg(plane.kubeconfig(User::Coordinator));
    command.args(["run", "--listen", "127.0.0.1:0", "--state"]).arg(dir.join("state"));
    Running(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap())
}

/// What a user sees who has nothing but kubectl.
#[test]
fn what_was_stored_unchecked_says_so_in_its_status_and_can_be_mended_and_deleted() {
    let plane = ControlPlane::start();
    fill(&plane);
    let kubectl = plane.kubectl(User::Admin).in_namespace("default");
    plane.install_definitions();
    let dir = tempfile::tempdir().unwrap();
    let _running = coordinator(&plane, dir.path());
    let told = |name: &str, wanted: &str| {
        until(&format!("{name} to say `{wanted}`"), 60, || {
            let found = kubectl.get("provisioning", name)["status"].to_string();
            let log = std::fs::read_to_string(dir.path().join("log")).unwrap_or_default();
            let end = log.len().saturating_sub(3000);
            if found.contains(wanted) { Ok(()) } else { Err(format!("{found}\n{}", &log[end..])) }
        });
    };
    for (name, _, words) in BAD {
        if NO_STATUS.contains(&name) {
            until(&format!("an event of {name}"), 60, || {
                let told = kubectl.run(&["describe", "provisioning", name]);
                if told.contains(words) { Ok(()) } else { Err(told) }
            });
            continue;
        }
        told(name, &words.replace('"', "\\\""));
        assert_eq!(kubectl.get("provisioning", name)["status"]["phase"], "Invalid", "{name}");
    }
    told("many", "10000000 nodes are asked for");
    told("long", "is not a quantity");
    told("good", "SiteUnknown");
    let table = kubectl.run(&["get", "bpa", "-o", "wide"]);
    assert!(table.contains("spec.masters: wanted a list, found a map"), "{table}");
    // Put right.
    kubectl.apply(&provisioning("map", "{masters: [{m-0: {}}]}"));
    told("map", "SiteUnknown");
    kubectl.apply(&provisioning("strings", "{masters: [{m-0: {}}]}"));
    told("strings", "SiteUnknown");
    // Taken away, also with the finalizer on it.
    let patch = serde_json::json!({"metadata": {"finalizers": ["bpa.akraino.org/provisioning"]}});
    kubectl.patch("provisioning", "words", "", &patch);
    kubectl.patch("provisioning", "text", "", &patch);
    kubectl.run(&["delete", "provisioning", "words", "text", "size", "many", "--wait=false"]);
    until("the four to be gone", 60, || {
        let left = kubectl.run(&["get", "provisionings", "-o", "name"]);
        let gone = ["words", "text", "size", "many"]
            .iter()
            .all(|name| !left.contains(&format!("/{name}\n")));
        let log = std::fs::read_to_string(dir.path().join("log")).unwrap_or_default();
        let log: String = log
            .lines()
            .filter(|l| l.contains("effect") || l.contains("/text"))
            .map(|l| format!("{l}\n"))
            .collect();
        let end = log.len().saturating_sub(3000);
        if gone { Ok(()) } else { Err(format!("{left}\n{}", &log[end..])) }
    });
}
