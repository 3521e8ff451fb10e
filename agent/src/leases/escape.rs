//! Bytes from the network, made safe to show on a terminal, in JSON, in Kubernetes.

use std::fmt::Write as _;

/// DHCP limits a host name to 255 bytes; what is longer was not sent by DHCP.
const LONGEST: usize = 255;

/// Printable ASCII as it is; everything else, and the backslash, as `\xNN`. Cut after 255 bytes.
pub fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().min(LONGEST));
    for &byte in bytes.iter().take(LONGEST) {
        if (byte.is_ascii_graphic() || byte == b' ') && byte != b'\\' {
            text.push(byte as char);
        } else {
            // Writing to a String cannot fail.
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// Lower-case hexadecimal octets with colons: `01:02:aa`. Cut after 255 bytes.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().min(LONGEST) * 3);
    for (index, byte) in bytes.iter().take(LONGEST).enumerate() {
        let colon = if index == 0 { "" } else { ":" };
        let _ = write!(text, "{colon}{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_that_moves_the_cursor_is_shown_harmless() {
        assert_eq!(escaped(b"node1"), "node1");
        assert_eq!(escaped(b"a\x1b[2Jb\\\xff\n"), r"a\x1b[2Jb\x5c\xff\x0a");
        assert_eq!(hex(&[1, 2, 0xaa]), "01:02:aa");
        assert_eq!(hex(&[]), "");
    }

    proptest! {
        #[test]
        fn only_printable_ascii_comes_out(bytes: Vec<u8>) {
            prop_assert!(escaped(&bytes).bytes().all(|b| (0x20..0x7f).contains(&b)));
        }
    }
}
