//! Opens a connection: waits for the port, shakes hands, compares the host key.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use russh::client::{Config, Handle, connect_stream};
use russh::keys::{Algorithm, EcdsaCurve, PublicKey};
use russh::{Preferred, compression};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use super::handler::{Guard, Witness, same_key};
use super::pins::fingerprint;
use super::problem::{Problem, Silence};
use super::progress::Progress;
use crate::steps::NodeTarget;

const TCP_LIMIT: Duration = Duration::from_secs(10);
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_secs(1);
/// A waiting host is told of again after this long, or when the cause changes.
const TELL_EVERY: Duration = Duration::from_secs(15);

/// An open connection, not logged in.
pub(super) struct Line {
    pub handle: Handle<Guard>,
    pub key: PublicKey,
    pub witness: Witness,
}

/// Opens a connection, and tries again until `wait` is over while the port does not answer.
pub(super) async fn dial(
    target: &NodeTarget,
    expected: Option<&PublicKey>,
    wait: Duration,
    progress: &(dyn Fn(Progress) + Send + Sync),
) -> Result<Line, Problem> {
    let begun = Instant::now();
    let mut told: Option<(String, Instant)> = None;
    loop {
        let why = match dial_once(target, expected).await {
            Ok(line) => return Ok(line),
            Err(Problem::Unreachable { how, .. }) => how,
            Err(other) => return Err(other),
        };
        let waited = begun.elapsed();
        if waited + PAUSE >= wait {
            return Err(Problem::Unreachable { how: why, waited });
        }
        let why = why.to_string();
        let is_news = told.as_ref().is_none_or(|(w, at)| *w != why || at.elapsed() >= TELL_EVERY);
        if is_news {
            progress(Progress::Waiting { why: why.clone(), waited, limit: wait });
            told = Some((why, Instant::now()));
        }
        sleep(PAUSE).await;
    }
}

async fn dial_once(target: &NodeTarget, expected: Option<&PublicKey>) -> Result<Line, Problem> {
    let silent = |how| Problem::Unreachable { how, waited: Duration::ZERO };
    let stream = match timeout(TCP_LIMIT, TcpStream::connect((target.address, target.port))).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return Err(silent(silence_of(&error))),
        Err(_) => return Err(silent(Silence::TimedOut)),
    };
    let witness = Witness::default();
    let guard = Guard { expected: expected.cloned(), witness: witness.clone() };
    let shaken = timeout(HANDSHAKE_LIMIT, connect_stream(config(expected), stream, guard)).await;
    let seen = witness.seen();
    // The key first: after a refused key the other side may end the connection in any way.
    if let (Some(wanted), Some(found)) = (expected, &seen.key)
        && !same_key(wanted, found)
    {
        let (wanted, found) = (fingerprint(wanted), fingerprint(found));
        return Err(Problem::HostKeyChanged { wanted, found, known_as: None });
    }
    match (shaken, seen.key) {
        (Ok(Ok(handle)), Some(key)) => Ok(Line { handle, key, witness }),
        (Ok(Ok(_)), None) => Err(Problem::NoHandshake { found: "no host key".into() }),
        (Ok(Err(error)), _) => Err(problem_of(&error)),
        (Err(_), _) => Err(silent(Silence::TimedOut)),
    }
}

fn silence_of(error: &io::Error) -> Silence {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => Silence::Refused,
        io::ErrorKind::TimedOut => Silence::TimedOut,
        io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted => Silence::Closed,
        _ => Silence::NoRoute,
    }
}

fn problem_of(error: &russh::Error) -> Problem {
    match error {
        russh::Error::NoCommonAlgo { kind, theirs, .. } => {
            Problem::NoAlgorithm { found: format!("{kind:?}, it offers {}", theirs.join(", ")) }
        }
        // As while a machine starts or stops: worth another try.
        russh::Error::IO(_) | russh::Error::Disconnect | russh::Error::HUP => {
            Problem::Unreachable { how: Silence::Closed, waited: Duration::ZERO }
        }
        other => Problem::NoHandshake { found: other.to_string() },
    }
}

fn config(expected: Option<&PublicKey>) -> Arc<Config> {
    let mut keys: Vec<Algorithm> = vec![
        Algorithm::Ed25519,
        Algorithm::Ecdsa { curve: EcdsaCurve::NistP256 },
        Algorithm::Ecdsa { curve: EcdsaCurve::NistP384 },
        Algorithm::Ecdsa { curve: EcdsaCurve::NistP521 },
    ];
    // A host has a key of each kind. Ask for the pinned kind, or a new kind would look like a change.
    if let Some(pinned) = expected.map(PublicKey::algorithm) {
        keys.sort_by_key(|algorithm| *algorithm != pinned);
    }
    let preferred = Preferred {
        key: keys.into(),
        compression: vec![compression::NONE].into(),
        ..Preferred::DEFAULT
    };
    Arc::new(Config {
        preferred,
        keepalive_interval: Some(Duration::from_secs(5)),
        keepalive_max: 3,
        // Keep-alive asks, this ends: both are needed, and every wait of ours has its own limit too.
        inactivity_timeout: Some(Duration::from_secs(60)),
        nodelay: true,
        ..Config::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_the_pinned_key_is_asked_for_first() {
        let dir = tempfile::tempdir().unwrap();
        crate::steps::access::testing::make_host_key(&dir.path().join("k"), "ecdsa");
        let text = std::fs::read_to_string(dir.path().join("k.pub")).unwrap();
        let key = PublicKey::from_openssh(&text).unwrap();
        let first = config(Some(&key)).preferred.key[0].clone();
        assert_eq!(first, Algorithm::Ecdsa { curve: EcdsaCurve::NistP256 });
        assert_eq!(config(None).preferred.key[0], Algorithm::Ed25519);
    }

    #[test]
    fn the_three_kinds_of_silence_are_told_apart() {
        let of = |code| silence_of(&io::Error::from_raw_os_error(code));
        assert_eq!(of(111), Silence::Refused);
        assert_eq!(of(113), Silence::NoRoute);
        assert_eq!(of(101), Silence::NoRoute);
        assert_eq!(of(110), Silence::TimedOut);
        assert_eq!(of(104), Silence::Closed);
    }
}
