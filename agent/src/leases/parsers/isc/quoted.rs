//! Strings with escapes: octal `\ooo`, `\"`, `\\`.

use super::token::Token;
use crate::leases::parsers::identity::octets_from;

/// The bytes that a quoted string stands for.
pub fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, tail)) = rest.split_first() {
        if first != b'\\' {
            bytes.push(first);
            rest = tail;
        } else if let Some(byte) = tail.get(..3).and_then(octal) {
            bytes.push(byte);
            rest = &tail[3..];
        } else if let Some((&literal, after)) = tail.split_first() {
            bytes.push(literal);
            rest = after;
        } else {
            rest = tail;
        }
    }
    bytes
}

fn octal(digits: &[u8]) -> Option<u8> {
    digits.iter().try_fold(0u8, |sum, digit| {
        let digit = digit.checked_sub(b'0').filter(|d| *d < 8)?;
        sum.checked_mul(8)?.checked_add(digit)
    })
}

/// An id as dhcpd writes it: quoted, or bare hexadecimal in other dialects. Empty when it is
/// neither: an id that can't be read must not hide a lease.
pub fn id(words: &[Token<'_>]) -> Box<[u8]> {
    match words.first() {
        Some(Token::Quoted(text)) => unescaped(text).into(),
        Some(Token::Word(hex)) => octets_from(hex).unwrap_or_default().into(),
        _ => Box::default(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escapes_are_bytes() {
        assert_eq!(unescaped(br"\001\002\252x"), [1, 2, 0o252, b'x']);
        assert_eq!(unescaped(br#"\000node\"7\\x"#), b"\0node\"7\\x");
        assert_eq!(unescaped(br"\9\777\"), b"9777", "what is no escape stands for itself");
    }

    #[test]
    fn an_id_is_quoted_or_bare() {
        assert_eq!(&*id(&[Token::Quoted(br"\001a")]), [1, b'a']);
        assert_eq!(&*id(&[Token::Word(b"ff:2:0a")]), [0xff, 2, 10]);
        assert!(id(&[Token::Word(b"what")]).is_empty());
        assert!(id(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn what_the_server_escapes_is_read_back(bytes: Vec<u8>) {
            let mut text = Vec::new();
            for byte in &bytes {
                match byte {
                    b'"' | b'\\' => text.extend([b'\\', *byte]),
                    0x20..=0x7e => text.push(*byte),
                    _ => text.extend(format!("\\{byte:03o}").bytes()),
                }
            }
            prop_assert_eq!(unescaped(&text), bytes);
        }
    }
}
