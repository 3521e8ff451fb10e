//! Carrying out the actions of one decision, in order, until one fails.

use std::sync::Arc;

use bpa_common::api::metal3::{BareMetalHost, ConsumerRef};
use bpa_common::api::{ObjectKey, OsSpec, Provisioning};
use bpa_common::wire::v1::{CancelOrder, CancelReply, ObjectId, Order, OrderReply, RunId};

use crate::cluster::{ClaimOutcome, HostRef, World};
use crate::matching::{HostId, consumer_of};
use crate::planning::{
    Action, Answer, Holding, Install, Leave, holding, judge, leave, node_addresses,
};
use crate::runs::RunStore;
use crate::sites::Fleet;

/// What an effect found out.
#[derive(Debug)]
pub enum Outcome {
    Fine,
    /// An answer to an order, with the site's session at that time.
    Order {
        run: RunId,
        answer: Answer<OrderReply>,
        session: u64,
    },
    Cancel {
        run: RunId,
        answer: Answer<CancelReply>,
    },
    Saved {
        run: RunId,
        place: String,
    },
    Addresses {
        run: RunId,
    },
    /// Our mark is on the host.
    Claimed {
        host: HostId,
    },
    /// A later look has shown it unharmed.
    Confirmed {
        host: HostId,
    },
    /// Someone else has the host, at this version of it.
    Refused {
        host: HostId,
        version: String,
        by: String,
    },
    /// Done, but what comes after it must wait for somebody else.
    NotYet,
    Trouble {
        action: String,
        message: String,
    },
}

/// The parts that effects go to.
pub struct Parts<W, F> {
    pub world: Arc<W>,
    pub fleet: Arc<F>,
    pub runs: Arc<RunStore>,
    pub epoch: u64,
}

impl<W, F> Clone for Parts<W, F> {
    fn clone(&self) -> Self {
        Self {
            world: Arc::clone(&self.world),
            fleet: Arc::clone(&self.fleet),
            runs: Arc::clone(&self.runs),
            epoch: self.epoch,
        }
    }
}

