//! Frames over anything that reads or writes bytes.

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::frame::{self, Decoded, Frame, FrameDecoder, FrameError};
use super::message::Message;

/// Bytes asked for in one read.
const READ: usize = 8 * 1024;

/// Reads frames from a stream.
#[derive(Debug)]
pub struct FrameReader<R> {
    inner: R,
    decoder: FrameDecoder,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    /// A reader that refuses bodies of more than `cap` bytes.
    pub fn new(inner: R, cap: u32) -> Self {
        Self { inner, decoder: FrameDecoder::new(cap) }
    }

    /// The stream, to close or reset it.
    pub fn get_mut(&mut self) -> &mut R {
        &mut self.inner
    }

    /// The next frame of a known kind; none when the stream ended between two frames.
    ///
    /// Cancel-safe: what was read stays in the reader.
    ///
    /// # Errors
    /// When the stream breaks or does not hold a frame that may come here.
    pub async fn next(&mut self) -> Result<Option<Frame>, FrameError> {
        loop {
            match self.decoder.step()? {
                Decoded::Frame(frame) => return Ok(Some(frame)),
                Decoded::Unknown { kind, len } => {
                    tracing::warn!(kind, len, "skipped a frame of a kind that is not known here");
                }
                Decoded::More => {
                    let buffer = self.decoder.buffer();
                    buffer.reserve(READ);
                    if self.inner.read_buf(buffer).await? == 0 {
                        return match self.decoder.is_between_frames() {
                            true => Ok(None),
                            false => Err(FrameError::Truncated),
                        };
                    }
                }
            }
        }
    }

    /// The next message, which must be an `M`; none when the stream ended.
    ///
    /// # Errors
    /// As [`FrameReader::next`]; also when another message came.
    pub async fn next_message<M: Message>(&mut self) -> Result<Option<M>, FrameError> {
        match self.next().await? {
            Some(frame) => Ok(Some(frame.decode()?)),
            None => Ok(None),
        }
    }

    /// The next message, which must come and be an `M`.
    ///
    /// # Errors
    /// As [`FrameReader::next_message`]; also when the stream ended.
    pub async fn require<M: Message>(&mut self) -> Result<M, FrameError> {
        self.next_message().await?.ok_or(FrameError::Ended { wanted: M::NAME })
    }
}

/// Writes frames to a stream.
#[derive(Debug)]
pub struct FrameWriter<W> {
    inner: W,
    next_seq: u64,
}

impl<W: AsyncWrite + Unpin> FrameWriter<W> {
    /// A writer whose first frame has sequence number 0.
    pub fn new(inner: W) -> Self {
        Self { inner, next_seq: 0 }
    }

    /// The stream, to finish or reset it.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.inner
    }

    /// Writes one message and flushes it. Not cancel-safe: a stream with half a frame is lost.
    ///
    /// # Errors
    /// When the message is too large for its kind or the stream breaks.
    pub async fn send<M: Message>(&mut self, message: &M) -> Result<(), FrameError> {
        let bytes = frame::to_bytes(self.next_seq, message)?;
        self.next_seq += 1;
        self.inner.write_all(&bytes).await?;
        self.inner.flush().await?;
        Ok(())
    }
}
