//! Does one step of a run.

use std::sync::Arc;
use std::time::Duration;

use bpa_common::wire::v1::{Check, CheckOutcome, EventBody, NodeState, Order, SecretBytes, Step};
use tokio_util::sync::CancellationToken;

use super::hands::{reach, verify_all};
use super::resolve::resolve;
use super::shop::Shop;
use super::teller::Teller;
use crate::steps::access::{Access, known_hosts};
use crate::steps::check::{Wanted, check};
use crate::steps::inventory::{Inventory, InventoryNode, hosts_ini, layers, read_back, write};
use crate::steps::kubespray::{Bundle, Played, Playing, environment, play};
use crate::steps::preflight::{self, Needs};
use crate::steps::{Journaled, NodeTarget, Places, StepFailure, collect};

/// How a step came out, when it did not fail.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Performed {
    Done(String),
    /// It was stopped because the run is to be cancelled.
    Stopped,
    /// Nobody knows how far it came; `orders` decides what follows.
    Unknown,
}

/// A run in this process: what it works with, and what its steps hand to one another.
pub(super) struct Performer {
    pub shop: Arc<Shop>,
    pub order: Order,
    pub places: Places,
    pub teller: Arc<Teller>,
    pub cancel: CancellationToken,
    targets: Vec<NodeTarget>,
    hands: Vec<Access>,
}

impl Performer {
    pub(super) fn new(
        shop: Arc<Shop>,
        order: Order,
        teller: Arc<Teller>,
        cancel: CancellationToken,
    ) -> Self {
        let places = Places::new(&shop.state_dir, &order);
        Self { shop, order, places, teller, cancel, targets: Vec::new(), hands: Vec::new() }
    }

