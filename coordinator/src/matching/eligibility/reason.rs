//! The list of reasons against hosts, each with the sign by which it is seen and what to do.

/// Declares the reasons: name, sign, remedy. The table in `docs/plan.md` is made of the same words.
macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident: $sign:literal, $remedy:literal;)*) => {
        /// A named reason against a host. Names are in JSON and never change.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum IneligibleReason {
            $($(#[$doc])* $name,)*
        }

        impl IneligibleReason {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The stable identifier, as in JSON.
            pub fn id(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }

            /// By what it is seen.
            pub fn sign(self) -> &'static str {
                match self {
                    $(Self::$name => $sign,)*
                }
            }

            /// What to do about it.
            pub fn remedy(self) -> &'static str {
                match self {
                    $(Self::$name => $remedy,)*
                }
            }
        }
    };
}

reasons! {
    Claimed: "`spec.consumerRef` names someone else",
        "release it there, or choose another host";
    ReservedForNodeReuse: "label `infrastructure.cluster.x-k8s.io/node-reuse`",
        "wait until that has taken it, or remove the label if it never will";
    InCluster: "label `cluster.x-k8s.io/cluster-name`",
        "delete its Machine there; remove the label if that cluster is gone";
    OwnedByMachine: "an ownerReference to a Metal3Machine",
        "delete its Machine, which gives the host back";
    /// Whatever the host itself says: the owner of such an annotation takes its host without asking.
    UsedByMachine: "annotation `metal3.io/BareMetalHost` of a Metal3Machine names it",
        "delete its Machine, or remove the annotation there if it is stale";
    UsedByClaim: "`status.bareMetalHost` of a HostClaim names it",
        "delete that HostClaim, or choose another host";
    Deleting: "`metadata.deletionTimestamp`",
        "wait until it is gone, or choose another host";
    /// Two records of one machine: what Metal3 does for the old one happens to the new one.
    TwinDeleting: "another host of the same boot MAC or BMC address is being deleted",
        "wait until that one is gone";
    Paused: "annotation `baremetalhost.metal3.io/paused`",
        "whoever paused it must remove that";
    Detached: "annotation `baremetalhost.metal3.io/detached`, or operational status `detached`",
        "whoever detached it must attach it again";
    MarkedUnhealthy: "annotation `capm3.metal3.io/unhealthy` or `capi.metal3.io/unhealthy`",
        "mend it, then remove the annotation";
    InError: "`status.errorType` or `status.errorMessage`",
        "mend what it names; Metal3 tries again by itself";
    NotOk: "`status.operationalStatus` is not `OK`",
        "wait for Metal3, or look at its events";
    RebootHeld: "annotation `reboot.metal3.io/<key>`",
        "whoever holds it must remove that";
    BlockMove: "annotation `clusterctl.cluster.x-k8s.io/block-move`",
        "wait until the move is done; remove the annotation if none is under way";
    BeingProvisionedByOthers: "`spec.image` or `spec.customDeploy` asks for something else than is on its disk",
        "wait until that is done, or have it taken back there";
    NotProvisioned: "`status.provisioning.state` is not `provisioned` or `externally provisioned`",
        "install Linux on it, or let Metal3 do that by spec.os if it is `available`";
    Offline: "`spec.online` is false",
        "set it to true";
    /// Another Provisioning has it in its plan, or someone was faster.
    Assigned: "another Provisioning has chosen it, or someone was faster",
        "choose another host";
    /// Metal3 failed to install it for this Provisioning.
    InstallFailed: "`spec.os` could not be installed after several tries",
        "mend it, then ask for a retry";
}

/// A reason with its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ineligible {
    pub reason: IneligibleReason,
    /// Follows the host's name: what was found, then what to do.
    pub message: String,
}

impl Ineligible {
    /// `found` follows the host's name; what to do is added.
    pub fn new(reason: IneligibleReason, found: impl std::fmt::Display) -> Self {
        Self { reason, message: format!("{found}; {}", reason.remedy()) }
    }
}
