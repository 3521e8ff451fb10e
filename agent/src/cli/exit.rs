//! Exit codes, and the errors of commands that have them. Listed in `docs/exit-codes.md`.

use std::process::ExitCode;

/// How a command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    Ok,
    Error,
    NotReady,
    NotFound,
    Conflict,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Ok => 0,
            Exit::Error => 1,
            Exit::NotReady => 3,
            Exit::NotFound => 4,
            Exit::Conflict => 5,
        })
    }
}

/// Why a command did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub(super) enum CliError {
    #[error("{0}")]
    NotFound(String),
    #[error("{0}")]
    Conflict(String),
    #[error("{0}")]
    Other(String),
}

impl CliError {
    /// Any error that has no exit code of its own.
    pub(super) fn other(error: impl std::fmt::Display) -> Self {
        Self::Other(error.to_string())
    }

    pub(super) fn exit(&self) -> Exit {
        match self {
            Self::NotFound(_) => Exit::NotFound,
            Self::Conflict(_) => Exit::Conflict,
            Self::Other(_) => Exit::Error,
        }
    }
}

/// The result of a command.
pub(super) type CliResult = Result<ExitCode, CliError>;
