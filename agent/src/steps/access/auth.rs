//! Logging in: with the site's key, or once with the credentials.

use std::sync::Arc;
use std::time::Duration;

use russh::MethodKind;
use russh::client::{AuthResult, KeyboardInteractiveAuthResponse as Reply};
use russh::keys::{PrivateKey, PrivateKeyWithHashAlg, decode_secret_key};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::timeout;

use super::dial::Line;
use super::problem::Problem;
use crate::credentials::{Credential, read_private};

/// A refusal takes a few seconds by design; name resolution at the server may add thirty.
const LIMIT: Duration = Duration::from_secs(60);
const KEY_FILE_LIMIT: u64 = 64 << 10;
/// What OpenSSH says when MaxAuthTries is reached.
const TOO_MANY: &str = "Too many authentication failures";
/// A password, a new-password question, an empty last round.
const ROUNDS: usize = 4;

/// The server's answer to one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    In,
    /// Refused; what may be tried next.
    Refused(Vec<MethodKind>),
}

/// Tries a key.
pub(super) async fn with_key(
    line: &mut Line,
    user: &str,
    key: Arc<PrivateKey>,
) -> Result<Verdict, Problem> {
    let attempt = line.handle.authenticate_publickey(user, PrivateKeyWithHashAlg::new(key, None));
    let result = timeout(LIMIT, attempt).await.map_err(|_| slow())?;
    verdict(line, user, result)
}

/// Logs in with a credential: its key first, then its password.
pub(super) async fn with_credential(
    line: &mut Line,
    credential: &Credential,
    offered: Vec<MethodKind>,
) -> Result<(), Problem> {
    let mut offered = offered;
    if credential.key.is_some() {
        let key = load_key(credential)?;
        match with_key(line, &credential.user, key).await? {
            Verdict::In => return Ok(()),
            Verdict::Refused(next) => offered = next,
        }
    }
    let (user, origin) = (credential.user.clone(), credential.origin.clone());
    let Some(password) = &credential.password else {
        return Err(Problem::KeyRefused { user, origin });
    };
    let taken = offered.iter().map(<&str>::from).collect::<Vec<_>>().join(", ");
    let verdict = if offered.contains(&MethodKind::Password) {
        with_password(line, &user, password).await.map(Some)
    } else if offered.contains(&MethodKind::KeyboardInteractive) {
        with_questions(line, &user, password).await
    } else {
        Ok(None)
    };
    let verdict = match verdict {
        // A strict server hangs up in place of an answer. To try again could lock the account.
        Err(Problem::LoginRefused { found, .. }) if found.contains(TOO_MANY) => {
            return Err(Problem::WrongPassword { user, origin });
        }
        other => other?,
    };
    match verdict {
        Some(Verdict::In) => Ok(()),
        Some(Verdict::Refused(_)) => Err(Problem::WrongPassword { user, origin }),
        None => Err(Problem::PasswordNotTaken { user, origin, taken }),
    }
}

async fn with_password(
    line: &mut Line,
    user: &str,
    password: &SecretString,
) -> Result<Verdict, Problem> {
    let attempt = line.handle.authenticate_password(user, password.expose_secret());
    let result = timeout(LIMIT, attempt).await.map_err(|_| slow())?;
    verdict(line, user, result)
}

/// Keyboard-interactive: every question that hides the answer is taken for the password. None when
/// the server refuses without having asked anything, as one without PAM does.
async fn with_questions(
    line: &mut Line,
    user: &str,
    password: &SecretString,
) -> Result<Option<Verdict>, Problem> {
    let mut asked = false;
    let start = line.handle.authenticate_keyboard_interactive_start(user, None::<String>);
    let mut reply = timeout(LIMIT, start).await.map_err(|_| slow())?;
    for _ in 0..ROUNDS {
        let prompts = match reply {
            Ok(Reply::Success) => return Ok(Some(Verdict::In)),
            Ok(Reply::Failure { remaining_methods, .. }) => {
                return Ok(asked.then(|| Verdict::Refused(remaining_methods.to_vec())));
            }
            Ok(Reply::InfoRequest { prompts, .. }) => prompts,
            Err(error) => return Err(ended(line, user, &error.to_string())),
        };
        if prompts.iter().any(|p| p.prompt.to_ascii_lowercase().contains("new password")) {
            return Err(Problem::PasswordExpired { user: user.to_owned() });
        }
        asked |= !prompts.is_empty();
        let answer = |echo| if echo { String::new() } else { password.expose_secret().to_owned() };
        let answers = prompts.iter().map(|p| answer(p.echo)).collect();
        let next = line.handle.authenticate_keyboard_interactive_respond(answers);
        reply = timeout(LIMIT, next).await.map_err(|_| slow())?;
    }
    Ok(Some(Verdict::Refused(Vec::new())))
}

fn verdict(
    line: &Line,
    user: &str,
    result: Result<AuthResult, russh::Error>,
) -> Result<Verdict, Problem> {
    match result {
        Ok(AuthResult::Success) => Ok(Verdict::In),
        // russh reports a connection that ended as a refusal without any method left.
        Ok(AuthResult::Failure { remaining_methods, .. }) if !remaining_methods.is_empty() => {
            Ok(Verdict::Refused(remaining_methods.to_vec()))
        }
        Ok(AuthResult::Failure { .. }) => Err(ended(line, user, "no reason given")),
        Err(error) => Err(ended(line, user, &error.to_string())),
    }
}

fn ended(line: &Line, user: &str, error: &str) -> Problem {
    let seen = line.witness.seen();
    let words = [seen.banner, seen.goodbye].into_iter().filter(|w| !w.is_empty());
    let words = words.collect::<Vec<_>>().join("; ");
    let found = if words.is_empty() { error.to_owned() } else { words };
    Problem::LoginRefused { user: user.to_owned(), found }
}

fn slow() -> Problem {
    Problem::TooSlow { what: "logging in".into(), limit: LIMIT }
}

fn load_key(credential: &Credential) -> Result<Arc<PrivateKey>, Problem> {
    let Some(path) = &credential.key else { return Err(Problem::Credentials("no key".into())) };
    let text = read_private(path, KEY_FILE_LIMIT)
        .map_err(|e| Problem::Credentials(format!("{} names a key: {e}", credential.origin)))?;
    let passphrase = credential.key_passphrase.as_ref().map(ExposeSecret::expose_secret);
    decode_secret_key(&text, passphrase).map(Arc::new).map_err(|error| {
        let path = path.display();
        let origin = &credential.origin;
        Problem::Credentials(format!(
            "can't use the private key {path} ({origin}): {error}; wanted an ed25519 or ecdsa key of OpenSSH, with its key_passphrase when it is encrypted"
        ))
    })
}
