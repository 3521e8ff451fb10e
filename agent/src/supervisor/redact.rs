//! Takes what looks like a secret out of text before it is kept or sent.
//!
//! The last line of defence, not the first: secrets are kept out of arguments, environments and
//! inventories. But playbooks print what they like, and their errors quote command lines.

use std::borrow::Cow;

/// What stands in place of a secret.
const MARK: &str = "[redacted]";
/// Names whose value is a secret, as in `password: x`, `"token": "x"` or `--token x`.
const NAMES: [&str; 11] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "certificate-key",
    "certificate_key",
    "client-key-data",
    "private_key",
    "become_pass",
    "authorization",
];
const KEY_BEGIN: &str = "-----BEGIN";
const KEY_END: &str = "-----END";

/// Works through text line by line; a private key may span several lines.
#[derive(Clone, Default)]
pub struct Redactor {
    /// Exact strings that must not appear.
    literals: Vec<String>,
    in_key: bool,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redactor({} literals)", self.literals.len())
    }
}

impl Redactor {
    /// Besides what looks like a secret, takes these strings out (short ones are ignored: taking
    /// every `a` out would hide nothing and spoil everything).
    pub fn new(literals: impl IntoIterator<Item = String>) -> Self {
        let literals =
            literals.into_iter().map(|l| l.trim().to_owned()).filter(|l| l.len() >= 4).collect();
        Self { literals, in_key: false }
    }

    /// One line (or a text of several) without its secrets.
    pub fn line<'a>(&mut self, line: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(line);
        for literal in self.literals.iter().filter(|l| line.contains(l.as_str())) {
            text = Cow::Owned(text.replace(literal.as_str(), MARK));
        }
        if let Some(clean) = self.keys(&text) {
            text = Cow::Owned(clean);
        }
        if let Some(clean) = named_values(&text) {
            text = Cow::Owned(clean);
        }
        if let Some(clean) = url_users(&text) {
            text = Cow::Owned(clean);
        }
        text
    }

    /// Private keys, from their first line to their last.
    fn keys(&mut self, text: &str) -> Option<String> {
        let mut out = String::new();
        let mut rest = text;
        let mut changed = false;
        loop {
            if self.in_key {
                changed = true;
                out.push_str(MARK);
                let Some(end) = rest.find(KEY_END) else { return Some(out) };
                let after = &rest[end + KEY_END.len()..];
                rest = after.find("-----").map_or("", |i| &after[i + 5..]);
                self.in_key = false;
            }
            let Some(begin) = find_key(rest) else {
                out.push_str(rest);
                return changed.then_some(out);
            };
            out.push_str(&rest[..begin]);
            rest = &rest[begin..];
            self.in_key = true;
        }
    }
}

/// Where a private key (not a certificate) begins.
fn find_key(text: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = text[from..].find(KEY_BEGIN).map(|i| i + from) {
        let title = &text[at + KEY_BEGIN.len()..];
        let end = title.find("-----").unwrap_or(title.len());
        if title[..end].contains("PRIVATE KEY") {
            return Some(at);
        }
        from = at + KEY_BEGIN.len();
    }
    None
}

/// `name: value`, `name=value`, `"name": "value"`, `--name value`.
fn named_values(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let mut cuts: Vec<(usize, usize)> = Vec::new();
    for name in NAMES {
        let mut from = 0;
        while let Some(at) = lower[from..].find(name).map(|i| i + from) {
            from = at + name.len();
            cuts.extend(value_after(text, at, from));
        }
    }
    cuts.sort_unstable();
    let mut out = String::new();
    let mut done = 0;
    for (start, end) in cuts.iter().copied() {
        if start >= done {
            out.push_str(&text[done..start]);
            out.push_str(MARK);
            done = end;
        }
    }
    out.push_str(&text[done..]);
    (!cuts.is_empty()).then_some(out)
}

