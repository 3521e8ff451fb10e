//! The order of things when a host is reached; see the module's text for the reasons.

use std::sync::Arc;
use std::time::{Duration, Instant};

use russh::keys::PublicKey;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::auth::{Verdict, with_credential, with_key};
use super::become_root;
use super::dial::{Line, dial};
use super::granted::Access;
use super::handler::same_key;
use super::install_key::{Installed, install_key};
use super::pins::{Pin, Pins, fingerprint};
use super::problem::Problem;
use super::progress::Progress;
use super::session::Session;
use super::site_key::SiteKey;
use crate::credentials::{Credential, CredentialSource};
use crate::steps::{NodeTarget, StepFailure, verify};

/// A machine that boots refuses logins for a while: the pause before the next try.
const LOGIN_PAUSE: Duration = Duration::from_secs(5);

/// What access needs. Cheap to clone; one per agent.
#[derive(Clone, Debug)]
pub struct AccessContext {
    pub site_key: Arc<SiteKey>,
    pub credentials: CredentialSource,
    pub pins: Pins,
    /// How long a port may stay silent.
    pub ssh_wait: Duration,
}

/// Gets access to a host. Idempotent: where the key is installed, it only logs in and looks.
///
/// # Errors
/// A failure with its reason, and what to do. Nothing was changed on a machine that is not the one.
pub async fn prepare(
    context: &AccessContext,
    target: &NodeTarget,
    progress: &(dyn Fn(Progress) + Send + Sync),
    cancel: &CancellationToken,
) -> Result<Access, StepFailure> {
    let reached = tokio::select! {
        biased;
        () = cancel.cancelled() => Err(Problem::Cancelled),
        reached = Box::pin(patiently(context, target, progress, cancel)) => reached,
    };
    reached.map_err(|problem| problem.on(target))
}

/// A login that the server ends by itself is worth another try: the machine may still be booting, or
/// be on its way down before it boots anew.
async fn patiently(
    context: &AccessContext,
    target: &NodeTarget,
    progress: &(dyn Fn(Progress) + Send + Sync),
    cancel: &CancellationToken,
) -> Result<Access, Problem> {
    let begun = Instant::now();
    loop {
        let left = context.ssh_wait.saturating_sub(begun.elapsed());
        let attempt = Attempt::new(context, target, progress, cancel, left)?;
        match attempt.reach().await {
            Err(Problem::LoginRefused { found, .. } | Problem::Lost { found, .. })
                if left > LOGIN_PAUSE =>
            {
                let (waited, limit) = (begun.elapsed(), context.ssh_wait);
                progress(Progress::Waiting { why: found, waited, limit });
                sleep(LOGIN_PAUSE).await;
            }
            other => return other,
        }
    }
}

struct Attempt<'a> {
    context: &'a AccessContext,
    target: &'a NodeTarget,
    progress: &'a (dyn Fn(Progress) + Send + Sync),
    cancel: &'a CancellationToken,
    wait: Duration,
    credential: Option<Credential>,
    /// Why the credentials can't be used: told when they are needed.
    trouble: Option<String>,
    pinned: Option<PublicKey>,
    user: String,
}

impl<'a> Attempt<'a> {
    fn new(
        context: &'a AccessContext,
        target: &'a NodeTarget,
        progress: &'a (dyn Fn(Progress) + Send + Sync),
        cancel: &'a CancellationToken,
        wait: Duration,
    ) -> Result<Self, Problem> {
        let selected = context.credentials.select(&target.host, &target.macs);
        let (credential, trouble) = match selected {
            Ok(credential) => (credential, None),
            Err(error) => (None, Some(error.to_string())),
        };
        let pin = context
            .pins
            .find(&target.host_uid, &target.installation)
            .map_err(|e| Problem::Pins(e.to_string()))?;
        let pinned = pin.as_ref().map(|pin| {
            PublicKey::from_openssh(&pin.key).map_err(|e| {
                Problem::Pins(format!(
                    "the pinned key of {} is damaged: {e}; run: bpa-agent keys forget {}",
                    pin.host, pin.host
                ))
            })
        });
        // The credentials say who; after they are gone the pin remembers.
        let user = credential.as_ref().map(|c| c.user.clone()).or(pin.map(|pin| pin.user));
        let user = user.unwrap_or_else(|| "root".to_owned());
        let pinned = pinned.transpose()?;
        Ok(Self { context, target, progress, cancel, wait, credential, trouble, pinned, user })
    }

