//! When a plan that did not fit is made anew, and when not.

use bpa_common::api::metal3::ConsumerRef;

use super::*;
use crate::cluster::HostRecord;
use crate::planning::testing::{host, provisioning};

/// Hosts, holders, and a wish that does not fit; counts how often it was planned.
struct Case {
    hosts: Vec<Arc<HostRecord>>,
    index: HostIndex,
    held: BTreeMap<HostId, String>,
    wish: Arc<Provisioning>,
    elsewhere: BTreeMap<HostId, Ineligible>,
    plans: Plans,
}

fn id(name: &str) -> HostId {
    HostId { namespace: "ns".into(), name: name.into(), uid: format!("uid-{name}") }
}

impl Case {
    fn new() -> Self {
        let hosts = vec![Arc::new(host("h1")), Arc::new(host("h2"))];
        Self {
            index: HostIndex::of(&hosts),
            hosts,
            held: BTreeMap::from([(id("h2"), "other".into())]),
            wish: Arc::new(provisioning("edge", &["h9"])),
            elsewhere: BTreeMap::new(),
            plans: Plans::default(),
        }
    }

    /// One round. True when the wish was planned anew.
    fn round(&mut self) -> bool {
        self.index.update(&self.hosts, &[]);
        self.plans.begin(&self.index, self.held.clone());
        let made = std::cell::Cell::new(0);
        let key = |plans: &Plans| plans.unfit.get(&self.wish.metadata.uid).map(|u| u.gains);
        let before = key(&self.plans);
        let planned = self.plans.plan(&self.wish, self.elsewhere.clone(), |_| {
            made.set(made.get() + 1);
            let accepted = crate::matching::accept(&self.wish).ok();
            Planned { accepted, ..Planned::default() }
        });
        assert!(!planned.report.fits);
        // In tests a kept plan is made beside, so calls tell nothing: its age does.
        assert_eq!(made.get(), 1);
        before.is_none() || before != key(&self.plans)
    }
}

#[test]
fn a_plan_is_kept_while_hosts_are_only_taken() {
    let mut case = Case::new();
    assert!(case.round());
    assert!(!case.round());
    let consumer = ConsumerRef { name: "x".into(), ..ConsumerRef::default() };
    Arc::make_mut(&mut case.hosts[0]).host.spec.consumer_ref = Some(consumer);
    assert!(!case.round(), "a host was taken");
    case.held.insert(id("h1"), "third".into());
    assert!(!case.round(), "and is held");
    Arc::make_mut(&mut case.hosts[0]).host.status.error_message = "no power".into();
    assert!(!case.round(), "and is broken");
}

#[test]
fn whatever_may_make_it_fit_has_it_planned_anew() {
    let changes: [fn(&mut Case); 7] = [
        |case| drop(case.held.remove(&id("h2"))),
        |case| drop(case.held.insert(id("h2"), "another".into())),
        |case| case.hosts.push(Arc::new(host("h3"))),
        |case| drop(case.hosts.remove(0)),
        |case| {
            let labels = &mut Arc::make_mut(&mut case.hosts[0]).host.metadata.labels;
            labels.insert("rack".into(), "a".into());
        },
        |case| case.wish = Arc::new((*case.wish).clone()),
        |case| {
            let bar = crate::matching::assigned_to("x");
            case.elsewhere.insert(id("h1"), bar);
        },
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut case = Case::new();
        case.round();
        let held = case.wish.clone();
        change(&mut case);
        let same_key = Arc::ptr_eq(&held, &case.wish) && case.elsewhere.is_empty();
        assert!(case.round() || !same_key, "change {number}");
        if !same_key {
            let known = &case.plans.unfit[&case.wish.metadata.uid];
            assert!(Arc::ptr_eq(&known.wish, &case.wish), "change {number}");
            assert_eq!(known.elsewhere, case.elsewhere, "change {number}");
        }
    }
}

#[test]
fn what_was_chosen_and_not_written_is_free_again_in_the_next_round() {
    let mut case = Case::new();
    case.round();
    case.plans.chosen(id("h1"), "older");
    assert!(case.round());
}

#[test]
fn what_a_wish_held_back_is_free_when_it_goes() {
    let mut case = Case::new();
    case.round();
    let planned = Planned { reserved: vec![id("h1")], ..Planned::default() };
    let (wish, gains) = (Arc::new(provisioning("older", &["h1"])), case.plans.gains);
    let unfit = Unfit { wish, elsewhere: BTreeMap::new(), gains, planned: Arc::new(planned) };
    case.plans.unfit.insert("older".into(), unfit);
    assert!(!case.round());
    case.plans.retain(|uid| uid != "older");
    assert!(case.round());
}
