//! What a person should know of the chosen hosts although it stops nothing: that somebody else may
//! choose them as well or that this can't be seen, and that machines of one role are of different
//! kinds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bpa_common::api::{HostChooser, HostSelector, HostSelectorTerm};

use super::explain::shown;
use super::{Claimant, Offer, Slot};

/// A doubt about a plan that fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// `OthersNotSeen`, `HostsContested`, `MixedArchitectures`.
    pub reason: &'static str,
    /// What was found, and what to do.
    pub message: String,
}

/// A label for hosts that Cluster API is to leave alone; any other does as well.
const RESERVED: &str = "bpa.akraino.org/reserved";
/// Objects of others that are told one by one.
const MOST: usize = 3;

/// What is known of others who may want the same hosts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Others<'a> {
    /// For whom hosts are chosen.
    pub choosers: &'a [HostChooser],
    /// Kinds that can't be read, and where.
    pub unseen: &'a [String],
}

/// All doubts about these hosts.
pub fn doubts(chosen: &[(Slot, Arc<Offer>)], who: Claimant<'_>, others: Others<'_>) -> Vec<Doubt> {
    let known = contested(chosen, who, others.choosers).into_iter().chain(mixed(chosen));
    unseen(others.unseen).into_iter().chain(known).collect()
}

/// A right that is missing must not look like nobody else being there.
fn unseen(kinds: &[String]) -> Option<Doubt> {
    let message = format!(
        "{} can't be read, so hosts that these have or want are not known to be theirs; the rights that are needed are in deploy/rbac.yaml, and `bpa-coordinator get` says what is wrong",
        shown(kinds)
    );
    (!kinds.is_empty()).then_some(Doubt { reason: "OthersNotSeen", message })
}

/// Cluster API's provider takes any host that is `available` and unmarked, and writes its mark
/// without looking again (CAPM3 issue 3189): what we mark first may still be lost.
fn contested(
    chosen: &[(Slot, Arc<Offer>)],
    who: Claimant<'_>,
    choosers: &[HostChooser],
) -> Option<Doubt> {
    let empty: Vec<&Offer> = chosen
        .iter()
        .map(|(_, offer)| &**offer)
        .filter(|o| who.installs && o.installable)
        .collect();
    let mut found: Vec<String> = Vec::new();
    for chooser in choosers {
        let could = |offer: &&&Offer| {
            offer.id.namespace == chooser.by.namespace
                && could_choose(&chooser.selector, &offer.labels)
        };
        let hosts: Vec<String> = empty.iter().filter(could).map(|o| o.id.name.clone()).collect();
        if !hosts.is_empty() {
            let selector = chooser.selector.to_string();
            let how = match selector.as_str() {
                "" => "no hostSelector: every host of its namespace".to_owned(),
                _ => format!("hostSelector {selector}"),
            };
            found.push(format!(
                "{} {} ({how}) may be given {}",
                chooser.kind,
                chooser.by,
                shown(&hosts)
            ));
        }
    }
    if found.is_empty() {
        return None;
    }
    let more = found.len().saturating_sub(MOST);
    found.truncate(MOST);
    if more > 0 {
        found.push(format!("and so may {more} more objects of Cluster API"));
    }
    let message = format!(
        "{}, before Metal3 installs them for us. Put a label on these hosts, such as {RESERVED}=true, and exclude it in each hostSelector (matchExpressions: {{key: {RESERVED}, operator: NotIn, values: [\"true\"]}}), or keep the hosts of Cluster API in a namespace of their own",
        found.join("; ")
    );
    Some(Doubt { reason: "HostsContested", message })
}

/// Whether Cluster API's provider for Metal3 could choose a host of these labels. It reads selectors
/// in a way of its own: operators in lower case, so that `DoesNotExist` is none that it knows (`!`
/// is). With a term that it can't read it chooses no host at all.
pub fn could_choose(selector: &HostSelector, labels: &BTreeMap<String, String>) -> bool {
    selector.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value))
        && selector.match_expressions.iter().all(|term| holds(term, labels.get(&term.key)))
}

fn holds(term: &HostSelectorTerm, found: Option<&String>) -> bool {
    let operator = term.operator.to_lowercase();
    let is_one_of = || found.is_some_and(|found| term.values.contains(found));
    match (operator.as_str(), term.values.as_slice()) {
        ("in", [_, ..]) | ("=" | "==", [_]) => is_one_of(),
        ("notin", [_, ..]) | ("!=", [_]) => !is_one_of(),
        ("exists", []) => found.is_some(),
        ("!", []) => found.is_none(),
        ("gt" | "lt", [wanted]) => {
            let number = |text: &String| text.parse::<i64>().ok();
            match (found.and_then(number), number(wanted)) {
                (Some(found), Some(wanted)) if operator == "gt" => found > wanted,
                (Some(found), Some(wanted)) => found < wanted,
                _ => false,
            }
        }
        _ => false,
    }
}

/// Machines of different architectures in one role (an image, or a bundle, fits one of them).
fn mixed(chosen: &[(Slot, Arc<Offer>)]) -> Option<Doubt> {
    let mut words: BTreeSet<String> = BTreeSet::new();
    for role in ["control plane", "worker"] {
        let has = |slot: &Slot| if role == "worker" { slot.worker } else { slot.control_plane };
        let mut kinds: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (_, offer) in chosen.iter().filter(|(slot, _)| has(slot)) {
            // What nobody has measured is no difference.
            if let Some(kind) = &offer.architecture {
                kinds.entry(kind).or_default().push(offer.id.name.clone());
            }
        }
        if kinds.len() > 1 {
            let kinds: Vec<String> =
                kinds.iter().map(|(kind, hosts)| format!("{kind} ({})", shown(hosts))).collect();
            words.insert(format!("the {role} hosts are {}", kinds.join(" and ")));
        }
    }
    if words.is_empty() {
        return None;
    }
    let words: Vec<String> = words.into_iter().collect();
    let message = format!(
        "{}; if that is not meant, label the hosts by architecture and choose with hostSelector",
        words.join("; ")
    );
    Some(Doubt { reason: "MixedArchitectures", message })
}

#[cfg(test)]
#[path = "doubt_tests.rs"]
mod tests;
