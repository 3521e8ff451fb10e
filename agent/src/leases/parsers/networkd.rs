//! systemd-networkd's `dhcp-server-lease/<interface>`: one JSON object.

use serde::Deserialize;

use super::fold::Fold;
use super::identity::mac_of;
use super::limits::{Limits, ParseError};
use crate::leases::record::{Ends, Record, SourceTable};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct File {
    #[serde(default)]
    leases: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Entry {
    address: [u8; 4],
    #[serde(default)]
    client_id: Vec<u8>,
    #[serde(default)]
    hostname: String,
    // Version 256.2 lost these three when it read its own file again.
    hardware_address_type: Option<u32>,
    hardware_address_length: Option<usize>,
    hardware_address: Option<Vec<u8>>,
    #[serde(rename = "ExpirationRealtimeUSec")]
    expiration_realtime: Option<u64>,
}

/// Reads the whole file. `ExpirationUSec` is of a clock that only the server has.
pub fn parse(bytes: &[u8], limits: &Limits) -> Result<SourceTable, ParseError> {
    let mut fold = Fold::default();
    if bytes.trim_ascii().is_empty() {
        return fold.finish(None, limits);
    }
    // A host name of broken UTF-8 must not cost the leases of all others.
    let text = String::from_utf8_lossy(bytes);
    let file: File = serde_json::from_str(&text).map_err(|e| ParseError::Json(e.to_string()))?;
    let mut entries = Vec::with_capacity(file.leases.len());
    for (number, entry) in (1u64..).zip(file.leases) {
        match serde_json::from_value::<Entry>(entry) {
            Ok(entry) => entries.push(entry),
            Err(_) => fold.skip(number, "the lease has no Address of four numbers", limits),
        }
    }
    // The order of the file means nothing; within a second the microseconds tell the newer.
    entries.sort_by_key(|entry| entry.expiration_realtime);
    for entry in entries {
        fold.put_newer(record(entry), limits);
    }
    fold.finish(None, limits)
}

fn record(entry: Entry) -> Record {
    let hardware = entry.hardware_address.unwrap_or_default();
    let length = entry.hardware_address_length.unwrap_or(hardware.len());
    let mac =
        mac_of(entry.hardware_address_type.unwrap_or(1), hardware.get(..length).unwrap_or(&[]));
    // Where it lost the hardware address, a client-id of type 1 still holds it.
    let from_id = || match entry.client_id.split_first() {
        Some((1, octets)) => mac_of(1, octets),
        _ => None,
    };
    Record {
        mac: mac.or_else(from_id),
        ends: match entry.expiration_realtime {
            None | Some(u64::MAX) => Ends::Never,
            Some(micros) => Ends::at(i64::try_from(micros / 1_000_000).unwrap_or(i64::MAX)),
        },
        client_id: entry.client_id.into(),
        hostname: entry.hostname.into_bytes().into(),
        ..Record::bound(entry.address.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_that_lost_its_hardware_address_is_known_by_its_client_id() {
        let text = br#"{"BootID":"x","Leases":[{"ClientId":[1,2,170,0,0,0,1],"Address":[10,0,0,1],
            "ExpirationRealtimeUSec":1796079117317810},{"Address":[10,0,0]}]}"#;
        let table = parse(text, &Limits::default()).unwrap();
        assert_eq!(table.records[0].mac.unwrap().to_string(), "02:aa:00:00:00:01");
        assert_eq!(table.records[0].ends, Ends::At(1_796_079_117));
        assert_eq!(table.skips[0].line, 2);
    }

    #[test]
    fn a_name_of_broken_utf8_costs_nothing_else() {
        let text = b"{\"Leases\":[{\"Address\":[10,0,0,1],\"Hostname\":\"\xff\xfe\"}]}";
        assert_eq!(parse(text, &Limits::default()).unwrap().records.len(), 1);
        assert!(matches!(parse(b"{\"Leases\":[", &Limits::default()), Err(ParseError::Json(_))));
    }
}
