//! What Kea writes, and what is read from it.

use super::*;
use crate::leases::record::{Binding, Ends};

const HEADER: &str = "address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,fqdn_rev,hostname,state,user_context\n";

fn read(files: &[String]) -> Result<SourceTable, ParseError> {
    let mut reader = KeaReader::new(Limits::default());
    for file in files {
        reader.next_file();
        reader.feed(file.as_bytes());
    }
    reader.finish()
}

fn rows(rows: &str) -> SourceTable {
    read(&[format!("{HEADER}{rows}")]).unwrap()
}

#[test]
fn a_row_is_a_lease_and_the_last_row_of_an_address_counts() {
    let table = rows(
        "10.0.0.1,02:aa:00:00:00:01,01:02,40,1796078306,1,0,0,node1,0,\n\
         10.0.0.1,02:aa:00:00:00:02,,600,1796078910,1,0,0,a&#x2cb,0,{ \"n\": \"x&#x2c \\\"y\\\"\" }\n",
    );
    let [record] = &table.records[..] else { panic!("{table:?}") };
    assert_eq!(record.mac.unwrap().to_string(), "02:aa:00:00:00:02");
    assert_eq!(record.renewed, Some(1_796_078_310));
    assert_eq!(record.ends, Ends::At(1_796_078_910));
    assert_eq!(&*record.hostname, b"a,b");
    assert_eq!(table.count, 2);
}

#[test]
fn an_infinite_lease_never_ends_though_its_expire_is_over_32_bits() {
    let table = rows("10.0.0.1,02:aa:00:00:00:01,,4294967295,6091045567,1,0,0,,0,\n");
    assert_eq!(table.records[0].ends, Ends::Never);
    assert_eq!(table.records[0].renewed, Some(1_796_078_272));
}

#[test]
fn states_other_than_assigned_and_a_lifetime_of_zero_are_not_bound() {
    for (lifetime, state, wanted) in [
        (40, 0, Binding::Bound),
        (0, 0, Binding::Released),
        (40, 1, Binding::Declined),
        (40, 2, Binding::Expired),
        (40, 3, Binding::Released),
        (40, 4, Binding::Free),
        (40, 99, Binding::Free),
    ] {
        let row = format!("10.0.0.1,,,{lifetime},1796078306,1,0,0,,{state},\n");
        assert_eq!(rows(&row).records[0].binding, wanted, "{row}");
    }
}

#[test]
fn the_header_says_where_the_columns_are_and_may_be_old_or_new() {
    let old = "expire,valid_lifetime,hwaddr,address\n1796078306,40,02:aa:00:00:00:01,10.0.0.1\n";
    let new = format!(
        "{},pool_id\n10.0.0.2,02:aa:00:00:00:02,,40,1796078306,1,0,0,,0,,0\n",
        HEADER.trim_end()
    );
    let table = read(&[old.to_owned(), new]).unwrap();
    assert_eq!(table.records.len(), 2);
    assert!(table.records.iter().all(|r| r.binding == Binding::Bound && r.mac.is_some()));
}

#[test]
fn a_mangled_row_is_skipped_with_its_line_and_a_cut_one_waits() {
    let table = rows(
        "10.0.0.1,02:aa:0010.0.0.2,02:aa:00:00:00:02,,40,1796078306,1,0,0,,0,\n\
         10.0.0.3,02:aa:00:00:00:03,,x,1796078306,1,0,0,,0,\n\
         10.0.0.4,02:aa:00:00:00:04,,40,1796078306,1,0,0,,0,\n\
         10.0.0.5,02:aa:00:00:00:05,,40,17960783",
    );
    let lines: Vec<u64> = table.skips.iter().map(|s| s.line).collect();
    assert_eq!(lines, [2, 3]);
    assert_eq!(table.records.len(), 1);
    assert_eq!(table.unfinished, Some(5));
}

#[test]
fn another_file_is_named_for_what_it_is() {
    let error = read(&["lease 10.0.0.1 {\n".to_owned()]).unwrap_err().to_string();
    assert!(error.contains("wanted a header") && error.contains("lease 10.0.0.1"), "{error}");
    let v6 = "address,duid,valid_lifetime,expire,subnet_id\n".to_owned();
    assert_eq!(read(&[v6]).unwrap_err(), ParseError::KeaV6);
    let short = "address,hwaddr\n".to_owned();
    assert!(matches!(read(&[short]), Err(ParseError::WrongFormat { .. })));
}

#[test]
fn a_file_that_has_only_its_header_is_no_leases() {
    assert_eq!(read(&[HEADER.to_owned()]).unwrap().records.len(), 0);
    assert_eq!(read(&[String::new()]).unwrap(), SourceTable::default());
}
