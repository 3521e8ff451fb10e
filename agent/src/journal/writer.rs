//! The one thread that writes. SQLite allows one writer; a thread of its own keeps commits, which
//! wait for the disk, off the threads that serve the link.

use std::sync::mpsc;
use std::thread;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::JournalError;

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// Ends, with its thread, when dropped.
pub(super) struct Writer {
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(mut connection: Connection) -> std::io::Result<Self> {
        let (jobs, queue) = mpsc::channel::<Job>();
        let thread = thread::Builder::new().name("journal".to_owned()).spawn(move || {
            while let Ok(job) = queue.recv() {
                job(&mut connection);
            }
        })?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// One transaction: when this returns a value, it is on the disk; when not, nothing of it is.
    pub(super) fn commit<T: Send + 'static>(
        &self,
        change: impl FnOnce(&Transaction<'_>) -> Result<T, JournalError> + Send + 'static,
    ) -> Result<T, JournalError> {
        self.run(move |connection| transact(connection, change))?
    }

    /// Runs something on the writer's connection and waits for it.
    pub(super) fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> T + Send + 'static,
    ) -> Result<T, JournalError> {
        let (reply, answer) = mpsc::sync_channel(1);
        let job: Job = Box::new(move |connection| {
            // The one who asked may be gone (its task was stopped): what was done stands.
            let _ = reply.send(work(connection));
        });
        let jobs = self.jobs.as_ref().ok_or(JournalError::Stopped)?;
        jobs.send(job).map_err(|_| JournalError::Stopped)?;
        answer.recv().map_err(|_| JournalError::Stopped)
    }
}

fn transact<T>(
    connection: &mut Connection,
    change: impl FnOnce(&Transaction<'_>) -> Result<T, JournalError>,
) -> Result<T, JournalError> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let value = change(&tx)?;
    tx.commit()?;
    Ok(value)
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
