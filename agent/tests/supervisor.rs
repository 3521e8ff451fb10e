//! The supervisor as a process: what it survives, and that it is alone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bpa_agent::supervisor::{Attempt, Exit, Job, SupervisorError, Trace};

fn agent() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_bpa-agent"))
}

fn job(dir: &Path, script: &str) -> Job {
    Job {
        argv: vec!["/bin/bash".into(), "-c".into(), script.into()],
        directory: dir.to_owned(),
        environment: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
        log: dir.join("log"),
        secret_files: Vec::new(),
        mux_directory: None,
    }
}

fn code(code: i32) -> Exit {
    Exit { code: Some(code), signal: None, error: None, cancelled: false }
}

/// Waits until the attempt's program has written a word into the log.
async fn logged(dir: &Path, word: &str) {
    for _ in 0..200 {
        if std::fs::read_to_string(dir.join("log")).is_ok_and(|text| text.contains(word)) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("{word} is not in the log");
}

fn pid(attempt: &Attempt, who: &str) -> i32 {
    let text = std::fs::read(attempt.directory().join("supervisor.json")).unwrap();
    let value: serde_json::Value = serde_json::from_slice(&text).unwrap();
    i32::try_from(value[who]["pid"].as_i64().unwrap()).unwrap()
}

fn kill(pid: i32, signal: &str) {
    std::process::Command::new("kill").args([signal, &pid.to_string()]).status().unwrap();
}

fn lives(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

#[tokio::test]
async fn output_is_kept_without_secrets_and_the_exit_status_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let secret = dir.path().join("become");
    std::fs::write(&secret, "PLANTED-pw\n").unwrap();
    let attempt = Attempt::new(dir.path(), 1);
    let mut job = job(dir.path(), "echo one; echo PLANTED-pw >&2; printf 'two'; pwd; env; exit 3");
    job.secret_files.push(secret);
    attempt.start(&job, agent()).await.unwrap();
    assert_eq!(attempt.wait().await.unwrap(), code(3));
    assert_eq!(attempt.trace().unwrap(), Trace::Exited(code(3)));
    let log = std::fs::read_to_string(dir.path().join("log")).unwrap();
    assert!(log.starts_with("one\n[redacted]\ntwo"), "{log}");
    assert!(!log.contains("PLANTED") && !log.contains("CARGO"), "a clean environment: {log}");
}

#[tokio::test]
async fn a_second_playbook_of_the_same_run_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let first = Attempt::new(dir.path(), 1);
    first.start(&job(dir.path(), "echo up; sleep 30"), agent()).await.unwrap();
    logged(dir.path(), "up").await;
    let second = Attempt::new(dir.path(), 2);
    let refused = second.start(&job(dir.path(), "echo DOUBLED"), agent()).await.unwrap_err();
    assert!(matches!(refused, SupervisorError::AlreadyRunning), "{refused}");
    first.request_cancel().unwrap();
    assert!(first.wait().await.unwrap().cancelled);
    assert!(!std::fs::read_to_string(dir.path().join("log")).unwrap().contains("DOUBLED"));
}

#[tokio::test]
async fn signals_for_the_agent_do_not_reach_the_playbook() {
    let dir = tempfile::tempdir().unwrap();
    let attempt = Attempt::new(dir.path(), 1);
    attempt.start(&job(dir.path(), "echo up; sleep 1; echo done"), agent()).await.unwrap();
    logged(dir.path(), "up").await;
    let supervisor = pid(&attempt, "supervisor");
    for signal in ["-TERM", "-INT", "-HUP"] {
        kill(supervisor, signal);
    }
    assert_eq!(attempt.trace().unwrap(), Trace::Living);
    assert_eq!(attempt.wait().await.unwrap(), code(0));
    // Its own session: nothing that is sent to the agent's group or terminal reaches it.
    let session = |pid: i32| -> Option<String> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(')')?.1.split_whitespace().nth(3).map(str::to_owned)
    };
    assert_ne!(session(supervisor), session(i32::try_from(std::process::id()).unwrap()));
}

#[tokio::test]
async fn cancel_ends_the_whole_group_with_sigint() {
    let dir = tempfile::tempdir().unwrap();
    let attempt = Attempt::new(dir.path(), 1);
    let script = "trap 'echo stopped; exit 99' INT; sleep 60 & echo child $!; echo up; wait";
    attempt.start(&job(dir.path(), script), agent()).await.unwrap();
    logged(dir.path(), "up").await;
    attempt.request_cancel().unwrap();
    let exit = attempt.wait().await.unwrap();
    assert_eq!(exit, Exit { cancelled: true, ..code(99) });
    logged(dir.path(), "stopped").await;
}

#[tokio::test]
async fn a_killed_supervisor_is_lost_and_what_it_left_is_stopped() {
    let dir = tempfile::tempdir().unwrap();
    let attempt = Attempt::new(dir.path(), 1);
    attempt.start(&job(dir.path(), "echo up; sleep 60"), agent()).await.unwrap();
    logged(dir.path(), "up").await;
    let program = pid(&attempt, "program");
    kill(pid(&attempt, "supervisor"), "-KILL");
    assert!(matches!(attempt.wait().await.unwrap_err(), SupervisorError::Lost));
    assert_eq!(attempt.trace().unwrap(), Trace::Lost);
    assert!(lives(program), "the program goes on by itself");
    assert!(attempt.kill_leftovers().await.unwrap());
    assert!(!lives(program));
    assert!(!attempt.kill_leftovers().await.unwrap(), "nothing is left");
    let next = Attempt::new(dir.path(), 2);
    next.start(&job(dir.path(), "exit 0"), agent()).await.unwrap();
    assert_eq!(next.wait().await.unwrap(), code(0));
    assert_eq!(Attempt::newest(dir.path(), 2).unwrap().0, 2);
}

#[tokio::test]
async fn a_program_that_is_not_there_is_told_as_such() {
    let dir = tempfile::tempdir().unwrap();
    let attempt = Attempt::new(dir.path(), 1);
    let mut job = job(dir.path(), "");
    job.argv = vec!["/nowhere/ansible-playbook".into()];
    attempt.start(&job, agent()).await.unwrap();
    let exit = attempt.wait().await.unwrap();
    assert!(exit.error.unwrap().contains("/nowhere/ansible-playbook"));
}

#[tokio::test]
async fn nothing_that_is_written_is_open_to_others() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let attempt = Attempt::new(dir.path(), 1);
    attempt.start(&job(dir.path(), "echo x > made"), agent()).await.unwrap();
    attempt.wait().await.unwrap();
    let mut rooms: Vec<PathBuf> = vec![dir.path().to_owned()];
    while let Some(room) = rooms.pop() {
        for entry in std::fs::read_dir(room).unwrap().flatten() {
            let mode = entry.metadata().unwrap().permissions().mode() & 0o077;
            assert_eq!(mode, 0, "{}", entry.path().display());
            if entry.path().is_dir() {
                rooms.push(entry.path());
            }
        }
    }
}
