//! Files as people write them, right and wrong.

use proptest::prelude::*;
use secrecy::ExposeSecret;

use super::*;

const MARKED: &str = "s3cr3t-marked";

fn wrong(text: &str) -> String {
    parse(text, "c.toml").unwrap_err().to_string()
}

#[test]
fn an_entry_is_read_whole() {
    let text = format!(
        "[[host]]\nname = \"h\"\nuser = \"ops\"\npassword = \"{MARKED}\"\nkey = \"/k\"\nsudo_password = \"other\"\n"
    );
    let all = parse(&text, "c.toml").unwrap();
    let found = all.select("h", &[]).unwrap();
    assert_eq!((found.user.as_str(), found.origin.as_str()), ("ops", "c.toml line 1"));
    assert_eq!(found.password.as_ref().unwrap().expose_secret(), MARKED);
    assert_eq!(found.password_for_sudo().unwrap().expose_secret(), "other");
    assert!(!format!("{all:?}").contains(MARKED));
}

#[test]
fn the_account_is_root_and_its_password_does_for_sudo_unless_said_otherwise() {
    let all = parse("[default]\npassword = \"x\"\n", "c.toml").unwrap();
    let found = all.select("any", &[]).unwrap();
    assert_eq!(found.user, "root");
    assert_eq!(found.password_for_sudo().unwrap().expose_secret(), "x");
    assert!(found.can_log_in());
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    for (text, line, part) in [
        ("[default]\nuser = \"a\"\npasswort = \"x\"\n", 3, "passwort"),
        ("[default]\n\n[[host]]\nuser = \"a\"\n", 3, "by `name` or by `mac`"),
        ("[[host]]\nname = \"a\"\nmac = \"52:54:00:aa:01:02\"\n", 1, "one of the two"),
        ("\n[[host]]\nmac = \"52:54\"\n", 2, "is not a MAC address"),
        ("[[pattern]]\nuser = \"a\"\n", 1, "rack1-*"),
        ("[default]\nname = \"a\"\n", 1, "every host"),
        ("[default]\nuser = \"a b\"\n", 1, "not the name of an account"),
        ("[default]\nuser = \"-oProxyCommand=x\"\n", 1, "not the name of an account"),
        ("[default]\npassword = \"\"\n", 2, "must not be empty"),
    ] {
        let message = wrong(text);
        assert!(message.starts_with(&format!("c.toml line {line}: ")), "{text:?}: {message}");
        assert!(message.contains(part), "{text:?}: {message}");
    }
}

#[test]
fn two_entries_for_one_host_are_refused() {
    let message = wrong("[[host]]\nname = \"a\"\n[[host]]\nname = \"a\"\n");
    assert_eq!(
        message,
        "c.toml line 3 is for host a, and so is c.toml line 1; remove one of the two"
    );
}

#[test]
fn no_error_repeats_a_secret() {
    for text in [
        format!("[default]\npassword = \"{MARKED}\n"),
        format!("[default]\npassword = {MARKED}\n"),
        format!("[default]\npassword = \"{MARKED}\" x\n"),
        format!("[default]\npassword = [\"{MARKED}\"]\n"),
        format!("[default]\npassword = {{ x = \"{MARKED}\" }}\n"),
        format!("[default]\npassword = \"{MARKED}\\q\"\n"),
        format!("[default]\npassword = \"a\\n{MARKED}\"\n"),
        format!("[default]\nuser = \"bad name\"\npassword = \"{MARKED}\"\n"),
        format!("[default]\npassword = \"{MARKED}\"\npassword = \"{MARKED}\"\n"),
        format!("password: {MARKED}\n"),
    ] {
        assert!(!wrong(&text).contains("s3cr3t"), "{}", wrong(&text));
    }
    for number in ["4711471147", "47.11471147", "2026-12-01"] {
        let message = wrong(&format!("[default]\npassword = {number}\n"));
        assert!(!message.contains(number) && message.contains("in quotes"), "{message}");
    }
}

proptest! {
    #[test]
    fn no_text_panics(text in "[\\[\\]a-z=\"\n .*0-9]{0,120}") {
        let _ = parse(&text, "c.toml");
    }
}
