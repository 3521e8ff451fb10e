//! Events: told in order by one task, so that nobody waits for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bpa_common::api::ObjectKey;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use serde_json::json;
use tokio::sync::mpsc;

use super::FIELD_MANAGER;
use super::cache::Cache;
use super::event_book::{Book, Identity, Telling, identity};
use super::fault::Fault;
use super::writer::{Failed, Writer};
use crate::cluster::directory::EventRecord;
use crate::cluster::kind::Kind;
use crate::cluster::{ObjectEvent, WorldError};

/// Events that wait to be told; more are dropped, with a word in the log.
const WAITING: usize = 512;
/// How often counts that were held back are looked at.
const LOOK: Duration = Duration::from_secs(5);

/// Takes events, and never waits.
#[derive(Debug)]
pub struct Recorder {
    sender: mpsc::Sender<ObjectEvent>,
    /// Since the last one that was taken.
    dropped: AtomicU64,
}

impl Recorder {
    /// A recorder, and the task that does its work.
    pub fn new(writer: Writer, cache: Arc<Cache>) -> (Self, impl Future<Output = ()> + Send) {
        let (sender, receiver) = mpsc::channel(WAITING);
        (Self { sender, dropped: AtomicU64::new(0) }, tell_all(writer, cache, receiver))
    }

    /// Tells an event, soon.
    pub fn record(&self, event: ObjectEvent) {
        if self.sender.try_send(event).is_ok() {
            let dropped = self.dropped.swap(0, Ordering::Relaxed);
            if dropped > 0 {
                tracing::warn!(dropped, "events were not told: the API server did not keep up");
            }
        } else {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

async fn tell_all(writer: Writer, cache: Arc<Cache>, mut events: mpsc::Receiver<ObjectEvent>) {
    let mut book = Book::default();
    let mut look = tokio::time::interval(LOOK);
    look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let now = Timestamp::now;
        tokio::select! {
            event = events.recv() => {
                let Some(event) = event else { return };
                let telling = book.record(&event, now());
                tell(&writer, &cache, &mut book, &identity(&event), telling).await;
            }
            _ = look.tick() => {
                for (id, telling) in book.due(now()) {
                    tell(&writer, &cache, &mut book, &id, telling).await;
                }
            }
        }
    }
}

async fn tell(writer: &Writer, cache: &Cache, book: &mut Book, id: &Identity, telling: Telling) {
    let (kind, key, ..) = id;
    let done = match telling {
        Telling::Hold => return,
        Telling::Create { name } => create(writer, cache, id, &name).await,
        Telling::Count { name, count, .. } => count_up(writer, key, &name, count).await,
    };
    let Err(failed) = done else { return };
    match failed.fault() {
        // The object's namespace goes away, and with it whoever could read of it.
        Some(Fault::Terminating) => {}
        // Forgotten by the API server, or its namespace is gone.
        Some(Fault::Missing) => book.lost(id),
        // Our own write, whose answer was lost.
        Some(Fault::Conflict) => {}
        _ => {
            book.lost(id);
            let error = failed.about("tell of", format!("{kind} {key}"));
            tracing::warn!(%error, "an event is not told");
        }
    }
}

async fn create(writer: &Writer, cache: &Cache, id: &Identity, name: &str) -> Result<(), Failed> {
    let (kind, key, warning, reason, message) = id;
    let kind = Kind::parse(kind);
    let now = Some(Time(Timestamp::now()));
    let event = Event {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some(key.namespace.clone()),
            ..ObjectMeta::default()
        },
        involved_object: ObjectReference {
            api_version: kind.map(|kind| kind.api_version().to_owned()),
            kind: kind.map(|kind| kind.name().to_owned()),
            name: Some(key.name.clone()),
            namespace: Some(key.namespace.clone()),
            uid: kind.and_then(|kind| cache.uid(kind, key)),
            ..ObjectReference::default()
        },
        type_: Some(if *warning { "Warning" } else { "Normal" }.to_owned()),
        reason: Some(reason.clone()),
        message: Some(message.clone()),
        source: Some(EventSource { component: Some(FIELD_MANAGER.to_owned()), host: None }),
        reporting_component: Some(FIELD_MANAGER.to_owned()),
        first_timestamp: now.clone(),
        last_timestamp: now,
        count: Some(1),
        ..Event::default()
    };
    let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), dry_run: false };
    let wrote = writer.write(async |client: kube::Client| {
        let api: Api<Event> = Api::namespaced(client, &key.namespace);
        api.create(&params, &event).await
    });
    wrote.await.map(drop)
}

async fn count_up(writer: &Writer, key: &ObjectKey, name: &str, count: u32) -> Result<(), Failed> {
    let change = Patch::Merge(json!({"count": count, "lastTimestamp": Time(Timestamp::now())}));
    let params =
        PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..Default::default() };
    let wrote = writer.write(async |client: kube::Client| {
        let api: Api<Event> = Api::namespaced(client, &key.namespace);
        api.patch(name, &params, &change).await
    });
    wrote.await.map(drop)
}

/// Our events in one namespace or in all, oldest first.
///
/// # Errors
/// When they may not be listed, or the API server can't be reached.
pub async fn list(writer: &Writer, scope: Option<&str>) -> Result<Vec<EventRecord>, WorldError> {
    let params = ListParams::default().fields(&format!("reportingComponent={FIELD_MANAGER}"));
    let read = writer.read(async |client: kube::Client| {
        let api: Api<Event> = match scope {
            Some(namespace) => Api::namespaced(client, namespace),
            None => Api::all(client),
        };
        api.list(&params).await
    });
    let listed = read.await.map_err(|failed| failed.about("list", "events".to_owned()))?;
    // Times are whole seconds; names tell what came first within one.
    let mut events = listed.items;
    events.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    let mut records: Vec<EventRecord> = events.into_iter().filter_map(record).collect();
    records.sort_by_key(|record| (record.last, record.first));
    Ok(records)
}

fn record(event: Event) -> Option<EventRecord> {
    let about = event.involved_object;
    let last = event.last_timestamp.or(event.metadata.creation_timestamp)?.0;
    Some(EventRecord {
        first: event.first_timestamp.map_or(last, |time| time.0),
        last,
        count: event.count.and_then(|count| count.try_into().ok()).unwrap_or(1),
        kind: about.kind?,
        key: ObjectKey::new(about.namespace?, about.name?),
        warning: event.type_.is_some_and(|kind| kind == "Warning"),
        reason: event.reason.unwrap_or_default(),
        message: event.message.unwrap_or_default(),
    })
}
