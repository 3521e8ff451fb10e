//! A user who has kubectl and nothing else of the coordinator: `get`, `describe`, `wait` and events
//! tell the whole story. In one world only: it is about that world's own tool.

use bpa_tests::management::{Management, World};
use bpa_tests::site::{Options, Site};
use bpa_tests::told;
use bpa_tests::wait::until;
use serde_json::{Value, json};

/// A site that was approved with kubectl. The join line is the one thing that comes from a command.
fn site(name: &str) -> Site {
    let lab = ["--hosts", "2", "--kind", "ns", "--server", "kea", "--cpu", "4"];
    let world = World::Kubernetes;
    let mut site = Site::prepared(name, &Options { world, lab: &lab, ..Options::default() });
    site.start_coordinator();
    let line = site.join_line();
    site.join(&line).ok();
    site.start_agent();
    let approve =
        ["patch", "site", "edge", "--type", "merge", "-p", r#"{"spec":{"approved":true}}"#];
    k(&site, &approve);
    k(&site, &["wait", "site/edge", "--for=jsonpath={.status.connected}=true", "--timeout=30s"]);
    site
}

/// kubectl in the scenario's namespace.
fn k(site: &Site, args: &[&str]) -> String {
    match &site.management {
        Management::Kubernetes(cluster) => cluster.kubectl.run(args),
        Management::Directory(_) => unreachable!("a story of a cluster"),
    }
}

/// kubectl in the namespace of the hosts.
fn hosts(site: &Site, args: &[&str]) -> String {
    match &site.management {
        Management::Kubernetes(cluster) => cluster.hosts.run(args),
        Management::Directory(_) => unreachable!("a story of a cluster"),
    }
}

fn apply(site: &Site, name: &str, spec: &str) {
    site.management.put(name, &site.manifest(name, spec));
}

/// One cell of a table, by its row's first word and its column's name.
fn cell<'a>(table: &'a str, name: &str, column: &str) -> &'a str {
    let mut lines = table.lines();
    let head = lines.next().unwrap_or_default();
    let row = lines.find(|line| line.split_whitespace().next() == Some(name)).unwrap_or_default();
    let start = head.find(column).unwrap_or_else(|| panic!("no column {column} in:\n{table}"));
    row.get(start..).unwrap_or_default().split("  ").next().unwrap_or_default().trim()
}

/// The conditions of an object: type, status, reason, message.
fn conditions(site: &Site, name: &str) -> Vec<[String; 4]> {
    let text = k(site, &["get", "provisioning", name, "-o", "json"]);
    let object: Value = serde_json::from_str(&text).unwrap();
    let list = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let text = |c: &Value, field: &str| c[field].as_str().unwrap_or_default().to_owned();
    let fields = ["type", "status", "reason", "message"];
    list.iter().map(|c| fields.map(|field| text(c, field))).collect()
}

/// What `get` and `describe` show of `edge-a`, word for word: columns; conditions with reason and
/// message; events in order.
fn assert_story(site: &Site, name: &str) {
    let table = told::table(&k(site, &["get", "provisionings"])).join("\n");
    // Events are told beside the work: the last one comes soon after the status.
    let described = until("the last event", 30, || {
        let text = k(site, &["describe", "provisioning", "edge-a"]);
        let told = told::events(&text)
            .last()
            .is_some_and(|last| last.contains(LAST_EVENTS[0]) || last.contains(LAST_EVENTS[1]));
        if told { Ok(text) } else { Err(text) }
    });
    let conditions = told::conditions(&described).join("\n");
    let mut events = told::events(&described);
    // A quick run may be past these before it is looked at.
    events.retain(|event| !PASSING.iter().any(|reason| event.contains(reason)));
    let events = events.join("\n");
    let story = format!("{table}\n\nConditions:\n{conditions}\n\nEvents:\n{events}\n");
    let kept = bpa_tests::root().join(format!("tests/scenarios/kubectl_only/{name}.txt"));
    told::assert_told(&kept, &story.replace(site.management.namespace(), "edge-ns"));
}

