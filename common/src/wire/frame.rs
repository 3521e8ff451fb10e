//! Frames: a fixed header, then a body. No I/O: bytes go in, frames come out.
//!
//! ```text
//! 0      2        4     6      8          16         20
//! | 0xB9A1 | version | kind | flags | sequence | length | body …
//! ```
//!
//! All integers are big-endian. `sequence` counts the frames of one direction of one stream from 0.
//! `flags` is zero today and ignored by receivers. A kind that is not known is skipped without
//! being kept in memory, so that a newer side can say more than an older one understands.

use super::codec::{self, CodecError};
use super::message::{Kind, Message};

/// First two bytes of every frame.
pub const MAGIC: u16 = 0xB9A1;
/// The protocol version that this build writes.
pub const VERSION: u16 = 1;
/// Bytes of a header.
pub const HEADER_LEN: usize = 20;

/// Why bytes are no frame, or not the frame that was wanted.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    #[error("the stream broke: {0}")]
    Io(#[from] std::io::Error),
    #[error("the peer does not speak this protocol: a frame began with {found:#06x}")]
    BadMagic { found: u16 },
    #[error("a frame of protocol version {found} came; this side speaks version {VERSION} only")]
    Version { found: u16 },
    #[error("a frame of kind {kind:#06x} says it has {len} bytes; at most {cap} are allowed here")]
    TooLarge { kind: u16, len: u32, cap: u32 },
    #[error("frame {found} came where frame {wanted} was due")]
    OutOfOrder { wanted: u64, found: u64 },
    #[error("the stream ended in the middle of a frame")]
    Truncated,
    #[error("the stream ended where a {wanted} was due")]
    Ended { wanted: &'static str },
    #[error("wanted {wanted}, found {found}")]
    Unexpected { wanted: &'static str, found: String },
    #[error(transparent)]
    Codec(#[from] CodecError),
}

/// The part of a frame before its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub version: u16,
    pub kind: u16,
    pub flags: u16,
    pub seq: u64,
    /// Bytes of the body.
    pub len: u32,
}

impl Header {
    /// The header as bytes.
    pub fn to_bytes(self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[0..2].copy_from_slice(&MAGIC.to_be_bytes());
        bytes[2..4].copy_from_slice(&self.version.to_be_bytes());
        bytes[4..6].copy_from_slice(&self.kind.to_be_bytes());
        bytes[6..8].copy_from_slice(&self.flags.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.seq.to_be_bytes());
        bytes[16..20].copy_from_slice(&self.len.to_be_bytes());
        bytes
    }

    /// Reads a header.
    ///
    /// # Errors
    /// When it is not one of this protocol and version.
    pub fn parse(bytes: &[u8; HEADER_LEN]) -> Result<Self, FrameError> {
        let u16_at = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        let [.., s0, s1, s2, s3, s4, s5, s6, s7, l0, l1, l2, l3] = *bytes;
        if u16_at(0) != MAGIC {
            return Err(FrameError::BadMagic { found: u16_at(0) });
        }
        if u16_at(2) != VERSION {
            return Err(FrameError::Version { found: u16_at(2) });
        }
        Ok(Self {
            version: u16_at(2),
            kind: u16_at(4),
            flags: u16_at(6),
            seq: u64::from_be_bytes([s0, s1, s2, s3, s4, s5, s6, s7]),
            len: u32::from_be_bytes([l0, l1, l2, l3]),
        })
    }
}

/// One frame of a known kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub kind: u16,
    pub body: Vec<u8>,
}

impl Frame {
    /// True when the body is an `M`.
    pub fn is<M: Message>(&self) -> bool {
        self.kind == M::KIND
    }

    /// The message in the body.
    ///
    /// # Errors
    /// When the frame has another kind or its body is malformed.
    pub fn decode<M: Message>(&self) -> Result<M, FrameError> {
        if !self.is::<M>() {
            return Err(self.unexpected(M::NAME));
        }
        Ok(codec::decode(&self.body)?)
    }

    /// The error for a frame that does not belong here.
    pub fn unexpected(&self, wanted: &'static str) -> FrameError {
        let found = Kind::of(self.kind).map_or_else(
            || format!("a frame of kind {:#06x}", self.kind),
            |kind| kind.name.to_owned(),
        );
        FrameError::Unexpected { wanted, found }
    }
}

/// A whole frame as bytes.
///
/// # Errors
/// When the message is larger than its kind allows.
pub fn to_bytes<M: Message>(seq: u64, message: &M) -> Result<Vec<u8>, CodecError> {
    let body = codec::encode(message)?;
    let len = u32::try_from(body.len()).map_err(|_| CodecError::TooLarge {
        name: M::NAME,
        len: body.len(),
        max: M::MAX,
    })?;
    let header = Header { version: VERSION, kind: M::KIND, flags: 0, seq, len };
    let mut bytes = Vec::with_capacity(HEADER_LEN + body.len());
    bytes.extend_from_slice(&header.to_bytes());
    bytes.extend_from_slice(&body);
    Ok(bytes)
}

/// What a [`FrameDecoder`] made of the bytes so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decoded {
    Frame(Frame),
    /// A frame of a kind that this build does not know begins; its body is skipped.
    Unknown {
        kind: u16,
        len: u32,
    },
    /// More bytes are needed.
    More,
}

