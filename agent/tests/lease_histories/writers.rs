//! Histories as each server would write them, each event with the place where it is complete.

use std::fmt::Write as _;

use jiff::Timestamp;

use super::model::{Event, Held, State, What, ip, mac};

/// A file, and per event the number of bytes after which it is complete.
pub struct Written {
    pub bytes: Vec<u8>,
    pub complete_at: Vec<usize>,
}

/// dhcpd appends a whole record for everything that happens.
pub fn isc(events: &[Event], start: i64) -> Written {
    let mut text = String::from("# header\nauthoring-byte-order little-endian;\n\n");
    let mut complete_at = Vec::new();
    let mut now = start;
    let mut ends: std::collections::HashMap<u8, (u8, Option<i64>)> = Default::default();
    for event in events {
        now += event.after;
        let address = ip(event.address);
        let _ = write!(text, "lease {address} {{\n  starts {};\n", isc_time(Some(now)));
        match &event.what {
            What::Bind { mac: number, length, name } => {
                let end = length.map(|l| now + l);
                ends.insert(event.address, (*number, end));
                let _ = write!(
                    text,
                    "  ends {}; # Mon \"\n  tsfp {};\n  cltt {};\n  binding state active;\n  \
                     next binding state free;\n  hardware ethernet {};\n  uid \"\\001x;}}\";\n",
                    isc_time(end),
                    isc_time(Some(now + 9000)),
                    isc_time(Some(now)),
                    mac(*number),
                );
                if !name.is_empty() {
                    let _ = writeln!(text, "  client-hostname \"{}\";", isc_string(name));
                }
            }
            What::Release => {
                let _ = write!(text, "  ends {};\n  binding state free;\n", isc_time(Some(now)));
                if let Some((number, _)) = ends.get(&event.address) {
                    let _ = writeln!(text, "  hardware ethernet {};", mac(*number));
                }
            }
            What::Decline => text.push_str("  binding state abandoned;\n"),
        }
        text.push('}');
        complete_at.push(text.len());
        text.push('\n');
    }
    Written { bytes: text.into_bytes(), complete_at }
}

/// Both forms, as with and without `db-time-format local`.
fn isc_time(seconds: Option<i64>) -> String {
    match seconds {
        None => "never".to_owned(),
        Some(s) if s % 2 == 0 => format!("epoch {s}"),
        Some(s) => Timestamp::from_second(s).unwrap().strftime("%w %Y/%m/%d %H:%M:%S").to_string(),
    }
}

fn isc_string(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        match byte {
            b'"' | b'\\' => {
                let _ = write!(text, "\\{}", *byte as char);
            }
            0x20..=0x7e => text.push(*byte as char),
            _ => {
                let _ = write!(text, "\\{byte:03o}");
            }
        }
    }
    text
}

pub const KEA_HEADER: &str = "address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,fqdn_rev,hostname,state,user_context\n";

/// Kea appends a row for everything that happens.
pub fn kea(events: &[Event], start: i64) -> Written {
    let mut text = String::from(KEA_HEADER);
    let mut complete_at = Vec::new();
    let mut now = start;
    for event in events {
        now += event.after;
        let address = ip(event.address);
        let _ = match &event.what {
            What::Bind { mac: number, length, name } => {
                let lifetime = length.map_or(u64::from(u32::MAX), |l| l as u64);
                let expire = now as u64 + lifetime;
                let name = kea_string(name);
                writeln!(
                    text,
                    "{address},{},01:02,{lifetime},{expire},1,0,0,{name},0,{{ \"a\": \"b&#x2c\" }}",
                    mac(*number)
                )
            }
            What::Release => writeln!(text, "{address},{},,0,{now},1,0,0,,0,", mac(1)),
            What::Decline => writeln!(text, "{address},,,60,{},1,0,0,,1,", now + 60),
        };
        complete_at.push(text.len());
    }
    Written { bytes: text.into_bytes(), complete_at }
}

fn kea_string(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' => text.push(*byte as char),
            _ => {
                let _ = write!(text, "&#x{byte:02x}");
            }
        }
    }
    text
}

/// dnsmasq writes what stands, one line per address, the newest first.
pub fn dnsmasq(state: &State) -> Vec<u8> {
    let mut held: Vec<(&u8, &Held)> = state.iter().collect();
    held.sort_by_key(|(_, h)| std::cmp::Reverse(h.number));
    let mut text = Vec::new();
    for (address, held) in held {
        let name = String::from_utf8(held.name.clone()).unwrap_or_default();
        let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        let name = if name.is_empty() { "*".to_owned() } else { name };
        let line =
            format!("{} {} {} {name} *\n", held.ends.unwrap_or(0), mac(held.mac), ip(*address));
        text.extend(line.bytes());
    }
    text.extend(b"duid 00:01:00:01\n1796078796 4 fd77::1 * 00:03:00:01:02:aa:00:00:00:01\n");
    text
}
