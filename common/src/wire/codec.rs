//! Bodies of messages to bytes and back: the only place that names bincode.
//!
//! The encoding is bincode's `legacy()`: fixed-width little-endian integers, lengths as `u64`, enum
//! variants as `u32`. Every decode has a limit on the bytes that it may claim, because without one
//! a message of a few bytes can ask for gigabytes.

use bincode::config::legacy;
use bincode::serde::{decode_from_slice, encode_to_vec};

use super::message::Message;

/// Why a message can't be written or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    #[error(
        "a {name} of {len} bytes is too large: at most {max} are allowed; the sender must split or shorten it"
    )]
    TooLarge { name: &'static str, len: usize, max: u32 },
    #[error(
        "{len} bytes are no {name}: {problem}; the two sides may run versions that do not belong together"
    )]
    Malformed { name: &'static str, len: usize, problem: String },
    #[error(
        "a {name} has {extra} bytes too many behind it; the two sides may run versions that do not belong together"
    )]
    Trailing { name: &'static str, extra: usize },
}

/// The bytes of a message.
///
/// # Errors
/// When it is larger than its kind allows.
pub fn encode<M: Message>(message: &M) -> Result<Vec<u8>, CodecError> {
    let body = encode_to_vec(message, legacy()).map_err(|error| CodecError::Malformed {
        name: M::NAME,
        len: 0,
        problem: error.to_string(),
    })?;
    check_size::<M>(body.len())?;
    Ok(body)
}

/// The message of these bytes: all of them, no more and no fewer.
///
/// # Errors
/// When the bytes are too many for this kind or are not exactly one such message.
pub fn decode<M: Message>(body: &[u8]) -> Result<M, CodecError> {
    check_size::<M>(body.len())?;
    // The limit is a constant of the type, so there are classes: a claim is refused when it is
    // more than a few times what is there.
    let decoded = match body.len() {
        ..=0xff => decode_from_slice(body, legacy().with_limit::<0xff>()),
        0x100..=0xfff => decode_from_slice(body, legacy().with_limit::<0xfff>()),
        0x1000..=0xffff => decode_from_slice(body, legacy().with_limit::<0xffff>()),
        0x1_0000..=0xf_ffff => decode_from_slice(body, legacy().with_limit::<0xf_ffff>()),
        _ => decode_from_slice(body, legacy().with_limit::<0xff_ffff>()),
    };
    let (message, used) = decoded.map_err(|error| CodecError::Malformed {
        name: M::NAME,
        len: body.len(),
        problem: error.to_string(),
    })?;
    match body.len() - used {
        0 => Ok(message),
        extra => Err(CodecError::Trailing { name: M::NAME, extra }),
    }
}

fn check_size<M: Message>(len: usize) -> Result<(), CodecError> {
    if len as u64 <= u64::from(M::MAX) {
        return Ok(());
    }
    Err(CodecError::TooLarge { name: M::NAME, len, max: M::MAX })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::v1::{LogAck, LogOpen, OrderReply, RunId, SecretBytes};

    #[test]
    fn a_byte_too_many_or_too_few_is_refused() {
        let mut body = encode(&LogAck { offset: 7 }).unwrap();
        assert_eq!(decode::<LogAck>(&body), Ok(LogAck { offset: 7 }));
        body.push(0);
        assert_eq!(decode::<LogAck>(&body), Err(CodecError::Trailing { name: "LogAck", extra: 1 }));
        body.truncate(7);
        assert!(matches!(decode::<LogAck>(&body), Err(CodecError::Malformed { .. })));
    }

    #[test]
    fn a_string_that_claims_gigabytes_is_an_error_and_takes_no_memory() {
        // OrderReply::Refused(Invalid { message: <64 GiB> …
        let mut body = vec![2, 0, 0, 0, 3, 0, 0, 0];
        body.extend_from_slice(&(1u64 << 36).to_le_bytes());
        body.extend_from_slice(b"abc");
        let error = decode::<OrderReply>(&body).unwrap_err();
        assert!(error.to_string().contains("no OrderReply"), "{error}");
    }

    #[test]
    fn a_message_over_its_cap_is_neither_written_nor_read() {
        let large = crate::wire::v1::JoinRequest {
            min_version: 1,
            max_version: 1,
            site: "x".repeat(9000),
            secret: SecretBytes(vec![]),
            csr: vec![],
            agent_version: String::new(),
            clock_ms: 0,
        };
        let error = encode(&large).unwrap_err();
        assert!(matches!(error, CodecError::TooLarge { max: 8192, .. }), "{error}");
        let error = decode::<LogOpen>(&[0; 2000]).unwrap_err();
        assert!(error.to_string().contains("at most 1024"), "{error}");
    }

    #[test]
    fn the_bytes_are_those_of_the_frozen_encoding() {
        let open = LogOpen { run: RunId([9; 16]) };
        assert_eq!(encode(&open).unwrap(), [9; 16]);
        assert_eq!(encode(&LogAck { offset: 258 }).unwrap(), [2, 1, 0, 0, 0, 0, 0, 0]);
    }
}
