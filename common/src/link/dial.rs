//! Connecting to a coordinator, with a limit and with errors that say what to do.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use quinn::{ClientConfig, Connection, ConnectionError, Endpoint};

use super::close::{CloseCode, close, closed_by_peer};
use crate::identity::{Address, SERVER_NAME};

/// How long one address is tried. QUIC alone would wait for half a minute.
pub const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// How long the last words may take to leave.
const FAREWELL: Duration = Duration::from_secs(1);

/// Why a coordinator could not be reached.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    #[error("can't find the address of {address}: {problem}; check the name or use an IP address")]
    Resolve { address: Address, problem: String },
    #[error("can't open a UDP socket: {0}")]
    Socket(#[from] std::io::Error),
    #[error(
        "{address} did not answer within {} s; check that bpa-coordinator runs there and that UDP port {} is open on the way",
        CONNECT_LIMIT.as_secs(), address.port()
    )]
    NoAnswer { address: Address },
    #[error(
        "what answers at {address} is not the coordinator of this site: its certificate authority has another key than the one pinned; check the address, or make a new join line with `bpa-coordinator site add`"
    )]
    WrongAuthority { address: Address },
    #[error(
        "the certificate of the coordinator at {address} is not valid at the time that this machine's clock shows; set the clock (it is {} now, UTC)",
        jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M:%S")
    )]
    Clock { address: Address },
    #[error("{address} does not offer this agent's protocol; run matching versions of both sides")]
    NoCommonProtocol { address: Address },
    #[error("{address} refused the connection: {reason}")]
    Refused { address: Address, code: Option<CloseCode>, reason: String },
    #[error("the connection to {address} failed: {problem}")]
    Failed { address: Address, problem: String },
}

/// A connection and the socket that it goes through.
#[derive(Debug)]
pub struct Dialed {
    pub connection: Connection,
    endpoint: Endpoint,
}

impl Dialed {
    /// Closes the connection and waits, briefly, until the peer has been told.
    pub async fn close(self, code: CloseCode, reason: &str) {
        close(&self.connection, code, reason);
        drop(self.connection);
        // An unreachable peer can't be told; it will notice by itself.
        let _ = tokio::time::timeout(FAREWELL, self.endpoint.wait_idle()).await;
    }
}

/// Connects to a coordinator; a name with several addresses is tried at each.
///
/// # Errors
/// Of the last address that was tried.
pub async fn dial(address: &Address, config: ClientConfig) -> Result<Dialed, DialError> {
    let mut last = None;
    for socket in resolve(address).await? {
        match dial_one(address, socket, config.clone()).await {
            Ok(dialed) => return Ok(dialed),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| DialError::Resolve {
        address: address.clone(),
        problem: "the name has no address".into(),
    }))
}

async fn resolve(address: &Address) -> Result<Vec<SocketAddr>, DialError> {
    if let Some(ip) = address.ip() {
        return Ok(vec![SocketAddr::new(ip, address.port())]);
    }
    let problem = |problem: String| DialError::Resolve { address: address.clone(), problem };
    let looked_up = tokio::net::lookup_host((address.host(), address.port()));
    let found = tokio::time::timeout(CONNECT_LIMIT, looked_up)
        .await
        .map_err(|_| problem("the name server did not answer".into()))?
        .map_err(|e| problem(e.to_string()))?;
    Ok(found.take(8).collect())
}

async fn dial_one(
    address: &Address,
    socket: SocketAddr,
    config: ClientConfig,
) -> Result<Dialed, DialError> {
    let any: IpAddr = match socket {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let endpoint = Endpoint::client(SocketAddr::new(any, 0))?;
    let failed = |problem: String| DialError::Failed { address: address.clone(), problem };
    let connecting =
        endpoint.connect_with(config, socket, SERVER_NAME).map_err(|e| failed(e.to_string()))?;
    match tokio::time::timeout(CONNECT_LIMIT, connecting).await {
        Ok(Ok(connection)) => Ok(Dialed { connection, endpoint }),
        Ok(Err(error)) => Err(explain(address, &error)),
        Err(_) => Err(DialError::NoAnswer { address: address.clone() }),
    }
}

/// TLS alerts arrive as QUIC errors of 0x100 and up.
fn alert(error: &ConnectionError) -> Option<u8> {
    let code = match error {
        ConnectionError::TransportError(error) => u64::from(error.code),
        ConnectionError::ConnectionClosed(close) => u64::from(close.error_code),
        _ => return None,
    };
    code.checked_sub(0x100).and_then(|alert| u8::try_from(alert).ok())
}

fn explain(address: &Address, error: &ConnectionError) -> DialError {
    const CERTIFICATE_EXPIRED: u8 = 45;
    const UNKNOWN_CA: u8 = 48;
    const NO_APPLICATION_PROTOCOL: u8 = 120;
    let address = address.clone();
    if let Some((code, reason)) = closed_by_peer(error) {
        return DialError::Refused { address, code, reason };
    }
    let ours = matches!(error, ConnectionError::TransportError(_));
    match (alert(error), error) {
        (Some(UNKNOWN_CA), _) if ours => DialError::WrongAuthority { address },
        (Some(CERTIFICATE_EXPIRED), _) if ours => DialError::Clock { address },
        (Some(NO_APPLICATION_PROTOCOL), _) => DialError::NoCommonProtocol { address },
        (_, ConnectionError::TimedOut) => DialError::NoAnswer { address },
        (_, ConnectionError::ConnectionClosed(close)) => DialError::Refused {
            address,
            code: None,
            reason: String::from_utf8_lossy(&close.reason).chars().take(300).collect(),
        },
        _ => DialError::Failed { address, problem: error.to_string() },
    }
}
