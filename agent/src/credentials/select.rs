//! PURE: which entry is for a host.

use bpa_common::net::MacAddress;

use super::entry::{Credential, Entry, Selector};

/// All entries, in the order of the files.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    pub(super) entries: Vec<Entry>,
}

impl Credentials {
    /// The entry for this host: by its name, else by one of its MACs, else by the first pattern
    /// that fits its name, else the default.
    pub fn select(&self, host: &str, macs: &[MacAddress]) -> Option<&Credential> {
        let by = |wanted: &dyn Fn(&Selector) -> bool| {
            self.entries.iter().find(|entry| wanted(&entry.selector)).map(|entry| &entry.credential)
        };
        by(&|s| matches!(s, Selector::Host(name) if name == host))
            .or_else(|| by(&|s| matches!(s, Selector::Mac(mac) if macs.contains(mac))))
            .or_else(|| by(&|s| matches!(s, Selector::Pattern(glob) if glob.fits(host))))
            .or_else(|| by(&|s| matches!(s, Selector::Default)))
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    const FILE: &str = r#"
        [default]
        user = "last"
        [[pattern]]
        name = "rack1-*"
        user = "first-pattern"
        [[pattern]]
        name = "*"
        user = "second-pattern"
        [[host]]
        mac = "52:54:00:aa:01:02"
        user = "by-mac"
        [[host]]
        name = "rack1-node7"
        user = "by-name"
    "#;

    fn user_of(text: &str, host: &str, macs: &[MacAddress]) -> Option<String> {
        let all = parse(text, "c.toml").unwrap();
        all.select(host, macs).map(|credential| credential.user.clone())
    }

    #[test]
    fn a_hosts_own_entry_wins_then_its_mac_then_patterns_in_order_then_the_default() {
        let mac = [MacAddress::new([0x52, 0x54, 0x00, 0xaa, 0x01, 0x02])];
        assert_eq!(user_of(FILE, "rack1-node7", &mac).as_deref(), Some("by-name"));
        assert_eq!(user_of(FILE, "rack1-node8", &mac).as_deref(), Some("by-mac"));
        assert_eq!(user_of(FILE, "rack1-node8", &[]).as_deref(), Some("first-pattern"));
        assert_eq!(user_of(FILE, "rack2-node1", &[]).as_deref(), Some("second-pattern"));
        let rest = "[default]\nuser = \"last\"\n[[pattern]]\nname = \"x-*\"\n";
        assert_eq!(user_of(rest, "y-1", &[]).as_deref(), Some("last"));
        assert_eq!(user_of("", "y-1", &[]), None);
    }
}
