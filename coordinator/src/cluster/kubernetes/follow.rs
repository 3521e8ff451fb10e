//! One watch: a list, then changes, for ever. Errors are told and never end it.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bpa_common::api::{NeighbourKind, ObjectKey};
use futures_util::StreamExt;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Config, Error, Event, watcher};
use kube::{Api, Client};

use super::cache::Cache;
use super::fault::{self, Fault};
use super::health::{Need, Scope, Watched};
use super::raw::Raw;
use super::resource;
use super::uses;
use crate::cluster::kind::Kind;

/// Ends of watches, seconds: before load balancers drop them as idle (some do at 240 s).
const WATCH_LIMIT: u32 = 200;
/// Objects of one page of a list.
const PAGE: u32 = 500;
/// Before another version of a kind is tried.
const OTHER_VERSION: Duration = Duration::from_secs(10);
/// A list that shows nothing new for this long is begun again.
const LIST_LIMIT: Duration = Duration::from_secs(60);

/// What is watched, in the order in which it is begun.
pub const WATCHED: [(Watched, Need); 9] = [
    (Watched::Object(Kind::Provisioning), Need::Required),
    (Watched::Object(Kind::Site), Need::Required),
    (Watched::Object(Kind::Software), Need::Required),
    (Watched::Object(Kind::Cluster), Need::Required),
    (Watched::Object(Kind::Host), Need::MayBeUnserved),
    (Watched::Object(Kind::Hardware), Need::MayBeUnserved),
    (Watched::Neighbour(NeighbourKind::Machine), Need::Optional),
    (Watched::Neighbour(NeighbourKind::Template), Need::Optional),
    (Watched::Neighbour(NeighbourKind::Claim), Need::Optional),
];

/// Follows one kind in one namespace, or in all.
pub async fn follow(client: Client, scope: Scope, cache: Arc<Cache>) {
    let resources = match scope.kind {
        Watched::Object(kind) => vec![resource::api_resource(kind)],
        Watched::Neighbour(kind) => uses::resources(kind),
    };
    for resource in resources.iter().cycle() {
        let api = resource::all(&client, resource, scope.namespace.as_deref());
        // Comes back when a list has stalled, or when another version may be served.
        once(api, &scope, &cache, resources.len() > 1).await;
    }
}

async fn once(api: Api<Raw>, scope: &Scope, cache: &Cache, has_others: bool) {
    let config = Config::default().timeout(WATCH_LIMIT).page_size(PAGE);
    let mut stream = pin!(watcher(api, config).default_backoff());
    let mut listing: Option<BTreeSet<ObjectKey>> = None;
    loop {
        let item = if listing.is_some() {
            match tokio::time::timeout(LIST_LIMIT, stream.next()).await {
                Ok(item) => item,
                Err(_) => {
                    let message = format!("no answer in {} s", LIST_LIMIT.as_secs());
                    cache.failed(scope, Fault::Later(None), message);
                    return;
                }
            }
        } else {
            stream.next().await
        };
        match item {
            Some(Ok(event)) => take(event, &mut listing, scope, cache),
            Some(Err(error)) => {
                let meaning = tell(&error, scope, cache);
                if has_others && meaning == Fault::Unserved {
                    tokio::time::sleep(OTHER_VERSION).await;
                    return;
                }
            }
            None => return,
        }
    }
}

fn take(
    event: Event<Raw>,
    listing: &mut Option<BTreeSet<ObjectKey>>,
    scope: &Scope,
    cache: &Cache,
) {
    match event {
        Event::Init => *listing = Some(BTreeSet::new()),
        Event::InitApply(raw) => {
            listing.get_or_insert_default().insert(raw.key());
            cache.put(scope, raw, false);
        }
        Event::InitDone => {
            let seen = listing.take().unwrap_or_default();
            tracing::debug!(watch = %scope.words(), objects = seen.len(), "listed");
            cache.listed(scope, &seen);
        }
        Event::Apply(raw) => cache.put(scope, raw, true),
        Event::Delete(raw) => cache.remove(scope, &raw.key()),
    }
}

fn tell(error: &watcher::Error, scope: &Scope, cache: &Cache) -> Fault {
    let (meaning, message) = meaning(error);
    // That a watch must be begun again after a while is the normal course of things.
    let not_there = matches!(scope.kind, Watched::Neighbour(_)) && meaning == Fault::Unserved;
    let ordinary = not_there || message.contains("(410)");
    if cache.failed(scope, meaning, message.clone()) && !ordinary {
        tracing::warn!(watch = %scope.words(), error = message, "can't be watched; trying again");
    }
    meaning
}

fn meaning(error: &Error) -> (Fault, String) {
    match error {
        Error::InitialListFailed(error)
        | Error::WatchStartFailed(error)
        | Error::WatchFailed(error) => (fault::fault(error), fault::words(error)),
        Error::WatchError(status) => {
            let error = kube::Error::Api(status.clone());
            (fault::fault(&error), fault::words(&error))
        }
        other => (Fault::Later(None), fault::chain(other)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn raw(name: &str) -> Raw {
        serde_json::from_value(json!({"metadata": {"name": name, "namespace": "n"}, "spec": {}}))
            .unwrap()
    }

    fn names(cache: &Cache) -> Vec<String> {
        let sites = cache.snapshot().unwrap().sites;
        sites.into_iter().map(|site| site.metadata.name).collect()
    }

    #[test]
    fn a_second_list_takes_away_what_it_does_not_show() {
        let cache = Cache::new(false);
        let scope = Scope { kind: Watched::Object(Kind::Site), namespace: None };
        cache.begin(scope.clone(), Need::Required);
        let mut listing = None;
        let mut take = |event| take(event, &mut listing, &scope, &cache);
        take(Event::Init);
        take(Event::InitApply(raw("a")));
        assert!(cache.snapshot().is_none(), "half a list is no view");
        take(Event::InitApply(raw("b")));
        take(Event::InitDone);
        take(Event::Apply(raw("c")));
        assert_eq!(names(&cache), ["a", "b", "c"]);
        take(Event::Delete(raw("a")));
        take(Event::Init);
        take(Event::InitApply(raw("c")));
        assert_eq!(names(&cache), ["b", "c"], "nothing is gone before the list is done");
        take(Event::InitDone);
        assert_eq!(names(&cache), ["c"]);
    }
}
