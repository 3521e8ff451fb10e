//! The kind of a lease file, told by its content.

use crate::leases::kind::SourceKind;

/// How much of a file is looked at.
const LOOK: usize = 64 << 10;

/// The kind, or none when nothing is certain: an empty file can be of any kind.
pub fn detect(bytes: &[u8]) -> Option<SourceKind> {
    let bytes = &bytes[..bytes.len().min(LOOK)];
    if bytes.len() >= 8 && bytes.starts_with(&[0, 0, 0, 0]) && (bytes.len() - 8).is_multiple_of(36)
    {
        return Some(SourceKind::Udhcpd);
    }
    let text = bytes.trim_ascii_start();
    let line = text.split(|b| *b == b'\n').next().unwrap_or_default().trim_ascii_end();
    match text.first()? {
        b'[' => Some(SourceKind::Libvirt),
        b'{' if line == b"{" && holds(text, b"ip_address=") => Some(SourceKind::Bootpd),
        b'{' => Some(SourceKind::Networkd),
        _ if holds(line, b"address") && holds(line, b",hwaddr") => Some(SourceKind::Kea),
        _ if line.starts_with(b"duid ") => Some(SourceKind::Dnsmasq),
        b'0'..=b'9' if line.split(|b| *b == b' ').count() == 5 => Some(SourceKind::Dnsmasq),
        b'#' => Some(SourceKind::Isc),
        _ => isc_word(text).then_some(SourceKind::Isc),
    }
}

fn isc_word(text: &[u8]) -> bool {
    const WORDS: [&[u8]; 7] = [
        b"lease ",
        b"host ",
        b"server-duid",
        b"authoring-byte-order",
        b"failover ",
        b"ia-",
        b"subnet ",
    ];
    WORDS.iter().any(|word| text.starts_with(word))
}

fn holds(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|w| w == wanted)
}
