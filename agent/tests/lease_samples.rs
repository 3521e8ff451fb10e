//! Every sample under testdata/leases gives its expected answers. A sample is a file (or Kea's
//! current file) with an `.expected.json` beside it: a new sample is a new test.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bpa_agent::leases::{SourceKind, SourceSpec, read_once};
use serde::Deserialize;

/// Samples that are not read yet, each with the reason.
const NOT_YET: [(&str, &str); 0] = [];

#[derive(Deserialize)]
struct Expected {
    format: String,
    now: i64,
    answers: BTreeMap<String, Option<String>>,
    #[serde(default)]
    all_live_addresses: BTreeMap<String, Vec<String>>,
}

fn samples() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/leases");
    let mut found = Vec::new();
    let mut open = vec![root];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.to_string_lossy().ends_with(".expected.json") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn kind(format: &str) -> SourceKind {
    match format {
        "isc-dhcpd" | "isc-dhcpd-v6" => SourceKind::Isc,
        "dnsmasq" => SourceKind::Dnsmasq,
        "libvirt-status" => SourceKind::Libvirt,
        "kea-memfile" => SourceKind::Kea,
        "systemd-networkd" => SourceKind::Networkd,
        "busybox-udhcpd" => SourceKind::Udhcpd,
        "macos-bootpd" => SourceKind::Bootpd,
        other => panic!("a sample of the format {other} has no kind of source"),
    }
}

fn check(expected: &Expected, path: &Path, kind: SourceKind) {
    let spec = SourceSpec { kind, path: path.to_owned(), grace_seconds: 0 };
    let view = read_once(&[spec], expected.now);
    let name = path.display();
    assert_eq!(view.sources()[0].error, None, "{name}");
    assert_eq!(view.sources()[0].table.skipped, 0, "{name}: {:?}", view.sources()[0].table.skips);
    for (mac, wanted) in &expected.answers {
        let answer = view.answer(mac.parse().unwrap());
        let found = answer.address.map(|a| a.to_string());
        assert_eq!(&found, wanted, "{name}: the answer for {mac}");
        let mut all: Vec<String> = answer.all.iter().map(|l| l.address.to_string()).collect();
        all.sort();
        let single = wanted.iter().cloned().collect();
        let wanted = expected.all_live_addresses.get(mac).unwrap_or(&single);
        assert_eq!(&all, wanted, "{name}: all addresses of {mac}");
        assert_eq!(answer.ambiguous, wanted.len() > 1, "{name}: {mac}");
    }
    for entry in view.wire_entries() {
        let wanted = expected.answers.get(&entry.mac.to_string());
        assert!(wanted.is_some_and(Option::is_some), "{name}: {} was invented", entry.mac);
    }
}

#[test]
fn every_sample_gives_its_expected_answers() {
    let samples = samples();
    assert!(samples.len() >= 16, "the samples are gone: {samples:?}");
    for file in samples {
        let path = PathBuf::from(file.to_string_lossy().trim_end_matches(".expected.json"));
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if let Some((_, reason)) = NOT_YET.iter().find(|(sample, _)| *sample == name) {
            println!("{name} is not read yet: {reason}");
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let expected: Expected = serde_json::from_str(&text).unwrap();
        check(&expected, &path, kind(&expected.format));
        check(&expected, &path, SourceKind::Auto);
    }
}

#[test]
fn a_torn_record_waits_and_is_said() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/leases");
    for (name, kind) in [("isc-torn.leases", SourceKind::Isc), ("kea22-torn.csv", SourceKind::Kea)]
    {
        let view = read_once(
            &[SourceSpec { kind, path: root.join(name), grace_seconds: 0 }],
            1_796_078_272,
        );
        assert!(view.sources()[0].table.unfinished.is_some(), "{name}");
    }
}
