//! The trait that both worlds implement.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use bpa_common::api::metal3::{BareMetalHost, ConsumerRef, HardwareData};
use bpa_common::api::{
    Cluster, HostChooser, HostUse, NeighbourKind, ObjectKey, OsSpec, Provisioning,
    ProvisioningStatus, Site, SiteStatus, Software,
};
use secrecy::SecretString;
use tokio::sync::watch;

use super::neighbours::Neighbour;

/// A host and its inspection data, if there is any.
#[derive(Clone, Debug, PartialEq)]
pub struct HostRecord {
    pub host: BareMetalHost,
    pub hardware: Option<HardwareData>,
}

/// One host, exactly: a host recreated under the same name is another host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostRef {
    pub key: ObjectKey,
    pub uid: String,
}

/// Everything that a decision looks at, read at one moment. Shared, since there may be thousands.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    pub hosts: Vec<Arc<HostRecord>>,
    pub provisionings: Vec<Arc<Provisioning>>,
    pub sites: Vec<Site>,
    pub softwares: Vec<Software>,
    pub clusters: Vec<Cluster>,
    /// Who else has a host, whatever the host itself says.
    pub uses: Vec<HostUse>,
    /// For whom else hosts are chosen.
    pub choosers: Vec<HostChooser>,
    /// Whether there is somebody (Metal3) who installs what `spec.image` of a host says.
    pub installs_os: bool,
    /// Objects that could not be read; each affects only itself.
    pub problems: Vec<ObjectProblem>,
}

impl Snapshot {
    /// Kinds of others' objects that can't be read, and where.
    pub fn unseen(&self) -> Vec<String> {
        let others = NeighbourKind::ALL.map(NeighbourKind::name);
        let problems = self.problems.iter();
        let whole = problems.filter(|p| p.key.is_none() && others.contains(&p.kind.as_str()));
        whole.map(|problem| problem.place.clone()).collect()
    }

    /// Takes in what an object of others says about hosts.
    pub fn put_neighbour(&mut self, neighbour: Neighbour) {
        match neighbour {
            Neighbour::Has(found) => self.uses.push(found),
            Neighbour::Chooses(found) => self.choosers.push(found),
        }
    }
}

/// An object that can't be used, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectProblem {
    /// File and document, or `Kind namespace/name`.
    pub place: String,
    pub kind: String,
    pub key: Option<ObjectKey>,
    /// What was wanted, what was found, what to do.
    pub message: String,
}

/// What became of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimOutcome {
    /// The host's consumerRef is ours now (or was before).
    Ours,
    /// Someone else has it; never written over.
    Taken(ConsumerRef),
    /// The host changed since it was read, or is gone: select again.
    Changed,
}

/// Something to tell about an object, as a Kubernetes Event does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectEvent {
    pub kind: &'static str,
    pub key: ObjectKey,
    pub warning: bool,
    pub reason: String,
    pub message: String,
}

/// Why the world could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    #[error(
        "there is no directory of manifests {path}; make it, or name another with --objects DIR or BPA_OBJECTS"
    )]
    NoObjects { path: String },
    #[error("can't {action} {path}: {source}; check that it exists and that this user may use it")]
    Io {
        action: &'static str,
        path: String,
        #[source]
        source: std::io::Error,
    },
    #[error("{kind} {key} is not there any more")]
    NotFound { kind: &'static str, key: ObjectKey },
    #[error("{what} can't be read: {message}")]
    Corrupt { what: String, message: String },
    #[error(
        "{path} is in use by another `bpa-coordinator run` (process {pid}); stop that one, or give this one a --state of its own"
    )]
    InUse { path: String, pid: String },
    #[error("can't use the Kubernetes API server at {server}: {message}")]
    Connect { server: String, message: String },
    #[error("can't change {object}: {problem}")]
    Conflict { object: String, problem: String },
    #[error(
        "nobody installs an operating system here: a directory of manifests has no Metal3; install Linux on host {0}, then set its status.provisioning.state to `provisioned`"
    )]
    NoInstaller(ObjectKey),
    #[error("not all objects are known yet: {what}")]
    NotReady { what: String },
    #[error("can't {action} {object}: {problem}")]
    Api { action: &'static str, object: String, problem: String },
    #[error(
        "this coordinator is not the leader (any more): nothing was written; another one has the lease, or the API server can't be reached to renew it"
    )]
    NotLeader,
}

