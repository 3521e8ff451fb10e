//! From an object of others, as it came, to what it says about hosts. Pure; alike for both worlds.
//!
//! Whatever can't be read of a selector does not narrow it: rather one warning too many.

use bpa_common::api::{
    HostChooser, HostSelector, HostSelectorTerm, HostUse, NeighbourKind, ObjectKey,
};
use serde_json::Value;

/// Where CAPM3 keeps `namespace/name` of a machine's host.
const HOST_OF_MACHINE: &str = "metal3.io/BareMetalHost";

/// What an object of others says about hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Neighbour {
    /// It has this host.
    Has(HostUse),
    /// A host may be chosen for it.
    Chooses(HostChooser),
}

/// The kind of a document, if it is one of these. Any version: the fields are the same in all.
pub fn kind_of(value: &Value) -> Option<NeighbourKind> {
    let group = value["apiVersion"].as_str()?.split_once('/')?.0;
    let name = value["kind"].as_str()?;
    NeighbourKind::ALL.into_iter().find(|kind| kind.group() == group && kind.name() == name)
}

/// Reads an object of this kind and name; none when it says nothing about any host.
pub fn read(kind: NeighbourKind, by: ObjectKey, value: &Value) -> Option<Neighbour> {
    let is_going = value["metadata"]["deletionTimestamp"].is_string();
    let chooses = |by: ObjectKey, selector: &Value| {
        (!is_going).then(|| {
            Neighbour::Chooses(HostChooser { kind, by, selector: host_selector(selector) })
        })
    };
    let host = match kind {
        NeighbourKind::Machine => {
            let text = value["metadata"]["annotations"][HOST_OF_MACHINE].as_str();
            let Some((namespace, name)) = text.and_then(|text| text.split_once('/')) else {
                return chooses(by, &value["spec"]["hostSelector"]);
            };
            ObjectKey::new(namespace, name)
        }
        NeighbourKind::Template => {
            return chooses(by, &value["spec"]["template"]["spec"]["hostSelector"]);
        }
        NeighbourKind::Claim => {
            let host = &value["status"]["bareMetalHost"];
            let part = |name: &str| host.get(name).and_then(Value::as_str);
            ObjectKey::new(part("namespace").unwrap_or(&by.namespace), part("name")?)
        }
    };
    let named = !host.name.is_empty() && !host.namespace.is_empty();
    named.then_some(Neighbour::Has(HostUse { host, kind, by }))
}

fn host_selector(value: &Value) -> HostSelector {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let labels = value["matchLabels"].as_object().into_iter().flatten();
    let terms = value["matchExpressions"].as_array().into_iter().flatten();
    HostSelector {
        match_labels: labels.filter_map(|(key, value)| Some((key.clone(), text(value)?))).collect(),
        match_expressions: terms
            .filter_map(|term| {
                Some(HostSelectorTerm {
                    key: text(&term["key"])?,
                    operator: text(&term["operator"])?,
                    values: term["values"]
                        .as_array()
                        .into_iter()
                        .flatten()
                        .filter_map(text)
                        .collect(),
                })
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(kind: NeighbourKind, object: Value) -> Option<String> {
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        Some(match read(kind, ObjectKey::new("n", name), &object)? {
            Neighbour::Has(found) => format!("{} {} has {}", found.kind, found.by, found.host),
            Neighbour::Chooses(found) => {
                format!("{} {} chooses [{}]", found.kind, found.by, found.selector)
            }
        })
    }

    #[test]
    fn a_machine_names_its_host_in_an_annotation_or_looks_for_one() {
        let machine = |host: Value| {
            let annotations = json!({HOST_OF_MACHINE: host});
            let selector = json!({"matchLabels": {"rack": "a"}, "matchExpressions": [
                {"key": "zone", "operator": "NotIn", "values": ["b"]}]});
            json!({"metadata": {"name": "m", "namespace": "n", "annotations": annotations},
                "spec": {"hostSelector": selector}})
        };
        let found = said(NeighbourKind::Machine, machine(json!("metal3/h1")));
        assert_eq!(found.as_deref(), Some("Metal3Machine n/m has metal3/h1"));
        for odd in ["/", "metal3/", "/h1"] {
            assert_eq!(said(NeighbourKind::Machine, machine(json!(odd))), None, "{odd}");
        }
        for none in [json!(null), json!(7), json!(""), json!("h1")] {
            let found = said(NeighbourKind::Machine, machine(none));
            let wanted = "Metal3Machine n/m chooses [rack=a, zone NotIn (b)]";
            assert_eq!(found.as_deref(), Some(wanted));
        }
        let mut going = machine(json!(null));
        going["metadata"]["deletionTimestamp"] = json!("2026-12-01T00:00:00Z");
        assert_eq!(said(NeighbourKind::Machine, going), None, "no host is chosen for it any more");
    }

    #[test]
    fn a_template_chooses_with_the_selector_of_its_machines() {
        let template = |selector: Value| {
            json!({"metadata": {"name": "t"},
                "spec": {"template": {"spec": {"hostSelector": selector}}}})
        };
        let found = |selector: Value| said(NeighbourKind::Template, template(selector)).unwrap();
        let all = "Metal3MachineTemplate n/t chooses []";
        for odd in [json!(null), json!(7), json!({"matchLabels": 7, "matchExpressions": [7, {}]})] {
            assert_eq!(found(odd), all);
        }
        assert!(found(json!({"matchLabels": {"a": "b", "c": 7}})).ends_with("[a=b]"));
    }

    #[test]
    fn a_claim_names_its_host_in_its_status() {
        let claim =
            |status: Value| json!({"metadata": {"name": "c", "namespace": "n"}, "status": status});
        let host = json!({"bareMetalHost": {"name": "h1", "namespace": "m"}});
        let found = said(NeighbourKind::Claim, claim(host));
        assert_eq!(found.as_deref(), Some("HostClaim n/c has m/h1"));
        let near = said(NeighbourKind::Claim, claim(json!({"bareMetalHost": {"name": "h1"}})));
        assert_eq!(near.as_deref(), Some("HostClaim n/c has n/h1"));
        for odd in [
            json!({}),
            json!(null),
            json!({"bareMetalHost": 7}),
            json!({"bareMetalHost": {"name": 7}}),
        ] {
            assert_eq!(said(NeighbourKind::Claim, claim(odd.clone())), None, "{odd}");
        }
    }

    #[test]
    fn kinds_are_told_by_group_and_name_in_any_version() {
        let of = |api: &str, kind: &str| kind_of(&json!({"apiVersion": api, "kind": kind}));
        for version in ["v1beta1", "v1beta2", "v9"] {
            let api = format!("infrastructure.cluster.x-k8s.io/{version}");
            assert_eq!(of(&api, "Metal3Machine"), Some(NeighbourKind::Machine));
            assert_eq!(of(&api, "Metal3MachineTemplate"), Some(NeighbourKind::Template));
            assert_eq!(of(&api, "HostClaim"), None);
        }
        assert_eq!(of("metal3.io/v1alpha1", "HostClaim"), Some(NeighbourKind::Claim));
        assert_eq!(kind_of(&json!({"kind": "HostClaim"})), None);
        assert_eq!(kind_of(&json!([])), None);
    }
}
