//! The Kubernetes world: objects are watched, and written back through the API server. kube types
//! live here and nowhere else.
//!
//! - `crd`, `crd_columns`, `crd_schema`: the definitions of our kinds, as `deploy/crds` has them
//! - `options`, `connect`: where the API server is, and the clients to it
//! - `uses`: objects of others that point at hosts (pure)
//! - `raw`, `decode`: one object as it came, trimmed, then as our type (pure)
//! - `pair` (pure), `cache`, `health`, `follow`: what is known of all objects, and how sure that is
//! - `guard`, `writer`, `fault`: no write without leadership; what an error means (pure)
//! - `status`, `claims`, `finalizer`, `outputs`: what is written; `event_book` (pure), `events`: told
//! - `objects`: what a person does through our commands
//! - `lease` (pure), `leader`: the election; `vault_entries` (pure), `vault`: our own secrets
//! - `world`: the face to the rest of the house

mod crd;
mod crd_columns;
mod crd_schema;

mod cache;
mod claims;
mod connect;
mod decode;
mod event_book;
mod events;
mod fault;
mod finalizer;
mod follow;
mod guard;
mod health;
mod leader;
mod lease;
mod objects;
mod options;
mod outputs;
mod pair;
mod raw;
mod resource;
mod status;
mod status_size;
mod uses;
mod vault;
mod vault_entries;
mod world;
mod writer;

pub use crd::{crd_yaml, crds};
pub use guard::{Guard, NotLeader};
pub use leader::Election;
pub use objects::Applied;
pub use options::{KubernetesOptions, SYSTEM_NAMESPACE};
pub use vault::{IDENTITY, SecretVault};
pub use world::KubernetesWorld;

/// The name under which our writes are known to the API server.
pub const FIELD_MANAGER: &str = "bpa-coordinator";
