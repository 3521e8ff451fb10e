//! A logged-in connection: runs commands, bounded in size and time.

use std::time::Duration;

use russh::ChannelMsg;
use russh::client::Handle;
use secrecy::{ExposeSecret, SecretSlice};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::handler::{Guard, Witness, printable};
use super::problem::Problem;

/// What a command may print, per stream.
pub const OUTPUT_LIMIT: usize = 1 << 20;
/// How long a command may take, unless said otherwise.
pub const TIME_LIMIT: Duration = Duration::from_secs(60);

/// What a command left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Exit status; 128 and more when a signal ended it, as in a shell.
    pub status: u32,
    pub stdout: String,
    pub stderr: String,
}

impl Output {
    /// True when the command succeeded.
    pub fn ok(&self) -> bool {
        self.status == 0
    }

    /// One short line for a message: what it said last, or its status.
    pub fn complaint(&self) -> String {
        let said = |text: &str| text.lines().rev().find(|l| !l.trim().is_empty()).map(printable);
        let words = said(&self.stderr).or_else(|| said(&self.stdout));
        words.unwrap_or_else(|| format!("exit status {}", self.status))
    }
}

/// A connection of one account.
pub struct Session {
    pub(super) handle: Handle<Guard>,
    pub(super) witness: Witness,
    pub(super) user: String,
    pub(super) cancel: CancellationToken,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.handle.is_closed() { "Session(closed)" } else { "Session(open)" })
    }
}

impl Session {
    /// The account.
    pub(crate) fn user(&self) -> &str {
        &self.user
    }

    /// Runs a command through the account's shell. `what` names it in errors, which never repeat the
    /// command itself.
    pub(crate) async fn run(&self, what: &str, command: &str) -> Result<Output, Problem> {
        self.run_within(what, command, &SecretSlice::from(Vec::new()), TIME_LIMIT).await
    }

    /// Runs a POSIX shell script, whatever the account's own shell is; `arguments` are its `$1`….
    pub(crate) async fn script(
        &self,
        what: &str,
        script: &str,
        arguments: &[&str],
    ) -> Result<Output, Problem> {
        let mut command = "exec /bin/sh -s --".to_owned();
        for argument in arguments {
            command.push(' ');
            command.push_str(&quoted(argument));
        }
        let input = SecretSlice::from(script.as_bytes().to_vec());
        self.run_within(what, &command, &input, TIME_LIMIT).await
    }

    /// Runs a command with something on its standard input.
    pub(crate) async fn run_within(
        &self,
        what: &str,
        command: &str,
        input: &SecretSlice<u8>,
        limit: Duration,
    ) -> Result<Output, Problem> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(Problem::Cancelled),
            done = timeout(limit, self.exchange(what, command, input)) => {
                done.unwrap_or_else(|_| Err(Problem::TooSlow { what: what.to_owned(), limit }))
            }
        }
    }

    async fn exchange(
        &self,
        what: &str,
        command: &str,
        input: &SecretSlice<u8>,
    ) -> Result<Output, Problem> {
        let lost = |error: russh::Error| self.lost(what, &error.to_string());
        let mut channel = self.handle.channel_open_session().await.map_err(lost)?;
        channel.exec(true, command).await.map_err(lost)?;
        let mut input = Some(input);
        let (mut stdout, mut stderr, mut status) = (Vec::new(), Vec::new(), None);
        while let Some(message) = channel.wait().await {
            match message {
                ChannelMsg::Success => {
                    // A command that ends without reading its input is no error: its status counts.
                    if let Some(bytes) = input.take() {
                        let _ = channel.data(bytes.expose_secret()).await;
                        let _ = channel.eof().await;
                    }
                }
                ChannelMsg::Failure => {
                    let found = "the server refuses to run commands".to_owned();
                    return Err(Problem::CommandFailed { what: what.to_owned(), found });
                }
                ChannelMsg::Data { data } => stdout.extend_from_slice(&data),
                ChannelMsg::ExtendedData { data, .. } => stderr.extend_from_slice(&data),
                ChannelMsg::ExitStatus { exit_status } => status = Some(exit_status),
                ChannelMsg::ExitSignal { .. } => status = Some(128),
                _ => {}
            }
            if stdout.len().max(stderr.len()) > OUTPUT_LIMIT {
                return Err(Problem::TooMuchOutput { what: what.to_owned(), limit: OUTPUT_LIMIT });
            }
        }
        let status = status.ok_or_else(|| self.lost(what, "it ended without a status"))?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok(Output { status, stdout: text(stdout), stderr: text(stderr) })
    }

    fn lost(&self, what: &str, error: &str) -> Problem {
        let goodbye = self.witness.seen().goodbye;
        let found = if goodbye.is_empty() { error.to_owned() } else { goodbye };
        Problem::Lost { what: what.to_owned(), found }
    }

    /// Says goodbye, so that the server does not log a lost connection.
    pub(crate) async fn close(&self) {
        let goodbye = self.handle.disconnect(russh::Disconnect::ByApplication, "done", "en");
        let _ = timeout(Duration::from_secs(2), goodbye).await;
    }
}

/// An argument for a POSIX shell, whatever is in it.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_stays_one_argument() {
        for text in ["", "plain", "a b", "it's", "$(id)`id`\"\\", "a\nb", "'''"] {
            let script = format!("printf %s {}", quoted(text));
            let out = std::process::Command::new("sh").arg("-c").arg(script).output().unwrap();
            assert_eq!(String::from_utf8(out.stdout).unwrap(), text);
        }
    }

    #[test]
    fn a_complaint_is_the_last_thing_said() {
        let output =
            |out: &str, err: &str| Output { status: 3, stdout: out.into(), stderr: err.into() };
        assert_eq!(output("x", "one\ntwo\u{1b}[1m\n\n").complaint(), "two [1m");
        assert_eq!(output("x\n", "").complaint(), "x");
        assert_eq!(output("", " \n").complaint(), "exit status 3");
    }
}
