//! Full, best, stable: by example and beside brute force and an exact assignment solver.

mod random;

use super::*;
use crate::matching::Need;
use crate::matching::testing::{mac, offer, size, slot};

fn names(
    slots: &[Slot],
    catalog: &Catalog,
    current: &BTreeMap<usize, usize>,
) -> Option<Vec<String>> {
    let solution = solve(&Wish { slots, current, domains: None }, catalog, |_| true);
    if !solution.bottlenecks.is_empty() {
        return None;
    }
    let host = |i| catalog.offers[solution.assignment.host_of[&i]].id.name.clone();
    Some((0..slots.len()).map(host).collect())
}

#[test]
fn a_scarce_host_goes_to_the_slot_that_only_it_can_serve() {
    let catalog = Catalog::new(vec![offer("big", 1, 32, 64), offer("small", 2, 4, 8)]);
    let slots = [slot("any", Need::default()), slot("large", size(20, "32Gi"))];
    assert_eq!(names(&slots, &catalog, &BTreeMap::new()).unwrap(), ["small", "big"]);
}

#[test]
fn what_stands_is_kept_unless_that_is_the_only_way() {
    let catalog =
        Catalog::new(vec![offer("a", 1, 8, 16), offer("b", 2, 8, 16), offer("c", 3, 8, 16)]);
    let slots = [slot("w0", size(4, "8Gi")), slot("w1", size(4, "8Gi"))];
    let current = BTreeMap::from([(0, 2), (1, 1)]);
    assert_eq!(names(&slots, &catalog, &current).unwrap(), ["c", "b"]);
    let pinned = slot("m", Need { macs: vec![mac(3)], ..Need::default() });
    let slots = [slots[0].clone(), slots[1].clone(), pinned];
    assert_eq!(names(&slots, &catalog, &current).unwrap(), ["a", "b", "c"]);
}

#[test]
fn too_few_hosts_give_the_cut() {
    let catalog =
        Catalog::new(vec![offer("a", 1, 32, 64), offer("b", 2, 4, 8), offer("c", 3, 4, 8)]);
    let slots =
        [slot("l0", size(20, "32Gi")), slot("l1", size(20, "32Gi")), slot("s", Need::default())];
    let wish = Wish { slots: &slots, current: &BTreeMap::new(), domains: None };
    let cuts = solve(&wish, &catalog, |_| true).bottlenecks;
    assert_eq!(cuts, [Bottleneck { slots: vec![0, 1], hosts: vec![0], spread: None }]);
}

#[test]
fn the_least_is_left_over() {
    let catalog = Catalog::new(vec![offer("a", 1, 64, 256), offer("b", 2, 16, 64)]);
    let one = [slot("w", size(16, "64Gi"))];
    assert_eq!(names(&one, &catalog, &BTreeMap::new()).unwrap(), ["b"]);
    // The sum counts, not each slot by itself.
    let catalog =
        Catalog::new(vec![offer("a", 1, 8, 32), offer("b", 2, 10, 32), offer("c", 3, 64, 32)]);
    let two = [slot("any", size(1, "1Gi")), slot("ten", size(10, "1Gi"))];
    assert_eq!(names(&two, &catalog, &BTreeMap::new()).unwrap(), ["a", "b"]);
}

fn racks(hosts: &[(&str, Option<&str>)]) -> Catalog {
    let labelled = |(n, (name, rack)): (usize, &(&str, Option<&str>))| {
        let mut offer = offer(name, n as u8, 8, 32);
        offer.labels.extend(rack.map(|rack| ("rack".to_owned(), rack.to_owned())));
        offer
    };
    Catalog::new(hosts.iter().enumerate().map(labelled).collect())
}

fn spread(spread: Spread) -> FailureDomains {
    FailureDomains { label: "rack".into(), spread }
}

#[test]
fn nodes_are_spread_over_failure_domains_before_waste_and_names_count() {
    let catalog = racks(&[
        ("a1", Some("a")),
        ("a2", Some("a")),
        ("a3", Some("a")),
        ("b1", Some("b")),
        ("x1", None),
    ]);
    let slots: Vec<Slot> = (0..3).map(|n| slot(&format!("m{n}"), Need::default())).collect();
    let solve_with = |slots: &[Slot], domains: &FailureDomains| {
        let wish = Wish { slots, current: &BTreeMap::new(), domains: Some(domains) };
        let solution = solve(&wish, &catalog, |_| true);
        let host = |i| catalog.offers[solution.assignment.host_of[&i]].id.name.clone();
        (solution.bottlenecks.is_empty()).then(|| (0..slots.len()).map(host).collect::<Vec<_>>())
    };
    assert_eq!(solve_with(&slots, &spread(Spread::Preferred)).unwrap(), ["a1", "b1", "x1"]);
    let all_in_a = racks(&[("a1", Some("a")), ("a2", Some("a")), ("a3", Some("a"))]);
    let domains = spread(Spread::Required);
    let wish = Wish { slots: &slots, current: &BTreeMap::new(), domains: Some(&domains) };
    let cut = solve(&wish, &all_in_a, |_| true).bottlenecks;
    assert_eq!(cut, [Bottleneck { slots: vec![0, 1, 2], hosts: vec![0, 1, 2], spread: Some(2) }]);
    assert_eq!(cut[0].missing(|_| "a".into()), 1);
    let preferred = spread(Spread::Preferred);
    let wish = Wish { domains: Some(&preferred), ..wish };
    assert!(solve(&wish, &all_in_a, |_| true).bottlenecks.is_empty(), "a wish is no condition");
}
