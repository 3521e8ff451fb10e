//! What the coordinator answers over HTTP. For now the two questions of a probe.

mod health;

pub use health::{Health, serve};