/// The range of the value that follows a name which takes `name_at..from`.
fn value_after(text: &str, name_at: usize, from: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let quote = |b: u8| matches!(b, b'"' | b'\'' | b'\\');
    let mut at = from;
    while at < bytes.len() && quote(bytes[at]) {
        at += 1;
    }
    let option = text[..name_at].ends_with("--");
    let divided = match bytes.get(at) {
        Some(b':' | b'=') => {
            at += 1;
            true
        }
        Some(b' ') => option,
        _ => false,
    };
    if !divided {
        return None;
    }
    while at < bytes.len() && (bytes[at] == b' ' || quote(bytes[at])) {
        at += 1;
    }
    let ends = |b: u8| quote(b) || matches!(b, b' ' | b',' | b'}' | b']' | b')' | b'\n' | b'\t');
    let length = bytes[at..].iter().position(|b| ends(*b)).unwrap_or(bytes.len() - at);
    (length > 0).then_some((at, at + length))
}

/// `scheme://user:password@host`.
fn url_users(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut done = 0;
    let mut from = 0;
    while let Some(at) = text[from..].find("://").map(|i| i + from + 3) {
        from = at;
        let end = text[at..]
            .find(|c: char| c.is_whitespace() || matches!(c, '/' | '"' | '\''))
            .map_or(text.len(), |i| i + at);
        if let Some(user) = text[at..end].rfind('@').filter(|i| text[at..at + i].contains(':')) {
            out.push_str(&text[done..at]);
            out.push_str(MARK);
            done = at + user;
        }
    }
    out.push_str(&text[done..]);
    (done > 0).then_some(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn clean(text: &str) -> String {
        Redactor::new(["Hunter2!".to_owned()]).line(text).into_owned()
    }

    #[test]
    fn secrets_go_and_the_rest_stays() {
        let cases = [
            ("sudo: Hunter2! was wrong", "sudo: [redacted] was wrong"),
            ("kubeadm join --token abc.def 10.0.0.1", "kubeadm join --token [redacted] 10.0.0.1"),
            (r#"{"password": "x y", "a": 1}"#, r#"{"password": "[redacted] y", "a": 1}"#),
            ("ansible_become_password=abc x=1", "ansible_become_password=[redacted] x=1"),
            ("    client-key-data: LS0tLS1C", "    client-key-data: [redacted]"),
            ("get http://u:p@h/x", "get http://[redacted]@h/x"),
            ("get http://h:80/x@y", "get http://h:80/x@y"),
            ("the token is missing", "the token is missing"),
            ("Check the password file", "Check the password file"),
        ];
        for (given, wanted) in cases {
            assert_eq!(clean(given), wanted);
        }
    }

    #[test]
    fn a_private_key_is_taken_out_on_one_line_and_over_several() {
        let one = r#"a "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----" b"#;
        assert_eq!(clean(one), r#"a "[redacted]" b"#);
        let mut redactor = Redactor::default();
        let lines = ["x", "-----BEGIN PRIVATE KEY-----", "MIIE", "-----END PRIVATE KEY-----", "y"];
        let out: Vec<String> = lines.iter().map(|l| redactor.line(l).into_owned()).collect();
        assert_eq!(out, ["x", "[redacted]", "[redacted]", "[redacted]", "y"]);
        let certificate = "-----BEGIN CERTIFICATE-----";
        assert_eq!(clean(certificate), certificate);
    }

    #[test]
    fn debug_output_shows_no_secret() {
        let redactor = Redactor::new(["Hunter2!".to_owned()]);
        assert!(!format!("{redactor:?}").contains("Hunter2"));
    }

    proptest! {
        #[test]
        fn any_text_is_taken_and_a_known_secret_never_stays(text in ".{0,80}", more in ".{0,80}") {
            let line = format!("{text}Hunter2!{more}");
            prop_assert!(!clean(&line).contains("Hunter2!"));
        }
    }
}
