//! A real Kubernetes API as a test part: etcd and kube-apiserver on loopback, with Metal3's
//! published definitions and ours, and who may do what as `deploy/rbac.yaml` says.

mod coordinator;
mod kubectl;
mod metal3;
mod proxy;
mod server;

pub use coordinator::Coordinator;
pub use kubectl::Kubectl;
pub use metal3::Metal3;
pub use proxy::{Fault, Proxy};
pub use server::{ControlPlane, Controllers, User};

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::process::run;
use crate::root;

/// Where the programs of Kubernetes are; built when they are not there yet.
pub fn programs() -> &'static Path {
    static BIN: OnceLock<PathBuf> = OnceLock::new();
    BIN.get_or_init(|| {
        let ran = run(&mut Command::new(root().join("tests/peers/build"))).ok();
        Path::new(ran.out.trim()).join("bin")
    })
}

/// One API server for all tests of this process that do not harm it.
pub fn shared() -> &'static ControlPlane {
    static SHARED: OnceLock<ControlPlane> = OnceLock::new();
    SHARED.get_or_init(|| {
        let plane = ControlPlane::start();
        plane.install_definitions();
        plane
    })
}
