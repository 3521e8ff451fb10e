//! libvirt's `<bridge>.status`: a JSON array that its helper writes for dnsmasq.

use serde::Deserialize;

use super::fold::Fold;
use super::identity::{mac_from, octets_from};
use super::limits::{Limits, ParseError};
use crate::leases::record::{Ends, Record, SourceTable};

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Entry {
    ip_address: std::net::IpAddr,
    mac_address: Option<String>,
    hostname: Option<String>,
    client_id: Option<String>,
    expiry_time: Option<i64>,
}

/// Reads the whole file. Of no bytes at all it is "no leases yet": the file is made so.
pub fn parse(bytes: &[u8], limits: &Limits) -> Result<SourceTable, ParseError> {
    let mut fold = Fold::default();
    if bytes.trim_ascii().is_empty() {
        return fold.finish(None, limits);
    }
    let text = String::from_utf8_lossy(bytes);
    let entries: Vec<serde_json::Value> =
        serde_json::from_str(&text).map_err(|e| ParseError::Json(e.to_string()))?;
    for (number, entry) in (1u64..).zip(entries) {
        match serde_json::from_value::<Entry>(entry) {
            Ok(entry) if entry.ip_address.is_ipv6() => fold.set_aside(),
            Ok(entry) => fold.put_newer(record(entry), limits),
            Err(_) => fold.skip(number, "the element has no ip-address that is one", limits),
        }
    }
    fold.finish(None, limits)
}

fn record(entry: Entry) -> Record {
    let bytes = |text: Option<String>| text.unwrap_or_default().into_bytes();
    Record {
        mac: mac_from(&bytes(entry.mac_address)),
        client_id: octets_from(&bytes(entry.client_id)).unwrap_or_default().into(),
        hostname: bytes(entry.hostname).into(),
        ends: entry.expiry_time.map_or(Ends::Never, Ends::at),
        ..Record::bound(entry.ip_address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<SourceTable, ParseError> {
        parse(text.as_bytes(), &Limits::default())
    }

    #[test]
    fn an_element_without_an_end_never_ends_and_ipv6_is_set_aside() {
        let table = read(
            r#"[{"ip-address":"10.0.0.1","mac-address":"02:AA:00:00:00:01"},
                {"ip-address":"fd77::1","mac-address":"02:aa:00:00:00:01","expiry-time":1}]"#,
        )
        .unwrap();
        assert_eq!(table.records[0].ends, Ends::Never);
        assert_eq!((table.records.len(), table.set_aside), (1, 1));
    }

    #[test]
    fn a_bad_element_is_counted_and_a_cut_file_is_an_error() {
        let table = read(r#"[{"ip-address":"x"},7,{"ip-address":"10.0.0.1"}]"#).unwrap();
        let numbers: Vec<u64> = table.skips.iter().map(|s| s.line).collect();
        assert_eq!((numbers, table.records.len()), (vec![1, 2], 1));
        assert!(matches!(read("[{"), Err(ParseError::Json(_))));
        assert_eq!(read("").unwrap(), SourceTable::default());
    }
}
