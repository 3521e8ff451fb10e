//! Where the coordinator's objects are: a directory of manifests, or a namespace of a Kubernetes API
//! server. Scenarios ask this one, and read the same in both.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::forward::Forward;
use crate::kubernetes::{Kubectl, User, shared};
use crate::lab::Lab;

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum World {
    Directory,
    Kubernetes,
}

impl World {
    /// The name of a lab of this world.
    pub fn lab(self, name: &str) -> String {
        match self {
            Self::Directory => format!("s-{name}"),
            Self::Kubernetes => format!("s-k-{name}"),
        }
    }
}

/// The objects of one scenario.
#[derive(Debug)]
pub enum Management {
    Directory(PathBuf),
    Kubernetes(Cluster),
}

/// Namespaces of the shared API server, as the lab's management namespace sees it.
#[derive(Debug)]
pub struct Cluster {
    pub namespace: String,
    /// As a person who may do everything in it.
    pub kubectl: Kubectl,
    /// As Metal3, in the namespace of its hosts: mostly another one.
    pub hosts: Kubectl,
    _way: Forward,
}

/// Kinds that a scenario may leave something in.
const KINDS: &str = "provisionings,sites,softwares,clusters,baremetalhosts,hardwaredata,secrets,configmaps,events,leases";

impl Management {
    /// A new, empty place. `dir` is the scenario's own.
    pub fn new(world: World, name: &str, lab: &Lab, dir: &Path) -> Self {
        match world {
            World::Directory => {
                let objects = dir.join("objects");
                fs::create_dir_all(&objects).expect("the test's directory can be made");
                Self::Directory(objects)
            }
            World::Kubernetes => Self::Kubernetes(Cluster::new(name, lab)),
        }
    }

    /// Namespace of what a user applies.
    pub fn namespace(&self) -> &str {
        match self {
            Self::Directory(_) => "default",
            Self::Kubernetes(cluster) => &cluster.namespace,
        }
    }

    /// How the coordinator, and commands of a person, are told where the objects are.
    pub fn environment(&self, user: User) -> Vec<(&'static str, String)> {
        match self {
            Self::Directory(objects) => vec![("BPA_OBJECTS", objects.display().to_string())],
            Self::Kubernetes(cluster) => {
                let kubeconfig = shared().kubeconfig(user).display().to_string();
                let namespace = cluster.namespace.clone();
                let looked_at = match user {
                    User::Coordinator => format!("{namespace},{namespace}-metal3"),
                    _ => namespace.clone(),
                };
                vec![
                    ("BPA_KUBERNETES", "1".to_owned()),
                    ("KUBECONFIG", kubeconfig),
                    ("BPA_NAMESPACES", looked_at),
                    ("BPA_SYSTEM_NAMESPACE", namespace),
                ]
            }
        }
    }

    /// Hosts as Metal3 shows them, new or changed. In a cluster a status is written beside, as
    /// Metal3 does it.
    pub fn write_hosts(&self, manifests: &str) {
        match self {
            Self::Directory(objects) => {
                fs::write(objects.join("hosts.yaml"), manifests).expect("objects can be written");
            }
            Self::Kubernetes(cluster) => cluster.write_hosts(manifests),
        }
    }

    /// A manifest put down with no command of ours, right or wrong.
    pub fn put(&self, name: &str, manifest: &str) {
        match self {
            Self::Directory(objects) => {
                let file = objects.join(format!("{name}.yaml"));
                fs::write(file, manifest).expect("objects can be written");
            }
            Self::Kubernetes(cluster) => drop(cluster.kubectl.apply(manifest)),
        }
    }

    /// Takes a Provisioning away with no command of ours.
    pub fn take_away(&self, name: &str) {
        match self {
            Self::Directory(objects) => {
                let file = objects.join(format!("provisioning-default-{name}.yaml"));
                fs::remove_file(file).expect("the manifest is there");
            }
            Self::Kubernetes(cluster) => {
                cluster.kubectl.run(&["delete", "provisioning", name, "--wait=false"]);
            }
        }
    }

