//! What `plan` prints, and who gets what among several.

use super::*;
use crate::matching::testing::host;

fn wish(name: &str, second: i64, spec: &str) -> Provisioning {
    let text = format!("{{\"metadata\": {{\"name\": \"{name}\"}}, \"spec\": {spec}}}");
    let mut wish: Provisioning = serde_json::from_str(&text).unwrap();
    wish.metadata.creation_timestamp = Some(jiff::Timestamp::from_second(second).unwrap());
    wish
}

fn fits(wishes: &[Provisioning], hosts: &[BareMetalHost]) -> Vec<(String, bool)> {
    let hosts: Vec<_> = hosts.iter().map(|host| (host, None)).collect();
    let plans = plan_all(wishes, &hosts).provisionings;
    plans.into_iter().map(|plan| (plan.name, plan.fits)).collect()
}

#[test]
fn an_older_one_that_does_not_fit_blocks_no_younger_one() {
    let hosts = [host("h1", 1), host("h2", 2)];
    let older = wish("older", 1, r#"{"masters": [{"m": {"count": 3}}]}"#);
    let younger = wish("younger", 2, r#"{"masters": [{"m": {}}]}"#);
    let found = fits(&[younger, older], &hosts);
    assert_eq!(found, [("older".to_owned(), false), ("younger".to_owned(), true)]);
}

#[test]
fn what_an_older_one_names_by_mac_is_kept_for_it() {
    let hosts = [host("h1", 1)];
    let spec = r#"{"masters": [{"m": {"mac-address": "52:54:00:00:00:01"}}], "workers": [{"w": {"cpu": 1}}]}"#;
    let older = wish("older", 1, spec);
    let younger = wish("younger", 2, r#"{"masters": [{"m": {}}]}"#);
    assert!(fits(&[younger.clone(), older.clone()], &hosts).iter().all(|(_, fits)| !fits));
    let plans = plan_all(&[older, younger], &[(&hosts[0], None)]);
    let why = &plans.provisionings[1].ineligible[0];
    assert_eq!(
        (why.reason.as_str(), why.message.as_str()),
        ("Assigned", "is assigned to Provisioning /older")
    );
}

/// `docs/plan.md` names each field of the JSON, and the JSON has each field that it names.
#[test]
fn the_json_has_exactly_the_fields_of_the_docs() {
    let docs = include_str!("../../../../docs/plan.md");
    let hosts = [host("h1", 1), host("h3", 3), {
        let mut h = host("h2", 2);
        h.spec.online = false;
        h
    }];
    let refs: Vec<_> = hosts.iter().map(|host| (host, None)).collect();
    let wishes = [
        wish(
            "a",
            1,
            r#"{"masters": [{"m": {"mac-address": "52:54:00:00:00:01"}}], "hostfile": "x"}"#,
        ),
        wish("b", 2, r#"{"masters": [{"m": {"cpu": 4, "count": 2}}]}"#),
        wish("c", 3, r#"{"masters": [{"M_": {}}]}"#),
    ];
    let report = serde_json::to_value(plan_all(&wishes, &refs)).unwrap();
    let mut fields = std::collections::BTreeSet::new();
    names(&report, &mut fields);
    for field in &fields {
        assert!(
            docs.contains(&format!("`{field}"))
                || docs.contains(&format!(".{field}"))
                || docs.contains(field),
            "{field} is not in docs/plan.md"
        );
    }
    for field in [
        "schema",
        "fits",
        "provisionings",
        "unreadable",
        "accepted",
        "hash",
        "assignments",
        "slot",
        "roles",
        "host",
        "namespace",
        "name",
        "uid",
        "mac",
        "address",
        "ineligible",
        "reason",
        "message",
        "explanation",
        "summary",
        "competing",
        "nearMisses",
        "requirement",
        "wanted",
        "found",
        "remedies",
    ] {
        assert!(fields.contains(field), "{field} is not in the JSON");
        assert!(docs.contains(field), "{field} is not in docs/plan.md");
    }
    assert_eq!(report["schema"], PLAN_SCHEMA);
}

fn names(value: &serde_json::Value, into: &mut std::collections::BTreeSet<String>) {
    match value {
        serde_json::Value::Object(map) => map.iter().for_each(|(key, value)| {
            into.insert(key.clone());
            names(value, into);
        }),
        serde_json::Value::Array(items) => items.iter().for_each(|item| names(item, into)),
        _ => {}
    }
}
