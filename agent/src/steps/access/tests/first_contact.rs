//! From the credentials to the key, once.

use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::steps::access::known_hosts;
use crate::steps::access::testing::{Agent, Sshd, target};
use crate::steps::verify;

#[tokio::test]
async fn the_password_is_used_once_and_from_then_on_only_the_key() {
    let sshd = Sshd::start("");
    let agent = Agent::with_password("root");
    let access = agent.prepare(&sshd.target()).await.unwrap();
    assert_eq!(access.user(), "root");
    assert_eq!(access.sudo_time(), None);
    assert!(access.run("cat", b"hello").await.unwrap().stdout == "hello");
    let told = agent.told();
    assert!(
        told[0].starts_with(
            "the site's key was installed for root (credentials: credentials.toml line 1"
        ),
        "{told:?}"
    );
    assert!(told[1].contains(access.host_key_fingerprint()), "{told:?}");
    let line = agent.context.site_key.public_line().to_owned();
    assert_eq!(sshd.keys_of_root(), format!("{line}\n"));

    // The credentials may go now.
    agent.write_credentials("");
    let again = agent.prepare(&sshd.target()).await.unwrap();
    assert_eq!(again.user(), "root");
    assert_eq!(agent.told().len(), 2, "nothing new happened");
    assert_eq!(sshd.keys_of_root(), format!("{line}\n"), "not doubled");
    assert_eq!(sshd.log().matches("Accepted password").count(), 1);
    again.close().await;
}

#[tokio::test]
async fn the_account_is_remembered_when_the_credentials_are_gone() {
    let sshd = Sshd::start_with("", "ops ALL=(ALL) NOPASSWD: ALL\n");
    let agent = Agent::with_password("ops");
    agent.prepare(&sshd.target()).await.unwrap();
    let keys = fs::metadata(sshd.path("home/ops/.ssh/authorized_keys")).unwrap();
    assert_eq!((keys.mode() & 0o777, keys.uid()), (0o600, 4242));
    agent.write_credentials("");
    assert_eq!(agent.prepare(&sshd.target()).await.unwrap().user(), "ops");
}

#[tokio::test]
async fn credentials_that_are_gone_or_broken_stop_only_those_who_need_them() {
    let sshd = Sshd::start("");
    let agent = Agent::with_password("ops");
    agent.prepare(&sshd.target()).await.unwrap();
    fs::remove_file(agent.state.path().join("credentials.toml")).unwrap();
    // sudo wants a password on this host.
    let failure = agent.refused(&sshd.target()).await;
    assert_eq!(failure.reason, "CredentialsUnusable");
    assert!(failure.message.contains("can't read the credentials"), "{failure}");

    let agent = Agent::with_password("root");
    agent.prepare(&sshd.target()).await.unwrap();
    agent.write_credentials("[default\n");
    agent.prepare(&sshd.target()).await.unwrap();
    let told = agent.told().pop().unwrap();
    assert!(
        told.starts_with("going on with the site's key alone: credentials.toml line 1"),
        "{told}"
    );
}

#[tokio::test]
async fn another_machine_is_told_by_its_macs_and_left_as_it_was() {
    let sshd = Sshd::start("");
    let agent = Agent::with_password("root");
    let mut wanted = sshd.target();
    wanted.macs = vec!["52:54:00:aa:00:77".parse().unwrap()];
    let failure = agent.refused(&wanted).await;
    assert_eq!(failure.reason, "NotTheMachine");
    assert!(failure.message.contains("wanted MAC 52:54:00:aa:00:77, found MAC 52:54:00:aa:00:01"));
    assert_eq!(sshd.keys_of_root(), "");
    assert!(agent.context.pins.all().unwrap().is_empty(), "its key is not trusted");

    // Nor is a machine that lets the site's key in already.
    agent.prepare(&sshd.target()).await.unwrap();
    let moved = crate::steps::NodeTarget { macs: wanted.macs, ..target("host2", sshd.port) };
    assert_eq!(agent.refused(&moved).await.reason, "NotTheMachine");
    assert_eq!(agent.context.pins.all().unwrap().len(), 1);
}

#[tokio::test]
async fn the_verify_step_asks_the_machine_again() {
    let sshd = Sshd::start("");
    let agent = Agent::with_password("root");
    let access = agent.prepare(&sshd.target()).await.unwrap();
    verify::verify(&access, &sshd.target()).await.unwrap();
    fs::write(sshd.path("net/lan0/address"), "52:54:00:00:00:99\n").unwrap();
    let failure = verify::verify(&access, &sshd.target()).await.unwrap_err();
    assert_eq!((failure.reason, failure.node.as_deref()), ("NotTheMachine", Some("host1")));
    fs::create_dir(sshd.path("net/lan0/bonding_slave")).unwrap();
    fs::write(sshd.path("net/lan0/bonding_slave/perm_hwaddr"), "52:54:00:aa:00:01\n").unwrap();
    verify::verify(&access, &sshd.target()).await.unwrap();
}

#[tokio::test]
async fn openssh_gets_in_with_the_key_and_the_pinned_hosts() {
    let sshd = Sshd::start("");
    let agent = Agent::with_password("root");
    agent.prepare(&sshd.target()).await.unwrap();
    let known = agent.state.path().join("known_hosts");
    let text = known_hosts(&agent.context.pins, [&sshd.target()]).unwrap();
    fs::write(&known, text).unwrap();
    let mut ssh = tokio::process::Command::new("ssh");
    ssh.args(["-F", "none", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-o"])
        .arg(format!("UserKnownHostsFile={}", known.display()))
        .arg("-i")
        .arg(agent.context.site_key.path())
        .args(["-p", &sshd.port.to_string(), "root@127.0.0.1", "echo", "in"]);
    let output = ssh.output().await.unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "in\n", "{output:?}");
}
