//! QUIC as both ends of the link use it.
//!
//! - `tls`: TLS 1.3 only, ring named explicitly, no session tickets, no 0-RTT.
//! - `verify`: an agent trusts the pinned authority; a coordinator trusts certificates of its own.
//! - `transport`: keep-alive, idle time, windows, stream counts.
//! - `dial`: connect with a limit, and say what went wrong.
//! - `endpoint`: the coordinator's socket, recognisable after a crash.
//! - `close`: why a connection or a stream was ended, as numbers both sides know.

mod close;
mod dial;
mod endpoint;
mod tls;
mod transport;
mod verify;

pub use close::{CloseCode, StreamCode, close, closed_by_peer};
pub use dial::{CONNECT_LIMIT, DialError, Dialed, dial};
pub use endpoint::server_endpoint;
pub use tls::{ALPN, ALPN_JOIN, ClientCredentials, TlsError, client_config, server_config};
pub use transport::{HEARTBEAT, KEEP_ALIVE, MAX_IDLE, SILENCE};

#[cfg(test)]
mod tests;
