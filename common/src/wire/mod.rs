//! What goes over the link between coordinator and agent.
//!
//! - `v1/`: the messages of protocol version 1. A released struct is frozen: a change is a new kind
//!   or a `v2` module; inside enums, add only at the end. No `serde(skip*, flatten, tag, untagged,
//!   default)`, no `usize`, no `HashMap`, no JSON value in a message: bincode corrupts on them.
//! - `codec`: the only place that names bincode.
//! - `frame`: a fixed header before every body; its length is checked before memory is taken.

pub mod v1;
