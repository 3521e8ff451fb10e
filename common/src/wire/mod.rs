//! What goes over the link between coordinator and agent.
//!
//! - `v1/`: the messages of protocol version 1. A released struct is frozen: a change is a new kind
//!   or a `v2` module; inside enums, add only at the end. No `serde(skip*, flatten, tag, untagged,
//!   default)`, no `usize`, no `HashMap`, no JSON value in a message: bincode corrupts on them.
//! - `message`: the number and the largest size of each kind.
//! - `codec`: the only place that names bincode.
//! - `frame`: a fixed header before every body; its length is checked before memory is taken.
//! - `stream`: frames over anything that reads or writes bytes.

pub mod codec;
pub mod frame;
pub mod message;
pub mod stream;
pub mod v1;

pub use codec::{CodecError, decode, encode};
pub use frame::{Frame, FrameError, VERSION};
pub use message::{Kind, Message};
pub use stream::{FrameReader, FrameWriter};

#[cfg(test)]
mod tests;
