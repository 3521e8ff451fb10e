//! `/healthz` and `/readyz`, for probes.
//!
//! Two fixed answers to a `GET` need no HTTP library. A request is read up to a limit of bytes and
//! of time, and its connection is closed after the answer, so that nobody can hold it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

/// Longest request that is read, bytes: probes send a few hundred.
const MAX_REQUEST: usize = 4 << 10;
/// Longest that a request may take.
const LIMIT: Duration = Duration::from_secs(5);
/// Connections at once.
const CONNECTIONS: usize = 32;

/// What is told to probes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// Alive, but not (yet) doing the work: why.
    Waiting(String),
    /// Doing the work.
    Ready,
}

/// Answers on this address until the sender of `health` is gone. Returns where it listens.
///
/// # Errors
/// When the address can't be used.
pub async fn serve(address: SocketAddr, health: watch::Receiver<Health>) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(address).await?;
    let local = listener.local_addr()?;
    tokio::spawn(accept(listener, health));
    Ok(local)
}

async fn accept(listener: TcpListener, mut health: watch::Receiver<Health>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let mut end = health.clone();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = gone(&mut end) => return,
        };
        match (accepted, places.clone().try_acquire_owned()) {
            (Ok((stream, _)), Ok(place)) => {
                let health = health.borrow_and_update().clone();
                tokio::spawn(async move {
                    let _ = tokio::time::timeout(LIMIT, talk(stream, &health)).await;
                    drop(place);
                });
            }
            (Ok(_), Err(_)) => {}
            // Out of file descriptors, mostly: it passes.
            (Err(_), _) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn gone(health: &mut watch::Receiver<Health>) {
    while health.changed().await.is_ok() {}
}

async fn talk(mut stream: TcpStream, health: &Health) -> io::Result<()> {
    let mut request = Vec::new();
    let mut piece = [0; 1024];
    while !request.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
        let count = stream.read(&mut piece).await?;
        if count == 0 || request.len() + count > MAX_REQUEST {
            break;
        }
        request.extend_from_slice(&piece[..count]);
    }
    stream.write_all(answer(&request, health).as_bytes()).await?;
    stream.shutdown().await
}

/// The whole answer to a request. Pure.
fn answer(request: &[u8], health: &Health) -> String {
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut words = line.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = path.split('?').next().unwrap_or_default();
    let (status, body) = match (method, path, health) {
        ("GET" | "HEAD", "/healthz", _) | ("GET" | "HEAD", "/readyz", Health::Ready) => {
            ("200 OK", "ok\n".to_owned())
        }
        ("GET" | "HEAD", "/readyz", Health::Waiting(why)) => {
            ("503 Service Unavailable", format!("{why}\n"))
        }
        ("GET" | "HEAD", ..) => ("404 Not Found", "wanted /healthz or /readyz\n".to_owned()),
        _ => ("405 Method Not Allowed", "wanted GET\n".to_owned()),
    };
    let shown = if method == "HEAD" { "" } else { body.as_str() };
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{shown}",
        body.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_line(request: &str, health: &Health) -> String {
        let text = answer(request.as_bytes(), health);
        text.lines().next().unwrap_or_default().to_owned()
    }

    #[test]
    fn only_who_does_the_work_is_ready_and_all_are_healthy() {
        let waiting = Health::Waiting("waiting for the lease that x holds".into());
        let get = |path: &str, health: &Health| {
            first_line(&format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n"), health)
        };
        assert_eq!(get("/healthz", &waiting), "HTTP/1.1 200 OK");
        assert_eq!(get("/readyz?verbose", &waiting), "HTTP/1.1 503 Service Unavailable");
        assert_eq!(get("/readyz", &Health::Ready), "HTTP/1.1 200 OK");
        assert_eq!(get("/metrics", &Health::Ready), "HTTP/1.1 404 Not Found");
        assert!(answer(b"GET /readyz HTTP/1.1\r\n\r\n", &waiting).ends_with("that x holds\n"));
    }

    #[test]
    fn anything_else_gets_an_answer_and_no_more() {
        for request in ["", "\r\n", "POST /readyz HTTP/1.1\r\n", "GET", "\u{0}\u{1}"] {
            let line = first_line(request, &Health::Ready);
            assert!(line.starts_with("HTTP/1.1 40"), "{request:?}: {line}");
        }
    }

    #[tokio::test]
    async fn a_probe_hears_the_present_state_and_the_server_ends_with_its_owner() {
        let (tell, health) = watch::channel(Health::Waiting("not yet".into()));
        let address = serve("127.0.0.1:0".parse().unwrap(), health).await.unwrap();
        let ask = async || {
            let mut stream = TcpStream::connect(address).await?;
            stream.write_all(b"GET /readyz HTTP/1.1\r\n\r\n").await?;
            let mut text = String::new();
            stream.read_to_string(&mut text).await?;
            Ok::<_, io::Error>(text)
        };
        assert!(ask().await.unwrap().contains("503"));
        tell.send_replace(Health::Ready);
        assert!(ask().await.unwrap().ends_with("ok\n"));
        drop(tell);
        for _ in 0..100 {
            if ask().await.is_err() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("it still listens");
    }
}
