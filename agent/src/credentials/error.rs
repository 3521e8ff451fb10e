//! What can be wrong with the credentials. No error repeats what the file holds.

use std::path::PathBuf;

/// Why the credentials can't be used.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    #[error("can't read the credentials {}: {source}; create the file with mode 0600 or mend `credentials` in agent.toml", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("others may read the credentials {} (mode {mode:04o}, wanted {wanted:04o}); run: chmod {wanted:o} {}", path.display(), path.display())]
    OpenToOthers { path: PathBuf, mode: u32, wanted: u32 },
    #[error("the credentials {} belong to user id {owner}, wanted {wanted}; run: chown {wanted} {}", path.display(), path.display())]
    WrongOwner { path: PathBuf, owner: u32, wanted: u32 },
    #[error("the credentials {} are larger than {limit} bytes, the most that is read; split them into a directory of files", path.display())]
    TooLarge { path: PathBuf, limit: u64 },
    #[error("{origin} line {line}: {message}")]
    Syntax { origin: String, line: usize, message: String },
    #[error("{origin} line {line}: {message}; {fix}")]
    Entry { origin: String, line: usize, message: String, fix: &'static str },
    #[error("{second} is for {whom}, and so is {first}; remove one of the two")]
    Double { whom: String, first: String, second: String },
}
