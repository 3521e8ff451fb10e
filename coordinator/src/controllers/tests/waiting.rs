//! What is waited for, and how it is told.

use bpa_common::api::metal3::{Hardware, Nic};
use bpa_common::api::{Approval, KubeconfigPlace, SiteSpec};

use super::super::testing::{Bench, Ends};
use crate::planning::testing::{at, lease, leases, mac, provisioning, site, site_view};

#[tokio::test]
async fn a_lease_that_comes_later_is_waited_for_visibly() {
    let bench = Bench::edge();
    bench.fleet.lock().view.insert("north".into(), site_view(&[1]));
    let mut controller = bench.run().await;
    let words = bench.words("edge", "AddressesKnown");
    assert!(
        words.starts_with("WaitingForLease: 1 of 2 hosts have an address; no lease yet for h2"),
        "{words}"
    );
    assert!(words.contains("52:54:00:00:00:02"), "{words}");
    let status = bench.status("edge");
    assert_eq!(
        (status.phase.as_str(), status.nodes[1].state.as_str()),
        ("Waiting", "WaitingForLease")
    );
    assert_eq!(status.nodes[0].state, "Resolved");
    assert!(bench.fleet.lock().received.is_empty());
    bench.fleet.lock().view.insert("north".into(), site_view(&[1, 2]));
    bench.settle(&mut controller).await;
    assert_eq!(bench.fleet.lock().received.len(), 1);
    let status = bench.status("edge");
    assert_eq!(status.nodes[1].address, Some("10.0.0.2".parse().unwrap()));
    assert_eq!(status.nodes[1].address_source, "lease:kea");
}

#[tokio::test]
async fn an_address_of_the_spec_wins_and_needs_no_lease() {
    let mut object = provisioning("edge", &["h4"]);
    let need = object.spec.masters[0].values_mut().next().unwrap().as_mut().unwrap();
    need.address = Some("10.9.9.9".parse().unwrap());
    let bench = Bench::new(vec![object]);
    bench.run().await;
    let order = bench.fleet.lock().received[0].clone();
    assert_eq!(order.nodes[0].address, Some("10.9.9.9".parse().unwrap()));
    assert_eq!(bench.status("edge").nodes[0].address_source, "spec");
}

#[tokio::test]
async fn two_hosts_with_one_address_are_held() {
    let bench = Bench::edge();
    let mut view = site_view(&[1, 2]);
    view.leases.by_mac.get_mut(&mac(2)).unwrap()[0].address = "10.0.0.1".parse().unwrap();
    bench.fleet.lock().view.insert("north".into(), view);
    bench.run().await;
    let words = bench.words("edge", "AddressesKnown");
    assert!(words.starts_with("AddressConflict: 10.0.0.1 is the address of h1 and h2"), "{words}");
    assert!(bench.fleet.lock().received.is_empty());
}

#[tokio::test]
async fn of_several_leases_the_newest_is_used_and_that_is_said() {
    let bench = Bench::edge();
    let mut view = site_view(&[1, 2]);
    let mut newer = lease(1);
    (newer.address, newer.renewed) = ("10.0.0.77".parse().unwrap(), Some(5));
    view.leases.by_mac.get_mut(&mac(1)).unwrap().push(newer);
    bench.fleet.lock().view.insert("north".into(), view);
    bench.run().await;
    assert_eq!(bench.status("edge").nodes[0].address, Some("10.0.0.77".parse().unwrap()));
    let words = bench.words("edge", "AddressesKnown");
    assert!(
        words.contains("several leases (10.0.0.77 and 10.0.0.1); the newest is used"),
        "{words}"
    );
}

/// Bugs 31 and 32: what inspection saw may be stale since. It helps a person to find the host, and is
/// never taken for its address.
#[tokio::test]
async fn addresses_of_the_inspection_are_told_while_there_is_no_lease_and_never_used() {
    let bench = Bench::edge();
    bench.fleet.lock().view.insert("north".into(), site_view(&[1]));
    bench.edit_host("h2", |record| {
        let nic = |ip: &str| Nic { mac: mac(2).to_string(), ip: ip.into(), ..Nic::default() };
        let nics = vec![nic("192.0.2.5"), nic("fe80::1%eno1"), nic("2001:db8::5")];
        record.host.status.hardware = Some(Hardware { nics, ..Hardware::default() });
    });
    bench.run().await;
    let words = bench.words("edge", "AddressesKnown");
    let wanted = "h2 (52:54:00:00:00:02; had 192.0.2.5, 2001:db8::5 when Metal3 inspected it)";
    assert!(words.contains(wanted), "{words}");
    assert_eq!(bench.status("edge").nodes[1].address, None);
}

