//! The rules of the house, read from its own sources: what may enter which room, and how files
//! look. A rule that is broken names the file and the line.

mod legacy;
mod scenarios;
mod words;

use std::fs;
use std::path::{Path, PathBuf};

/// A source file: its path from the root, and its text without tests.
struct Source {
    path: String,
    whole: String,
    code: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ lies in the root").to_owned()
}

fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    for room in ["common", "coordinator", "agent", "tests"] {
        collect(&root().join(room), &mut found);
    }
    assert!(found.len() > 50, "the sources were not found");
    found
}

fn collect(dir: &Path, found: &mut Vec<Source>) {
    for entry in fs::read_dir(dir).expect("a room is readable") {
        let path = entry.expect("an entry is readable").path();
        if path.is_dir() {
            if !path.ends_with("target") {
                collect(&path, found);
            }
        } else if path.extension().is_some_and(|e| e == "rs") {
            let whole = fs::read_to_string(&path).expect("a source is UTF-8");
            let path = path.strip_prefix(root()).expect("below the root").display().to_string();
            let code = if is_test(&path) { String::new() } else { without_tests(&whole) };
            found.push(Source { path, whole, code });
        }
    }
}

fn is_test(path: &str) -> bool {
    path.starts_with("tests/")
        || path.contains("/tests/")
        || path.contains("/benches/")
        || path.ends_with("tests.rs")
        || path.ends_with("/testing.rs")
        || path.contains("/testing/")
}

/// Up to the first test module, without comments.
fn without_tests(text: &str) -> String {
    let end = text.find("#[cfg(test)]\nmod ").unwrap_or(text.len());
    text[..end].lines().filter(|l| !l.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

fn broken(rule: &str, places: Vec<String>) {
    assert!(places.is_empty(), "{rule}:\n  {}", places.join("\n  "));
}

/// Decisions are functions from values to values.
#[test]
fn pure_rooms_have_no_input_output_clock_or_randomness() {
    const PURE: [&str; 8] = [
        "coordinator/src/matching/",
        "coordinator/src/planning/",
        "agent/src/orders/",
        "agent/src/leases/parsers/",
        "agent/src/leases/choice.rs",
        "agent/src/leases/record.rs",
        "agent/src/leases/table.rs",
        "agent/src/leases/why.rs",
    ];
    const FORBIDDEN: [&str; 22] = [
        "tokio",
        "std::fs",
        "std::env",
        "std::io::Read",
        "std::process",
        "std::thread",
        "std::time",
        "TcpStream",
        "UdpSocket",
        "SystemTime",
        "Instant",
        "Timestamp::now",
        "Zoned::now",
        "rand::",
        "new_v4",
        "quinn",
        "rusqlite",
        "russh",
        "notify",
        "kube",
        "hyper",
        "std::sync::mpsc",
    ];
    let mut places = Vec::new();
    let mut seen = 0;
    for source in sources() {
        let Some(room) = PURE.iter().find(|room| source.path.starts_with(**room)) else { continue };
        seen += 1;
        for (number, line) in source.code.lines().enumerate() {
            let names_kubernetes = line
                .replace("kube_", "")
                .replace("kubespray", "")
                .replace("kubectl", "")
                .replace("kubernetes", "")
                .replace("kubeconfig", "")
                .replace("\"kube", "");
            if let Some(word) = FORBIDDEN.iter().find(|word| names_kubernetes.contains(**word)) {
                places.push(format!(
                    "{} (about line {}): `{word}` in {room}",
                    source.path,
                    number + 1
                ));
            }
        }
    }
    assert!(seen >= 10, "the pure rooms were not found: {seen} files");
    broken("a pure room may take values and return values only", places);
}

/// One place for what may have to be replaced.
#[test]
fn a_crate_with_a_door_is_named_behind_it_only() {
    const DOORS: [(&str, &str); 4] = [
        ("bincode::", "common/src/wire/codec.rs"),
        ("russh::", "agent/src/steps/access"),
        ("kube::", "coordinator/src/cluster"),
        ("rusqlite::", "agent/src/journal"),
    ];
    let mut places = Vec::new();
    for source in sources() {
        for (word, door) in DOORS {
            let foreign = source.path.starts_with("tests/") && word == "kube::";
            if source.code.contains(word) && !source.path.starts_with(door) && !foreign {
                places.push(format!("{} names `{word}`, which belongs into {door}", source.path));
            }
        }
    }
    broken("russh, bincode, kube and rusqlite have one place each", places);
}

/// Dependencies point one way.
#[test]
fn rooms_depend_downwards_only() {
    const MAY_NOT: [(&str, &[&str]); 5] = [
        (
            "coordinator/src/matching/",
            &[
                "crate::cluster",
                "crate::sites",
                "crate::controllers",
                "crate::cli",
                "crate::planning",
                "crate::runs",
            ],
        ),
        ("coordinator/src/planning/", &["crate::controllers", "crate::cli"]),
        (
            "coordinator/src/cluster/",
            &["crate::controllers", "crate::cli", "crate::sites", "crate::planning"],
        ),
        (
            "coordinator/src/sites/",
            &["crate::controllers", "crate::cli", "crate::planning", "crate::matching"],
        ),
        (
            "agent/src/orders/",
            &["crate::link", "crate::journal", "crate::steps", "crate::cli", "crate::runs"],
        ),
    ];
    let mut places = Vec::new();
    for source in sources() {
        for (room, forbidden) in MAY_NOT {
            if let Some(word) = source
                .path
                .starts_with(room)
                .then(|| forbidden.iter().find(|w| source.code.contains(**w)))
                .flatten()
            {
                places.push(format!("{} uses `{word}`", source.path));
            }
        }
    }
    broken("cli, controllers, sites, web -> planning, matching, cluster -> common", places);
}

#[test]
fn every_file_says_what_it_is_for_and_stays_readable() {
    let mut places = Vec::new();
    for source in sources() {
        if !source.whole.starts_with("//!") {
            places.push(format!("{} does not begin with //!", source.path));
        }
        let lines = source.code.lines().count().max(if is_test(&source.path) {
            source.whole.lines().count()
        } else {
            0
        });
        let most = if is_test(&source.path) { 600 } else { 400 };
        if lines > most {
            places.push(format!("{} has {lines} lines, at most {most}", source.path));
        }
    }
    broken("one idea a file, said at its top", places);
}

#[test]
fn unwrap_is_rare_outside_tests() {
    let (mut lines, mut found) = (0usize, Vec::new());
    for source in sources() {
        lines += source.code.lines().count();
        let count =
            source.code.matches(".unwrap()").count() + source.code.matches(".expect(").count();
        if count > 0 {
            found.push((source.path, count));
        }
    }
    let all: usize = found.iter().map(|(_, n)| n).sum();
    assert!(
        all * 1000 <= lines * 4,
        "{all} unwrap/expect in {lines} lines, at most 4 per thousand: {found:?}"
    );
}