/// Reasons that only say that something takes its time.
const PASSING: [&str; 4] =
    ["Normal Claiming:", "Normal InProgress:", "Normal Saving:", "Normal Waiting"];

/// How the two stories end.
const LAST_EVENTS: [&str; 2] = ["Normal Ready:", "Warning NoFit:"];

#[test]
fn a_cluster_is_made_and_followed_with_kubectl_alone() {
    let site = site("kubectl");
    assert_eq!(cell(&k(&site, &["get", "sites"]), "edge", "CONNECTED"), "true");
    apply(&site, "edge-a", "{masters: [{m-1: {}}], workers: [{w-1: {cpu: 4}}]}");
    k(&site, &["wait", "provisioning/edge-a", "--for=condition=Ready", "--timeout=240s"]);
    let table = k(&site, &["get", "provisionings"]);
    for (column, wanted) in
        [("PHASE", "Ready"), ("READY", "2/2"), ("SITE", "edge"), ("VERSION", "1.35.4")]
    {
        assert_eq!(cell(&table, "edge-a", column), wanted, "{column}:\n{table}");
    }
    let age = cell(&table, "edge-a", "AGE");
    assert!(age.ends_with('s') || age.contains('m'), "{table}");

    for [kind, status, reason, message] in conditions(&site, "edge-a") {
        assert_eq!(status, "True", "{kind}: {reason}: {message}");
        assert!(!reason.is_empty() && !message.is_empty(), "{kind}");
    }
    assert_story(&site, "installed");
    assert_eq!(site.kubectl("edge-a", &["get", "--raw", "/readyz"]).ok().out.trim(), "ok");
    let addresses = k(&site, &["get", "configmap", "edge-a-configmap", "-o", "jsonpath={.data}"]);
    assert!(addresses.contains("MASTER_m-1") && addresses.contains("WORKER_w-1"), "{addresses}");

    k(&site, &["delete", "provisioning", "edge-a", "--timeout=60s"]);
    let held = hosts(&site, &["get", "bmh", "-o", "jsonpath={.items[*].spec.consumerRef.name}"]);
    assert_eq!(held, "", "the hosts are free");
}

#[test]
fn what_does_not_fit_is_read_mended_and_approved_with_kubectl_alone() {
    let site = site("kmend");
    apply(&site, "edge-a", "{masters: [{m-1: {cpu: 64}}], approval: Manual}");
    let reason = |wanted: &'static str| {
        until(wanted, 30, || {
            let found = conditions(&site, "edge-a").into_iter().find(|c| c[2] == wanted);
            found
                .map(|[.., message]| message)
                .ok_or_else(|| format!("{:?}", conditions(&site, "edge-a")))
        })
    };
    let message = reason("NoFit");
    for words in ["cpu wanted 64, found 4, short by 60", "would fit: lower cpu of m-1 to 4"] {
        assert!(message.contains(words), "`{words}` in:\n{message}");
    }
    assert_eq!(cell(&k(&site, &["get", "provisionings"]), "edge-a", "PHASE"), "Waiting");
    assert_story(&site, "not-fitting");

    let mend = json!({"spec": {"masters": [{"m-1": {"cpu": 4}}]}}).to_string();
    k(&site, &["patch", "provisioning", "edge-a", "--type", "merge", "-p", &mend]);
    let message = reason("WaitingForApproval");
    let hash = k(&site, &["get", "provisioning", "edge-a", "-o", "jsonpath={.status.plan.hash}"]);
    let approve = format!("bpa.akraino.org/approve={hash}");
    assert!(message.contains(&approve.replace('=', ": ")), "it says how:\n{message}");
    k(&site, &["annotate", "provisioning", "edge-a", &approve]);
    k(&site, &["wait", "provisioning/edge-a", "--for=condition=Ready", "--timeout=240s"]);
    site.assert_one_run_ended_once();
}
