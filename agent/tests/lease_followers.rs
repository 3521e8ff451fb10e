//! The followers on real files, changed as each server changes them.

use std::fs::{self, File, OpenOptions};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bpa_agent::config::LeaseSourceConfig;
use bpa_agent::leases::{LeaseFeed, LeaseView, SourceKind, start};
use bpa_common::net::MacAddress;
use tempfile::TempDir;
use tokio_util::sync::{CancellationToken, DropGuard};

/// A followed file.
struct Site {
    folder: TempDir,
    path: PathBuf,
    feed: LeaseFeed,
    _stop: DropGuard,
}

fn follow(kind: SourceKind, content: Option<&str>) -> Site {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("leases");
    if let Some(content) = content {
        fs::write(&path, content).unwrap();
    }
    let cancel = CancellationToken::new();
    let feed =
        start(&[LeaseSourceConfig { kind, path: path.clone(), grace_seconds: 0 }], cancel.clone());
    Site { folder, path, feed, _stop: cancel.drop_guard() }
}

impl Site {
    /// Waits for a view of which this is true; fails with what there is.
    async fn until(&mut self, what: &str, wanted: impl Fn(&LeaseView) -> bool) -> Arc<LeaseView> {
        let mut feed = self.feed.clone();
        let found = feed.wait_for(|view| wanted(view));
        match tokio::time::timeout(Duration::from_secs(20), found).await {
            Ok(view) => view.unwrap().clone(),
            Err(_) => panic!("{what} never came: {:#?}", *self.feed.borrow()),
        }
    }

    async fn address(&mut self, last: u8, wanted: Option<&str>) {
        let wanted = wanted.map(|a| a.parse().unwrap());
        let what = format!("{wanted:?} for {}", mac(last));
        self.until(&what, |view| view.answer(mac(last)).address == wanted).await;
    }

