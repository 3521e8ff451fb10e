//! The supervisor's own life: one thread, one child, one log.

use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::fs::FlockOperation;
use rustix::process::Signal;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};

use super::files::{self, Exit, Job, Started};
use super::process::ProcessId;
use super::redact::Redactor;

/// Exit code of a supervisor that finds another one at work.
const ALREADY: u8 = 75;
/// How long the program may take to end after SIGINT.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often the agent's wish to cancel is looked for.
const LOOK: Duration = Duration::from_millis(200);
/// Longer lines are cut: the rest of such a line is no help.
const MAX_LINE: usize = 64 * 1024;

/// Runs the job of `directory` to its end. The process's whole life; returns its exit code.
///
/// # Errors
/// When the job can't be read or its end can't be written.
pub fn supervise(directory: &Path) -> io::Result<u8> {
    // Out of the agent's session and process group. Fails only when we lead a group already.
    let _ = rustix::process::setsid();
    let Some(_lock) = lock(directory)? else { return Ok(ALREADY) };
    if directory.join(files::EXIT).exists() || directory.join(files::STARTED).exists() {
        return Ok(ALREADY);
    }
    let job: Job = files::read_json(&directory.join(files::JOB))?
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "there is no job.json"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let exit = runtime.block_on(run(&job, directory)).unwrap_or_else(|e| Exit {
        code: None,
        signal: None,
        error: Some(format!("can't run {}: {e}", job.argv.first().map_or("", String::as_str))),
        cancelled: false,
    });
    if let Some(mux) = &job.mux_directory {
        runtime.block_on(close_muxes(mux));
    }
    files::write_json(&directory.join(files::EXIT), &exit)?;
    Ok(0)
}

/// The run's lock, held until this process ends; none when another one has it. The program does
/// not inherit it. An agent that looks holds it for a moment, so one refusal is not the last word.
fn lock(directory: &Path) -> io::Result<Option<std::fs::File>> {
    let file = files::open_lock(directory)?;
    for _ in 0..20 {
        if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            return Ok(Some(file));
        }
        std::thread::sleep(Duration::from_millis(25));
    }
    Ok(None)
}

async fn run(job: &Job, directory: &Path) -> io::Result<Exit> {
    // Before the child, so that none is lost. The agent asks by a file; signals that were meant
    // for the agent's group or its unit must not end the playbook in the middle of a task.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let log = std::fs::OpenOptions::new().create(true).append(true).mode(0o600).open(&job.log)?;
    let (mut child, output) = start(job)?;
    let program = child.id().and_then(|pid| ProcessId::of(pid.cast_signed()));
    if let (Some(supervisor), Some(program)) = (ProcessId::own(), program.clone()) {
        files::write_json(&directory.join(files::STARTED), &Started { supervisor, program })?;
    }
    let mut log = Log::new(log, job);
    let mut cancelled = false;
    let mut wait = std::pin::pin!(output_and_end(&mut child, output, &mut log));
    let ended = loop {
        tokio::select! {
            status = &mut wait => break status?,
            () = tokio::time::sleep(LOOK), if !cancelled => {
                if directory.join(files::CANCEL).exists() {
                    cancelled = true;
                    stop(program.clone());
                }
            }
            _ = terminate.recv() => note(directory, "SIGTERM ignored"),
            _ = interrupt.recv() => note(directory, "SIGINT ignored"),
            _ = hangup.recv() => note(directory, "SIGHUP ignored"),
        }
    };
    Ok(Exit { code: ended.code(), signal: ended.signal(), error: None, cancelled })
}

/// Starts the program; standard output and error come through one pipe, in their order.
fn start(job: &Job) -> io::Result<(Child, pipe::Receiver)> {
    let (program, arguments) =
        job.argv.split_first().ok_or_else(|| io::Error::other("the job has no command"))?;
    let (ours, theirs) = io::pipe()?;
    let child = Command::new(program)
        .args(arguments)
        .current_dir(&job.directory)
        .env_clear()
        .envs(&job.environment)
        .stdin(Stdio::null())
        .stdout(theirs.try_clone()?)
        .stderr(theirs)
        .process_group(0)
        .spawn()?;
    Ok((child, pipe::Receiver::from_owned_fd(ours.into())?))
}

