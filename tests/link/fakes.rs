//! The rooms around the link, in memory: a journal, a store of runs, a view of leases.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Mutex;

use bpa_agent::link::{Desk, LogPiece, WireLeases};
use bpa_common::net::MacAddress;
use bpa_common::wire::v1::*;
use bpa_coordinator::sites::{RunSink, SinkError};
use tokio::sync::watch;

pub fn run(n: u8) -> RunId {
    RunId([n; 16])
}

pub fn order(n: u8, epoch: u64) -> Order {
    Order {
        run: run(n),
        provisioning: ObjectId::default(),
        generation: 1,
        epoch,
        kind: OrderKind::Install,
        cluster: ClusterPlan::default(),
        nodes: vec![],
        kubeconfig_home: true,
    }
}

/// What the agent's journal holds.
#[derive(Default)]
pub struct Journal {
    pub events: Vec<Event>,
    pub acknowledged: u64,
    /// The number of the newest event, or of the newest that the coordinator knows.
    pub last: u64,
    pub sessions: u64,
    pub approved: Option<bool>,
    pub orders: Vec<Order>,
    pub cancels: Vec<CancelOrder>,
    /// Text and whether it has ended.
    pub logs: BTreeMap<RunId, (Vec<u8>, bool)>,
    pub logs_done: BTreeSet<RunId>,
}

pub struct FakeDesk {
    pub journal: Mutex<Journal>,
    newest: watch::Sender<u64>,
}

impl FakeDesk {
    pub fn new() -> Self {
        Self { journal: Mutex::default(), newest: watch::channel(0).0 }
    }

    /// Writes so many events.
    pub fn happen(&self, count: u64) {
        let mut journal = self.journal.lock().unwrap();
        let from = journal.last + 1;
        journal.last += count;
        let event = |seq| Event {
            seq,
            run: run(1),
            at_ms: 0,
            body: EventBody::Note { message: format!("event {seq}") },
        };
        journal.events.extend((from..from + count).map(event));
        drop(journal);
        self.newest.send_replace(from + count - 1);
    }

    pub fn write_log(&self, run: RunId, text: &[u8], ended: bool) {
        let mut journal = self.journal.lock().unwrap();
        let log = journal.logs.entry(run).or_default();
        log.0.extend_from_slice(text);
        log.1 = ended;
    }
}

impl Desk for FakeDesk {
    fn runs(&self) -> Vec<RunReport> {
        vec![RunReport {
            run: run(1),
            provisioning: ObjectId::default(),
            generation: 1,
            epoch: 1,
            state: RunState::Running,
        }]
    }

    fn epoch_seen(&self) -> u64 {
        1
    }

    fn next_session(&self) -> u64 {
        let mut journal = self.journal.lock().unwrap();
        journal.sessions += 1;
        journal.sessions
    }

    fn bundles(&self) -> Vec<BundleReport> {
        vec![BundleReport {
            name: "lite".into(),
            version: "1".into(),
            kubernetes_versions: vec![],
            problems: vec![],
        }]
    }

    fn ssh_public_key(&self) -> String {
        "ssh-ed25519 AAAA".into()
    }

    fn host_report(&self) -> HostReport {
        HostReport { hostname: "boot".into(), cpus: 2, ..HostReport::default() }
    }

    fn set_approved(&self, approved: bool) {
        self.journal.lock().unwrap().approved = Some(approved);
    }

    async fn take_order(&self, order: Order) -> OrderReply {
        let run = order.run;
        self.journal.lock().unwrap().orders.push(order);
        OrderReply::Accepted { run }
    }

    async fn cancel(&self, cancel: CancelOrder) -> CancelReply {
        self.journal.lock().unwrap().cancels.push(cancel);
        CancelReply::Stopping
    }

    fn events_after(&self, seq: u64, limit: usize) -> Vec<Event> {
        let journal = self.journal.lock().unwrap();
        journal.events.iter().filter(|e| e.seq > seq).take(limit).cloned().collect()
    }

