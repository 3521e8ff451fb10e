//! Section B of the statements about the original: from a MAC to an address. `docs/legacy.md` lists
//! them. The lease files are those of ISC dhcpd, which is all that the original could read.

use std::net::IpAddr;

use bpa_common::net::MacAddress;

use super::kind::SourceKind;
use super::parsers::{Limits, parse};
use super::table::{Answer, LeaseView, SourceView};

const NOW: i64 = 1_796_078_000;
const MAC: &str = "52:54:00:aa:18:01";

/// A block of a lease file. Times are epoch seconds, as `db-time-format local` writes them.
fn lease(address: &str, mac: &str, state: &str, cltt: i64, ends: i64) -> String {
    format!(
        "lease {address} {{\n  starts epoch {cltt};\n  ends epoch {ends};\n  cltt epoch {cltt};\n  binding state {state};\n  hardware ethernet {mac};\n}}\n"
    )
}

fn active(address: &str, mac: &str) -> String {
    lease(address, mac, "active", NOW - 60, NOW + 600)
}

fn answer(text: &str, mac: &str) -> Answer {
    let table = parse(SourceKind::Isc, &[text.as_bytes()], &Limits::default()).unwrap();
    let source = SourceView {
        table: table.into(),
        good_at: Some(NOW),
        error: None,
        ..SourceView::unread(SourceKind::Isc, "/var/lib/dhcp/dhcpd.leases")
    };
    LeaseView::evaluate(vec![source], NOW).answer(mac.parse::<MacAddress>().unwrap())
}

fn address(text: &str) -> Option<String> {
    answer(text, MAC).address.as_ref().map(IpAddr::to_string)
}

fn ten() -> Option<String> {
    Some("10.0.0.10".to_owned())
}

#[test]
fn statement_18_a_free_lease_of_another_address_hides_no_active_one() {
    let text = active("10.0.0.10", MAC) + &lease("10.0.0.11", MAC, "free", NOW - 30, NOW - 10);
    assert_eq!(address(&text), ten());
}

#[test]
fn statement_19_the_last_block_of_an_address_says_whose_it_is() {
    let other = "52:54:00:aa:19:02";
    let text = active("10.0.0.10", MAC) + &active("10.0.0.10", other);
    assert_eq!(address(&text), None);
    assert_eq!(answer(&text, other).address, Some("10.0.0.10".parse().unwrap()));
}

#[test]
fn statement_20_a_later_free_block_without_hardware_takes_the_address_away() {
    let text = active("10.0.0.10", MAC)
        + "lease 10.0.0.10 {\n  ends epoch 1796077990;\n  binding state free;\n}\n";
    assert_eq!(address(&text), None);
}

#[test]
fn statement_21_a_lease_that_has_ended_is_none_and_one_without_end_is() {
    assert_eq!(address(&lease("10.0.0.10", MAC, "active", NOW - 900, NOW - 1)), None);
    let never = active("10.0.0.10", MAC).replace(&format!("epoch {}", NOW + 600), "never");
    assert_eq!(address(&never), ten());
}

#[test]
fn statement_22_a_reservation_gives_an_address() {
    let text = format!(
        "host m1 {{\n  dynamic;\n  hardware ethernet {MAC};\n  fixed-address 10.0.0.10;\n}}\n"
    );
    assert_eq!(address(&text), ten());
}

#[test]
fn statement_23_a_reservation_hides_no_lease() {
    let host = format!(
        "host m1 {{\n  dynamic;\n  hardware ethernet {MAC};\n  fixed-address 10.0.0.99;\n}}\n"
    );
    assert_eq!(address(&(active("10.0.0.10", MAC) + &host)), ten());
}

#[test]
fn statement_24_blanks_mean_nothing() {
    for blanks in ["\t", "    ", ""] {
        let text = active("10.0.0.10", MAC).replace("\n  ", &format!("\n{blanks}"));
        assert_eq!(address(&text), ten(), "{blanks:?}");
    }
}

#[test]
fn statement_25_without_a_state_the_end_decides() {
    let text = active("10.0.0.10", MAC).replace("  binding state active;\n", "");
    assert_eq!(address(&text), ten());
    let ended = lease("10.0.0.10", MAC, "active", NOW - 900, NOW - 1)
        .replace("  binding state active;\n", "");
    assert_eq!(address(&ended), None);
}

#[test]
fn statement_26_letter_case_of_a_mac_in_a_lease_file_means_nothing() {
    assert_eq!(address(&active("10.0.0.10", &MAC.to_uppercase())), ten());
    assert_eq!(answer(&active("10.0.0.10", MAC), &MAC.to_uppercase()).all.len(), 1);
}

#[test]
fn statement_27_of_two_active_leases_the_newest_answers_and_both_are_told() {
    let text = lease("10.0.0.10", MAC, "active", NOW - 10, NOW + 600)
        + &lease("10.0.0.11", MAC, "active", NOW - 500, NOW + 900);
    let found = answer(&text, MAC);
    assert_eq!(found.address, Some("10.0.0.10".parse().unwrap()));
    assert_eq!((found.ambiguous, found.all.len()), (true, 2));
}
