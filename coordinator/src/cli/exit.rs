//! Exit codes, and the errors of commands that have them. Listed in `docs/exit-codes.md`.

use std::process::ExitCode;

use crate::cluster::WorldError;

/// How a command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Ok,
    /// Something went wrong.
    Error,
    /// The command line is wrong (clap uses the same).
    Usage,
    /// It does not fit, or it ended without being ready.
    NotReady,
    /// The object that was named is not there.
    NotFound,
    /// It can't be done in the present state of things.
    Conflict,
    /// `run` stopped because another coordinator may lead now.
    LostLead,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Ok => 0,
            Exit::Error => 1,
            Exit::Usage => 2,
            Exit::NotReady => 3,
            Exit::NotFound => 4,
            Exit::Conflict => 5,
            Exit::LostLead => 6,
        })
    }
}

/// Why a command did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    NotFound(String),
    #[error("{0}")]
    Conflict(String),
    #[error("the lead is lost and nothing more is written: {0}; start it again to be a candidate")]
    LostLead(String),
    #[error("{0}")]
    Other(String),
    #[error(transparent)]
    World(#[from] WorldError),
}

impl CliError {
    /// Any error that has no exit code of its own.
    pub fn other(error: impl std::fmt::Display) -> Self {
        Self::Other(error.to_string())
    }

    /// The exit code that scripts see.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) => Exit::Usage,
            Self::NotFound(_) | Self::World(WorldError::NotFound { .. }) => Exit::NotFound,
            Self::Conflict(_)
            | Self::World(WorldError::InUse { .. } | WorldError::Conflict { .. }) => Exit::Conflict,
            Self::LostLead(_) | Self::World(WorldError::NotLeader) => Exit::LostLead,
            Self::Other(_) | Self::World(_) => Exit::Error,
        }
    }
}

impl From<std::io::Error> for CliError {
    fn from(error: std::io::Error) -> Self {
        Self::other(error)
    }
}

/// The result of a command.
pub type CliResult = Result<Exit, CliError>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_exit_code_is_in_the_documentation() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/exit-codes.md");
        let text = std::fs::read_to_string(path).unwrap();
        for code in 0..=6 {
            assert!(text.contains(&format!("| {code} |")), "{code}");
        }
    }

    #[test]
    fn errors_of_the_world_have_their_own_codes() {
        let gone = WorldError::NotFound {
            kind: "Site",
            key: bpa_common::api::ObjectKey::new("default", "north"),
        };
        assert_eq!(CliError::from(gone).exit(), Exit::NotFound);
        let used = WorldError::InUse { path: "/s".to_owned(), pid: "7".to_owned() };
        assert_eq!(CliError::from(used).exit(), Exit::Conflict);
        assert_eq!(CliError::other("x").exit(), Exit::Error);
    }
}