impl<W: World, F: Fleet> Parts<W, F> {
    /// Carries out actions in order; the first that does not succeed holds the rest back.
    pub async fn act(self, provisioning: Provisioning, actions: Vec<Action>) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        for action in actions {
            tracing::debug!(provisioning = %provisioning.metadata.key(), action = ?name(&action));
            let outcome = self.one(&provisioning, action).await;
            let go_on = matches!(
                outcome,
                Outcome::Fine
                    | Outcome::Saved { .. }
                    | Outcome::Addresses { .. }
                    | Outcome::Claimed { .. }
                    | Outcome::Confirmed { .. }
            );
            outcomes.push(outcome);
            if !go_on {
                break;
            }
        }
        outcomes
    }

    async fn one(&self, provisioning: &Provisioning, action: Action) -> Outcome {
        let key = provisioning.metadata.key();
        match action {
            Action::SetFinalizer => {
                trouble("set our finalizer", self.world.set_finalizer(&key, true).await)
            }
            Action::DropFinalizer => {
                trouble("remove our finalizer", self.world.set_finalizer(&key, false).await)
            }
            Action::Claim { host, resource_version, consumer } => {
                let claimed = self.world.claim(&host, &resource_version, &consumer).await;
                claim_outcome(&host, resource_version, claimed)
            }
            Action::Confirm { host, consumer } => self.confirm(&host, &consumer).await,
            Action::InstallOs { host, consumer, os } => {
                self.install_os(&host, &consumer, &os).await
            }
            Action::Release { host, consumer, wipe } => self.release(&host, &consumer, wipe).await,
            Action::SendOrder { site, order } => self.send(provisioning, &site, *order).await,
            Action::Cancel { site, run } => {
                let cancel = CancelOrder { run, epoch: self.epoch };
                let answer = match self.fleet.cancel(&site, cancel).await {
                    Ok(reply) => Answer::Reply(reply),
                    Err(error) => Answer::Unreached(error.to_string()),
                };
                Outcome::Cancel { run, answer }
            }
            Action::SaveKubeconfig { run } => self.save(provisioning, run).await,
            Action::SaveAddresses { run } => {
                let addresses = node_addresses(&provisioning.status.nodes);
                match self.world.save_addresses(provisioning, &addresses).await {
                    Ok(()) => Outcome::Addresses { run },
                    Err(error) => problem("save the addresses of the nodes", error),
                }
            }
            Action::ForgetKubeconfig { run } => trouble(
                "remove the waiting copy of the kubeconfig",
                self.runs.forget_kubeconfig(run).await,
            ),
        }
    }

    /// The order is kept before it is sent: whatever happens then, the same is sent again.
    /// Just before, each of its hosts is looked at once more: what follows can't be undone.
    async fn send(&self, provisioning: &Provisioning, site: &str, order: Order) -> Outcome {
        let consumer = consumer_of(provisioning);
        for node in &order.nodes {
            let ObjectId { namespace, name, uid } = node.host.clone();
            let host = HostRef { key: ObjectKey::new(namespace, name), uid };
            match self.confirm(&host, &consumer).await {
                Outcome::Confirmed { .. } => {}
                outcome => return outcome,
            }
        }
        let (run, epoch) = (order.run, order.epoch);
        let kept = match self.runs.begin(site, order).await {
            Ok(kept) => kept,
            Err(error) => return problem("keep the order", error),
        };
        let order = Order { epoch, ..(*kept).clone() };
        let answer = match self.fleet.send_order(site, order).await {
            Ok(reply) => Answer::Reply(reply),
            Err(error) => Answer::Unreached(error.to_string()),
        };
        // Read after the answer: only a hello after this one can show that the run is gone.
        let session = self.fleet.view().get(site).map_or(0, |view| view.session);
        Outcome::Order { run, answer, session }
    }

    /// A live look at a host that should be ours.
    async fn confirm(&self, host: &HostRef, consumer: &ConsumerRef) -> Outcome {
        match self.look(host, consumer).await {
            Ok(_) => Outcome::Confirmed { host: host_id(host) },
            Err(outcome) => outcome,
        }
    }

    /// A live look; what it shows when the host is not ours is the outcome.
    async fn look(&self, host: &HostRef, consumer: &ConsumerRef) -> Result<BareMetalHost, Outcome> {
        let found = match self.world.fresh_host(host).await {
            Ok(found) => found,
            Err(error) => return Err(problem(&format!("look at host {}", host.key), error)),
        };
        match (holding(found.as_ref(), consumer), found) {
            (Holding::Ours, Some(found)) => Ok(found),
            (Holding::Lost(words), found) => Err(Outcome::Refused {
                host: host_id(host),
                version: found.map(|found| found.metadata.resource_version).unwrap_or_default(),
                by: format!("someone else: it {words}"),
            }),
            (Holding::Ours, None) => {
                Err(problem(&format!("look at host {}", host.key), "it is gone"))
            }
        }
    }

    /// Writes the image after one more look: what follows wipes the host's disk.
    async fn install_os(&self, host: &HostRef, consumer: &ConsumerRef, os: &OsSpec) -> Outcome {
        let action = format!("have the operating system installed on host {}", host.key);
        let found = match self.look(host, consumer).await {
            Ok(found) => found,
            Err(outcome) => return outcome,
        };
        if judge(&found, &consumer.uid, Some(os)) != Install::Write {
            // Our view lags behind: it is written already, or it can't be.
            return Outcome::Fine;
        }
        written(&action, host, self.world.write_os(&found, consumer, os).await)
    }

    /// The next step of giving a host back, by a live look: our view may not show yet that we had an
    /// image written.
    async fn release(&self, host: &HostRef, consumer: &ConsumerRef, wipe: bool) -> Outcome {
        let action = format!("release host {}", host.key);
        let found = match self.world.fresh_host(host).await {
            Ok(Some(found)) => found,
            Ok(None) => return Outcome::Fine,
            Err(error) => return problem(&action, error),
        };
        if found.spec.consumer_ref.as_ref() != Some(consumer) {
            return Outcome::Fine;
        }
        match leave(&found, &consumer.uid, wipe) {
            Leave::Release => trouble(&action, self.world.release(host, consumer).await),
            Leave::Wait(_) => Outcome::NotYet,
            Leave::Clear => match self.world.clear_os(&found, consumer).await {
                Ok(ClaimOutcome::Ours) => Outcome::NotYet,
                other => written(&action, host, other),
            },
        }
    }

    async fn save(&self, provisioning: &Provisioning, run: RunId) -> Outcome {
        let yaml = match self.runs.kubeconfig(run).await {
            Ok(Some(yaml)) => yaml,
            Ok(None) => return Outcome::Fine,
            Err(error) => return problem("read the kubeconfig", error),
        };
        match self.world.save_kubeconfig(provisioning, &yaml).await {
            Ok(place) => Outcome::Saved { run, place },
            Err(error) => problem("save the kubeconfig", error),
        }
    }
}

