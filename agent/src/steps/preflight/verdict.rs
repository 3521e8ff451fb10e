//! PURE: how checks are put into words.

use bpa_common::wire::v1::{Check, CheckOutcome};

/// A check of one node that passed.
pub(super) fn passed(
    node: &str,
    id: &str,
    wanted: impl Into<String>,
    found: impl Into<String>,
) -> Check {
    check(node, id, CheckOutcome::Passed, wanted.into(), found.into(), String::new())
}

/// One that will not stop the playbook.
pub(super) fn warning(
    node: &str,
    id: &str,
    wanted: impl Into<String>,
    found: impl Into<String>,
    fix: impl Into<String>,
) -> Check {
    check(node, id, CheckOutcome::Warning, wanted.into(), found.into(), fix.into())
}

/// One that would stop it.
pub(super) fn failed(
    node: &str,
    id: &str,
    wanted: impl Into<String>,
    found: impl Into<String>,
    fix: impl Into<String>,
) -> Check {
    check(node, id, CheckOutcome::Failed, wanted.into(), found.into(), fix.into())
}

fn check(
    node: &str,
    id: &str,
    status: CheckOutcome,
    wanted: String,
    found: String,
    fix: String,
) -> Check {
    Check { node: node.to_owned(), id: id.to_owned(), status, wanted, found, fix }
}

/// `7.8 GiB`, `512 MiB`: as people compare sizes.
pub(super) fn size(bytes: u64) -> String {
    const MIB: u64 = 1 << 20;
    const GIB: u64 = 1 << 30;
    // Floors lie here: a tenth of a GiB would hide by how much one is missed.
    if bytes >= 4 * GIB {
        let tenths = bytes / (GIB / 10);
        format!("{}.{} GiB", tenths / 10, tenths % 10)
    } else {
        format!("{} MiB", bytes / MIB)
    }
}

/// `0.25 s`, `31 s`.
pub(super) fn seconds(milliseconds: u64) -> String {
    if milliseconds >= 10_000 {
        format!("{} s", milliseconds / 1000)
    } else {
        format!("{}.{:02} s", milliseconds / 1000, milliseconds % 1000 / 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_read_well() {
        assert_eq!(size(8_130_560 * 1024), "7.7 GiB");
        assert_eq!(size(10 << 30), "10.0 GiB");
        assert_eq!(size(1500 << 20), "1500 MiB");
        assert_eq!(size(900 << 20), "900 MiB");
        assert_eq!((seconds(250), seconds(31_400)), ("0.25 s".into(), "31 s".into()));
    }
}
