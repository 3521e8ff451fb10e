//! The coordinator's parts as one process, with agents in memory that take every order and do it
//! at once.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bpa_common::wire::v1::{
    BundleReport, CancelOrder, CancelReply, Event, EventBody, LeaseEntry, LeaseState, Order,
    OrderReply, Outcome, SecretBytes,
};
use bpa_coordinator::cluster::kubernetes::{KubernetesOptions, KubernetesWorld};
use bpa_coordinator::controllers;
use bpa_coordinator::runs::RunStore;
use bpa_coordinator::sites::{Fleet, FleetView, LeaseView, RunSink, SendError, SiteView};
use jiff::Timestamp;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::crowd::{HOSTS_OF_A_SITE, SITES, mac, site};

/// Runs until it is killed.
pub fn run(kubeconfig: &str) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.expect("a runtime").block_on(serve(PathBuf::from(kubeconfig)));
}

async fn serve(kubeconfig: PathBuf) {
    let options = KubernetesOptions { kubeconfig: Some(kubeconfig), ..Default::default() };
    let world = KubernetesWorld::connect(options).await.expect("the API server is there");
    world.ready(Duration::from_secs(600)).await.expect("all lists come");
    println!("ready");
    let dir = tempfile::tempdir().expect("a temporary directory");
    let runs = Arc::new(RunStore::open(dir.path()).expect("a store of runs"));
    let fleet = Arc::new(Agents::new(Arc::clone(&runs)));
    controllers::run(Arc::new(world), fleet, runs, CancellationToken::new()).await;
}

/// All agents.
struct Agents {
    view: FleetView,
    runs: Arc<RunStore>,
    changes: watch::Sender<u64>,
    /// Event sequence numbers of each site.
    seq: Mutex<BTreeMap<String, u64>>,
}

impl Agents {
    fn new(runs: Arc<RunStore>) -> Self {
        let view = (0..SITES).map(|number| (site(number), Arc::new(connected(number)))).collect();
        Self { view, runs, changes: watch::Sender::new(0), seq: Mutex::default() }
    }

    /// The run is done a moment later.
    fn work(&self, site: &str, order: &Order) {
        let mut seqs = self.seq.lock().expect("no agent panics");
        let seq = seqs.entry(site.to_owned()).or_default();
        let mut event = |body| {
            *seq += 1;
            let at_ms = Timestamp::now().as_millisecond();
            Event { seq: *seq, run: order.run, at_ms, body }
        };
        let events = vec![
            event(EventBody::Accepted),
            event(EventBody::Kubeconfig {
                pem: SecretBytes(Vec::new()),
                server: "https://10.0.0.1:6443".into(),
                days_left: 365,
                kubernetes_version: "1.35.4".into(),
            }),
            event(EventBody::Ended { outcome: Outcome::Succeeded }),
        ];
        let (runs, site) = (Arc::clone(&self.runs), site.to_owned());
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(50)).await;
            runs.append_events(&site, events).await.expect("events are kept");
        });
    }
}

/// A site whose hosts all have leases.
fn connected(number: usize) -> SiteView {
    let first = number * HOSTS_OF_A_SITE;
    let lease = |n: usize| LeaseEntry {
        mac: mac(n),
        address: std::net::Ipv4Addr::from(0x0a00_0000 + n as u32).into(),
        state: LeaseState::Bound,
        expires: None,
        renewed: Some(1),
        source: 0,
        client_id: String::new(),
        hostname: format!("host-{n}"),
        chosen: true,
    };
    let by_mac = (first..first + HOSTS_OF_A_SITE).map(|n| (mac(n), vec![lease(n)])).collect();
    SiteView {
        connected: true,
        session: 1,
        last_seen: Some(Timestamp::now()),
        leases: LeaseView { by_mac, received: Some(Timestamp::now()), ..LeaseView::default() },
        bundles: vec![BundleReport {
            name: "small".into(),
            version: "1".into(),
            kubernetes_versions: vec!["1.35.4".into()],
            problems: Vec::new(),
        }],
        ..SiteView::default()
    }
}

impl Fleet for Agents {
    fn epoch(&self) -> u64 {
        1
    }

    fn view(&self) -> FleetView {
        self.view.clone()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn set_approved(&self, _: BTreeMap<String, bool>) {}

    async fn send_order(&self, site: &str, order: Order) -> Result<OrderReply, SendError> {
        println!("order {}", order.provisioning.name);
        self.work(site, &order);
        Ok(OrderReply::Accepted { run: order.run })
    }

    async fn cancel(&self, _: &str, _: CancelOrder) -> Result<CancelReply, SendError> {
        Ok(CancelReply::UnknownRun)
    }
}
