//! Tests of the cache: objects come in any order, and a bad one affects only itself.

use serde_json::{Value, json};

use super::*;

fn scope(kind: Kind) -> Scope {
    Scope { kind: Watched::Object(kind), namespace: None }
}

fn ready() -> Cache {
    let cache = Cache::new(false);
    for kind in Kind::ALL {
        cache.begin(scope(kind), Need::Required);
    }
    for kind in Kind::ALL {
        assert!(cache.snapshot().is_none(), "{kind} is not listed yet");
        cache.listed(&scope(kind), &BTreeSet::new());
    }
    cache
}

fn put(cache: &Cache, kind: Kind, name: &str, spec: Value) {
    let object = json!({"metadata": {"name": name, "namespace": "m", "uid": format!("uid-{name}")},
        "spec": spec});
    cache.put(&scope(kind), serde_json::from_value(object).unwrap(), true);
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("m", name)
}

#[test]
fn a_host_and_its_hardware_meet_whichever_comes_first() {
    let cache = ready();
    let hardware = json!({"hardware": {"cpu": {"count": 4}}});
    put(&cache, Kind::Hardware, "a", hardware.clone());
    assert!(cache.snapshot().unwrap().hosts.is_empty(), "hardware alone is no host");
    put(&cache, Kind::Host, "a", json!({"online": true}));
    put(&cache, Kind::Host, "b", json!({"online": true}));
    put(&cache, Kind::Hardware, "b", hardware);
    let hosts = cache.snapshot().unwrap().hosts;
    assert_eq!(hosts.len(), 2);
    for host in hosts {
        let data = host.hardware.as_ref().unwrap().spec.hardware.as_ref().unwrap();
        assert_eq!(data.cpu.as_ref().unwrap().count, Some(4));
    }
    // A host that can't be used for a while gets its hardware back when it can.
    put(&cache, Kind::Host, "b", json!({"online": 7}));
    put(&cache, Kind::Host, "b", json!({"online": true}));
    assert!(cache.snapshot().unwrap().hosts[1].hardware.is_some());
    cache.remove(&scope(Kind::Hardware), &key("a"));
    assert_eq!(cache.snapshot().unwrap().hosts[0].hardware, None);
    cache.remove(&scope(Kind::Host), &key("a"));
    assert_eq!(cache.snapshot().unwrap().hosts.len(), 1);
}

#[test]
fn an_object_that_does_not_fit_is_a_problem_until_it_is_corrected() {
    let cache = ready();
    put(&cache, Kind::Site, "good", json!({}));
    put(&cache, Kind::Site, "bad", json!({"approved": 7}));
    put(&cache, Kind::Host, "bad", json!({"online": "perhaps"}));
    let snapshot = cache.snapshot().unwrap();
    assert_eq!((snapshot.sites.len(), snapshot.hosts.len()), (1, 0));
    assert_eq!(snapshot.problems.len(), 2, "{:?}", snapshot.problems);
    assert!(snapshot.problems.iter().all(|problem| problem.key == Some(key("bad"))));
    put(&cache, Kind::Site, "bad", json!({"approved": true}));
    cache.remove(&scope(Kind::Host), &key("bad"));
    let snapshot = cache.snapshot().unwrap();
    assert_eq!((snapshot.sites.len(), snapshot.problems.len()), (2, 0));
}

#[test]
fn a_snapshot_shares_objects_and_is_not_changed_by_what_comes_later() {
    let cache = ready();
    put(&cache, Kind::Host, "a", json!({"online": false}));
    let before = cache.snapshot().unwrap();
    let again = cache.snapshot().unwrap();
    assert!(Arc::ptr_eq(&before.hosts[0], &again.hosts[0]));
    put(&cache, Kind::Host, "a", json!({"online": true}));
    put(&cache, Kind::Hardware, "a", json!({}));
    assert!(!before.hosts[0].host.spec.online && before.hosts[0].hardware.is_none());
    assert!(cache.snapshot().unwrap().hosts[0].host.spec.online);
}

#[test]
fn a_list_of_one_namespace_leaves_the_others_alone() {
    let cache = ready();
    put(&cache, Kind::Site, "a", json!({}));
    let other = Scope { kind: Watched::Object(Kind::Site), namespace: Some("other".into()) };
    cache.listed(&other, &BTreeSet::new());
    assert_eq!(cache.snapshot().unwrap().sites.len(), 1);
    let own = Scope { kind: Watched::Object(Kind::Site), namespace: Some("m".into()) };
    cache.listed(&own, &BTreeSet::new());
    assert!(cache.snapshot().unwrap().sites.is_empty());
}

#[test]
fn every_change_is_told_and_the_uid_is_known() {
    let cache = ready();
    let mut changes = cache.changes();
    changes.mark_unchanged();
    put(&cache, Kind::Software, "s", json!({}));
    assert!(changes.has_changed().unwrap());
    changes.mark_unchanged();
    cache.remove(&scope(Kind::Software), &key("none"));
    assert!(changes.has_changed().unwrap());
    for kind in Kind::ALL {
        put(&cache, kind, "x", json!({"online": true}));
        assert_eq!(cache.uid(kind, &key("x")).as_deref(), Some("uid-x"), "{kind}");
    }
    assert_eq!(cache.uid(Kind::Host, &key("none")), None);
}

#[test]
fn who_points_at_a_host_is_known_until_it_does_not_any_more() {
    let cache = ready();
    let scope = Scope { kind: Watched::Neighbour(NeighbourKind::Machine), namespace: None };
    cache.begin(scope.clone(), Need::Optional);
    cache.listed(&scope, &BTreeSet::new());
    let machine = |host: Value| {
        let annotations = json!({"metal3.io/BareMetalHost": host});
        let metadata = json!({"name": "a", "namespace": "m", "annotations": annotations});
        serde_json::from_value::<Raw>(json!({"metadata": metadata})).unwrap()
    };
    cache.put(&scope, machine(json!("m/h1")), true);
    let uses = cache.snapshot().unwrap().uses;
    assert_eq!(
        (uses[0].kind.name(), &uses[0].host, &uses[0].by),
        ("Metal3Machine", &key("h1"), &key("a"))
    );
    let mut changes = cache.changes();
    changes.mark_unchanged();
    cache.put(&scope, machine(json!("m/h1")), true);
    assert!(
        !changes.has_changed().unwrap(),
        "machines change often, and mostly in nothing of ours"
    );
    cache.put(&scope, machine(json!("")), true);
    assert!(cache.snapshot().unwrap().uses.is_empty() && changes.has_changed().unwrap());
    cache.put(&scope, machine(json!("m/h2")), true);
    cache.listed(&scope, &BTreeSet::new());
    assert!(cache.snapshot().unwrap().uses.is_empty());
}
