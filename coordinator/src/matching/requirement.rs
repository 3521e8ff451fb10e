//! One need against one offer: what is missed, with wanted, found and short by.

use std::collections::BTreeMap;

use bpa_common::api::{LabelSelector, Quantity, SelectorOperator, SelectorRequirement};

use super::{Catalog, Need, Offer};

/// A requirement that an offer does not meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Miss {
    /// `mac-address`, `cpu`, `memory`, `disk`, `hostSelector`, `sriov`, `qat`.
    pub requirement: &'static str,
    pub wanted: String,
    /// `unknown` when nobody has measured it.
    pub found: String,
    /// Only where a number helps; in the unit that the user wrote.
    pub short_by: Option<String>,
}

/// A share in parts per million.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share(pub u32);

const WHOLE: Share = Share(1_000_000);

/// What a found value is called when nobody has measured it.
pub const UNKNOWN: &str = "unknown";

/// Everything of `need` that the host at `index` does not meet; empty = it fits.
pub fn misses(need: &Need, catalog: &Catalog, index: usize) -> Vec<Miss> {
    let offer = &catalog.offers[index];
    let mut found = Vec::new();
    if !need.macs.is_empty() && !need.macs.iter().any(|mac| catalog.host_of(*mac) == Some(index)) {
        found.push(Miss {
            requirement: "mac-address",
            wanted: join(&need.macs),
            found: join(&offer.macs),
            short_by: None,
        });
    }
    if let Some(wanted) = need.cpu {
        found.extend(count_miss(wanted, offer.cpu));
    }
    if let Some(wanted) = &need.memory {
        found.extend(size_miss("memory", wanted, offer.memory));
    }
    if let Some(wanted) = &need.disk {
        found.extend(size_miss("disk", wanted, offer.disk));
    }
    for selector in &need.selectors {
        found.extend(selector_miss(selector, &offer.labels));
    }
    found.extend(feature_miss("sriov", SRIOV_LABELS, need.sriov, &offer.labels));
    found.extend(feature_miss("qat", QAT_LABELS, need.qat, &offer.labels));
    found
}

/// True when the host at `index` meets the need: as [`misses`] is empty, without any words.
pub fn fits(need: &Need, catalog: &Catalog, index: usize) -> bool {
    let offer = &catalog.offers[index];
    let sizes = [
        (need.cpu.map(u64::from), offer.cpu.map(u64::from)),
        (need.memory.as_ref().map(Quantity::bytes), offer.memory),
        (need.disk.as_ref().map(Quantity::bytes), offer.disk),
    ];
    let enough = |(wanted, found): &(Option<u64>, Option<u64>)| {
        wanted.is_none_or(|wanted| found.is_some_and(|found| found >= wanted))
    };
    sizes.iter().all(enough)
        && (need.macs.is_empty()
            || need.macs.iter().any(|mac| catalog.host_of(*mac) == Some(index)))
        && need.selectors.iter().all(|selector| selects(selector, &offer.labels))
        && has_feature(SRIOV_LABELS, need.sriov, &offer.labels)
        && has_feature(QAT_LABELS, need.qat, &offer.labels)
}

/// How far an offer is from a need, without words: how many requirements it misses, then by how
/// much in all (parts per million of each). MACs count nothing here.
pub fn nearness(need: &Need, offer: &Offer) -> (usize, u64) {
    let sizes = [
        (need.cpu.map(u64::from), offer.cpu.map(u64::from)),
        (need.memory.as_ref().map(Quantity::bytes), offer.memory),
        (need.disk.as_ref().map(Quantity::bytes), offer.disk),
    ];
    let by_size = sizes.into_iter().filter_map(|(wanted, found)| {
        let wanted = wanted?;
        let missed = found.is_none_or(|found| found < wanted);
        missed.then(|| u64::from(share(wanted - found.unwrap_or(0), wanted).0))
    });
    let selectors = need.selectors.iter().filter(|s| !selects(s, &offer.labels)).count();
    let features = [(SRIOV_LABELS, need.sriov), (QAT_LABELS, need.qat)];
    let missing = features.iter().filter(|(keys, asked)| !has_feature(keys, *asked, &offer.labels));
    let whole = std::iter::repeat_n(u64::from(WHOLE.0), selectors + missing.count());
    by_size.chain(whole).fold((0, 0), |(count, sum), far| (count + 1, sum + far))
}

