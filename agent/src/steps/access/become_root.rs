//! How ansible becomes root on a host: tried here, so that a wrong password is known before the run.

use std::time::{Duration, Instant};

use secrecy::{ExposeSecret, SecretSlice, SecretString};

use super::problem::Problem;
use super::session::{Output, Session, quoted};
use crate::credentials::Credential;

/// A sudo that waits for dead name servers takes this long and still works; preflight warns.
const LIMIT: Duration = Duration::from_secs(60);

/// What it takes to be root. `Debug` shows no password.
#[derive(Clone, Debug)]
pub enum Become {
    /// The account is root.
    NotNeeded,
    /// `sudo -n` works.
    Passwordless,
    /// sudo takes this password. It stays at the site.
    WithPassword(SecretString),
}

/// What was found, and how long sudo took (none = not used).
#[derive(Debug)]
pub(super) struct Found {
    pub kind: Become,
    pub took: Option<Duration>,
}

/// Finds out how this account becomes root.
pub(super) async fn find(
    session: &Session,
    user: &str,
    credential: Option<&Credential>,
) -> Result<Found, Problem> {
    let who = session.run("asking for the user id", "id -u").await?;
    if who.stdout.trim() == "0" {
        return Ok(Found { kind: Become::NotNeeded, took: None });
    }
    let begun = Instant::now();
    let plain = session.run_within("sudo", "env LC_ALL=C sudo -n true", &nothing(), LIMIT).await?;
    if plain.ok() {
        return Ok(Found { kind: Become::Passwordless, took: Some(begun.elapsed()) });
    }
    if let Some(problem) = without_password(&plain, user) {
        return Err(problem);
    }
    let origin = credential.map(|c| c.origin.clone());
    let Some(password) = credential.and_then(Credential::password_for_sudo) else {
        return Err(Problem::SudoPasswordMissing { user: user.to_owned(), origin });
    };
    let begun = Instant::now();
    let tried = as_root(session, "sudo", "true", Some(password)).await?;
    if tried.ok() {
        let kind = Become::WithPassword(password.clone());
        return Ok(Found { kind, took: Some(begun.elapsed()) });
    }
    Err(without_password(&tried, user).unwrap_or_else(|| Problem::SudoPasswordWrong {
        user: user.to_owned(),
        origin: origin.unwrap_or_default(),
    }))
}

/// Runs one command as root through sudo.
pub(super) async fn as_root(
    session: &Session,
    what: &str,
    command: &str,
    password: Option<&SecretString>,
) -> Result<Output, Problem> {
    let command = quoted(command);
    match password {
        None => {
            let line = format!("env LC_ALL=C sudo -n /bin/sh -c {command}");
            session.run_within(what, &line, &nothing(), LIMIT).await
        }
        Some(password) => {
            // -k: always ask, so that the line with the password is always sudo's to read. The
            // command comes as an argument, never on the same input.
            let line = format!("env LC_ALL=C sudo -k -S -p '' /bin/sh -c {command}");
            let input = format!("{}\n", password.expose_secret()).into_bytes();
            session.run_within(what, &line, &SecretSlice::from(input), LIMIT).await
        }
    }
}

fn nothing() -> SecretSlice<u8> {
    SecretSlice::from(Vec::new())
}

/// What sudo's refusal means, when it is not about the password.
fn without_password(refusal: &Output, user: &str) -> Option<Problem> {
    let user = user.to_owned();
    let says = |words: &[&str]| words.iter().any(|w| refusal.stderr.contains(w));
    if refusal.status == 127 || says(&["sudo: not found", "‘sudo’", "'sudo': No such file"]) {
        Some(Problem::NoSudo { user })
    } else if says(&["must have a tty"]) {
        Some(Problem::SudoNeedsTty { user })
    } else if says(&["not in the sudoers", "is not allowed to", "may not run sudo"]) {
        Some(Problem::SudoNotAllowed { user })
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(status: u32, stderr: &str) -> Option<Problem> {
        without_password(&Output { status, stdout: String::new(), stderr: stderr.into() }, "ops")
    }

    #[test]
    fn the_refusals_of_sudo_are_told_apart() {
        let user = || "ops".to_owned();
        assert_eq!(refusal(1, "sudo: a password is required\n"), None);
        assert_eq!(refusal(1, "sudo: interactive authentication is required\n"), None);
        assert_eq!(refusal(1, "Sorry, try again.\nsudo: no password was provided\n"), None);
        assert_eq!(
            refusal(127, "env: 'sudo': No such file or directory\n"),
            Some(Problem::NoSudo { user: user() })
        );
        assert_eq!(
            refusal(1, "sudo: sorry, you must have a tty to run sudo\n"),
            Some(Problem::SudoNeedsTty { user: user() })
        );
        assert_eq!(
            refusal(1, "ops is not in the sudoers file.\n"),
            Some(Problem::SudoNotAllowed { user: user() })
        );
    }
}
