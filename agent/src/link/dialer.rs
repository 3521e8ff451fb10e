//! The session loop: dials, holds a session, waits, dials again. Never gives up.

use std::sync::Arc;
use std::time::Duration;

use bpa_common::link::{ClientCredentials, CloseCode, DialError, Dialed, client_config, dial};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::Desk;
use super::backoff::{Backoff, Pause};
use super::feed::WireLeases;
use super::identity::SiteIdentity;
use super::session::{self, End, Parts};

/// Where the link is, for `status` and logs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LinkStatus {
    /// No attempt has ended yet.
    #[default]
    Starting,
    Connected {
        /// Address of the coordinator.
        coordinator: String,
        /// Whether orders are allowed.
        approved: bool,
    },
    /// Not connected; another attempt follows.
    Waiting {
        why: String,
        retry: Duration,
    },
    Stopped,
}

/// Keeps a session with the coordinator until `stop`: dials, resumes, tells leases, events and
/// logs, takes orders. Never gives up.
pub async fn run_session_loop<D: Desk, L: WireLeases>(
    identity: SiteIdentity,
    desk: Arc<D>,
    leases: watch::Receiver<Arc<L>>,
    status: watch::Sender<LinkStatus>,
    stop: CancellationToken,
) {
    let parts =
        Parts { site: identity.site.clone(), desk, leases, approved: watch::channel(None).0 };
    let mut backoff = Backoff::new(rand::random());
    // The address that worked last is tried first.
    let mut first = 0;
    while !stop.is_cancelled() {
        let end = attempt(&identity, &parts, (&status, &stop), &mut first).await;
        if stop.is_cancelled() {
            break;
        }
        if end.stood {
            backoff.succeeded();
        }
        let retry = backoff.after(end.pause);
        tracing::warn!(site = identity.site, why = end.why, ?retry, "not connected");
        status.send_replace(LinkStatus::Waiting { why: end.why, retry });
        tokio::select! {
            () = tokio::time::sleep(retry) => {}
            () = stop.cancelled() => {}
        }
    }
    status.send_replace(LinkStatus::Stopped);
}

/// One round: every address in turn, then a session on the first that answers.
async fn attempt<D: Desk, L: WireLeases>(
    identity: &SiteIdentity,
    parts: &Parts<D, L>,
    (status, stop): (&watch::Sender<LinkStatus>, &CancellationToken),
    first: &mut usize,
) -> End {
    let mut failures = Vec::new();
    let count = identity.addresses.len();
    for at in (0..count).map(|n| (*first + n) % count) {
        let reached = tokio::select! {
            reached = reach(identity, at) => reached,
            () = stop.cancelled() => break,
        };
        match reached {
            Ok(dialed) => {
                *first = at;
                let address = identity.addresses[at].to_string();
                return hold(parts, (status, stop), address, dialed).await;
            }
            Err(failure) => failures.push(failure),
        }
    }
    summary(failures)
}

async fn reach(identity: &SiteIdentity, at: usize) -> Result<Dialed, (Pause, String)> {
    let credentials = ClientCredentials {
        certificate: identity.certificate.clone(),
        key: identity.key.private_key(),
    };
    let config = client_config(identity.pins.clone(), identity.last_good, Some(credentials))
        .map_err(|e| (Pause::Person, e.to_string()))?;
    dial(&identity.addresses[at], config).await.map_err(|e| (pause(&e), e.to_string()))
}

fn pause(error: &DialError) -> Pause {
    match error {
        DialError::WrongAuthority { .. }
        | DialError::Clock { .. }
        | DialError::NoCommonProtocol { .. } => Pause::Person,
        DialError::Refused { code: Some(code), .. } if code.needs_a_person() => Pause::Person,
        _ => Pause::Lost,
    }
}

/// One address that may answer soon is enough to try again soon.
fn summary(failures: Vec<(Pause, String)>) -> End {
    let hopeless = failures.iter().all(|(pause, _)| *pause == Pause::Person);
    let pause = if hopeless { Pause::Person } else { Pause::Lost };
    let why: Vec<String> = failures.into_iter().map(|(_, why)| why).collect();
    End { pause, why: why.join("; "), stood: false }
}

/// Holds the session and keeps the status up to date.
async fn hold<D: Desk, L: WireLeases>(
    parts: &Parts<D, L>,
    (status, stop): (&watch::Sender<LinkStatus>, &CancellationToken),
    coordinator: String,
    dialed: Dialed,
) -> End {
    parts.approved.send_replace(None);
    let mut approved = parts.approved.subscribe();
    let end = {
        let running = session::run(parts, &dialed.connection);
        tokio::pin!(running);
        loop {
            tokio::select! {
                end = &mut running => break end,
                Ok(()) = approved.changed() => {
                    let Some(approved) = *approved.borrow_and_update() else { continue };
                    let coordinator = coordinator.clone();
                    status.send_replace(LinkStatus::Connected { coordinator, approved });
                }
                () = stop.cancelled() => {
                    break End { pause: Pause::Lost, why: "the agent stops".into(), stood: true };
                }
            }
        }
    };
    dialed.close(CloseCode::Done, &end.why).await;
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_that_may_come_back_is_tried_again_soon() {
        let lost = (Pause::Lost, "no answer".to_owned());
        let wrong = (Pause::Person, "wrong authority".to_owned());
        assert_eq!(summary(vec![wrong.clone(), lost]).pause, Pause::Lost);
        let end = summary(vec![wrong.clone(), wrong]);
        assert_eq!(end.pause, Pause::Person);
        assert_eq!(end.why, "wrong authority; wrong authority");
    }
}
