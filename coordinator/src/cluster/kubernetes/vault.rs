//! The coordinator's own secrets in one Secret of its own namespace.
//!
//! Each change is a read, a change of one entry, and a write of exactly the version that was read:
//! two processes never undo each other's work. The work is done on a thread of its own, so that
//! whoever asks may do so from anywhere.

use std::io;
use std::sync::mpsc as reply;
use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::sync::mpsc;
use zeroize::Zeroizing;

use super::FIELD_MANAGER;
use super::fault::Fault;
use super::vault_entries::{Answer, Data, Op, apply};
use super::world::KubernetesWorld;
use super::writer::{Failed, Writer};
use crate::cluster::{Vault, WorldError};

/// Name of the Secret.
pub const IDENTITY: &str = "bpa-coordinator-identity";
/// Tries against others who write the same Secret.
const TRIES: usize = 10;
/// Longest wait for an answer: all tries of a call, and some of others before it.
const PATIENCE: Duration = Duration::from_secs(30);

/// A [`Vault`] in the Secret [`IDENTITY`].
#[derive(Clone)]
pub struct SecretVault {
    jobs: mpsc::UnboundedSender<Job>,
}

struct Job {
    op: Op,
    reply: reply::SyncSender<io::Result<Answer>>,
}

impl SecretVault {
    /// The vault of this world's system namespace; its writes ask the world's guard.
    ///
    /// # Errors
    /// When the thread can't be started.
    pub fn open(world: &KubernetesWorld) -> Result<Self, WorldError> {
        let (jobs, waiting) = mpsc::unbounded_channel();
        let (config, guard) = (world.config().clone(), world.guard().clone());
        let namespace = world.system_namespace().to_owned();
        let problem = |error: io::Error| WorldError::Corrupt {
            what: "the vault".to_owned(),
            message: format!("its thread can't be started: {error}"),
        };
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(problem)?;
        let work = move || {
            runtime.block_on(async move {
                // The settings made a client before, so they do again.
                let Ok(client) = Client::try_from(config) else { return };
                serve(Writer { client, guard }, namespace, waiting).await;
            });
        };
        std::thread::Builder::new().name("vault".to_owned()).spawn(work).map_err(problem)?;
        Ok(Self { jobs })
    }

    fn ask(&self, op: Op) -> io::Result<Answer> {
        let (reply, answer) = reply::sync_channel(1);
        let ended = || io::Error::other("the vault's thread has ended");
        self.jobs.send(Job { op, reply }).map_err(|_| ended())?;
        answer.recv_timeout(PATIENCE).map_err(|error| match error {
            reply::RecvTimeoutError::Timeout => io::Error::new(
                io::ErrorKind::TimedOut,
                format!("the API server did not answer in {} s", PATIENCE.as_secs()),
            ),
            reply::RecvTimeoutError::Disconnected => ended(),
        })?
    }
}

/// The thread's own state.
struct Keeper {
    writer: Writer,
    namespace: String,
    /// As it was read or written last: agents that are known come back while the API server is away.
    last: Option<Data>,
}

async fn serve(writer: Writer, namespace: String, mut jobs: mpsc::UnboundedReceiver<Job>) {
    let mut keeper = Keeper { writer, namespace, last: None };
    while let Some(job) = jobs.recv().await {
        let answer = keeper.handle(&job.op).await;
        // Whoever asked may have given up.
        let _ = job.reply.send(answer);
    }
}

impl Keeper {
    async fn handle(&mut self, op: &Op) -> io::Result<Answer> {
        for _ in 0..TRIES {
            let found = match self.read().await {
                Ok(found) => found,
                Err(failed) => return self.answer_from_memory(op, failed),
            };
            let is_new = found.is_none();
            let mut secret = found.unwrap_or_else(empty);
            secret.metadata.managed_fields = None;
            let (answer, changed) = apply(op, secret.data.get_or_insert_default())?;
            if changed {
                match self.write(&secret, is_new).await {
                    Ok(()) => {}
                    Err(failed) if failed.fault() == Some(Fault::Conflict) => continue,
                    Err(failed) => return Err(self.problem(failed, "write")),
                }
            }
            self.last = secret.data;
            return Ok(answer);
        }
        Err(self.problem(Failed::Slow, "write"))
    }

    /// What was known last is good enough to be looked at, never to be changed.
    fn answer_from_memory(&self, op: &Op, failed: Failed) -> io::Result<Answer> {
        let away = matches!(failed.fault(), Some(Fault::Later(_)));
        let reads = matches!(op, Op::Get(_) | Op::List(_));
        match &self.last {
            Some(last) if away && reads => apply(op, &mut last.clone()).map(|(answer, _)| answer),
            _ => Err(self.problem(failed, "read")),
        }
    }

    async fn read(&self) -> Result<Option<Secret>, Failed> {
        let read = self.writer.read(async |client: Client| {
            let api: Api<Secret> = Api::namespaced(client, &self.namespace);
            api.get_opt(IDENTITY).await
        });
        read.await
    }

    async fn write(&self, secret: &Secret, is_new: bool) -> Result<(), Failed> {
        let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), dry_run: false };
        let wrote = self.writer.write(async |client: Client| {
            let api: Api<Secret> = Api::namespaced(client, &self.namespace);
            match is_new {
                true => api.create(&params, secret).await,
                false => api.replace(IDENTITY, &params, secret).await,
            }
        });
        wrote.await.map(drop)
    }

    fn problem(&self, failed: Failed, action: &'static str) -> io::Error {
        let object = format!("Secret {}/{IDENTITY}", self.namespace);
        io::Error::other(failed.about(action, object).to_string())
    }
}

fn empty() -> Secret {
    let label = ("app.kubernetes.io/managed-by".to_owned(), FIELD_MANAGER.to_owned());
    Secret {
        metadata: ObjectMeta {
            name: Some(IDENTITY.to_owned()),
            labels: Some([label].into()),
            ..ObjectMeta::default()
        },
        type_: Some("Opaque".to_owned()),
        ..Secret::default()
    }
}

impl Vault for SecretVault {
    fn get(&self, name: &str) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
        match self.ask(Op::Get(name.to_owned()))? {
            Answer::Value(value) => Ok(value),
            Answer::Names(_) | Answer::Done(_) => Ok(None),
        }
    }

    fn put(&self, name: &str, secret: &[u8]) -> io::Result<()> {
        self.ask(Op::Put(name.to_owned(), Zeroizing::new(secret.to_vec()))).map(drop)
    }

    fn create(&self, name: &str, secret: &[u8]) -> io::Result<bool> {
        let op = Op::Create(name.to_owned(), Zeroizing::new(secret.to_vec()));
        Ok(matches!(self.ask(op)?, Answer::Done(true)))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.ask(Op::Remove(name.to_owned())).map(drop)
    }

    fn list(&self, prefix: &str) -> io::Result<Vec<String>> {
        match self.ask(Op::List(prefix.to_owned()))? {
            Answer::Names(names) => Ok(names),
            Answer::Value(_) | Answer::Done(_) => Ok(Vec::new()),
        }
    }
}
