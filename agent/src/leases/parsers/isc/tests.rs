//! What dhcpd writes, and what is read from it.

use super::*;
use crate::leases::record::{Binding, Ends};

fn read(text: &str) -> SourceTable {
    let mut reader = IscReader::new(Limits::default());
    reader.feed(text.as_bytes());
    reader.finish().unwrap()
}

fn lease(address: &str, inside: &str) -> String {
    format!("lease {address} {{\n{inside}}}\n")
}

const BOUND: &str = "  starts 1 2026/11/30 22:32:37;\n  ends 1 2026/11/30 22:33:17;\n  \
    cltt 1 2026/11/30 22:32:38;\n  tsfp 1 2026/11/30 23:33:17;\n  binding state active;\n  \
    next binding state free;\n  hardware ethernet 02:aa:00:00:00:01;\n  \
    uid \"\\001\\002\\252\\000\\000\\000\\001\";\n  client-hostname \"node1\";\n";

#[test]
fn a_record_is_a_lease() {
    let table = read(&lease("10.77.0.100", BOUND));
    let [record] = &table.records[..] else { panic!("{table:?}") };
    assert_eq!(record.address.to_string(), "10.77.0.100");
    assert_eq!(record.binding, Binding::Bound);
    assert_eq!(record.ends, Ends::At(1_796_077_997));
    assert_eq!(record.renewed, Some(1_796_077_958));
    assert_eq!(&*record.client_id, [1, 2, 0xaa, 0, 0, 0, 1]);
    assert_eq!(&*record.hostname, b"node1");
}

#[test]
fn a_later_record_without_hardware_takes_the_address_away() {
    let table =
        read(&(lease("10.0.0.1", BOUND) + &lease("10.0.0.1", "  binding state abandoned;\n")));
    assert_eq!(table.records[0].binding, Binding::Abandoned);
    assert_eq!(table.records[0].mac, None);
    let table = read(&(lease("10.0.0.1", BOUND) + &lease("10.0.0.1", "\tabandoned;\n")));
    assert_eq!(table.records[0].binding, Binding::Abandoned);
}

#[test]
fn strings_do_not_open_blocks_and_their_words_are_no_keywords() {
    let inside = format!(
        "{BOUND}  option agent.circuit-id \"Ethernet; ends never; }}\";\n  \
         set x = \"a;{{}}\";\n  on expiry {{ set y = \"}}\"; ends never; }}\n"
    );
    let table = read(&lease("10.0.0.1", &inside));
    assert_eq!(table.records[0].ends, Ends::At(1_796_077_997));
    assert_eq!(table.skipped, 0);
}

#[test]
fn a_quote_that_was_not_escaped_costs_one_record() {
    let broken = lease("10.0.0.2", "  client-hostname \"a\"b\";\n  binding state active;\n");
    let table = read(&(lease("10.0.0.1", BOUND) + &broken + &lease("10.0.0.3", BOUND)));
    let addresses: Vec<String> = table.records.iter().map(|r| r.address.to_string()).collect();
    assert_eq!(addresses, ["10.0.0.1", "10.0.0.3"]);
    assert_eq!(table.skips[0].line, 12);
    assert!(table.skips[0].reason.contains("quote"), "{:?}", table.skips);
}

#[test]
fn a_record_that_was_never_closed_costs_only_itself() {
    let table = read(&format!("lease 10.0.0.1 {{\n  starts 1 2026\n{}", lease("10.0.0.2", BOUND)));
    assert_eq!((table.records.len(), table.skips[0].line), (1, 1));
}

#[test]
fn bad_records_are_counted_with_their_lines_and_hide_no_others() {
    let bad = [
        lease("10.0.0.999", BOUND),
        lease("10.0.0.2", "  ends 1 2026/99/30 22:33:17;\n"),
        lease("10.0.0.3", "  binding state purple;\n"),
        lease("10.0.0.4", "  hardware ethernet zz;\n"),
        "}\n".to_owned(),
    ];
    let table = read(&(bad.concat() + &lease("10.0.0.5", BOUND)));
    let lines: Vec<u64> = table.skips.iter().map(|s| s.line).collect();
    assert_eq!(lines, [1, 12, 15, 18, 21]);
    assert_eq!(table.records.len(), 1);
}

#[test]
fn reservations_come_change_and_go_by_their_name() {
    let host = "host a { dynamic; hardware ethernet 02:cc:00:00:00:05; fixed-address 10.0.0.60, 10.0.1.60; }\n";
    let table = read(host);
    assert_eq!(table.reservations.len(), 2);
    assert_eq!(table.reservations[0].binding, Binding::Reserved);
    assert!(read(&format!("{host}host a {{ dynamic; deleted; }}\n")).reservations.is_empty());
}

#[test]
fn hosts_of_a_configuration_are_found_inside_its_blocks() {
    let table = read(
        "option domain-name \"x\";\nsubnet 10.0.0.0 netmask 255.255.255.0 {\n range 10.0.0.9 10.0.0.99;\n\
         group {\nhost a { hardware ethernet 02:cc:00:00:00:05; fixed-address 10.0.0.60; }\n}\n}\n",
    );
    assert_eq!(table.reservations.len(), 1);
}

#[test]
fn limits_end_what_has_no_end() {
    let limits = Limits { record: 200, depth: 4, ..Limits::default() };
    for garbage in
        ["x".repeat(5000), "\"".to_owned() + &"y".repeat(5000), "{".repeat(5000), "#".repeat(5000)]
    {
        let mut reader = IscReader::new(limits);
        for piece in garbage.as_bytes().chunks(100) {
            reader.feed(piece);
            assert!(reader.rest.len() <= 400, "memory is bounded");
        }
        reader.feed(b"\n");
        reader.feed(lease("10.0.0.1", "  hardware ethernet 02:aa:00:00:00:01;\n").as_bytes());
        let table = reader.finish().unwrap();
        assert_eq!((table.records.len(), table.skipped), (1, 1), "{}", &garbage[..1]);
    }
}
