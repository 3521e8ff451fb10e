//! Selectors as Cluster API's provider reads them, and what is told of chosen hosts.

use bpa_common::api::metal3::ConsumerRef;
use bpa_common::api::{NeighbourKind, ObjectKey};

use super::*;
use crate::matching::testing::{offer, size, slot};

fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn terms(list: &[(&str, &str, &[&str])]) -> HostSelector {
    let term = |(key, operator, values): &(&str, &str, &[&str])| HostSelectorTerm {
        key: (*key).to_owned(),
        operator: (*operator).to_owned(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
    };
    HostSelector { match_expressions: list.iter().map(term).collect(), ..HostSelector::default() }
}

#[test]
fn operators_mean_what_they_mean_there() {
    let host = labels(&[("rack", "a"), ("height", "12")]);
    for (key, operator, values, chosen) in [
        ("rack", "In", &["a", "b"][..], true),
        ("rack", "in", &["b"], false),
        ("zone", "In", &["a"], false),
        ("rack", "In", &[], false),
        ("rack", "NotIn", &["a"], false),
        ("rack", "notin", &["b"], true),
        ("zone", "NotIn", &["a"], true),
        ("rack", "Exists", &[], true),
        ("zone", "Exists", &[], false),
        ("rack", "Exists", &["a"], false),
        // The trap: this one chooses nothing, and its other spelling all that lack the label.
        ("zone", "DoesNotExist", &[], false),
        ("rack", "DoesNotExist", &[], false),
        ("zone", "!", &[], true),
        ("rack", "!", &[], false),
        ("rack", "=", &["a"], true),
        ("rack", "==", &["b"], false),
        ("rack", "!=", &["b"], true),
        ("zone", "!=", &["b"], true),
        ("rack", "!=", &["a", "b"], false),
        ("height", "Gt", &["11"], true),
        ("height", "Gt", &["12"], false),
        ("height", "Lt", &["13"], true),
        ("height", "Lt", &["x"], false),
        ("rack", "Gt", &["1"], false),
        ("zone", "Lt", &["1"], false),
        ("rack", "Sounds like", &["a"], false),
        ("rack", "", &[], false),
    ] {
        let selector = terms(&[(key, operator, values)]);
        assert_eq!(could_choose(&selector, &host), chosen, "{selector}");
    }
}

#[test]
fn all_terms_must_hold_and_without_any_every_host_is_chosen() {
    let host = labels(&[("rack", "a"), ("zone", "x")]);
    assert!(could_choose(&HostSelector::default(), &host));
    assert!(could_choose(&HostSelector::default(), &labels(&[])));
    assert!(could_choose(&terms(&[("rack", "In", &["a"]), ("zone", "Exists", &[])]), &host));
    assert!(!could_choose(&terms(&[("rack", "In", &["a"]), ("zone", "In", &["y"])]), &host));
    let mut both = terms(&[("zone", "In", &["x"])]);
    both.match_labels = labels(&[("rack", "a")]);
    assert!(could_choose(&both, &host));
    both.match_labels = labels(&[("rack", "a"), ("gpu", "1")]);
    assert!(!could_choose(&both, &host));
}

fn chooser(namespace: &str, name: &str, selector: HostSelector) -> HostChooser {
    let by = ObjectKey::new(namespace, name);
    HostChooser { kind: NeighbourKind::Template, by, selector }
}

fn chosen(change: impl Fn(&str, &mut Offer)) -> Vec<(Slot, Arc<Offer>)> {
    let one = |(n, name): (u8, &str)| {
        let mut offer = offer(name, n, 8, 16);
        offer.installable = true;
        change(name, &mut offer);
        let mut slot = slot(&format!("n-{n}"), size(1, "1Gi"));
        slot.control_plane = n == 1;
        slot.worker = n != 1;
        (slot, Arc::new(offer))
    };
    [(1, "h1"), (2, "h2"), (3, "h3")].map(one).into()
}

fn told(
    chosen: &[(Slot, Arc<Offer>)],
    installs: bool,
    choosers: &[HostChooser],
) -> Vec<(&'static str, String)> {
    let who = Claimant { mark: &ConsumerRef::default(), installs };
    let others = Others { choosers, unseen: &[] };
    doubts(chosen, who, others).into_iter().map(|d| (d.reason, d.message)).collect()
}

#[test]
fn who_may_be_given_an_empty_host_of_ours_is_told_with_selector_hosts_and_remedy() {
    let all = &[chooser("metal3", "workers", HostSelector::default())];
    let found = told(&chosen(|_, _| ()), true, all);
    assert_eq!(found.len(), 1);
    let (reason, message) = &found[0];
    assert_eq!(*reason, "HostsContested");
    let wanted = "Metal3MachineTemplate metal3/workers (no hostSelector: every host of its namespace) may be given h1, h2, h3, before";
    assert!(message.starts_with(wanted), "{message}");
    assert!(message.contains("key: bpa.akraino.org/reserved, operator: NotIn"), "{message}");
    // What the message says to do is enough.
    let reserved = chosen(|_, o| drop(o.labels.insert(RESERVED.into(), "true".into())));
    let excluding = terms(&[(RESERVED, "NotIn", &["true"])]);
    assert_eq!(told(&reserved, true, &[chooser("metal3", "w", excluding)]), []);
    assert_eq!(told(&reserved, true, all).len(), 1, "the label alone is not");
    // Only hosts that it can choose: in its namespace, empty, and chosen to be installed.
    assert_eq!(told(&chosen(|_, _| ()), false, all), []);
    assert_eq!(told(&chosen(|_, o| o.installable = false), true, all), []);
    assert_eq!(told(&chosen(|_, o| o.id.namespace = "ours".into()), true, all), []);
}

#[test]
fn a_selector_that_fits_some_is_told_with_those_and_many_choosers_in_brief() {
    let racks = chosen(|name, o| drop(o.labels.insert("host".into(), name.into())));
    let some = terms(&[("host", "In", &["h2", "h9"])]);
    let found = told(&racks, true, &[chooser("metal3", "w", some)]);
    assert!(
        found[0].1.contains("(hostSelector host In (h2, h9)) may be given h2, before"),
        "{found:?}"
    );
    let many: Vec<_> =
        (0..1000).map(|n| chooser("metal3", &format!("m-{n}"), HostSelector::default())).collect();
    let found = told(&racks, true, &many);
    assert!(found[0].1.contains("and so may 997 more objects of Cluster API"), "{found:?}");
    assert!(found[0].1.len() < 1000);
}

/// Bug 37: an architecture that is not known is none, and two in one role are never silent.
#[test]
fn bug_37_two_architectures_in_one_role_are_told_and_unknown_ones_are_not() {
    let kinds = |list: [Option<&str>; 3]| {
        chosen(|name, offer| {
            let place = usize::from(name.as_bytes()[1] - b'1');
            offer.architecture = list[place].map(str::to_owned);
        })
    };
    let (x86, arm) = (Some("x86_64"), Some("aarch64"));
    for alike in [[x86, x86, x86], [None, None, None], [x86, None, arm], [x86, arm, arm]] {
        assert_eq!(told(&kinds(alike), false, &[]), [], "{alike:?}");
    }
    let found = told(&kinds([x86, x86, arm]), false, &[]);
    assert_eq!(found[0].0, "MixedArchitectures");
    assert!(
        found[0].1.starts_with("the worker hosts are aarch64 (h3) and x86_64 (h2); if"),
        "{found:?}"
    );
}

/// Bug 14: what may not be read was taken for what is not there.
#[test]
fn bug_14_kinds_that_cannot_be_read_are_told_first() {
    let unseen = ["Metal3Machine in namespace a".to_owned(), "HostClaim in namespace a".to_owned()];
    let choosers = [chooser("metal3", "w", HostSelector::default())];
    let who = Claimant { mark: &ConsumerRef::default(), installs: true };
    let found = doubts(&chosen(|_, _| ()), who, Others { choosers: &choosers, unseen: &unseen });
    let reasons: Vec<_> = found.iter().map(|doubt| doubt.reason).collect();
    assert_eq!(reasons, ["OthersNotSeen", "HostsContested"]);
    let wanted = "Metal3Machine in namespace a, HostClaim in namespace a can't be read";
    assert!(found[0].message.starts_with(wanted), "{}", found[0].message);
    assert_eq!(doubts(&chosen(|_, _| ()), who, Others::default()), []);
}