/// The world of objects. Each write is idempotent.
pub trait World: Send + Sync + 'static {
    /// All objects as they are now, status and claims included.
    fn snapshot(&self) -> impl Future<Output = Result<Snapshot, WorldError>> + Send;

    /// Counts changes: a new value means "look again". Also ticks for our own writes.
    fn changes(&self) -> watch::Receiver<u64>;

    /// Writes the status of the object of this key and uid; nothing else of it.
    fn write_provisioning_status(
        &self,
        key: &ObjectKey,
        uid: &str,
        status: &ProvisioningStatus,
    ) -> impl Future<Output = Result<(), WorldError>> + Send;

    /// Writes the status of a site.
    fn write_site_status(
        &self,
        key: &ObjectKey,
        status: &SiteStatus,
    ) -> impl Future<Output = Result<(), WorldError>> + Send;

    /// Holds a Provisioning back from going away until our work on it is done, or lets it go.
    fn set_finalizer(
        &self,
        key: &ObjectKey,
        present: bool,
    ) -> impl Future<Output = Result<(), WorldError>> + Send;

    /// The host as it is at this moment, read past every view that may lag. None when it is gone,
    /// also when another one has its name now.
    fn fresh_host(
        &self,
        host: &HostRef,
    ) -> impl Future<Output = Result<Option<BareMetalHost>, WorldError>> + Send;

    /// Writes `consumerRef`, only if the host is still as read (`resource_version`) and free.
    fn claim(
        &self,
        host: &HostRef,
        resource_version: &str,
        consumer: &ConsumerRef,
    ) -> impl Future<Output = Result<ClaimOutcome, WorldError>> + Send;

    /// Has Metal3 install an operating system on a host that is ours: writes image, data and power,
    /// with a note of it ([`bpa_common::api::OS_MARK`]), only over the very version that was read.
    fn write_os(
        &self,
        host: &BareMetalHost,
        consumer: &ConsumerRef,
        os: &OsSpec,
    ) -> impl Future<Output = Result<ClaimOutcome, WorldError>> + Send {
        let _ = (consumer, os);
        std::future::ready(Err(WorldError::NoInstaller(host.metadata.key())))
    }

    /// Takes back what [`World::write_os`] wrote, as far as it is still there, only over the very
    /// version that was read. Metal3 wipes the host then; our mark stays until that is done.
    fn clear_os(
        &self,
        host: &BareMetalHost,
        consumer: &ConsumerRef,
    ) -> impl Future<Output = Result<ClaimOutcome, WorldError>> + Send {
        let _ = consumer;
        std::future::ready(Err(WorldError::NoInstaller(host.metadata.key())))
    }

    /// Clears `consumerRef` if it is exactly `consumer`, and with it our note of an install; nothing
    /// else is touched.
    fn release(
        &self,
        host: &HostRef,
        consumer: &ConsumerRef,
    ) -> impl Future<Output = Result<(), WorldError>> + Send;

    /// Keeps a kubeconfig, private to the owner. Returns where it is, as shown to people.
    fn save_kubeconfig(
        &self,
        provisioning: &Provisioning,
        yaml: &SecretString,
    ) -> impl Future<Output = Result<String, WorldError>> + Send;

    /// Tells the addresses of a cluster's nodes by `MASTER_<node>` and `WORKER_<node>`, beside its
    /// Provisioning, for programs that know the original operator. By default nowhere.
    fn save_addresses(
        &self,
        _provisioning: &Provisioning,
        _addresses: &BTreeMap<String, String>,
    ) -> impl Future<Output = Result<(), WorldError>> + Send {
        std::future::ready(Ok(()))
    }

    /// Tells about an object. Repeats of the same event are counted, not kept.
    fn record_event(
        &self,
        event: ObjectEvent,
    ) -> impl Future<Output = Result<(), WorldError>> + Send;
}
