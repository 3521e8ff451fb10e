//! `bpa-coordinator --kubernetes run` as a process of the test.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::binary;
use crate::wait::until;

/// Killed when the test ends.
#[derive(Debug)]
pub struct Coordinator {
    child: Child,
    health: String,
    log: PathBuf,
}

impl Coordinator {
    /// Starts one with this kubeconfig. `more` is more of its command line, before `run`. Its state
    /// and its log are in `state`.
    pub fn start(kubeconfig: &Path, more: &[&str], state: &Path) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr());
        let health = format!("127.0.0.1:{}", port.expect("a port is free").port());
        fs::create_dir_all(state).expect("the state can be made");
        let log = state.join("log");
        let out = File::options().create(true).append(true).open(&log).expect("a log");
        let child = Command::new(binary("bpa-coordinator"))
            .args(["--kubernetes", "--kubeconfig"])
            .arg(kubeconfig)
            .args(more)
            .args(["run", "--listen", "127.0.0.1:0", "--health", &health, "--state"])
            .arg(state)
            .stdin(Stdio::null())
            .stdout(out.try_clone().expect("a log handle can be copied"))
            .stderr(out)
            .spawn()
            .expect("bpa-coordinator starts");
        Self { child, health, log }
    }

    /// The answer to `GET path`; none while nobody answers.
    pub fn ask(&self, path: &str) -> Option<String> {
        let mut stream = TcpStream::connect(&self.health).ok()?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        Some(text)
    }

    /// It leads, and has read all.
    pub fn is_ready(&self) -> bool {
        self.ask("/readyz").is_some_and(|text| text.contains("200 OK"))
    }

    /// Waits until it is ready.
    pub fn wait_ready(&self) {
        until("the coordinator to be ready", 90, || {
            let says = self.ask("/readyz").unwrap_or_default();
            if says.contains("200 OK") { Ok(()) } else { Err(format!("{says}\n{}", self.log())) }
        });
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("a child can be waited for")
    }

    /// SIGTERM.
    pub fn terminate(&self) {
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
    }

    /// kill -9, and wait until it is gone.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// What it has printed.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// It runs still, and never panicked.
    pub fn assert_sound(&mut self) {
        assert_eq!(self.ended(), None, "it has ended:\n{}", self.log());
        assert!(!self.log().contains("panicked"), "{}", self.log());
    }
}

impl Drop for Coordinator {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            let log = self.log();
            let lines: Vec<&str> = log.lines().rev().take(40).collect();
            lines.iter().rev().for_each(|line| eprintln!("{line}"));
        }
    }
}
