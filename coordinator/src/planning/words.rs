//! Names that users and programs rely on: conditions, phases, states, annotations.

/// Annotation: a new value asks for another attempt after a run that failed, was cancelled or lost.
pub const RETRY: &str = "bpa.akraino.org/retry";
/// Annotation: the id of the run that is to be stopped.
pub const CANCEL: &str = "bpa.akraino.org/cancel";
/// Annotation: the hash of the plan that a person has approved.
pub const APPROVE: &str = "bpa.akraino.org/approve";
/// Annotation: `true` lets a Provisioning go although its reset can't be done.
pub const FORCE_DELETE: &str = "bpa.akraino.org/force-delete";
/// Finalizers of ours begin with this.
pub const OUR_FINALIZERS: &str = "bpa.akraino.org/";

/// Types of conditions, in the order of the way.
pub mod condition {
    pub const ACCEPTED: &str = "Accepted";
    pub const HOSTS_MATCHED: &str = "HostsMatched";
    pub const HOSTS_CLAIMED: &str = "HostsClaimed";
    pub const HOSTS_PROVISIONED: &str = "HostsProvisioned";
    pub const ADDRESSES_KNOWN: &str = "AddressesKnown";
    pub const ORDER_ACCEPTED: &str = "OrderAccepted";
    pub const ACCESS_READY: &str = "AccessReady";
    pub const PREFLIGHT_PASSED: &str = "PreflightPassed";
    pub const INSTALLED: &str = "Installed";
    pub const KUBECONFIG_SAVED: &str = "KubeconfigSaved";
    pub const READY: &str = "Ready";
    /// True when a person should know something of the chosen hosts, though it stops nothing.
    pub const HOSTS_DOUBTFUL: &str = "HostsDoubtful";

    /// All before `Ready`, in the order of the way.
    pub const WAY: [&str; 10] = [
        ACCEPTED,
        HOSTS_MATCHED,
        HOSTS_CLAIMED,
        HOSTS_PROVISIONED,
        ADDRESSES_KNOWN,
        ORDER_ACCEPTED,
        ACCESS_READY,
        PREFLIGHT_PASSED,
        INSTALLED,
        KUBECONFIG_SAVED,
    ];

    /// Those that tell about one run: they begin anew with the next one.
    pub const OF_A_RUN: [&str; 5] =
        [ORDER_ACCEPTED, ACCESS_READY, PREFLIGHT_PASSED, INSTALLED, KUBECONFIG_SAVED];
}

/// Values of `status.run.state`.
pub mod run_state {
    pub const SENT: &str = "Sent";
    pub const ACCEPTED: &str = "Accepted";
    pub const RUNNING: &str = "Running";
    pub const SUCCEEDED: &str = "Succeeded";
    pub const FAILED: &str = "Failed";
    pub const CANCELLED: &str = "Cancelled";
    pub const LOST: &str = "Lost";
}

/// Values of `status.nodes[].state` before a run tells more.
pub mod node_state {
    pub const SELECTED: &str = "Selected";
    pub const CLAIMED: &str = "Claimed";
    pub const PROVISIONING: &str = "Provisioning";
    pub const PROVISIONING_FAILED: &str = "ProvisioningFailed";
    pub const WAITING_FOR_LEASE: &str = "WaitingForLease";
    pub const RESOLVED: &str = "Resolved";
    pub const INSTALLED: &str = "Installed";
    pub const LOST: &str = "Lost";
}