    /// Does a step. A cancel stops it at once, but for the playbook, which is stopped in order.
    pub(super) async fn perform(&mut self, step: Step) -> Result<Performed, StepFailure> {
        if step == Step::Kubespray {
            // An hour is long: connections are made anew when they are needed again.
            self.hands.clear();
            return Box::pin(self.kubespray()).await;
        }
        let cancel = self.cancel.clone();
        let done = tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok(Performed::Stopped),
            done = Box::pin(self.stoppable(step)) => done,
        };
        match done {
            Err(_) if cancel.is_cancelled() => Ok(Performed::Stopped),
            done => done.map(Performed::Done),
        }
    }

    async fn stoppable(&mut self, step: Step) -> Result<String, StepFailure> {
        match step {
            Step::Resolve => self.resolve().await,
            Step::Access => self.access().await,
            Step::Verify => {
                verify_all(&self.hands, &self.teller).await?;
                Ok("every machine is the one that was ordered".to_owned())
            }
            Step::Preflight => self.preflight().await,
            Step::Inventory => self.inventory().await,
            Step::Kubespray => Ok(String::new()),
            Step::Collect => {
                let kubeconfig = collect::collect(&self.places)?;
                Ok(format!("kubeconfig of {}", kubeconfig.server()))
            }
            Step::Check => self.check().await,
        }
    }

    async fn resolve(&mut self) -> Result<String, StepFailure> {
        self.places.make().map_err(|e| self.disk(&e))?;
        let limit = Duration::from_secs(self.shop.config.lease_wait_seconds);
        let leases = self.shop.leases.clone();
        self.targets = resolve(&self.order, leases, limit, &*self.teller).await?;
        Ok(format!("{} addresses", self.targets.len()))
    }

    async fn access(&mut self) -> Result<String, StepFailure> {
        self.hands = reach(&self.shop.access, &self.targets, &self.teller, &self.cancel).await?;
        Ok(format!("key login on {} hosts", self.hands.len()))
    }

    async fn preflight(&self) -> Result<String, StepFailure> {
        let needs = Needs { systemd: self.bundle()?.manifest.expects.nodes_ready };
        let pairs: Vec<(&NodeTarget, &Access)> =
            self.hands.iter().map(|access| (access.target(), access)).collect();
        let checks = preflight::check(&pairs, needs).await;
        for check in &checks {
            self.teller.tell(EventBody::Check(check.clone()));
        }
        let failed: Vec<&Check> =
            checks.iter().filter(|c| c.status == CheckOutcome::Failed).collect();
        if let Some(first) = failed.first() {
            return Err(preflight_failed(first, &failed));
        }
        for target in &self.targets {
            self.teller.tell(EventBody::Node {
                node: target.name.clone(),
                state: NodeState::Checked,
                address: Some(target.address),
                message: String::new(),
            });
        }
        let warnings = checks.iter().filter(|c| c.status == CheckOutcome::Warning).count();
        Ok(format!("{} checks, {warnings} warnings", checks.len()))
    }

    async fn inventory(&self) -> Result<String, StepFailure> {
        let bundle = self.bundle()?;
        let nodes = self.inventory_nodes();
        let wrong = |message: String| StepFailure {
            reason: "InventoryInvalid",
            node: None,
            message,
            fix: "change the Provisioning, or the agent's configuration, accordingly".into(),
        };
        let text = hosts_ini(&nodes, self.shop.access.site_key.path())
            .map_err(|e| wrong(e.to_string()))?;
        let layers = layers(&bundle.vars, &self.order.cluster, self.order.kind, &self.places)
            .map_err(wrong)?;
        let known_hosts = known_hosts(&self.shop.access.pins, &self.targets)?;
        let inventory = Inventory { hosts_ini: text, nodes: &nodes, layers, known_hosts };
        write(&inventory, &self.places).map_err(|e| self.disk(&e))?;
        let program = bundle.tool("ansible-inventory").map_err(wrong)?;
        let variables = environment(&bundle, &self.places, self.shop.config.forks, None);
        read_back(&program, &self.places.hosts_ini(), &variables, &nodes).await.map_err(wrong)?;
        Ok("hosts.ini, read back by ansible-inventory as meant".to_owned())
    }

    fn inventory_nodes(&self) -> Vec<InventoryNode> {
        let node = |access: &Access| {
            let target = access.target();
            let ordered = self.order.nodes.iter().find(|n| n.name == target.name)?;
            Some(InventoryNode {
                name: target.name.clone(),
                address: target.address,
                port: target.port,
                user: access.user().to_owned(),
                control_plane: ordered.control_plane,
                worker: ordered.worker,
                etcd: ordered.etcd,
                become_password: access.become_password(),
            })
        };
        self.hands.iter().filter_map(node).collect()
    }

    async fn kubespray(&self) -> Result<Performed, StepFailure> {
        let bundle = self.bundle()?;
        let played = play(&Playing {
            bundle: &bundle,
            places: &self.places,
            order: &self.order,
            forks: self.shop.config.forks,
            agent: &self.shop.agent,
            stage: &*self.teller,
            cancel: &self.cancel,
        })
        .await?;
        Ok(match played {
            Played::Success => Performed::Done("the playbook worked on every host".to_owned()),
            Played::Cancelled => Performed::Stopped,
            Played::Interrupted => Performed::Unknown,
        })
    }

    async fn check(&self) -> Result<String, StepFailure> {
        let bundle = self.bundle()?;
        let kubeconfig = collect::kept(&self.places)?;
        let all: Vec<&str> = self.order.nodes.iter().map(|n| n.name.as_str()).collect();
        let ready: &[&str] = if bundle.manifest.expects.nodes_ready { &all } else { &[] };
        let tell = |message: String| self.teller.tell(EventBody::Note { message });
        let found = check(&kubeconfig, Wanted::ready(ready), &tell).await?;
        if self.order.kubeconfig_home {
            self.teller.tell(EventBody::Kubeconfig {
                pem: SecretBytes(kubeconfig.text().to_vec()),
                server: kubeconfig.server().to_owned(),
                days_left: found.days_left,
                kubernetes_version: found.kubernetes_version.clone(),
            });
        } else {
            tell(format!("the kubeconfig stays here: {}", self.places.kubeconfig().display()));
        }
        Ok(format!(
            "{} answers, Kubernetes {}, {} days left",
            kubeconfig.server(),
            found.kubernetes_version,
            found.days_left
        ))
    }

    fn bundle(&self) -> Result<Bundle, StepFailure> {
        self.shop.bundle(&self.order.cluster).ok_or_else(|| StepFailure {
            reason: "BundleUnusable",
            node: None,
            message: "the bundle of this order is no longer in the configuration".into(),
            fix: "add its [[bundle]] to the agent's configuration again".into(),
        })
    }

    fn disk(&self, error: &std::io::Error) -> StepFailure {
        StepFailure {
            reason: "DiskFailed",
            node: None,
            message: format!("can't write to {}: {error}", self.places.run().display()),
            fix: "`bpa-agent doctor` at the site checks disk and permissions".into(),
        }
    }

    /// The end of the run: what only it needed is removed.
    pub(super) fn finish(&self, reset_done: bool) {
        self.places.tidy();
        if reset_done && let Err(error) = self.places.forget_cluster() {
            tracing::warn!(run = %self.order.run, %error, "can't remove the cluster's files");
        }
    }
}

fn preflight_failed(first: &Check, failed: &[&Check]) -> StepFailure {
    let list: Vec<String> = failed
        .iter()
        .map(|c| format!("{}: {} (wanted {}, found {})", c.node, c.id, c.wanted, c.found))
        .collect();
    StepFailure {
        reason: "PreflightFailed",
        node: Some(first.node.clone()),
        message: format!("{} checks failed: {}", failed.len(), list.join("; ")),
        fix: first.fix.clone(),
    }
}