    /// The kubeconfig of a new cluster as a file of the user's. `place` is what the status says.
    pub fn kubeconfig(&self, place: &str, dir: &Path) -> PathBuf {
        match self {
            Self::Directory(_) => place.into(),
            Self::Kubernetes(cluster) => {
                let path = dir.join(format!("{place}.kubeconfig"));
                let get =
                    ["get", "secret", place, "-o", "go-template={{.data.value | base64decode}}"];
                fs::write(&path, cluster.kubectl.run(&get)).expect("a file can be written");
                path
            }
        }
    }

    /// What `describe` tells a user to do to get at the kubeconfig.
    pub fn kubeconfig_words(&self, place: &str) -> String {
        match self {
            Self::Directory(_) => format!("kubectl --kubeconfig {place}"),
            Self::Kubernetes(cluster) => {
                format!("kubectl get secret -n {} {place}", cluster.namespace)
            }
        }
    }

    /// That nobody but the owner gets at the kubeconfig.
    pub fn assert_kubeconfig_is_private(&self, name: &str, place: &str) {
        match self {
            Self::Directory(_) => {
                let meta = fs::metadata(place).expect("the kubeconfig is there");
                let mode = std::os::unix::fs::PermissionsExt::mode(&meta.permissions());
                assert_eq!(mode & 0o777, 0o600, "{place}");
            }
            Self::Kubernetes(cluster) => {
                let secret = cluster.kubectl.get("secret", place);
                let owner = &secret["metadata"]["ownerReferences"][0];
                assert_eq!(
                    (&owner["kind"], &owner["name"]),
                    (&json!("Provisioning"), &json!(name))
                );
            }
        }
    }

    /// That the kubeconfig is there, also without its Provisioning.
    pub fn assert_kubeconfig_is_kept(&self, place: &str) {
        match self {
            Self::Directory(_) => assert!(Path::new(place).exists(), "{place} is kept"),
            Self::Kubernetes(cluster) => {
                let secret = cluster.kubectl.get("secret", place);
                let owners = &secret["metadata"]["ownerReferences"];
                assert!(secret["data"]["value"].is_string() && owners.is_null(), "kept: {owners}");
            }
        }
    }

    /// Everything that is kept of a scenario here, as text: what a backup would have.
    pub fn everything(&self) -> String {
        match self {
            Self::Directory(_) => String::new(),
            Self::Kubernetes(cluster) => {
                let all = cluster.kubectl.run(&["get", KINDS, "-o", "json"]);
                let all = all + &cluster.hosts.run(&["get", KINDS, "-o", "json"]);
                let secrets = [
                    "get",
                    "secrets",
                    "-o",
                    "go-template={{range .items}}{{range .data}}{{. | base64decode}}{{end}}{{end}}",
                ];
                all + &cluster.kubectl.run(&secrets)
            }
        }
    }
}

impl Cluster {
    fn new(name: &str, lab: &Lab) -> Self {
        let plane = shared();
        let kubectl = plane.namespace(name);
        own_system_namespace(name, &kubectl);
        let hosts = plane.namespace(&format!("{name}-metal3"));
        let way = Forward::into(&lab.info.mgmt.netns, plane.port);
        Self { namespace: name.to_owned(), kubectl, hosts, _way: way }
    }

    fn write_hosts(&self, manifests: &str) {
        let objects: Vec<Value> = serde_saphyr::from_multiple(manifests).expect("the lab's YAML");
        for mut object in objects {
            let status = object.as_object_mut().and_then(|object| object.remove("status"));
            let kind = object["kind"].as_str().unwrap_or_default().to_lowercase();
            let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            let labels = object["metadata"].get("labels").cloned().unwrap_or(json!({}));
            object["metadata"] = json!({"name": name, "labels": labels});
            self.hosts.apply(&object.to_string());
            if let Some(status) = status {
                self.hosts.patch(&kind, &name, "status", &json!({"status": status}));
            }
        }
    }
}

/// Each scenario has a coordinator of its own, so a lease and an identity of its own: the rights of
/// `deploy/rbac.yaml`, in this namespace instead of `bpa-system`.
fn own_system_namespace(name: &str, kubectl: &Kubectl) {
    let admin = shared().kubectl(User::Admin).in_namespace("bpa-system");
    for kind in ["role", "rolebinding"] {
        let mut object = admin.get(kind, "bpa-coordinator");
        object["metadata"] = json!({"name": "bpa-coordinator", "namespace": name});
        kubectl.apply(&object.to_string());
    }
}
