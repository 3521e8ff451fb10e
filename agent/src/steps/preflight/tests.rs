//! The whole preflight on a real host.

use bpa_common::wire::v1::CheckOutcome::{Failed, Passed};

use super::{Needs, check};
use crate::steps::access::testing::{Agent, Sshd, target};

#[tokio::test]
async fn a_real_host_is_probed_and_judged() {
    let sshd = Sshd::start("");
    let agent = Agent::with_password("ops");
    let node = sshd.target();
    let access = agent.prepare(&node).await.unwrap();
    let checks = check(&[(&node, &access)], Needs { systemd: false }).await;
    let status = |id: &str| checks.iter().find(|c| c.id == id).map(|c| c.status);
    for id in ["name", "address", "python", "clock"] {
        assert_eq!(status(id), Some(Passed), "{checks:#?}");
    }
    for id in ["sudo", "swap", "memory", "cpu", "disk", "os", "kernel"] {
        assert!(status(id).is_some(), "{id}: {checks:#?}");
    }
}

#[tokio::test]
async fn two_names_for_one_host_are_told_and_a_lost_one_too() {
    let sshd = Sshd::start("");
    let agent = Agent::with_password("root");
    let (one, two) = (sshd.target(), target("host2", sshd.port));
    let first = agent.prepare(&one).await.unwrap();
    let second = agent.prepare(&two).await.unwrap();
    let needs = Needs { systemd: false };
    let checks = check(&[(&one, &first), (&two, &second)], needs).await;
    let doubles = checks.iter().filter(|c| c.id == "address" && c.status == Failed);
    assert_eq!(doubles.map(|c| c.node.as_str()).collect::<Vec<_>>(), ["host1", "host2"]);
    assert!(checks.iter().any(|c| c.id == "host-key"));

    let _ = second.run("kill -9 $PPID", b"").await;
    let checks = check(&[(&one, &first), (&two, &second)], needs).await;
    let lost: Vec<_> = checks.iter().filter(|c| c.node == "host2").collect();
    assert_eq!(lost.len(), 1, "{lost:#?}");
    assert_eq!((lost[0].id.as_str(), lost[0].status), ("probe", Failed));
}
