//! The world of objects in a Kubernetes cluster. kube types live here and nowhere else.
//!
//! - `crd`, `rules`: the definitions of our kinds, as `deploy/crds` has them

mod crd;
mod rules;

pub use crd::crds;
