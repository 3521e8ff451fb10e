//! The world of objects in a Kubernetes cluster.

mod crd;
mod crd_columns;
mod crd_schema;

pub use crd::{crd_yaml, crds};
