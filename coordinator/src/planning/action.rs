//! What a decision asks for. Each action may be done again without harm.

use bpa_common::api::metal3::ConsumerRef;
use bpa_common::api::{OsSpec, ProvisioningStatus};
use bpa_common::wire::v1::{Order, RunId};
use jiff::Timestamp;

use crate::cluster::HostRef;

/// One effect. They are carried out in order; the first that fails holds the rest back.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Hold the object back from going away.
    SetFinalizer,
    /// Let the object go.
    DropFinalizer,
    /// Mark a free host as ours.
    Claim { host: HostRef, resource_version: String, consumer: ConsumerRef },
    /// Look again whether a host that we marked is ours.
    Confirm { host: HostRef, consumer: ConsumerRef },
    /// Have Metal3 install the operating system on a host that is ours.
    InstallOs { host: HostRef, consumer: ConsumerRef, os: Box<OsSpec> },
    /// Go the next step of giving a host back: with `wipe`, what Metal3 installed for us is taken away
    /// first; then our mark, and only ours, is taken off.
    Release { host: HostRef, consumer: ConsumerRef, wipe: bool },
    /// Keep the order, then send it. A run that is known keeps its first order.
    SendOrder { site: String, order: Box<Order> },
    /// Ask the agent to stop a run.
    Cancel { site: String, run: RunId },
    /// Keep the kubeconfig of a run in the world of objects.
    SaveKubeconfig { run: RunId },
    /// Tell the addresses of the nodes of a run, as the original operator did.
    SaveAddresses { run: RunId },
    /// Remove the kubeconfig that waits in the store of runs.
    ForgetKubeconfig { run: RunId },
}

/// The new status, and what is to be done once it is written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    pub status: ProvisioningStatus,
    pub actions: Vec<Action>,
    /// When to look again although nothing changed.
    pub recheck: Option<Timestamp>,
}
