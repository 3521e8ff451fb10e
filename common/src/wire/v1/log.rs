//! Log streams: one per run, agent to coordinator, resumed at an offset.

use serde::{Deserialize, Serialize};

use super::RunId;

/// First message of a log stream, from the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogOpen {
    pub run: RunId,
}

/// The coordinator's answer to `LogOpen` and to chunks: what it has, bytes from the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogAck {
    pub offset: u64,
}

/// A piece of the log, deflate-compressed, at most 64 KiB before compression.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogChunk {
    /// Where the piece begins, in bytes of the plain log.
    pub offset: u64,
    /// Length of the piece before compression.
    pub plain_len: u32,
    pub deflated: Vec<u8>,
    /// True when the run has ended and nothing follows.
    pub last: bool,
}
