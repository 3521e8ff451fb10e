//! The coordinator's socket, recognisable after a crash.
//!
//! A coordinator that was killed could say nothing to its agents. When it is back, it answers their
//! packets with QUIC's stateless reset, and they dial again at once instead of waiting for the idle
//! time. That needs a key that survives the crash.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use quinn::{
    ConnectionId, ConnectionIdGenerator, Endpoint, EndpointConfig, ServerConfig, TokioRuntime,
};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

/// Bytes of our connection ids.
const ID_LEN: usize = 8;
/// Many agents may ask at once after a crash.
const BETWEEN_RESETS: Duration = Duration::from_millis(1);

/// Listens on a UDP address. Whoever knows `secret` could end connections.
///
/// # Errors
/// When the address can't be listened on.
pub fn server_endpoint(
    config: ServerConfig,
    listen: SocketAddr,
    secret: &[u8; 32],
) -> io::Result<Endpoint> {
    let reset_key = hmac::Key::new(hmac::HMAC_SHA256, secret);
    let mut endpoint = EndpointConfig::new(Arc::new(reset_key));
    endpoint.cid_generator(|| Box::new(RandomIds)).min_reset_interval(BETWEEN_RESETS);
    let socket = UdpSocket::bind(listen)?;
    Endpoint::new(endpoint, Some(config), socket, Arc::new(TokioRuntime))
}

/// Random connection ids. Unlike quinn's own they bear no mark of the process that made them, so
/// that the next process answers for them.
#[derive(Debug)]
struct RandomIds;

impl ConnectionIdGenerator for RandomIds {
    fn generate_cid(&mut self) -> ConnectionId {
        let mut id = [0; ID_LEN];
        // Without random bytes no handshake could have begun; an id that is taken is drawn again.
        let _ = SystemRandom::new().fill(&mut id);
        ConnectionId::new(&id)
    }

    fn cid_len(&self) -> usize {
        ID_LEN
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}
