//! Which names may become inventory names, and which words may become values.

/// Names that mean something else in an inventory.
const RESERVED: [&str; 14] = [
    "all",
    "ungrouped",
    "localhost",
    "etcd",
    "bastion",
    "children",
    "hosts",
    "vars",
    "true",
    "false",
    "yes",
    "no",
    "on",
    "off",
];

/// Why a name can't be a node's name; none when it can.
pub(super) fn why_not_a_node(name: &str) -> Option<&'static str> {
    if !is_label(name) {
        return Some("is not a DNS-1123 label that begins with a letter (a-z, 0-9, -; at most 63)");
    }
    // Groups of the inventory have underscores, which a label can't have, but for these.
    RESERVED.contains(&name).then_some("means something else in an inventory")
}

/// Lower-case letters, digits and `-`, 1 to 63, begins with a letter, ends with no `-`.
pub(super) fn is_label(name: &str) -> bool {
    let bytes = name.as_bytes();
    (1..=63).contains(&bytes.len())
        && bytes[0].is_ascii_lowercase()
        && bytes[bytes.len() - 1] != b'-'
        && bytes.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-')
}

/// Labels with dots between them; digits may begin one.
pub(super) fn is_domain(name: &str) -> bool {
    name.len() <= 253
        && name.split('.').all(|part| {
            let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
            (1..=63).contains(&part.len())
                && part.bytes().all(inner)
                && !part.starts_with('-')
                && !part.ends_with('-')
        })
}

/// The name of a variable.
pub(super) fn is_variable(name: &str) -> bool {
    let mut bytes = name.bytes();
    name.len() <= 128
        && bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// `1.35.4`: three numbers, no `v`.
pub(super) fn is_version(text: &str) -> bool {
    let number =
        |part: &str| (1..=4).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
    text.split('.').count() == 3 && text.split('.').all(number)
}

/// A word such as a plug-in's name.
pub(super) fn is_word(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    (1..=64).contains(&text.len())
        && text.bytes().all(inner)
        && text.as_bytes()[0].is_ascii_alphanumeric()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_that_rename_or_break_a_host_are_refused() {
        let wrong =
            ["", "Node-A", "node_a", "1e3", "12", "-a", "a-", "a.b", "node 1", "é", "all", "no"];
        for name in wrong {
            assert!(why_not_a_node(name).is_some(), "{name}");
        }
        for name in ["node1", "cp-1", "a", "worker-10", &"a".repeat(63)] {
            assert_eq!(why_not_a_node(name), None, "{name}");
        }
        assert!(why_not_a_node(&"a".repeat(64)).is_some());
    }

    #[test]
    fn versions_and_words() {
        assert!(is_version("1.35.4") && !is_version("v1.35.4") && !is_version("1.35"));
        assert!(is_word("calico") && is_word("kube-ovn") && !is_word("../x") && !is_word("-v"));
        assert!(is_domain("10.0.0.1") && is_domain("a.b-c.d") && !is_domain("a..b"));
        assert!(is_variable("kube_version") && !is_variable("1a") && !is_variable("a-b"));
    }

    proptest! {
        #[test]
        fn an_accepted_name_needs_no_quotes_anywhere(name in "\\PC{0,70}") {
            if why_not_a_node(&name).is_none() {
                prop_assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'));
            }
        }
    }
}