#[tokio::test]
async fn a_second_provisioning_is_told_who_has_its_host() {
    let mut late = provisioning("late", &["h2", "h3"]);
    late.metadata.creation_timestamp = Some(at(50));
    let bench = Bench::new(vec![late, provisioning("edge", &["h1", "h2"])]);
    let mut controller = bench.run().await;
    let words = bench.words("late", "HostsMatched");
    assert!(words.starts_with("NoFit: "), "{words}");
    assert!(words.contains("h2 is held by Provisioning ns/edge"), "{words}");
    assert_eq!(bench.holder("h3"), None, "all or nothing");
    assert_eq!(bench.status("late").phase, "Waiting");
    // The first one goes: the second one gets its hosts.
    bench.work(bench.run_id("edge"), Ends::Well).await;
    bench.settle(&mut controller).await;
    bench.delete("edge");
    bench.settle(&mut controller).await;
    assert_eq!(bench.holder("h2").as_deref(), Some("Provisioning late"));
}

#[tokio::test]
async fn an_older_provisioning_chooses_first_even_when_it_cannot_claim_yet() {
    let mut late = provisioning("late", &["h1"]);
    late.metadata.creation_timestamp = Some(at(50));
    let mut first = provisioning("edge", &["h1"]);
    first.spec.approval = Approval::Manual;
    let bench = Bench::new(vec![late, first]);
    bench.run().await;
    assert_eq!(bench.holder("h1"), None);
    let words = bench.words("late", "HostsMatched");
    assert!(words.contains("is assigned to Provisioning ns/edge"), "{words}");
}

#[tokio::test]
async fn one_cluster_name_is_made_once() {
    let mut late = provisioning("late", &["h3"]);
    late.metadata.creation_timestamp = Some(at(50));
    late.metadata.labels.insert("cluster".into(), "edge".into());
    let bench = Bench::new(vec![provisioning("edge", &["h1"]), late]);
    bench.run().await;
    let words = bench.words("late", "Accepted");
    assert!(
        words.starts_with("ClusterNameTaken: cluster `edge` is made by Provisioning ns/edge"),
        "{words}"
    );
    assert_eq!((bench.status("late").phase.as_str(), bench.holder("h3")), ("Invalid", None));
}

#[tokio::test]
async fn an_invalid_spec_says_why_and_nothing_else_happens() {
    let mut object = provisioning("edge", &["h1"]);
    object.spec.masters.clear();
    let bench = Bench::new(vec![object]);
    let mut controller = bench.run().await;
    assert_eq!(bench.status("edge").phase, "Invalid");
    assert!(bench.words("edge", "Accepted").contains("at least one control plane node"));
    assert_eq!((bench.holder("h1"), bench.status("edge").nodes.len()), (None, 0));
    assert!(bench.object("edge").unwrap().metadata.finalizers.is_empty());
    bench.edit("edge", |p| p.spec = provisioning("edge", &["h1"]).spec);
    bench.settle(&mut controller).await;
    assert_eq!(bench.fleet.lock().received.len(), 1);
}

#[tokio::test]
async fn each_trouble_with_the_site_is_said_in_words() {
    let words = |change: fn(&Bench), kind: &'static str| async move {
        let bench = Bench::edge();
        change(&bench);
        bench.run().await;
        assert!(bench.fleet.lock().received.is_empty());
        assert_eq!(bench.status("edge").phase, "Waiting");
        bench.words("edge", kind)
    };
    let found = words(|b| b.world.lock().snapshot.sites.clear(), "Accepted").await;
    assert!(
        found.contains("has no Site; make one with `bpa-coordinator site add NAME`"),
        "{found}"
    );
    let found = words(|b| b.world.lock().snapshot.sites.push(site("south")), "Accepted").await;
    assert!(found.contains("several Sites (north, south)"), "{found}");
    let found = words(|b| b.edit("edge", |p| p.spec.site = Some("east".into())), "Accepted").await;
    assert!(found.contains("spec.site is `east`") && found.contains("known: north"), "{found}");
    let found = words(|b| b.fleet.cut(), "AddressesKnown").await;
    assert!(found.contains("site north is not connected (last seen"), "{found}");
    let found = words(|b| b.fleet.lock().view.clear(), "AddressesKnown").await;
    assert!(found.contains("has not connected yet"), "{found}");
    let quarantine = |b: &Bench| b.world.lock().snapshot.sites[0].spec = SiteSpec::default();
    let found = words(quarantine, "OrderAccepted").await;
    assert!(found.contains("site approve north"), "{found}");
    let bare = |b: &Bench| b.fleet.lock().view.get_mut("north").unwrap().bundles.clear();
    let found = words(bare, "OrderAccepted").await;
    assert!(found.contains("has no bundle"), "{found}");
    let broken = |b: &Bench| {
        let mut state = b.fleet.lock();
        state.view.get_mut("north").unwrap().bundles[0].problems = vec!["cluster.yml".into()];
    };
    let found = words(broken, "OrderAccepted").await;
    assert!(found.contains("is not complete: cluster.yml"), "{found}");
    let version = |b: &Bench| {
        b.edit("edge", |p| p.spec.kubernetes.version = Some("v1.30.0".into()));
    };
    let found = words(version, "OrderAccepted").await;
    assert!(found.contains("Kubernetes 1.30.0 is wanted") && found.contains("1.35.4"), "{found}");
}

