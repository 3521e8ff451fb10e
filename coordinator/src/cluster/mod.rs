//! The port to the world of objects: hosts, provisionings, sites, software, clusters.
//!
//! One small trait, two worlds: a directory of manifests and Kubernetes. What a world
//! can't do it says as a [`WorldError`]; nothing above this room knows which world it is in.

pub mod decode;
pub mod directory;
pub mod files;
pub mod kind;
pub mod kubernetes;
pub mod neighbours;
pub mod os_patch;
mod port;
mod vault;

pub use port::{
    ClaimOutcome, HostRecord, HostRef, ObjectEvent, ObjectProblem, Snapshot, World, WorldError,
};
pub use vault::{FileVault, Vault};
