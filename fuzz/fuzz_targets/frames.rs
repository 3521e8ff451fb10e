//! Bytes from nowhere, as a stream of frames: no panic, and no more memory than the cap allows.
//! A body that is accepted must encode to the very same bytes.

#![no_main]

use bpa_common::wire::frame::{Decoded, FrameDecoder};
use bpa_common::wire::v1::*;
use bpa_common::wire::{Frame, Message, decode, encode};
use libfuzzer_sys::fuzz_target;

const CAP: u32 = 1 << 16;

fn exact<M: Message>(frame: &Frame) {
    if frame.kind != M::KIND {
        return;
    }
    if let Ok(message) = decode::<M>(&frame.body) {
        assert_eq!(encode(&message).ok().as_ref(), Some(&frame.body), "{}", M::NAME);
    }
}

fn any(frame: &Frame) {
    exact::<Hello>(frame);
    exact::<Welcome>(frame);
    exact::<ConnectRefused>(frame);
    exact::<Heartbeat>(frame);
    exact::<JoinRequest>(frame);
    exact::<JoinGranted>(frame);
    exact::<JoinRefused>(frame);
    exact::<JoinLineBody>(frame);
    exact::<LeaseSnapshot>(frame);
    exact::<LeaseDelta>(frame);
    exact::<LeaseQuery>(frame);
    exact::<LeaseReply>(frame);
    exact::<Order>(frame);
    exact::<OrderReply>(frame);
    exact::<CancelOrder>(frame);
    exact::<CancelReply>(frame);
    exact::<EventBatch>(frame);
    exact::<EventAck>(frame);
    exact::<Event>(frame);
    exact::<LogOpen>(frame);
    exact::<LogChunk>(frame);
    exact::<LogAck>(frame);
}

fuzz_target!(|data: &[u8]| {
    let mut decoder = FrameDecoder::new(CAP);
    for piece in data.chunks(97) {
        decoder.buffer().extend_from_slice(piece);
        loop {
            match decoder.step() {
                Ok(Decoded::Frame(frame)) => any(&frame),
                Ok(Decoded::Unknown { len, .. }) => assert!(len <= CAP),
                Ok(Decoded::More) => break,
                Err(_) => return,
            }
        }
        assert!(decoder.buffer().len() <= CAP as usize + 200);
    }
    // The bodies alone too, so that the search need not find headers first.
    if let Some((kind, body)) = data.split_first_chunk::<2>() {
        any(&Frame { kind: u16::from_be_bytes(*kind), body: body.to_vec() });
    }
});
