//! Hosts that do not answer, or answer strangely.

use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::time::{Duration, Instant};

use crate::steps::access::testing::{Agent, Sshd, free_port, target};

/// A server that greets with these bytes and hangs up.
fn stranger(greeting: &'static [u8]) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().take(20) {
            let mut stream = stream.unwrap();
            let _ = stream.write_all(greeting);
        }
    });
    port
}

#[tokio::test]
async fn a_closed_port_is_waited_for_and_then_told() {
    let agent = Agent::with_password("root");
    let begun = Instant::now();
    let failure = agent.refused(&target("host1", free_port())).await;
    assert_eq!(failure.reason, "HostUnreachable");
    assert!(failure.message.contains("connection refused, tried for"), "{failure}");
    assert!(failure.fix.contains("sshd"), "{failure}");
    assert!((1..6).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
    let told = agent.told();
    assert_eq!(told, ["waiting for SSH: connection refused (0 s of at most 3 s)"]);
}

#[tokio::test]
async fn a_host_that_comes_up_later_is_reached() {
    let port = free_port();
    let mut sshd = Sshd::prepared("", "", port);
    let mut agent = Agent::with_password("root");
    agent.context.ssh_wait = Duration::from_secs(30);
    let power_on = async {
        tokio::time::sleep(Duration::from_millis(1500)).await;
        sshd.run();
    };
    let target = target("host1", port);
    let (access, ()) = tokio::join!(agent.prepare(&target), power_on);
    access.unwrap();
}

#[tokio::test]
async fn a_cancel_ends_the_waiting_at_once() {
    let mut agent = Agent::with_password("root");
    agent.context.ssh_wait = Duration::from_secs(600);
    let (cancel, begun) = (agent.cancel.clone(), Instant::now());
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(300)).await;
        cancel.cancel();
    });
    assert_eq!(agent.refused(&target("host1", free_port())).await.reason, "Cancelled");
    // Far from the 600 s that it would have waited.
    assert!(begun.elapsed() < Duration::from_secs(60));
}

#[tokio::test]
async fn what_is_not_ssh_is_told() {
    let agent = Agent::with_password("root");
    let failure = agent.refused(&target("host1", stranger(b""))).await;
    assert_eq!(failure.reason, "HostUnreachable");
    assert!(failure.message.contains("closed at once"), "{failure}");
    let greeting = b"HTTP/1.1 400 Bad Request\r\n\r\n";
    let failure = agent.refused(&target("host1", stranger(greeting))).await;
    assert_eq!(failure.reason, "HostUnreachable", "{failure}");
}

#[tokio::test]
async fn a_network_without_a_way_is_told_apart() {
    let agent = Agent::with_password("root");
    // Reserved for the future by RFC 1112: no system routes there.
    let nowhere = [240, 0, 0, 1].into();
    let failure =
        agent.refused(&crate::steps::NodeTarget { address: nowhere, ..target("host1", 22) }).await;
    assert_eq!(failure.reason, "HostUnreachable");
    assert!(!failure.message.contains("refused"), "{failure}");
}