/// SIGINT to the group now (ansible then says what it did), SIGKILL when that is not enough.
fn stop(program: Option<ProcessId>) {
    let Some(program) = program else { return };
    program.signal_group(Signal::INT);
    tokio::spawn(async move {
        tokio::time::sleep(PATIENCE).await;
        program.signal_group(Signal::KILL);
    });
}

/// Copies the output and waits for the end. What still holds the pipe half a second after the end
/// (an SSH connection that stays) is not waited for.
async fn output_and_end(
    child: &mut Child,
    mut output: pipe::Receiver,
    log: &mut Log,
) -> io::Result<std::process::ExitStatus> {
    let mut chunk = vec![0; 16 * 1024];
    let mut open = true;
    let mut status = None;
    let mut left = std::pin::pin!(tokio::time::sleep(Duration::ZERO));
    loop {
        tokio::select! {
            biased;
            read = output.read(&mut chunk), if open => match read {
                Ok(n) if n > 0 => log.take(&chunk[..n])?,
                _ => open = false,
            },
            ended = child.wait(), if status.is_none() => {
                status = Some(ended?);
                left.as_mut().reset(tokio::time::Instant::now() + Duration::from_millis(500));
            }
            () = &mut left, if status.is_some() => open = false,
        }
        if let (Some(status), false) = (status, open) {
            log.finish()?;
            return Ok(status);
        }
    }
}

/// The log: whole lines, without secrets.
struct Log {
    file: std::fs::File,
    redactor: Redactor,
    partial: Vec<u8>,
}

impl Log {
    fn new(file: std::fs::File, job: &Job) -> Self {
        let secrets = job.secret_files.iter().filter_map(|path| std::fs::read_to_string(path).ok());
        Self { file, redactor: Redactor::new(secrets), partial: Vec::new() }
    }

    fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.partial.extend_from_slice(bytes);
        let end = match self.partial.iter().rposition(|b| *b == b'\n') {
            Some(at) => at + 1,
            None if self.partial.len() >= MAX_LINE => self.partial.len(),
            None => return Ok(()),
        };
        let rest = self.partial.split_off(end);
        let lines = std::mem::replace(&mut self.partial, rest);
        let text = String::from_utf8_lossy(&lines);
        let mut clean = String::with_capacity(text.len());
        for line in text.lines() {
            clean.push_str(&self.redactor.line(line));
            clean.push('\n');
        }
        match self.file.write_all(clean.as_bytes()) {
            // A full disk must not kill an install: the log has a gap, the events tell the story.
            Err(e) if e.kind() == io::ErrorKind::StorageFull => Ok(()),
            other => other,
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        if self.partial.is_empty() { Ok(()) } else { self.take(b"\n") }
    }
}

/// SSH connections that ansible keeps open live in groups of their own: ask each to end.
async fn close_muxes(directory: &Path) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    let mut closing = tokio::task::JoinSet::new();
    for socket in entries.flatten().map(|entry| entry.path()) {
        let mut control = std::ffi::OsString::from("ControlPath=");
        control.push(&socket);
        let exit = Command::new("ssh")
            .args(["-F", "none", "-O", "exit", "-o"])
            .arg(control)
            .arg("host")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .status();
        closing.spawn(async move { tokio::time::timeout(Duration::from_secs(5), exit).await });
    }
    while closing.join_next().await.is_some() {}
}

/// A line for people who wonder; the supervisor has no other voice.
fn note(directory: &Path, text: &str) {
    let path = directory.join(files::MESSAGES);
    if let Ok(mut file) = std::fs::OpenOptions::new().create(true).append(true).open(path) {
        let _ = writeln!(file, "{text}");
    }
}
