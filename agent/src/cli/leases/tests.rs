//! The command on measured samples.

use clap::Parser;
use serde_json::Value;

use super::*;

#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    args: LeasesArgs,
}

fn parse(words: &[&str]) -> LeasesArgs {
    Cli::try_parse_from(std::iter::once(&"leases").chain(words)).unwrap().args
}

fn sample(name: &str) -> String {
    format!("{}/testdata/leases/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn view(words: &[&str]) -> (LeasesArgs, LeaseView) {
    let args = parse(words);
    let sources = sources(&args, Path::new("/nowhere")).unwrap();
    let view = read_once(&sources, args.now.unwrap().as_second());
    (args, view)
}

#[test]
fn the_json_is_what_the_documentation_says() {
    let source = format!("isc:{}", sample("isc-journal.leases"));
    let (args, view) = view(&["--source", &source, "--now", "2026-11-30T22:33:30Z"]);
    let json = serde_json::to_value(Report::new(&view, &args.macs)).unwrap();
    assert_eq!(json["schema"], 1);
    assert_eq!(json["asOf"], "2026-11-30T22:33:30Z");
    assert_eq!(json["sources"][0]["kind"], "isc");
    assert_eq!(json["sources"][0]["skipped"], Value::Array(vec![]));
    assert_eq!(json["sources"][0]["error"], Value::Null);
    let two = &json["answers"]["02:bb:00:00:00:01"];
    assert_eq!(two["address"], "10.77.0.105");
    assert_eq!(two["ambiguous"], true);
    assert_eq!(two["all"][0]["hostname"], "os-bb1");
    assert_eq!(two["all"][0]["state"], "bound");
    assert_eq!(two["all"][0]["source"], source.as_str());
    assert_eq!(two["all"][1]["clientId"], "01:02:bb:00:00:00:01");
    assert_eq!(two["all"][1]["expires"], "2026-11-30T22:42:59Z");
    let none = &json["answers"]["02:aa:00:00:00:01"];
    assert_eq!(none["address"], Value::Null);
    assert!(none["why"].as_str().unwrap().contains("10.77.0.100 is free"), "{none}");
    assert_eq!(json["withoutMac"][0]["address"], "10.77.0.106");
    let documented = include_str!("../../../../docs/leases.md");
    for field in
        json["sources"][0].as_object().unwrap().keys().chain(two.as_object().unwrap().keys())
    {
        assert!(documented.contains(&format!("`{field}")), "{field} is not documented");
    }
}

#[test]
fn one_mac_is_enough_and_the_exit_code_says_whether_it_has_a_lease() {
    let source = format!("isc:{}", sample("isc-journal.leases"));
    let common = ["--source", &source, "--now", "2026-11-30T22:33:30Z"];
    for (mac, code) in
        [("02:BB:00:00:00:01", 0), ("02:aa:00:00:00:01", 3), ("02-ff-00-00-00-ff", 3)]
    {
        let (args, view) = view(&[&common[..], &["--mac", mac]].concat());
        let report = Report::new(&view, &args.macs);
        assert_eq!(report.answers.len(), 1);
        assert_eq!(exit_code(&view, &args.macs), code, "{mac}");
    }
}

#[test]
fn a_source_that_cannot_be_read_is_an_error_but_not_for_a_mac_that_another_knows() {
    let good = format!("isc:{}", sample("isc-journal.leases"));
    let common =
        ["--source", &good, "--source", "kea:/no/such/file", "--now", "2026-11-30T22:33:30Z"];
    let (_, both) = view(&common);
    assert_eq!(exit_code(&both, &[]), 1);
    assert_eq!(exit_code(&both, &["02:bb:00:00:00:01".parse().unwrap()]), 0);
    assert_eq!(exit_code(&both, &["02:aa:00:00:00:01".parse().unwrap()]), 1);
    let text = table::render(&Report::new(&both, &[]));
    assert!(text.contains("/no/such/file does not exist"), "{text}");
}

#[test]
fn the_table_is_for_people() {
    let source = format!("kea:{}", sample("kea26-after-lfc/kea-leases4.csv"));
    let (args, view) = view(&["--source", &source, "--now", "2026-11-30T22:40:23Z"]);
    let text = table::render(&Report::new(&view, &args.macs));
    let text = text.replace(&sample(""), "");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("MAC                 ADDRESS"), "{text}");
    assert!(lines[1].contains("10.77.0.103") && lines[1].contains("newest of 2"), "{text}");
    assert!(lines[2].contains("10.77.0.102") && lines[2].contains("also in force"), "{text}");
    assert!(lines[3].contains("never"), "{text}");
    assert!(text.contains("kea:kea26-after-lfc/kea-leases4.csv   3         0"), "{text}");
}

#[test]
fn a_name_from_the_network_cannot_move_the_cursor() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("leases");
    std::fs::write(&path, b"0 02:aa:00:00:00:01 10.0.0.1 \x1b[2J\xff *\n").unwrap();
    let source = format!("dnsmasq:{}", path.display());
    let (args, view) = view(&["--source", &source, "--now", "2026-11-30T22:40:23Z"]);
    let report = Report::new(&view, &args.macs);
    for output in [Output::Table, Output::Json, Output::Yaml] {
        let text = output.text(&report, || table::render(&report)).unwrap();
        assert!(!text.contains('\x1b') && text.contains("x1b[2J"), "{text}");
    }
}

#[test]
fn mistakes_on_the_command_line_are_named() {
    for (words, wanted) in [
        (["--source", "kae:/x"], "wanted one of isc"),
        (["--now", "yesterday"], "yesterday"),
        (["--mac", "zz"], "is not a MAC address"),
    ] {
        let words = [&["leases"][..], &words[..]].concat();
        let error = Cli::try_parse_from(words).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    }
    let error = sources(&parse(&[]), Path::new("/no/agent.toml")).unwrap_err().to_string();
    assert!(error.contains("/no/agent.toml"), "{error}");
}