fn name(action: &Action) -> &'static str {
    match action {
        Action::SetFinalizer => "SetFinalizer",
        Action::DropFinalizer => "DropFinalizer",
        Action::Claim { .. } => "Claim",
        Action::Confirm { .. } => "Confirm",
        Action::InstallOs { .. } => "InstallOs",
        Action::Release { .. } => "Release",
        Action::SendOrder { .. } => "SendOrder",
        Action::Cancel { .. } => "Cancel",
        Action::SaveKubeconfig { .. } => "SaveKubeconfig",
        Action::SaveAddresses { .. } => "SaveAddresses",
        Action::ForgetKubeconfig { .. } => "ForgetKubeconfig",
    }
}

/// What became of a write to a host that is ours.
fn written<E: std::fmt::Display>(
    action: &str,
    host: &HostRef,
    result: Result<ClaimOutcome, E>,
) -> Outcome {
    match result {
        Ok(ClaimOutcome::Ours) => Outcome::Fine,
        Ok(ClaimOutcome::Taken(by)) => Outcome::Refused {
            host: host_id(host),
            version: String::new(),
            by: format!("{} {}/{}", by.kind, by.namespace, by.name),
        },
        Ok(ClaimOutcome::Changed) => problem(action, "it has changed in the meantime"),
        Err(error) => problem(action, error),
    }
}

fn claim_outcome<E: std::fmt::Display>(
    host: &HostRef,
    version: String,
    claimed: Result<ClaimOutcome, E>,
) -> Outcome {
    let action = format!("claim host {}", host.key);
    match claimed {
        Ok(ClaimOutcome::Ours) => Outcome::Claimed { host: host_id(host) },
        Ok(ClaimOutcome::Taken(by)) => Outcome::Refused {
            host: host_id(host),
            version,
            by: format!("{} {}/{}", by.kind, by.namespace, by.name),
        },
        Ok(ClaimOutcome::Changed) => problem(&action, "it has changed in the meantime"),
        Err(error) => problem(&action, error),
    }
}

fn host_id(host: &HostRef) -> HostId {
    HostId {
        namespace: host.key.namespace.clone(),
        name: host.key.name.clone(),
        uid: host.uid.clone(),
    }
}

fn trouble<E: std::fmt::Display>(action: &str, result: Result<(), E>) -> Outcome {
    match result {
        Ok(()) => Outcome::Fine,
        Err(error) => problem(action, error),
    }
}

fn problem(action: &str, error: impl std::fmt::Display) -> Outcome {
    Outcome::Trouble { action: action.to_owned(), message: error.to_string() }
}
