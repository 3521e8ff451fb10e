//! Each remedy is proved.

use std::collections::BTreeMap;

use bpa_common::api::FailureDomains;
use proptest::prelude::*;

use super::*;
use crate::matching::Slot;
use crate::matching::solve::solve;
use crate::matching::testing::{offer, size, slot};

fn told(slots: &[Slot], catalog: &Catalog, domains: Option<&FailureDomains>) -> Vec<Remedy> {
    let wish = Wish { slots, current: &BTreeMap::new(), domains };
    let cuts = solve(&wish, catalog, |_| true).bottlenecks;
    remedies(&wish, catalog, &cuts, |_| true)
}

fn messages(remedies: &[Remedy]) -> Vec<&str> {
    remedies.iter().map(|remedy| remedy.message.as_str()).collect()
}

fn workers(count: usize, need: &Need) -> Vec<Slot> {
    (0..count).map(|n| slot(&format!("worker-{n}"), need.clone())).collect()
}

#[test]
fn the_smallest_lowering_comes_first_in_the_users_unit() {
    let catalog =
        Catalog::new(vec![offer("a", 1, 16, 64), offer("b", 2, 16, 62), offer("c", 3, 8, 64)]);
    let found = told(&workers(2, &size(16, "64Gi")), &catalog, None);
    assert_eq!(
        messages(&found),
        [
            "lower memory of `worker-*` to 62Gi",
            "lower cpu of `worker-*` to 8",
            "add 1 host with at least 16 CPUs, 64Gi of memory",
        ]
    );
}

#[test]
fn kinds_that_no_one_host_serves_get_a_host_each() {
    let rack = |name: &str| Need {
        selectors: vec![bpa_common::api::LabelSelector {
            match_labels: [("rack".to_owned(), name.to_owned())].into(),
            ..Default::default()
        }],
        ..Need::default()
    };
    let slots = [slot("x", rack("a")), slot("y", rack("b"))];
    let found = told(&slots, &Catalog::new(vec![]), None);
    assert_eq!(
        messages(&found),
        ["add 1 host with the label rack=a and 1 host with the label rack=b"]
    );
}

#[test]
fn a_spread_that_can_not_be_is_remedied_by_a_host_elsewhere_or_as_a_wish() {
    let mut offers = vec![offer("a", 1, 8, 32), offer("b", 2, 8, 32), offer("c", 3, 8, 32)];
    for offer in &mut offers {
        offer.labels.insert("rack".into(), "a".into());
    }
    let domains = FailureDomains { label: "rack".into(), spread: Spread::Required };
    let slots = workers(3, &size(8, "32Gi"));
    let found = told(&slots, &Catalog::new(offers), Some(&domains));
    assert_eq!(
        messages(&found),
        [
            "set failureDomains.spread to Preferred",
            "add 1 host with at least 8 CPUs, 32Gi of memory, in another rack",
        ]
    );
}

proptest! {
    /// Each lowering, carried out in the spec, makes it fit; the next larger value of a host
    /// does not.
    #[test]
    fn a_lowering_works_and_a_smaller_one_does_not(
        hosts in prop::collection::vec((1u32..6, 1u64..6), 1..8),
        needs in prop::collection::vec((2u32..8, 2u32..8), 1..6),
    ) {
        let named = |(i, (c, m)): (usize, &(u32, u64))| offer(&format!("h{i}"), i as u8, *c, *m);
        let catalog = Catalog::new(hosts.iter().enumerate().map(named).collect());
        let slots: Vec<Slot> = needs
            .iter()
            .enumerate()
            .map(|(i, (c, m))| slot(&format!("s{i}"), size(*c, &format!("{m}Gi"))))
            .collect();
        let fits_with = |slots: &[Slot]| {
            let wish = Wish { slots, current: &BTreeMap::new(), domains: None };
            solve(&wish, &catalog, |_| true).bottlenecks.is_empty()
        };
        for remedy in told(&slots, &catalog, None).iter().filter(|r| r.action == "lower") {
            let change = |value: &str| -> Vec<Slot> {
                let lower = |slot: &Slot| {
                    let mut slot = slot.clone();
                    if remedy.slots.contains(&slot.name) {
                        match remedy.requirement.as_str() {
                            "cpu" => slot.need.cpu = value.parse().ok(),
                            _ => slot.need.memory = value.parse().ok(),
                        }
                    }
                    slot
                };
                slots.iter().map(lower).collect()
            };
            prop_assert!(fits_with(&change(&remedy.value)), "{}", remedy.message);
            let number: u32 = remedy.value.trim_end_matches("Gi").parse().unwrap();
            let unit = remedy.value.trim_start_matches(|c: char| c.is_ascii_digit());
            prop_assert!(!fits_with(&change(&format!("{}{unit}", number + 1))), "{}", remedy.message);
        }
    }
}
