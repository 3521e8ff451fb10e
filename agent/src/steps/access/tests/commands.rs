//! Commands: what comes back, and the limits.

use std::time::Duration;

use secrecy::SecretSlice;

use crate::steps::access::testing::{Agent, Sshd};
use crate::steps::access::{Access, Problem};

async fn access(sshd: &Sshd, agent: &Agent) -> Access {
    agent.prepare(&sshd.target()).await.unwrap()
}

#[tokio::test]
async fn status_and_both_streams_come_back() {
    let sshd = Sshd::start("");
    let agent = Agent::with_password("root");
    let access = access(&sshd, &agent).await;
    let output = access.run("echo out; echo err >&2; exit 7", b"").await.unwrap();
    assert_eq!((output.status, &*output.stdout, &*output.stderr), (7, "out\n", "err\n"));
    assert_eq!(access.run("kill -9 $$", b"").await.unwrap().status, 128);
    let big = vec![b'x'; 300_000];
    assert_eq!(access.run("wc -c", &big).await.unwrap().stdout.trim(), "300000");
    let unread = access.run("true", &big).await.unwrap();
    assert!(unread.ok(), "input that nobody reads is no failure");
    let script = access.script("a test", "echo \"it's $0\"").await.unwrap();
    assert_eq!(script.stdout, "it's /bin/sh\n");
}

#[tokio::test]
async fn output_and_time_have_limits() {
    let sshd = Sshd::start("");
    let agent = Agent::with_password("root");
    let access = access(&sshd, &agent).await;
    let failure = access.run("head -c 3000000 /dev/zero", b"").await.unwrap_err();
    assert_eq!(failure.reason, "TooMuchOutput");
    let limit = Duration::from_millis(300);
    let nothing = SecretSlice::from(Vec::new());
    let slow = access.session().run_within("a nap", "sleep 20", &nothing, limit).await;
    assert_eq!(slow, Err(Problem::TooSlow { what: "a nap".into(), limit }));
    assert!(access.run("true", b"").await.unwrap().ok(), "the connection lives on");
    agent.cancel.cancel();
    assert_eq!(access.run("true", b"").await.unwrap_err().reason, "Cancelled");
}

#[tokio::test]
async fn a_connection_that_dies_is_told() {
    let sshd = Sshd::start("");
    let agent = Agent::with_password("root");
    let access = access(&sshd, &agent).await;
    // The parent of the login's shell is the connection's own process.
    let failure = access.run("kill -9 $PPID; sleep 5", b"").await.unwrap_err();
    assert_eq!(failure.reason, "ConnectionLost");
    assert_eq!(access.run("true", b"").await.unwrap_err().reason, "ConnectionLost");
}