/// Cuts a stream of bytes into frames. Holds at most one frame and one read.
#[derive(Debug)]
pub struct FrameDecoder {
    buffer: Vec<u8>,
    cap: u32,
    next_seq: u64,
    /// Bytes of an unknown frame's body that are still to be dropped.
    skip: usize,
}

impl FrameDecoder {
    /// A decoder for a stream whose bodies have at most `cap` bytes.
    pub fn new(cap: u32) -> Self {
        Self { buffer: Vec::new(), cap, next_seq: 0, skip: 0 }
    }

    /// Where bytes from the stream are appended.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// True when the stream may end here.
    pub fn is_between_frames(&self) -> bool {
        self.buffer.is_empty() && self.skip == 0
    }

    /// The next frame, if it is complete.
    ///
    /// # Errors
    /// When the bytes are not a frame that may come here. The stream can't be read further then.
    pub fn step(&mut self) -> Result<Decoded, FrameError> {
        self.drop_skipped();
        let Some(bytes) = self.buffer.first_chunk::<HEADER_LEN>() else {
            return Ok(Decoded::More);
        };
        let header = Header::parse(bytes)?;
        let known = Kind::of(header.kind);
        let cap = known.map_or(self.cap, |kind| kind.max.min(self.cap));
        if header.len > cap {
            return Err(FrameError::TooLarge { kind: header.kind, len: header.len, cap });
        }
        if header.seq != self.next_seq {
            return Err(FrameError::OutOfOrder { wanted: self.next_seq, found: header.seq });
        }
        let len = header.len as usize;
        if known.is_none() {
            self.next_seq += 1;
            self.buffer.drain(..HEADER_LEN);
            self.skip = len;
            self.drop_skipped();
            return Ok(Decoded::Unknown { kind: header.kind, len: header.len });
        }
        if self.buffer.len() < HEADER_LEN + len {
            return Ok(Decoded::More);
        }
        self.next_seq += 1;
        let body = self.buffer[HEADER_LEN..HEADER_LEN + len].to_vec();
        self.buffer.drain(..HEADER_LEN + len);
        // A large frame must not leave its memory behind on a quiet stream.
        if self.buffer.is_empty() && self.buffer.capacity() > 0x1_0000 {
            self.buffer = Vec::new();
        }
        Ok(Decoded::Frame(Frame { kind: header.kind, body }))
    }

    fn drop_skipped(&mut self) {
        let now = self.skip.min(self.buffer.len());
        self.buffer.drain(..now);
        self.skip -= now;
    }
}
