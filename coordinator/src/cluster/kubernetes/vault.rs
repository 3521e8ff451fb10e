//! The coordinator's own secrets in one Secret of its own namespace.
//!
//! Each change is a read, a change of one entry, and a write of exactly the version that was read:
//! two processes never undo each other's work. The work is done on a thread of its own, so that
//! whoever asks may do so from anywhere.

use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc as reply;
use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::sync::mpsc;
use zeroize::Zeroizing;

use super::FIELD_MANAGER;
use super::fault::Fault;
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

/// What is asked. Holds secrets: not to be printed.
enum Op {
    Get(String),
    List(String),
    Put(String, Zeroizing<Vec<u8>>),
    Create(String, Zeroizing<Vec<u8>>),
    Remove(String),
}

enum Answer {
    Value(Option<Zeroizing<Vec<u8>>>),
    Names(Vec<String>),
    Done(bool),
}

type Data = BTreeMap<String, ByteString>;

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

/// Carries out one operation on the entries. True when they changed.
fn apply(op: &Op, data: &mut Data) -> io::Result<(Answer, bool)> {
    Ok(match op {
        Op::Get(name) => {
            let value = data.get(&entry(name)?).map(|value| Zeroizing::new(value.0.clone()));
            (Answer::Value(value), false)
        }
        Op::List(prefix) => {
            let names = data.keys().map(|key| key.replace(SLASH, "/"));
            (Answer::Names(names.filter(|name| name.starts_with(prefix)).collect()), false)
        }
        Op::Put(name, value) => {
            let old = data.insert(entry(name)?, ByteString(value.to_vec()));
            (Answer::Done(true), old.is_none_or(|old| old.0 != **value))
        }
        Op::Create(name, value) => {
            let name = entry(name)?;
            let is_new = !data.contains_key(&name);
            if is_new {
                data.insert(name, ByteString(value.to_vec()));
            }
            (Answer::Done(is_new), is_new)
        }
        Op::Remove(name) => {
            let was = data.remove(&entry(name)?).is_some();
            (Answer::Done(was), was)
        }
    })
}

/// Entries of a Secret can't have `/` in their names.
const SLASH: &str = "..";

/// The entry of a name: `sites/north/key` is `sites..north..key`.
fn entry(name: &str) -> io::Result<String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let part = |part: &str| {
        let ends = part.starts_with('.') || part.ends_with('.') || part.contains(SLASH);
        !part.is_empty() && !ends && part.chars().all(allowed)
    };
    let entry = name.replace('/', SLASH);
    if entry.len() <= 253 && name.split('/').all(part) {
        return Ok(entry);
    }
    let message = format!(
        "`{}` can't name a secret: wanted parts of letters, digits, `-`, `_` and single `.`, joined by `/`, of 253 characters at most",
        name.escape_debug()
    );
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn done(op: Op, data: &mut Data) -> (bool, bool) {
        match apply(&op, data).unwrap() {
            (Answer::Done(done), changed) => (done, changed),
            _ => panic!("an answer of another kind"),
        }
    }

    fn secret(text: &str) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(text.as_bytes().to_vec())
    }

    #[test]
    fn entries_are_kept_created_once_listed_and_removed() {
        let mut data = Data::new();
        let name = || "sites/north/key".to_owned();
        assert_eq!(done(Op::Create(name(), secret("1")), &mut data), (true, true));
        assert_eq!(done(Op::Create(name(), secret("2")), &mut data), (false, false));
        assert_eq!(done(Op::Put(name(), secret("1")), &mut data), (true, false), "the same");
        assert_eq!(done(Op::Put(name(), secret("3")), &mut data), (true, true));
        assert_eq!(done(Op::Put("epoch".into(), secret("1")), &mut data), (true, true));
        let (Answer::Value(Some(value)), false) = apply(&Op::Get(name()), &mut data).unwrap()
        else {
            panic!("it is there");
        };
        assert_eq!(&**value, b"3");
        let (Answer::Names(names), false) = apply(&Op::List("sites/".into()), &mut data).unwrap()
        else {
            panic!("names are listed");
        };
        assert_eq!(names, ["sites/north/key"]);
        assert_eq!(done(Op::Remove(name()), &mut data), (true, true));
        assert_eq!(done(Op::Remove(name()), &mut data), (false, false));
    }

    #[test]
    fn names_stay_unique_as_entries() {
        assert_eq!(entry("ca/authority.pem").unwrap(), "ca..authority.pem");
        for bad in ["", "/a", "a/", "a//b", "a./b", "a/.b", "a..b", "a b", "ä", &"a".repeat(254)] {
            assert!(entry(bad).is_err(), "{bad}");
        }
    }
}
