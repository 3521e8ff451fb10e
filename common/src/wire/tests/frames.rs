//! Frames: whole, in pieces, damaged, unknown, too large.

use proptest::prelude::*;

use super::samples;
use crate::wire::frame::{self, Decoded, FrameDecoder, FrameError, HEADER_LEN, Header};
use crate::wire::v1::{EventAck, Heartbeat, Hello, LogAck, Welcome};
use crate::wire::{FrameReader, FrameWriter, Message};

const CAP: u32 = 1 << 20;

fn unknown(seq: u64, len: u32) -> Vec<u8> {
    let header = Header { version: 1, kind: 0xfff0, flags: 3, seq, len };
    let mut bytes = header.to_bytes().to_vec();
    bytes.resize(HEADER_LEN + len as usize, 0xee);
    bytes
}

fn decoder_with(bytes: &[u8]) -> FrameDecoder {
    let mut decoder = FrameDecoder::new(CAP);
    decoder.buffer().extend_from_slice(bytes);
    decoder
}

#[test]
fn a_header_is_twenty_bytes_as_drawn() {
    let bytes = frame::to_bytes(5, &EventAck { seq: 1 }).unwrap();
    let wanted = [0xb9, 0xa1, 0, 1, 5, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 8];
    assert_eq!(bytes[..HEADER_LEN], wanted);
}

#[tokio::test]
async fn messages_cross_a_stream_and_its_end_is_seen() {
    let (a, b) = tokio::io::duplex(64);
    let writing = tokio::spawn(async move {
        let mut writer = FrameWriter::new(a);
        writer.send(&samples::hello()).await.unwrap();
        writer.send(&samples::welcome()).await.unwrap();
    });
    let mut reader = FrameReader::new(b, CAP);
    assert_eq!(reader.require::<Hello>().await.unwrap(), samples::hello());
    assert_eq!(reader.require::<Welcome>().await.unwrap(), samples::welcome());
    assert!(reader.next().await.unwrap().is_none());
    let error = reader.require::<Welcome>().await.unwrap_err();
    assert_eq!(error.to_string(), "the stream ended where a Welcome was due");
    writing.await.unwrap();
}

#[tokio::test]
async fn a_kind_of_the_future_is_skipped() {
    let mut bytes = frame::to_bytes(0, &samples::heartbeat()).unwrap();
    bytes.extend(unknown(1, 100_000));
    bytes.extend(frame::to_bytes(2, &LogAck { offset: 3 }).unwrap());
    let mut reader = FrameReader::new(&bytes[..], CAP);
    assert_eq!(reader.require::<Heartbeat>().await.unwrap(), samples::heartbeat());
    assert_eq!(reader.require::<LogAck>().await.unwrap(), LogAck { offset: 3 });
}

#[tokio::test]
async fn a_stream_that_ends_inside_a_frame_is_an_error() {
    let whole = frame::to_bytes(0, &samples::hello()).unwrap();
    for bytes in [&whole[..7], &whole[..whole.len() - 1], &unknown(0, 50)[..40]] {
        let error = FrameReader::new(bytes, CAP).next().await.unwrap_err();
        assert!(matches!(error, FrameError::Truncated), "{error}");
    }
}

#[test]
fn the_length_is_checked_before_memory_is_taken() {
    let mut header = Header { version: 1, kind: Hello::KIND, flags: 0, seq: 0, len: u32::MAX };
    let error = decoder_with(&header.to_bytes()).step().unwrap_err();
    assert!(matches!(error, FrameError::TooLarge { cap: 0x4_0000, .. }), "{error}");
    header.len = 2000;
    let mut small = FrameDecoder::new(1000);
    small.buffer().extend_from_slice(&header.to_bytes());
    assert!(matches!(small.step(), Err(FrameError::TooLarge { cap: 1000, .. })));
    // An unknown kind has only the stream's cap.
    header.kind = 0xfff0;
    header.len = CAP + 1;
    assert!(matches!(decoder_with(&header.to_bytes()).step(), Err(FrameError::TooLarge { .. })));
}

#[test]
fn an_unknown_body_is_not_kept() {
    let mut decoder = FrameDecoder::new(CAP);
    let bytes = unknown(0, 500_000);
    decoder.buffer().extend_from_slice(&bytes[..100]);
    assert!(matches!(decoder.step(), Ok(Decoded::Unknown { kind: 0xfff0, len: 500_000 })));
    for piece in bytes[100..].chunks(1000) {
        decoder.buffer().extend_from_slice(piece);
        assert!(matches!(decoder.step(), Ok(Decoded::More)));
        assert!(decoder.buffer().is_empty());
    }
    assert!(decoder.is_between_frames());
}

#[test]
fn strangers_versions_and_gaps_are_told_apart() {
    let error = decoder_with(b"GET / HTTP/1.1\r\nHost: x\r\n").step().unwrap_err();
    assert!(error.to_string().contains("does not speak this protocol"), "{error}");
    let mut bytes = frame::to_bytes(0, &LogAck { offset: 0 }).unwrap();
    bytes[3] = 9;
    let error = decoder_with(&bytes).step().unwrap_err();
    assert!(error.to_string().contains("version 9"), "{error}");
    let error = decoder_with(&frame::to_bytes(4, &LogAck { offset: 0 }).unwrap()).step();
    assert!(matches!(error, Err(FrameError::OutOfOrder { wanted: 0, found: 4 })));
}

#[test]
fn the_wrong_message_is_named() {
    let bytes = frame::to_bytes(0, &LogAck { offset: 0 }).unwrap();
    let Ok(Decoded::Frame(frame)) = decoder_with(&bytes).step() else { panic!("no frame") };
    let error = frame.decode::<Hello>().unwrap_err();
    assert_eq!(error.to_string(), "wanted Hello, found LogAck");
}

proptest! {
    #[test]
    fn however_the_bytes_are_cut_the_frames_are_the_same(cuts in prop::collection::vec(1..40usize, 1..60)) {
        let mut bytes = frame::to_bytes(0, &samples::heartbeat()).unwrap();
        bytes.extend(unknown(1, 70));
        bytes.extend(frame::to_bytes(2, &EventAck { seq: 8 }).unwrap());
        let mut decoder = FrameDecoder::new(CAP);
        let mut kinds = Vec::new();
        let mut rest = &bytes[..];
        for cut in cuts.into_iter().chain(std::iter::repeat(7)) {
            let (piece, after) = rest.split_at(cut.min(rest.len()));
            decoder.buffer().extend_from_slice(piece);
            rest = after;
            loop {
                match decoder.step().unwrap() {
                    Decoded::Frame(frame) => kinds.push(frame.kind),
                    Decoded::Unknown { kind, .. } => kinds.push(kind),
                    Decoded::More => break,
                }
            }
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(kinds, vec![Heartbeat::KIND, 0xfff0, EventAck::KIND]);
        prop_assert!(decoder.is_between_frames());
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut decoder = decoder_with(&bytes);
        while let Ok(Decoded::Frame(_) | Decoded::Unknown { .. }) = decoder.step() {}
    }

    #[test]
    fn a_random_header_never_takes_more_than_the_cap(kind: u16, seq in 0..2u64, len: u32) {
        let header = Header { version: 1, kind, flags: 0, seq, len };
        let mut decoder = decoder_with(&header.to_bytes());
        let result = decoder.step();
        prop_assert!(len <= CAP || result.is_err());
    }
}
