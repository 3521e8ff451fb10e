//! `logs`: the log of a run, as it was kept, to its end.

use std::fs::File;
use std::io::{IsTerminal, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use bpa_common::wire::v1::RunId;
use tokio::time::Instant;

use super::args::{Common, LogsArgs};
use super::edits;
use super::exit::{CliError, CliResult, Exit};
use super::output::note;
use super::render::describe::is_active;
use super::render::text::clean;
use super::world::AnyWorld;
use crate::cluster::directory::running;
use crate::runs::log_path;

/// How often to look for more.
const LOOK: Duration = Duration::from_millis(200);
/// The last of a log may come after the end of its run was told.
const LATE: Duration = Duration::from_millis(1500);
/// What is read at once, bytes.
const PIECE: usize = 64 << 10;

/// `logs`.
pub async fn logs(common: &Common, args: &LogsArgs) -> CliResult {
    let world = AnyWorld::open(common).await?;
    let run = match &args.run {
        Some(run) => run.clone(),
        None => last_run(&world, args).await?,
    };
    let id: RunId = run.parse().map_err(|_| {
        CliError::Usage(format!("`{}` is no run; `describe` shows them", run.escape_debug()))
    })?;
    let path = log_path(&common.state, id);
    if !args.follow && !path.exists() {
        return Err(CliError::NotFound(format!(
            "no log of run {run} yet ({}){}",
            path.display(),
            elsewhere(common, &format!("logs {}", args.name))
        )));
    }
    let mut tail = Tail::new(std::io::stdout().is_terminal());
    let mut ended: Option<Instant> = None;
    loop {
        if tail.copy(&path, &mut std::io::stdout().lock())? {
            // The reader went away.
            return Ok(Exit::Ok);
        }
        if !args.follow || ended.is_some_and(|since| since.elapsed() > LATE) {
            tail.end(&mut std::io::stdout().lock())?;
            return Ok(Exit::Ok);
        }
        if ended.is_none() && !goes_on(&world, args, &run).await? {
            ended = Some(Instant::now());
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// In the world of Kubernetes the state directory is often in a pod: says how to ask there.
pub fn elsewhere(common: &Common, command: &str) -> String {
    if !common.kubernetes.on || running(&common.state) {
        return String::new();
    }
    format!(
        "; logs and leases are where the coordinator keeps its state: kubectl -n bpa-system exec deploy/bpa-coordinator -- bpa-coordinator {command}"
    )
}

async fn last_run(world: &AnyWorld, args: &LogsArgs) -> Result<String, CliError> {
    let mut told = false;
    loop {
        let p = edits::provisioning(world, &args.name).await?;
        if let Some(run) = p.status.run.filter(|run| !run.id.is_empty()) {
            return Ok(run.id);
        }
        if !args.follow {
            return Err(CliError::NotFound(format!("{} has no run yet", p.metadata.key())));
        }
        if !told {
            note(&format!("{} has no run yet: waiting for one", p.metadata.key()));
            told = true;
        }
        tokio::time::sleep(LOOK * 2).await;
    }
}

async fn goes_on(world: &AnyWorld, args: &LogsArgs, run: &str) -> Result<bool, CliError> {
    match edits::provisioning(world, &args.name).await {
        Ok(p) => Ok(p.status.run.is_some_and(|now| now.id == run && is_active(&now))),
        Err(CliError::NotFound(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Copies what was added to a file since the last time.
struct Tail {
    offset: u64,
    /// A terminal gets clean lines; a file or a pipe gets the bytes as they are.
    clean: bool,
    /// Part of a line whose end has not come.
    part: Vec<u8>,
}

impl Tail {
    fn new(clean: bool) -> Self {
        Self { offset: 0, clean, part: Vec::new() }
    }

    /// True when nobody reads any more.
    fn copy(&mut self, path: &Path, out: &mut impl Write) -> Result<bool, CliError> {
        let problem = |error| CliError::Other(format!("can't read {}: {error}", path.display()));
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(problem(error)),
        };
        file.seek(SeekFrom::Start(self.offset)).map_err(problem)?;
        let mut piece = vec![0; PIECE];
        loop {
            let count = file.read(&mut piece).map_err(problem)?;
            if count == 0 {
                return Ok(false);
            }
            self.offset += count as u64;
            if self.write(&piece[..count], out).is_err() {
                return Ok(true);
            }
        }
    }

    fn write(&mut self, bytes: &[u8], out: &mut impl Write) -> std::io::Result<()> {
        if !self.clean {
            out.write_all(bytes)?;
            return out.flush();
        }
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.part.extend_from_slice(line);
            if line.ends_with(b"\n") || self.part.len() > PIECE {
                self.flush_line(out)?;
            }
        }
        out.flush()
    }

    fn flush_line(&mut self, out: &mut impl Write) -> std::io::Result<()> {
        let text = String::from_utf8_lossy(&self.part);
        writeln!(out, "{}", clean(text.trim_end_matches(['\n', '\r'])))?;
        self.part.clear();
        Ok(())
    }

    fn end(&mut self, out: &mut impl Write) -> Result<(), CliError> {
        if self.part.is_empty() {
            return Ok(());
        }
        self.flush_line(out).map_err(CliError::other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_copied_once_and_clean() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let (mut tail, mut out) = (Tail::new(true), Vec::new());
        assert!(!tail.copy(&path, &mut out).unwrap(), "a log that is not there yet is no error");
        std::fs::write(&path, "one\r\ntw").unwrap();
        tail.copy(&path, &mut out).unwrap();
        assert_eq!(out, b"one\n");
        std::fs::write(&path, "one\r\ntwo\u{1b}[2J\nthree").unwrap();
        tail.copy(&path, &mut out).unwrap();
        tail.end(&mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "one\ntwo\\u{1b}[2J\nthree\n");
    }

    #[test]
    fn a_pipe_gets_the_bytes_as_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        std::fs::write(&path, b"a\x1b[0m\xff").unwrap();
        let (mut tail, mut out) = (Tail::new(false), Vec::new());
        tail.copy(&path, &mut out).unwrap();
        assert_eq!(out, b"a\x1b[0m\xff");
    }
}
