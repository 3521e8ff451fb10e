//! Settings of QUIC, the same on both ends.

use std::sync::Arc;
use std::time::Duration;

use quinn::{IdleTimeout, TransportConfig, VarInt};

/// How often a quiet connection says that it lives.
pub const KEEP_ALIVE: Duration = Duration::from_secs(4);
/// A connection on which nothing came for so long is dead. The first packet that is sent after
/// the last one that came starts the count anew, so a cut is known after at most the sum of this
/// and [`KEEP_ALIVE`]: within the promised 15 s.
pub const MAX_IDLE: Duration = Duration::from_secs(10);
/// How often each side sends a heartbeat on the control stream.
pub const HEARTBEAT: Duration = Duration::from_secs(5);
/// A peer whose heartbeats stay away for so long is stuck, even when its QUIC still answers.
pub const SILENCE: Duration = Duration::from_secs(20);

/// The first guess of the round trip. A low one sends the first packets of a dial again sooner, so
/// that a dial that began while the network was away succeeds when it comes back.
const FIRST_RTT: Duration = Duration::from_millis(100);

/// Streams that a peer may have open at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Streams {
    pub bidi: u32,
    pub uni: u32,
}

/// An agent opens control, events and one stream per log; leases go one way.
pub(super) const FROM_AGENT: Streams = Streams { bidi: 128, uni: 4 };
/// A coordinator opens one stream per order, cancel and look-up.
pub(super) const FROM_COORDINATOR: Streams = Streams { bidi: 64, uni: 0 };

const STREAM_WINDOW: u32 = 256 * 1024;
const WINDOW: u32 = 2 * 1024 * 1024;

/// The transport of a side that lets its peer open these streams.
pub(super) fn transport(peer_opens: Streams) -> Arc<TransportConfig> {
    let mut config = TransportConfig::default();
    // The default window of a connection has no limit: one agent could fill the memory.
    config
        .max_concurrent_bidi_streams(VarInt::from_u32(peer_opens.bidi))
        .max_concurrent_uni_streams(VarInt::from_u32(peer_opens.uni))
        .stream_receive_window(VarInt::from_u32(STREAM_WINDOW))
        .receive_window(VarInt::from_u32(WINDOW))
        .send_window(u64::from(WINDOW))
        .datagram_receive_buffer_size(None)
        .keep_alive_interval(Some(KEEP_ALIVE))
        .initial_rtt(FIRST_RTT)
        .max_idle_timeout(Some(IdleTimeout::from(VarInt::from_u32(MAX_IDLE.as_millis() as u32))));
    Arc::new(config)
}
