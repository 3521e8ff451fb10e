//! PURE: what a machine says of itself, and whether that is the one of the order.

use std::collections::BTreeSet;

use bpa_common::net::MacAddress;

use crate::steps::access::Problem;
use crate::steps::port::NodeTarget;

/// A message names at most this many MACs.
const SHOWN: usize = 8;

/// What tells machines apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    pub macs: BTreeSet<MacAddress>,
    pub serial: Option<String>,
}

impl Identity {
    /// Reads the script's lines; other lines (a shell may print anything) are passed over. None when
    /// the script did not come to its end.
    pub fn parse(text: &str) -> Option<Self> {
        let mut identity = Self::default();
        let (mut begun, mut ended) = (false, false);
        for line in text.lines() {
            match line.trim().split_once('=') {
                Some(("bpa.begin", "identity")) => begun = true,
                Some(("bpa.end", "identity")) => ended = true,
                Some(("bpa.mac", mac)) => {
                    identity.macs.extend(mac.parse::<MacAddress>().ok().filter(|m| m.is_unicast()));
                }
                Some(("bpa.serial", serial)) => identity.serial = serial_of(serial),
                _ => {}
            }
        }
        (begun && ended).then_some(identity)
    }

    /// # Errors
    /// `NotTheMachine`.
    pub fn compare(&self, target: &NodeTarget) -> Result<(), Problem> {
        if !target.macs.iter().any(|mac| self.macs.contains(mac)) {
            let wanted = format!("MAC {}", listed(&target.macs));
            let found: Vec<MacAddress> = self.macs.iter().copied().collect();
            let found = match found.as_slice() {
                [] => "no network interface with a MAC".to_owned(),
                some => format!("MAC {}", listed(some)),
            };
            return Err(Problem::NotTheMachine { wanted, found });
        }
        let known = target.serial.as_deref().and_then(serial_of);
        match (known, &self.serial) {
            (Some(wanted), Some(found)) if !wanted.eq_ignore_ascii_case(found) => {
                let (wanted, found) = (format!("serial {wanted}"), format!("serial {found}"));
                Err(Problem::NotTheMachine { wanted, found })
            }
            _ => Ok(()),
        }
    }
}

fn listed(macs: &[MacAddress]) -> String {
    let shown: Vec<String> = macs.iter().take(SHOWN).map(ToString::to_string).collect();
    let more = macs.len().saturating_sub(SHOWN);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{rest}", shown.join(" or "))
}

/// A serial number, unless it is one of the words that makers leave in its place.
pub(super) fn serial_of(text: &str) -> Option<String> {
    const NONE: [&str; 9] = [
        "none",
        "unknown",
        "not specified",
        "not available",
        "n/a",
        "default string",
        "to be filled by o.e.m.",
        "system serial number",
        "0123456789",
    ];
    let text = text.trim();
    let empty = text.is_empty() || text.bytes().all(|b| b == b'0' || b == b'.' || b == b'-');
    let placeholder = NONE.contains(&text.to_ascii_lowercase().as_str());
    (!empty && !placeholder && text.len() <= 128).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::steps::access::testing::target;

    const TEXT: &str = "Welcome!\nbpa.begin=identity\nbpa.mac=00:00:00:00:00:00\nbpa.mac=52:54:00:aa:00:01\nbpa.mac=52:54:00:AA:00:02\nbpa.mac=set\nbpa.serial=ABC123\nbpa.end=identity\n";

    fn wanted(macs: &[&str], serial: Option<&str>) -> NodeTarget {
        let macs = macs.iter().map(|m| m.parse().unwrap()).collect();
        NodeTarget { macs, serial: serial.map(str::to_owned), ..target("host1", 22) }
    }

    #[test]
    fn one_mac_of_the_order_is_enough() {
        let machine = Identity::parse(TEXT).unwrap();
        assert_eq!(machine.macs.len(), 2, "the loopback's zeros are no MAC");
        let order = wanted(&["52:54:00:aa:00:09", "52:54:00:aa:00:02"], Some("abc123"));
        assert_eq!(machine.compare(&order), Ok(()));
    }

    #[test]
    fn another_machine_is_named_by_its_macs() {
        let machine = Identity::parse(TEXT).unwrap();
        let failure = machine.compare(&wanted(&["52:54:00:aa:00:09"], None)).unwrap_err();
        let failure = failure.on(&target("host1", 22));
        assert_eq!(failure.reason, "NotTheMachine");
        assert_eq!(
            failure.message,
            "the machine at 127.0.0.1 port 22 is not the one: wanted MAC 52:54:00:aa:00:09, found MAC 52:54:00:aa:00:01 or 52:54:00:aa:00:02"
        );
    }

    #[test]
    fn an_order_without_macs_fits_no_machine() {
        assert!(Identity::parse(TEXT).unwrap().compare(&wanted(&[], None)).is_err());
    }

    #[test]
    fn another_serial_number_is_another_machine_and_a_placeholder_is_none() {
        let machine = Identity::parse(TEXT).unwrap();
        let mac = "52:54:00:aa:00:01";
        assert!(machine.compare(&wanted(&[mac], Some("XYZ"))).is_err());
        assert_eq!(machine.compare(&wanted(&[mac], Some("Not Specified"))), Ok(()));
        for text in ["", " ", "0", "000-000", "To be filled by O.E.M.", "Default string"] {
            assert_eq!(serial_of(text), None, "{text}");
        }
    }

    #[test]
    fn a_script_that_was_cut_short_identifies_nothing() {
        for text in ["", "bpa.begin=identity\nbpa.mac=52:54:00:aa:00:01\n", "bpa.end=identity\n"] {
            assert_eq!(Identity::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[a-z.=:0-9\n ]{0,200}") {
            let _ = Identity::parse(&text);
        }
    }
}
