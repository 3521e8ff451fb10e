//! Credentials that do not fit.

use std::fs;

use crate::steps::access::testing::{Agent, PASSWORD, Sshd, make_host_key};

#[tokio::test]
async fn a_wrong_password_is_told_and_tried_once() {
    let sshd = Sshd::start("");
    let agent = Agent::new(Some("[default]\npassword = \"Marked-wrong\"\n"));
    let failure = agent.refused(&sshd.target()).await;
    assert_eq!(failure.reason, "WrongPassword");
    assert!(failure.message.contains("refuses the password of root (credentials.toml line 1)"));
    assert!(failure.fix.contains("PermitRootLogin"), "{}", failure.fix);
    assert!(!failure.to_string().contains("Marked"));
    assert_eq!(sshd.log().matches("Failed password").count(), 1, "{}", sshd.log());
    assert!(agent.context.pins.all().unwrap().is_empty());

    // The file is read again at the next use.
    agent.write_credentials(&format!("[default]\npassword = '''{PASSWORD}'''\n"));
    agent.prepare(&sshd.target()).await.unwrap();
}

#[tokio::test]
async fn a_strict_server_is_not_asked_again() {
    let sshd = Sshd::start("MaxAuthTries 2");
    let mut agent = Agent::new(Some("[default]\npassword = \"Marked-wrong\"\n"));
    agent.context.ssh_wait = std::time::Duration::from_secs(30);
    assert_eq!(agent.refused(&sshd.target()).await.reason, "WrongPassword");
    assert_eq!(sshd.log().matches("Failed password").count(), 1, "{}", sshd.log());
}

#[tokio::test]
async fn without_credentials_the_user_reads_where_to_put_them() {
    let sshd = Sshd::start("");
    let failure = Agent::new(None).refused(&sshd.target()).await;
    assert_eq!(failure.reason, "NoCredentials");
    assert!(failure.fix.contains("agent.toml"), "{}", failure.fix);
    let agent = Agent::new(Some("[[host]]\nname = \"another\"\npassword = \"x\"\n"));
    let failure = agent.refused(&sshd.target()).await;
    assert_eq!(failure.reason, "NoCredentials");
    assert!(failure.fix.contains("credentials.toml"), "{}", failure.fix);
}

#[tokio::test]
async fn credentials_that_others_may_read_are_not_used() {
    use std::os::unix::fs::PermissionsExt;
    let sshd = Sshd::start("");
    let agent = Agent::with_password("root");
    let path = agent.state.path().join("credentials.toml");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let failure = agent.refused(&sshd.target()).await;
    assert_eq!(failure.reason, "CredentialsUnusable");
    assert!(failure.message.contains("chmod 600"), "{failure}");
}

#[tokio::test]
async fn a_private_key_does_as_well_as_a_password() {
    let sshd = Sshd::start("PasswordAuthentication no");
    let agent = Agent::new(Some(""));
    let key = agent.state.path().join("ops_key");
    make_host_key(&key, "ecdsa");
    let text = format!("[default]\nkey = \"{}\"\n", key.display());
    agent.write_credentials(&text);
    assert_eq!(agent.refused(&sshd.target()).await.reason, "KeyRefused");

    fs::create_dir(sshd.path("root/.ssh")).unwrap();
    let theirs = fs::read_to_string(key.with_extension("pub")).unwrap();
    fs::write(sshd.path("root/.ssh/authorized_keys"), &theirs).unwrap();
    agent.prepare(&sshd.target()).await.unwrap();
    let ours = agent.context.site_key.public_line();
    assert_eq!(sshd.keys_of_root(), format!("{theirs}{ours}\n"));
}

#[tokio::test]
async fn a_key_that_can_not_be_used_is_named_with_its_entry() {
    let sshd = Sshd::start("");
    let agent = Agent::new(Some("[default]\nkey = \"/nonexistent/key\"\n"));
    let failure = agent.refused(&sshd.target()).await;
    assert_eq!(failure.reason, "CredentialsUnusable");
    assert!(failure.message.contains("credentials.toml line 1 names a key"), "{failure}");
}

#[tokio::test]
async fn a_server_that_takes_no_passwords_is_told_apart_from_a_wrong_one() {
    let sshd = Sshd::start("PasswordAuthentication no");
    let failure = Agent::with_password("root").refused(&sshd.target()).await;
    assert_eq!(failure.reason, "PasswordNotTaken");
    assert!(failure.message.contains("only: publickey"), "{failure}");
}

#[tokio::test]
async fn questions_and_answers_do_where_plain_passwords_are_off() {
    let config = "UsePAM yes\nPasswordAuthentication no\nKbdInteractiveAuthentication yes";
    let sshd = Sshd::start(config);
    let agent = Agent::new(Some("[default]\npassword = \"Marked-wrong\"\n"));
    assert_eq!(agent.refused(&sshd.target()).await.reason, "WrongPassword");
    Agent::with_password("root").prepare(&sshd.target()).await.unwrap();
    assert!(sshd.log().contains("Accepted keyboard-interactive/pam"), "{}", sshd.log());
}

#[tokio::test]
async fn a_key_file_that_sshd_does_not_read_is_noticed() {
    let sshd = Sshd::start("AuthorizedKeysFile /nonexistent/keys");
    let agent = Agent::with_password("root");
    let failure = agent.refused(&sshd.target()).await;
    assert_eq!(failure.reason, "KeyNotAccepted");
    assert!(failure.fix.contains("AuthorizedKeysFile"), "{failure}");
    assert!(agent.context.pins.all().unwrap().is_empty());
}

#[tokio::test]
async fn a_home_without_room_is_told() {
    let sshd = Sshd::start("");
    fs::remove_dir(sshd.path("root")).unwrap();
    let failure = Agent::with_password("root").refused(&sshd.target()).await;
    assert_eq!(failure.reason, "KeyNotInstalled");
    assert!(failure.message.contains("No such file"), "{failure}");
}

#[tokio::test]
async fn a_machine_that_still_boots_is_waited_for() {
    let sshd = Sshd::start("UsePAM yes");
    let nologin = sshd.path("run/nologin");
    fs::write(&nologin, "System is booting up.\n").unwrap();
    let agent = Agent::with_password("ops");
    let failure = agent.refused(&sshd.target()).await;
    assert_eq!(failure.reason, "LoginRefused");
    assert!(failure.message.contains("System is booting up."), "{failure}");

    let mut agent = agent;
    agent.context.ssh_wait = std::time::Duration::from_secs(20);
    let booted = async {
        tokio::time::sleep(std::time::Duration::from_secs(2)).await;
        fs::remove_file(&nologin).unwrap();
    };
    let target = sshd.target();
    let (access, ()) = tokio::join!(agent.prepare(&target), booted);
    access.unwrap();
    assert!(agent.told()[0].contains("System is booting up."), "{:?}", agent.told());
}

#[tokio::test]
async fn an_expired_password_is_told() {
    let sshd = Sshd::start("");
    let shadow = fs::read_to_string(sshd.path("shadow")).unwrap();
    fs::write(sshd.path("shadow"), shadow.replace(":20000:", ":0:")).unwrap();
    let failure = Agent::with_password("root").refused(&sshd.target()).await;
    assert_eq!(failure.reason, "PasswordExpired", "{failure}");
    assert!(failure.message.contains("of root"), "{failure}");
    assert!(failure.fix.contains("chage"));
}
