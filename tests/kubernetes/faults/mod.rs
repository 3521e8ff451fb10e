//! A coordinator, as a process, while its API server has faults. Each story ends with what the
//! objects must look like; none may need a restart of the coordinator, or see it panic.
//!
//! The server is a real one; what lies before it (`Proxy`) answers itself, is slow, or loses answers.

mod answers;
mod late;
mod namespace;
mod neighbours;
mod restarts;

use bpa_tests::kubernetes::{ControlPlane, Coordinator, Fault, Proxy, User, shared};
use bpa_tests::wait::until;
use serde_json::{Value, json};

use crate::house::{House, INSTALLED, make_hosts, start, wish};

/// A house whose coordinator asks through a proxy before the shared server.
fn behind(namespace: &str) -> (Proxy, House) {
    let proxy = Proxy::before(shared());
    let kubeconfig = proxy.kubeconfig(shared(), User::Coordinator);
    let house = House::up(shared(), namespace, kubeconfig);
    (proxy, house)
}
