//! A process of ours that a test starts, kills and starts again.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A running process with its output in a file.
pub struct Process {
    child: Child,
    pub log: PathBuf,
}

impl Process {
    /// Starts a command in a network namespace; output is appended to `log`.
    pub fn start(
        netns: &str,
        program: &Path,
        args: &[&str],
        env: &[(&'static str, String)],
        log: &Path,
    ) -> Self {
        let out = open(log);
        let err = out.try_clone().expect("a log handle can be copied");
        let child = Command::new("ip")
            .args(["netns", "exec", netns])
            .arg(program)
            .args(args)
            .envs(env.iter().cloned())
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            .spawn()
            .expect("ip netns exec starts");
        Self { child, log: log.to_owned() }
    }

    /// `ip netns exec` replaces itself by the command, so this is the command's own pid.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// kill -9, and wait until it is gone.
    pub fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// SIGTERM; returns the exit code once it has ended, or kills it after 20 s.
    pub fn stop(&mut self) -> Option<i32> {
        let pid = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        for _ in 0..200 {
            if let Ok(Some(status)) = self.child.try_wait() {
                return status.code();
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        None
    }

    /// Whether it still runs.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn open(log: &Path) -> File {
    OpenOptions::new().create(true).append(true).open(log).expect("the log can be written")
}

/// What a command printed and how it ended.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    /// Both outputs, for messages.
    pub fn text(&self) -> String {
        format!("exit {}\n{}{}", self.code, self.out, self.err)
    }

    /// Panics unless it ended with 0.
    pub fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{}", self.text());
        self
    }
}

/// Runs a command to its end.
pub fn run(command: &mut Command) -> Ran {
    let output =
        command.stdin(Stdio::null()).output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    Ran {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