#[tokio::test]
async fn a_pause_and_an_approval_hold_before_the_first_claim() {
    let bench = Bench::edge();
    bench.edit("edge", |p| (p.spec.paused, p.spec.approval) = (true, Approval::Manual));
    let mut controller = bench.run().await;
    assert_eq!((bench.status("edge").phase.as_str(), bench.holder("h1")), ("Paused", None));
    bench.edit("edge", |p| p.spec.paused = false);
    bench.settle(&mut controller).await;
    let hash = bench.status("edge").plan.unwrap().hash;
    let words = bench.words("edge", "HostsClaimed");
    assert!(words.starts_with("WaitingForApproval") && words.contains(&hash), "{words}");
    bench.annotate("edge", crate::planning::APPROVE, "000000000000");
    bench.settle(&mut controller).await;
    assert!(bench.words("edge", "HostsClaimed").contains("plan 000000000000 was approved, but"));
    bench.annotate("edge", crate::planning::APPROVE, &hash);
    bench.settle(&mut controller).await;
    assert_eq!(bench.fleet.lock().received.len(), 1);
}

#[tokio::test]
async fn an_approval_of_a_plan_that_the_world_has_overtaken_is_told_what_changed() {
    let bench = Bench::edge();
    bench.edit("edge", |p| {
        p.spec.approval = Approval::Manual;
        let entry = |name: &str| [(name.to_owned(), None)].into();
        (p.spec.masters, p.spec.workers) = (vec![entry("m")], vec![entry("w")]);
    });
    let mut controller = bench.run().await;
    let approved = bench.status("edge").plan.unwrap().hash;
    bench.annotate("edge", crate::planning::APPROVE, &approved);
    bench.edit_host("h2", |record| record.host.spec.online = false);
    bench.settle(&mut controller).await;
    let words = bench.words("edge", "HostsClaimed");
    let plan = bench.status("edge").plan.unwrap();
    assert_ne!(plan.hash, approved);
    assert!(
        words.contains(&format!("plan {approved} was approved, but the plan is {}", plan.hash)),
        "{words}"
    );
    assert!(words.contains("w moves from h2 to h3 (it is provisioned but switched off"), "{words}");
    assert_eq!(bench.holder("h1"), None, "nothing is claimed on another plan's approval");
    bench.annotate("edge", crate::planning::APPROVE, &plan.hash);
    bench.settle(&mut controller).await;
    assert_eq!(bench.holder("h3").as_deref(), Some("Provisioning edge"));
}

#[tokio::test]
async fn a_kubeconfig_that_stays_at_the_site_is_told_so() {
    let bench = Bench::edge();
    bench.edit("edge", |p| p.spec.kubeconfig = KubeconfigPlace::Site);
    let mut controller = bench.run().await;
    assert!(!bench.fleet.lock().received[0].kubeconfig_home);
    bench.work(bench.run_id("edge"), Ends::Well).await;
    bench.settle(&mut controller).await;
    assert_eq!(bench.status("edge").phase, "Ready");
    assert!(bench.words("edge", "KubeconfigSaved").starts_with("KeptAtSite"));
    assert!(bench.world.lock().kubeconfigs.is_empty());
}

#[tokio::test]
async fn a_lease_that_moves_after_the_install_is_told() {
    let bench = Bench::edge();
    let mut controller = bench.run().await;
    bench.work(bench.run_id("edge"), Ends::Well).await;
    bench.settle(&mut controller).await;
    let mut moved = leases(&[1, 2]);
    moved.by_mac.get_mut(&mac(2)).unwrap()[0].address = "10.0.0.99".parse().unwrap();
    bench.fleet.lock().view.get_mut("north").unwrap().leases = moved;
    bench.settle(&mut controller).await;
    let words = bench.words("edge", "AddressesKnown");
    assert!(
        words.contains("n-h2 was installed as 10.0.0.2 and has the lease 10.0.0.99"),
        "{words}"
    );
    assert_eq!(bench.status("edge").phase, "Ready", "a standing cluster stands");
}