    /// True for every view for some time.
    async fn stays(&self, time: Duration, wanted: impl Fn(&LeaseView) -> bool) {
        let end = tokio::time::Instant::now() + time;
        while tokio::time::Instant::now() < end {
            assert!(wanted(&self.feed.borrow()), "{:#?}", *self.feed.borrow());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn error(&mut self, wanted: &str) {
        self.until(wanted, |view| {
            view.sources()[0].error.as_deref().is_some_and(|e| e.contains(wanted))
        })
        .await;
    }

    async fn no_error(&mut self) {
        self.until("a view without error", |view| view.sources()[0].error.is_none()).await;
    }
}

fn mac(last: u8) -> MacAddress {
    MacAddress::new([2, 0xaa, 0, 0, 0, last])
}

fn isc(last: u8, owner: u8) -> String {
    format!(
        "lease 10.0.0.{last} {{\n  cltt 1 2026/11/30 22:32:37;\n  ends never;\n  binding state active;\n  \
         hardware ethernet {};\n}}\n",
        mac(owner)
    )
}

fn dnsmasq(owners: impl IntoIterator<Item = u8>) -> String {
    owners.into_iter().map(|n| format!("0 {} 10.0.0.{n} * *\n", mac(n))).collect()
}

const KEA: &str = "address,hwaddr,client_id,valid_lifetime,expire,subnet_id,hostname,state\n";

fn kea(last: u8, owner: u8) -> String {
    format!("10.0.0.{last},{},,4294967295,6091045567,1,,0\n", mac(owner))
}

fn append(path: &Path, text: &str) {
    let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

#[tokio::test]
async fn a_file_that_comes_later_is_found_and_appends_are_seen() {
    let mut site = follow(SourceKind::Isc, None);
    site.error("does not exist").await;
    append(&site.path, &isc(1, 1));
    site.address(1, Some("10.0.0.1")).await;
    site.no_error().await;
    let record = isc(2, 2);
    let (begin, end) = record.split_at(record.len() / 2);
    append(&site.path, begin);
    site.stays(Duration::from_millis(100), |v| v.answer(mac(2)).address.is_none()).await;
    append(&site.path, end);
    site.address(2, Some("10.0.0.2")).await;
}

#[tokio::test]
async fn dhcpd_replaces_its_file_and_writes_on() {
    let mut site = follow(SourceKind::Isc, Some(&(isc(1, 1) + &isc(2, 2))));
    site.address(2, Some("10.0.0.2")).await;
    for round in 3..6 {
        // The order in which dhcpd does it: a new file beside, the old one kept as `leases~`.
        let (new, old) =
            (site.folder.path().join("leases.1796"), site.folder.path().join("leases~"));
        fs::write(&new, isc(1, 1) + &isc(2, 2) + &isc(round, round)).unwrap();
        let _ = fs::remove_file(&old);
        fs::hard_link(&site.path, &old).unwrap();
        fs::rename(&new, &site.path).unwrap();
        append(&site.path, &isc(1, round));
        site.address(round, Some("10.0.0.1")).await;
    }
    site.address(2, Some("10.0.0.2")).await;
}

#[tokio::test]
async fn dnsmasq_rewrites_in_place_and_nobody_sees_a_torn_file() {
    let all = dnsmasq(1..=200);
    let mut site = follow(SourceKind::Dnsmasq, Some(&all));
    site.address(200, Some("10.0.0.200")).await;
    let path = site.path.clone();
    let writer = tokio::task::spawn_blocking(move || {
        let mut file = OpenOptions::new().write(true).open(&path).unwrap();
        for round in 0..40 {
            file.rewind().unwrap();
            file.set_len(0).unwrap();
            // Every tenth time it is held up in the middle.
            for piece in all.as_bytes().chunks(4096) {
                if round % 10 == 0 {
                    std::thread::sleep(Duration::from_millis(80));
                }
                file.write_all(piece).unwrap();
            }
            file.sync_all().unwrap();
        }
    });
    while !writer.is_finished() {
        let view = site.feed.borrow().clone();
        assert_eq!(view.wire_entries().len(), 200);
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    writer.await.unwrap();
    // A release is a line that is gone; it is believed soon.
    fs::write(&site.path, dnsmasq(2..=200)).unwrap();
    site.address(1, None).await;
}

#[tokio::test]
async fn an_emptied_file_loses_nothing_for_two_seconds_and_then_all() {
    let mut site = follow(SourceKind::Dnsmasq, Some(&dnsmasq(1..=3)));
    site.address(3, Some("10.0.0.3")).await;
    fs::write(&site.path, "").unwrap();
    site.stays(Duration::from_millis(1500), |v| v.wire_entries().len() == 3).await;
    site.address(3, None).await;
}

#[tokio::test]
async fn kea_rotates_and_cleans_up_and_no_lease_is_missed() {
    let mut site = follow(SourceKind::Kea, Some(&(KEA.to_owned() + &kea(1, 1) + &kea(2, 2))));
    site.address(2, Some("10.0.0.2")).await;
    let beside = |suffix: &str| PathBuf::from(format!("{}{suffix}", site.path.display()));
    let (one, two) = (beside(".1"), beside(".2"));
    let (output, completed) = (beside(".output"), beside(".completed"));
    let both =
        |v: &LeaseView| v.answer(mac(1)).address.is_some() && v.answer(mac(2)).address.is_some();
    fs::rename(&site.path, &one).unwrap();
    site.stays(Duration::from_millis(150), both).await;
    fs::write(&site.path, KEA).unwrap();
    append(&site.path, &kea(3, 3));
    site.address(3, Some("10.0.0.3")).await;
    fs::write(&output, KEA.to_owned() + &kea(1, 1) + &kea(2, 2)).unwrap();
    fs::rename(&output, &completed).unwrap();
    site.stays(Duration::from_millis(100), both).await;
    fs::remove_file(&one).unwrap();
    fs::rename(&completed, &two).unwrap();
    site.stays(Duration::from_millis(150), both).await;
    append(&site.path, &kea(1, 9));
    site.address(9, Some("10.0.0.1")).await;
    site.address(1, None).await;
    site.address(3, Some("10.0.0.3")).await;
    site.no_error().await;
}

#[tokio::test]
async fn whatever_happens_to_the_file_the_last_view_stays_and_the_reason_is_said() {
    let mut site = follow(SourceKind::Isc, Some(&isc(1, 1)));
    site.address(1, Some("10.0.0.1")).await;
    fs::remove_file(&site.path).unwrap();
    site.error("does not exist").await;
    fs::create_dir(&site.path).unwrap();
    site.error("is not a file").await;
    fs::remove_dir(&site.path).unwrap();
    fs::write(&site.path, "}}}}\n").unwrap();
    site.error("none of").await;
    assert_eq!(site.feed.borrow().answer(mac(1)).address, Some("10.0.0.1".parse().unwrap()));
    // The whole folder goes, and comes again with another file.
    let folder = site.folder.path().to_owned();
    fs::remove_dir_all(&folder).unwrap();
    site.error("does not exist").await;
    fs::create_dir(&folder).unwrap();
    File::create(&site.path).unwrap().write_all((isc(1, 1) + &isc(2, 2)).as_bytes()).unwrap();
    site.address(2, Some("10.0.0.2")).await;
    site.no_error().await;
}

#[tokio::test]
async fn a_lease_ends_by_itself_though_nothing_is_written() {
    let end = jiff::Timestamp::now().as_second() + 2;
    let line = format!("{end} {} 10.0.0.1 * *\n", mac(1));
    let mut site = follow(SourceKind::Dnsmasq, Some(&line));
    site.address(1, Some("10.0.0.1")).await;
    site.address(1, None).await;
    assert!(jiff::Timestamp::now().as_second() >= end);
}

#[tokio::test]
async fn a_follower_at_rest_publishes_nothing() {
    let mut site = follow(SourceKind::Dnsmasq, Some(&dnsmasq(1..=3)));
    site.address(3, Some("10.0.0.3")).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    site.feed.mark_unchanged();
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(!site.feed.has_changed().unwrap());
}
