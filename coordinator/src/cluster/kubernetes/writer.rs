//! One call to the API server, tried again while that can help.
//!
//! Every write here is idempotent or carries the version that was read, so a call whose answer was
//! lost may be made again.

use std::time::{Duration, Instant};

use bpa_common::api::ObjectKey;
use kube::Client;

use super::fault::{self, Fault};
use super::guard::{Guard, NotLeader};
use crate::cluster::WorldError;
use crate::cluster::kind::Kind;

/// Longest for one call. A leader stops writing this long before its lease ends.
pub const CALL_LIMIT: Duration = Duration::from_secs(5);
/// No further try begins after this long: whoever asked has its own back-off.
const BUDGET: Duration = Duration::from_secs(4);
/// Wait before the second try; doubled for each further one.
const FIRST_WAIT: Duration = Duration::from_millis(100);
/// Most tries of one call.
const TRIES: u32 = 5;

/// Why a call had no success.
#[derive(Debug)]
pub enum Failed {
    NotLeader(NotLeader),
    Api(Box<kube::Error>),
    /// No answer in [`CALL_LIMIT`].
    Slow,
}

impl Failed {
    /// What it means.
    pub fn fault(&self) -> Option<Fault> {
        match self {
            Self::Api(error) => Some(fault::fault(error)),
            Self::Slow => Some(Fault::Later(None)),
            Self::NotLeader(_) => None,
        }
    }

    /// As an error of the world: what was to be done, with what.
    pub fn into_world(self, action: &'static str, kind: Kind, key: &ObjectKey) -> WorldError {
        match &self {
            Self::Api(_) if self.fault() == Some(Fault::Missing) => {
                WorldError::NotFound { kind: kind.name(), key: key.clone() }
            }
            _ => self.about(action, format!("{kind} {key}")),
        }
    }

    /// As an error about anything else.
    pub fn about(self, action: &'static str, object: String) -> WorldError {
        let problem = match self {
            Self::NotLeader(_) => return WorldError::NotLeader,
            Self::Slow => format!("the API server did not answer in {} s", CALL_LIMIT.as_secs()),
            Self::Api(error) => {
                let text = fault::words(&error);
                match fault::fault(&error) {
                    Fault::Later(_) => format!("the API server does not take it now: {text}"),
                    Fault::Forbidden => format!("{text}; see deploy/rbac.yaml for what is needed"),
                    Fault::Unserved => {
                        format!("{text}; is its CRD installed? See deploy/README.md")
                    }
                    _ => text,
                }
            }
        };
        WorldError::Api { action, object, problem }
    }
}

/// Makes calls, and asks the guard before each that writes.
#[derive(Clone)]
pub struct Writer {
    pub client: Client,
    pub guard: Guard,
}

impl Writer {
    /// A call that changes something. `call` is made anew for each try.
    ///
    /// # Errors
    /// The last failure.
    pub async fn write<T, F>(&self, call: impl Fn(Client) -> F) -> Result<T, Failed>
    where
        F: Future<Output = kube::Result<T>>,
    {
        let guard = || self.guard.check(Instant::now()).map_err(Failed::NotLeader);
        self.attempt(guard, call).await
    }

    /// A call that only reads.
    ///
    /// # Errors
    /// The last failure.
    pub async fn read<T, F>(&self, call: impl Fn(Client) -> F) -> Result<T, Failed>
    where
        F: Future<Output = kube::Result<T>>,
    {
        self.attempt(|| Ok(()), call).await
    }

    async fn attempt<T, F>(
        &self,
        guard: impl Fn() -> Result<(), Failed>,
        call: impl Fn(Client) -> F,
    ) -> Result<T, Failed>
    where
        F: Future<Output = kube::Result<T>>,
    {
        let began = Instant::now();
        for attempt in 1.. {
            guard()?;
            let failed = match tokio::time::timeout(CALL_LIMIT, call(self.client.clone())).await {
                Ok(Ok(done)) => return Ok(done),
                Ok(Err(error)) => Failed::Api(Box::new(error)),
                Err(_) => Failed::Slow,
            };
            match next_wait(failed.fault(), attempt, began.elapsed()) {
                Some(wait) => tokio::time::sleep(wait).await,
                None => return Err(failed),
            }
        }
        Err(Failed::Slow)
    }
}

/// How long to wait for the next try, if there is to be one.
fn next_wait(fault: Option<Fault>, attempt: u32, spent: Duration) -> Option<Duration> {
    let Some(Fault::Later(asked)) = fault else { return None };
    if attempt >= TRIES {
        return None;
    }
    let wait = asked.unwrap_or(FIRST_WAIT * 2u32.saturating_pow(attempt - 1));
    (spent + wait <= BUDGET).then_some(wait)
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
