//! Pieces of logs as they come from agents: inflated with a limit, checked against what is kept.

use std::io::Read;

use bpa_common::wire::v1::LogChunk;
use flate2::read::DeflateDecoder;

/// Bytes of a piece before compression.
const MAX_PLAIN: u32 = 64 * 1024;

/// Why a piece is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum LogError {
    #[error("a log piece says it has {found} bytes, at most {MAX_PLAIN} are allowed")]
    TooLarge { found: u32 },
    #[error("a log piece says it has {said} bytes but is not exactly that")]
    Length { said: u32 },
    #[error("a log piece can't be inflated: {0}")]
    Damaged(String),
    #[error("a log piece begins at {found}, but only {kept} bytes are kept")]
    Gap { kept: u64, found: u64 },
}

/// The plain bytes of a piece that joins on to the `kept` bytes of the log.
///
/// A piece that was made to grow without end is cut off one byte behind the length that it says.
pub(super) fn open(chunk: &LogChunk, kept: u64) -> Result<Vec<u8>, LogError> {
    let said = chunk.plain_len;
    if said > MAX_PLAIN {
        return Err(LogError::TooLarge { found: said });
    }
    if chunk.offset > kept {
        return Err(LogError::Gap { kept, found: chunk.offset });
    }
    let mut plain = Vec::with_capacity(said as usize);
    DeflateDecoder::new(&chunk.deflated[..])
        .take(u64::from(said) + 1)
        .read_to_end(&mut plain)
        .map_err(|e| LogError::Damaged(e.to_string()))?;
    if plain.len() as u64 != u64::from(said) {
        return Err(LogError::Length { said });
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::DeflateEncoder;
    use proptest::prelude::*;

    use super::*;

    fn chunk(offset: u64, plain: &[u8]) -> LogChunk {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(plain).unwrap();
        LogChunk {
            offset,
            plain_len: u32::try_from(plain.len()).unwrap(),
            deflated: encoder.finish().unwrap(),
            last: false,
        }
    }

    #[test]
    fn a_piece_comes_back_and_one_seen_before_is_fine() {
        assert_eq!(open(&chunk(3, b"hello"), 3).unwrap(), b"hello");
        assert_eq!(open(&chunk(0, b"hello"), 3).unwrap(), b"hello");
        assert_eq!(open(&chunk(3, b""), 3).unwrap(), b"");
    }

    #[test]
    fn a_bomb_is_cut_off() {
        let mut bomb = chunk(0, &vec![0; 10_000_000]);
        bomb.plain_len = 100;
        assert_eq!(open(&bomb, 0), Err(LogError::Length { said: 100 }));
        bomb.plain_len = MAX_PLAIN + 1;
        assert!(matches!(open(&bomb, 0), Err(LogError::TooLarge { .. })));
    }

    #[test]
    fn gaps_and_short_pieces_are_refused() {
        assert_eq!(open(&chunk(4, b"x"), 3), Err(LogError::Gap { kept: 3, found: 4 }));
        let mut short = chunk(0, b"hello");
        short.plain_len = 9;
        assert_eq!(open(&short, 0), Err(LogError::Length { said: 9 }));
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken_or_refused(deflated: Vec<u8>, plain_len in 0..70_000u32) {
            let chunk = LogChunk { offset: 0, plain_len, deflated, last: false };
            if let Ok(plain) = open(&chunk, 0) {
                prop_assert_eq!(plain.len(), plain_len as usize);
            }
        }

        #[test]
        fn any_text_comes_back(plain in prop::collection::vec(any::<u8>(), 0..5000)) {
            prop_assert_eq!(open(&chunk(0, &plain), 0).unwrap(), plain);
        }
    }
}