    async fn reach(&self) -> Result<Access, Problem> {
        let mut line = self.dial(self.pinned.as_ref(), self.wait).await?;
        let key = line.key.clone();
        let verdict = with_key(&mut line, &self.user, self.context.site_key.key()).await?;
        let session = match verdict {
            Verdict::In => {
                if let Some(why) = self.trouble.clone() {
                    (self.progress)(Progress::WithoutCredentials { why });
                }
                self.session(line)
            }
            Verdict::Refused(offered) => {
                self.introduce(line, offered).await?;
                self.prove(&key).await?
            }
        };
        verify::check(&session, self.target).await?;
        self.pin(&key)?;
        let found = become_root::find(&session, &self.user, self.credential.as_ref()).await;
        let found = found.map_err(|problem| match (problem, &self.trouble) {
            (Problem::SudoPasswordMissing { .. }, Some(trouble)) => {
                Problem::Credentials(trouble.clone())
            }
            (other, _) => other,
        })?;
        Ok(Access {
            session,
            target: self.target.clone(),
            user: self.user.clone(),
            become_root: found,
            fingerprint: fingerprint(&key),
        })
    }

    async fn dial(&self, expected: Option<&PublicKey>, wait: Duration) -> Result<Line, Problem> {
        dial(self.target, expected, wait, self.progress).await.map_err(|problem| match problem {
            Problem::HostKeyChanged { wanted, found, .. } => {
                let known_as = self.owner_of(&found);
                Problem::HostKeyChanged { wanted, found, known_as }
            }
            other => other,
        })
    }

    /// Another host whose pin has this fingerprint: the lease may lead to that machine.
    fn owner_of(&self, found: &str) -> Option<String> {
        let pins = self.context.pins.all().ok()?;
        let other = |pin: &Pin| pin.host_uid != self.target.host_uid && pin.fingerprint() == found;
        pins.into_iter().find(other).map(|pin| pin.host)
    }

    fn session(&self, line: Line) -> Session {
        let (user, cancel) = (self.user.clone(), self.cancel.clone());
        Session { handle: line.handle, witness: line.witness, user, cancel }
    }

    /// With the credentials, once: who are you, and here is our key.
    async fn introduce(
        &self,
        mut line: Line,
        offered: Vec<russh::MethodKind>,
    ) -> Result<(), Problem> {
        let Some(credential) = self.credential.as_ref().filter(|c| c.can_log_in()) else {
            if let Some(trouble) = &self.trouble {
                return Err(Problem::Credentials(trouble.clone()));
            }
            let source = self.context.credentials.path().map(|p| p.display().to_string());
            return Err(Problem::NoCredentials { user: self.user.clone(), source });
        };
        with_credential(&mut line, credential, offered).await?;
        let session = self.session(line);
        // Before anything is written there.
        verify::check(&session, self.target).await?;
        let public = self.context.site_key.public_line();
        if install_key(&session, &self.user, public).await? == Installed::Added {
            let (user, origin) = (self.user.clone(), credential.origin.clone());
            (self.progress)(Progress::KeyInstalled { user, origin });
        }
        session.close().await;
        Ok(())
    }

    /// A new connection with the site's key alone, to the machine of a moment ago.
    async fn prove(&self, key: &PublicKey) -> Result<Session, Problem> {
        let mut line = self.dial(None, Duration::from_secs(10)).await?;
        if !same_key(key, &line.key) {
            let (first, second) = (fingerprint(key), fingerprint(&line.key));
            return Err(Problem::TwoMachines { first, second });
        }
        match with_key(&mut line, &self.user, self.context.site_key.key()).await? {
            Verdict::In => Ok(self.session(line)),
            Verdict::Refused(_) => Err(Problem::KeyNotAccepted { user: self.user.clone() }),
        }
    }

    fn pin(&self, key: &PublicKey) -> Result<(), Problem> {
        let pins = |e: super::PinsError| Problem::Pins(e.to_string());
        let (uid, installation) = (&self.target.host_uid, &self.target.installation);
        let mut bare = key.clone();
        bare.set_comment("");
        let text = bare.to_openssh().map_err(|e| Problem::Pins(e.to_string()))?;
        let pin = Pin {
            host_uid: uid.clone(),
            installation: installation.clone(),
            host: self.target.host.clone(),
            key: text.trim().to_owned(),
            user: self.user.clone(),
        };
        if self.context.pins.find(uid, installation).map_err(pins)?.as_ref() == Some(&pin) {
            return Ok(());
        }
        let new = pin.fingerprint();
        let old = self.context.pins.save(pin).map_err(pins)?;
        match old.iter().find(|old| old.installation != *installation) {
            Some(old) => (self.progress)(Progress::PinReplaced { old: old.fingerprint(), new }),
            None if self.pinned.is_none() => (self.progress)(Progress::Pinned { fingerprint: new }),
            None => {}
        }
        Ok(())
    }
}