fn selects(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> bool {
    selector.match_labels.iter().all(|(key, wanted)| labels.get(key) == Some(wanted))
        && selector.match_expressions.iter().all(|e| expression_holds(e, labels.get(&e.key)))
}

fn has_feature(keys: &[&str], wanted: Option<bool>, labels: &BTreeMap<String, String>) -> bool {
    wanted != Some(true)
        || keys.iter().find_map(|key| labels.get(*key)).is_some_and(|value| value == "true")
}

fn join<T: ToString>(items: &[T]) -> String {
    if items.is_empty() {
        return UNKNOWN.to_owned();
    }
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn count_miss(wanted: u32, found: Option<u32>) -> Option<Miss> {
    if found.is_some_and(|n| n >= wanted) {
        return None;
    }
    let missing = wanted - found.unwrap_or(0);
    Some(Miss {
        requirement: "cpu",
        wanted: wanted.to_string(),
        found: found.map_or_else(|| UNKNOWN.to_owned(), |n| n.to_string()),
        short_by: found.map(|_| missing.to_string()),
    })
}

fn size_miss(requirement: &'static str, wanted: &Quantity, found: Option<u64>) -> Option<Miss> {
    if found.is_some_and(|b| b >= wanted.bytes()) {
        return None;
    }
    let missing = wanted.bytes() - found.unwrap_or(0);
    Some(Miss {
        requirement,
        wanted: wanted.to_string(),
        found: found.map_or_else(|| UNKNOWN.to_owned(), |b| wanted.in_same_unit(b)),
        short_by: found.map(|_| wanted.in_same_unit(missing)),
    })
}

fn share(missing: u64, wanted: u64) -> Share {
    let parts = u128::from(missing) * 1_000_000 / u128::from(wanted.max(1));
    Share(u32::try_from(parts).unwrap_or(u32::MAX))
}

fn selector_miss(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> Vec<Miss> {
    let by_label = selector.match_labels.iter().filter_map(|(key, wanted)| {
        let found = labels.get(key);
        (found != Some(wanted)).then(|| label_miss(format!("{key}={wanted}"), key, found))
    });
    let by_expression = selector.match_expressions.iter().filter_map(|expression| {
        let found = labels.get(&expression.key);
        (!expression_holds(expression, found))
            .then(|| label_miss(expression_text(expression), &expression.key, found))
    });
    by_label.chain(by_expression).collect()
}

fn label_miss(wanted: String, key: &str, found: Option<&String>) -> Miss {
    Miss {
        requirement: "hostSelector",
        wanted,
        found: found.map_or_else(|| format!("no label {key}"), |value| format!("{key}={value}")),
        short_by: None,
    }
}

/// As `metav1.LabelSelector` is defined: `NotIn` and `DoesNotExist` hold for an absent label.
fn expression_holds(expression: &SelectorRequirement, found: Option<&String>) -> bool {
    match expression.operator {
        SelectorOperator::In => found.is_some_and(|v| expression.values.contains(v)),
        SelectorOperator::NotIn => found.is_none_or(|v| !expression.values.contains(v)),
        SelectorOperator::Exists => found.is_some(),
        SelectorOperator::DoesNotExist => found.is_none(),
    }
}

fn expression_text(expression: &SelectorRequirement) -> String {
    let SelectorRequirement { key, operator, values } = expression;
    match operator {
        SelectorOperator::In => format!("{key} in ({})", values.join(", ")),
        SelectorOperator::NotIn => format!("{key} not in ({})", values.join(", ")),
        SelectorOperator::Exists => format!("{key} exists"),
        SelectorOperator::DoesNotExist => format!("{key} does not exist"),
    }
}

/// Our labels that say that a host has SR-IOV, QAT.
pub const FEATURES: [&str; 2] = [SRIOV_LABELS[0], QAT_LABELS[0]];
/// Ours, then node-feature-discovery's.
const SRIOV_LABELS: &[&str] =
    &["bpa.akraino.org/sriov", "feature.node.kubernetes.io/network-sriov.capable"];
const QAT_LABELS: &[&str] = &["bpa.akraino.org/qat", "feature.node.kubernetes.io/custom-qat"];

fn feature_miss(
    requirement: &'static str,
    keys: &[&str],
    wanted: Option<bool>,
    labels: &BTreeMap<String, String>,
) -> Option<Miss> {
    // `false` asks for nothing: the original's samples write it for "not needed".
    if wanted != Some(true) {
        return None;
    }
    let found = keys.iter().find_map(|key| labels.get(*key));
    if found.is_some_and(|v| v == "true") {
        return None;
    }
    Some(Miss {
        requirement,
        wanted: format!("label {}=true", keys[0]),
        found: found.map_or_else(|| UNKNOWN.to_owned(), Clone::clone),
        short_by: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matching::testing::{GIB, mac, offer, size};

    fn first(need: &Need, offer: super::super::Offer) -> Miss {
        misses(need, &Catalog::new(vec![offer]), 0).remove(0)
    }

    #[test]
    fn sizes_are_met_by_at_least_and_a_miss_says_by_how_much() {
        let catalog = Catalog::new(vec![offer("a", 1, 8, 16)]);
        assert!(fits(&size(8, "16Gi"), &catalog, 0));
        assert!(fits(&size(8, "16G"), &catalog, 0));
        let found = misses(&size(10, "20Gi"), &catalog, 0);
        let words: Vec<_> = found
            .iter()
            .map(|m| (m.requirement, m.wanted.as_str(), m.found.as_str(), m.short_by.as_deref()))
            .collect();
        assert_eq!(words, [("cpu", "10", "8", Some("2")), ("memory", "20Gi", "16Gi", Some("4Gi"))]);
    }

    #[test]
    fn a_shortfall_below_the_unit_is_still_told() {
        let mut almost = offer("a", 1, 8, 16);
        almost.memory = Some(16 * GIB - (1 << 20));
        assert_eq!(first(&size(8, "16Gi"), almost).short_by.as_deref(), Some("1Mi"));
    }

    #[test]
    fn unknown_meets_no_size() {
        let unknown = super::super::Offer { cpu: None, ..offer("a", 1, 8, 16) };
        let miss = first(&size(0, "1Gi"), unknown);
        assert_eq!((miss.found.as_str(), miss.short_by), (UNKNOWN, None));
    }

    #[test]
    fn labels_are_selected_as_kubernetes_does() {
        let mut labelled = offer("a", 1, 8, 16);
        labelled.labels.insert("rack".into(), "a".into());
        let catalog = Catalog::new(vec![labelled]);
        for (operator, key, values, holds) in [
            (SelectorOperator::In, "rack", vec!["a", "b"], true),
            (SelectorOperator::In, "rack", vec!["b"], false),
            (SelectorOperator::NotIn, "rack", vec!["a"], false),
            (SelectorOperator::NotIn, "zone", vec!["a"], true),
            (SelectorOperator::Exists, "zone", vec![], false),
            (SelectorOperator::DoesNotExist, "zone", vec![], true),
        ] {
            let requirement = SelectorRequirement {
                key: key.into(),
                operator,
                values: values.into_iter().map(Into::into).collect(),
            };
            let need = Need {
                selectors: vec![LabelSelector {
                    match_expressions: vec![requirement.clone()],
                    ..Default::default()
                }],
                ..Need::default()
            };
            assert_eq!(fits(&need, &catalog, 0), holds, "{requirement:?}");
        }
    }

    #[test]
    fn mac_and_size_must_both_hold() {
        let catalog = Catalog::new(vec![offer("a", 1, 8, 16), offer("b", 2, 4, 8)]);
        let need = Need { macs: vec![mac(2)], ..size(8, "16Gi") };
        assert_eq!(misses(&need, &catalog, 0)[0].requirement, "mac-address");
        assert_eq!(misses(&need, &catalog, 1).len(), 2);
    }

    #[test]
    fn a_feature_is_told_by_label_and_false_asks_for_nothing() {
        let need = |sriov| Need { sriov: Some(sriov), ..Need::default() };
        assert_eq!(first(&need(true), offer("a", 1, 8, 16)).found, UNKNOWN);
        let catalog = Catalog::new(vec![offer("a", 1, 8, 16)]);
        assert!(fits(&need(false), &catalog, 0));
    }
}