    fn acknowledge_events(&self, seq: u64) {
        let mut journal = self.journal.lock().unwrap();
        journal.acknowledged = seq;
        journal.last = journal.last.max(seq);
    }

    fn newest_event(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }

    fn runs_with_log(&self) -> Vec<RunId> {
        let journal = self.journal.lock().unwrap();
        journal.logs.keys().filter(|run| !journal.logs_done.contains(run)).copied().collect()
    }

    fn read_log(&self, run: RunId, offset: u64, max: usize) -> LogPiece {
        let journal = self.journal.lock().unwrap();
        let (text, ended) = &journal.logs[&run];
        let from = (offset as usize).min(text.len());
        let to = (from + max).min(text.len());
        LogPiece { bytes: text[from..to].to_vec(), last: *ended && to == text.len() }
    }

    fn log_done(&self, run: RunId) {
        self.journal.lock().unwrap().logs_done.insert(run);
    }
}

/// What the coordinator's store of runs holds.
#[derive(Default)]
pub struct Kept {
    pub events: BTreeMap<String, Vec<Event>>,
    pub logs: BTreeMap<RunId, Vec<u8>>,
    /// While true, nothing can be kept.
    pub disk_full: bool,
    /// Pieces of logs that were handed over.
    pub pieces: usize,
}

#[derive(Default)]
pub struct FakeSink(pub Mutex<Kept>);

impl FakeSink {
    pub fn seqs(&self, site: &str) -> Vec<u64> {
        let kept = self.0.lock().unwrap();
        kept.events.get(site).into_iter().flatten().map(|e| e.seq).collect()
    }
}

impl RunSink for FakeSink {
    fn events_seen(&self, site: &str) -> u64 {
        self.seqs(site).last().copied().unwrap_or(0)
    }

    async fn append_events(&self, site: &str, events: Vec<Event>) -> Result<(), SinkError> {
        let mut kept = self.0.lock().unwrap();
        if kept.disk_full {
            return Err(SinkError { site: site.into(), message: "no space left".into() });
        }
        let list = kept.events.entry(site.to_owned()).or_default();
        let seen = list.last().map_or(0, |e| e.seq);
        list.extend(events.into_iter().filter(|e| e.seq > seen));
        Ok(())
    }

    fn log_len(&self, run: RunId) -> u64 {
        self.0.lock().unwrap().logs.get(&run).map_or(0, |log| log.len() as u64)
    }

    async fn append_log(
        &self,
        _site: &str,
        run: RunId,
        offset: u64,
        piece: Vec<u8>,
    ) -> Result<(), SinkError> {
        let mut kept = self.0.lock().unwrap();
        kept.pieces += 1;
        let log = kept.logs.entry(run).or_default();
        let known = log.len() - offset as usize;
        log.extend(piece.into_iter().skip(known));
        Ok(())
    }
}

/// A view of leases.
#[derive(Clone, Default)]
pub struct FakeLeases(pub Vec<LeaseEntry>);

pub fn lease(mac: u8, address: u8) -> LeaseEntry {
    LeaseEntry {
        mac: MacAddress::new([2, 0, 0, 0, 0, mac]),
        address: IpAddr::from([10, 0, 0, address]),
        state: LeaseState::Bound,
        expires: None,
        renewed: None,
        source: 0,
        client_id: String::new(),
        hostname: String::new(),
        chosen: true,
    }
}

impl WireLeases for FakeLeases {
    fn wire_sources(&self) -> Vec<LeaseSource> {
        vec![LeaseSource {
            kind: "kea".into(),
            path: "/leases".into(),
            records: self.0.len() as u64,
            skipped: 0,
            age_seconds: 0,
            error: String::new(),
        }]
    }

    fn wire_entries(&self) -> Vec<LeaseEntry> {
        self.0.clone()
    }
}
