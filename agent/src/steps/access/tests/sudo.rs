//! Becoming root.

use secrecy::ExposeSecret;

use crate::steps::access::Become;
use crate::steps::access::testing::{Agent, PASSWORD, Sshd};

#[tokio::test]
async fn sudo_without_a_password_is_found() {
    let sshd = Sshd::start_with("", "ops ALL=(ALL) NOPASSWD: ALL\n");
    let access = Agent::with_password("ops").prepare(&sshd.target()).await.unwrap();
    assert!(matches!(access.become_root(), Become::Passwordless));
    assert!(access.become_password().is_none() && access.sudo_time().is_some());
    assert_eq!(access.run_as_root("id", "id -u").await.unwrap().stdout, "0\n");
}

#[tokio::test]
async fn the_accounts_password_does_for_sudo() {
    let sshd = Sshd::start("");
    let agent = Agent::with_password("ops");
    let access = agent.prepare(&sshd.target()).await.unwrap();
    assert_eq!(access.become_password().unwrap().expose_secret(), PASSWORD);
    let output = access.run_as_root("id", "id -u; cat").await.unwrap();
    assert_eq!((output.stdout.as_str(), output.status), ("0\n", 0), "{output:?}");
    assert!(!format!("{access:?}").contains("Marked"));

    // With the key installed, the password is still needed for sudo, and for nothing else.
    agent.prepare(&sshd.target()).await.unwrap();
    assert_eq!(sshd.log().matches("Accepted password").count(), 1);
}

#[tokio::test]
async fn a_wrong_or_missing_sudo_password_is_told() {
    let sshd = Sshd::start("");
    let text = format!(
        "[default]\nuser = \"ops\"\npassword = '''{PASSWORD}'''\nsudo_password = \"Marked-no\"\n"
    );
    let agent = Agent::new(Some(&text));
    let failure = agent.refused(&sshd.target()).await;
    assert_eq!(failure.reason, "SudoPasswordWrong");
    assert!(failure.fix.contains("credentials.toml line 1"), "{failure}");
    assert!(!failure.to_string().contains("Marked"));
    agent.write_credentials("");
    let failure = agent.refused(&sshd.target()).await;
    assert_eq!(failure.reason, "SudoPasswordMissing", "{failure}");
}

#[tokio::test]
async fn an_account_that_may_not_is_told_apart() {
    let sshd = Sshd::start_with("", "");
    let failure = Agent::with_password("ops").refused(&sshd.target()).await;
    assert_eq!(failure.reason, "SudoNotAllowed");
    assert!(failure.fix.contains("usermod"), "{failure}");
}

#[tokio::test]
async fn a_sudo_that_wants_a_terminal_is_told() {
    let rules = "Defaults requiretty\nops ALL=(ALL) NOPASSWD: ALL\n";
    let sshd = Sshd::start_with("", rules);
    let failure = Agent::with_password("ops").refused(&sshd.target()).await;
    assert_eq!(failure.reason, "SudoNeedsTty", "{failure}");
}
