//! A host that lets us in: what the later steps use.

use std::time::Duration;

use secrecy::{SecretSlice, SecretString};

use super::become_root::{Become, Found, as_root};
use super::session::{Output, Session, TIME_LIMIT};
use crate::steps::{NodeTarget, StepFailure};

/// A host that lets us in with the site's key, and that is the right machine.
#[derive(Debug)]
pub struct Access {
    pub(super) session: Session,
    pub(super) target: NodeTarget,
    pub(super) user: String,
    pub(super) become_root: Found,
    pub(super) fingerprint: String,
}

impl Access {
    /// The account that has the site's key.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// What it takes to be root.
    pub fn become_root(&self) -> &Become {
        &self.become_root.kind
    }

    /// The password that sudo wants, for ansible; it must stay in 0600 files of the run.
    pub fn become_password(&self) -> Option<SecretString> {
        match &self.become_root.kind {
            Become::WithPassword(password) => Some(password.clone()),
            Become::NotNeeded | Become::Passwordless => None,
        }
    }

    /// How long one sudo took, the way there and back included; none for root.
    pub fn sudo_time(&self) -> Option<Duration> {
        self.become_root.took
    }

    /// The host key, as `SHA256:…`.
    pub fn host_key_fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// The machine.
    pub fn target(&self) -> &NodeTarget {
        &self.target
    }

    /// Runs a command through the account's shell, with `input` on its standard input. At most a
    /// minute, and a MiB of output per stream.
    ///
    /// # Errors
    /// When the connection fails, or a limit is passed; not when the command's status is not 0.
    pub async fn run(&self, command: &str, input: &[u8]) -> Result<Output, StepFailure> {
        let input = SecretSlice::from(input.to_vec());
        let done = self.session.run_within("a command", command, &input, TIME_LIMIT).await;
        done.map_err(|problem| problem.on(&self.target))
    }

    /// Runs a POSIX shell script, whatever the account's shell is.
    ///
    /// # Errors
    /// As [`Access::run`].
    pub async fn script(&self, what: &str, script: &str) -> Result<Output, StepFailure> {
        self.session.script(what, script, &[]).await.map_err(|problem| problem.on(&self.target))
    }

    /// Runs one command as root.
    ///
    /// # Errors
    /// As [`Access::run`].
    pub async fn run_as_root(&self, what: &str, command: &str) -> Result<Output, StepFailure> {
        let done = match &self.become_root.kind {
            Become::NotNeeded => self.session.run(what, command).await,
            Become::Passwordless => as_root(&self.session, what, command, None).await,
            Become::WithPassword(password) => {
                as_root(&self.session, what, command, Some(password)).await
            }
        };
        done.map_err(|problem| problem.on(&self.target))
    }

    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    /// Ends the connection politely. Dropping it ends it too.
    pub async fn close(self) {
        self.session.close().await;
    }
}
