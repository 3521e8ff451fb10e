//! PURE: the text of a credentials file to its entries. Errors name lines and never repeat values.

use std::collections::BTreeMap;
use std::path::PathBuf;

use secrecy::SecretString;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, Unexpected, Visitor};
use toml::Spanned;

use super::CredentialsError;
use super::entry::{Credential, Entry, Selector};
use super::glob::Glob;
use super::select::Credentials;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    default: Option<Spanned<RawEntry>>,
    #[serde(default)]
    host: Vec<Spanned<RawEntry>>,
    #[serde(default)]
    pattern: Vec<Spanned<RawEntry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawEntry {
    name: Option<String>,
    mac: Option<String>,
    user: Option<String>,
    password: Option<Quiet>,
    key: Option<PathBuf>,
    key_passphrase: Option<Quiet>,
    sudo_password: Option<Quiet>,
}

/// A secret whose decoding errors do not show what stood there: serde would print a password that
/// was written without quotes.
struct Quiet(SecretString);

impl<'de> Deserialize<'de> for Quiet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Quiet;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a secret in quotes")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Quiet, E> {
                if text.is_empty() || text.contains(['\n', '\r', '\0']) {
                    return Err(E::custom("a secret must not be empty and must be one line"));
                }
                Ok(Quiet(text.into()))
            }

            fn visit_i64<E: serde::de::Error>(self, _: i64) -> Result<Quiet, E> {
                Err(E::invalid_type(Unexpected::Other("a number"), &self))
            }

            fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<Quiet, E> {
                Err(E::invalid_type(Unexpected::Other("a number"), &self))
            }

            fn visit_bool<E: serde::de::Error>(self, _: bool) -> Result<Quiet, E> {
                Err(E::invalid_type(Unexpected::Other("a boolean"), &self))
            }
        }
        deserializer.deserialize_str(Reader).map_err(|e| D::Error::custom(e.to_string()))
    }
}

/// Reads the text of one file; `origin` names it in messages.
///
/// # Errors
/// Names the line, what is wrong there, and what is wanted.
pub fn parse(text: &str, origin: &str) -> Result<Credentials, CredentialsError> {
    let raw: RawFile = toml::from_str(text).map_err(|error| CredentialsError::Syntax {
        origin: origin.to_owned(),
        line: line_of(text, error.span().map_or(0, |span| span.start)),
        // Display would quote the line, secret and all.
        message: error.message().to_owned(),
    })?;
    let mut entries = Vec::new();
    for (kind, raw) in (raw.host.into_iter().map(|e| (Kind::Host, e)))
        .chain(raw.pattern.into_iter().map(|e| (Kind::Pattern, e)))
        .chain(raw.default.into_iter().map(|e| (Kind::Default, e)))
    {
        let place = Place { origin, line: line_of(text, raw.span().start) };
        entries.push(entry(kind, raw.into_inner(), &place)?);
    }
    let all = Credentials { entries };
    all.refuse_doubles()?;
    Ok(all)
}

#[derive(Clone, Copy)]
enum Kind {
    Host,
    Pattern,
    Default,
}

struct Place<'a> {
    origin: &'a str,
    line: usize,
}

impl Place<'_> {
    fn wrong(&self, message: impl Into<String>, fix: &'static str) -> CredentialsError {
        let (origin, line) = (self.origin.to_owned(), self.line);
        CredentialsError::Entry { origin, line, message: message.into(), fix }
    }
}

fn entry(kind: Kind, raw: RawEntry, place: &Place<'_>) -> Result<Entry, CredentialsError> {
    let selector = match (kind, raw.name, raw.mac) {
        (Kind::Host, Some(name), None) => Selector::Host(name),
        (Kind::Host, None, Some(mac)) => {
            let mac = mac.parse().map_err(|e: bpa_common::net::ParseMacError| {
                place.wrong(e.to_string(), "write it as 52:54:00:aa:01:02")
            })?;
            Selector::Mac(mac)
        }
        (Kind::Host, ..) => {
            return Err(
                place.wrong("a [[host]] is named by `name` or by `mac`", "write one of the two")
            );
        }
        (Kind::Pattern, Some(name), None) => Selector::Pattern(Glob::new(&name)),
        (Kind::Pattern, ..) => {
            return Err(place.wrong(
                "a [[pattern]] has a `name` with * and ?, and no `mac`",
                "write for example name = \"rack1-*\"",
            ));
        }
        (Kind::Default, None, None) => Selector::Default,
        (Kind::Default, ..) => {
            return Err(place.wrong(
                "[default] is for every host",
                "remove `name` and `mac`, or make it a [[host]]",
            ));
        }
    };
    let user = raw.user.unwrap_or_else(|| "root".to_owned());
    if !is_user_name(&user) {
        return Err(place.wrong(
            "`user` is not the name of an account",
            "use letters, digits, `.`, `_` and `-`, at most 32",
        ));
    }
    Ok(Entry {
        selector,
        credential: Credential {
            user,
            password: raw.password.map(|p| p.0),
            key: raw.key,
            key_passphrase: raw.key_passphrase.map(|p| p.0),
            sudo_password: raw.sudo_password.map(|p| p.0),
            origin: format!("{} line {}", place.origin, place.line),
        },
    })
}

/// The name goes into inventories and commands: nothing that any of them could read as more.
fn is_user_name(user: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    (1..=32).contains(&user.len()) && !user.starts_with(['-', '.']) && user.bytes().all(plain)
}

fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|b| *b == b'\n').count() + 1
}

impl Credentials {
    /// Two entries for one host would make the choice depend on chance.
    pub(super) fn refuse_doubles(&self) -> Result<(), CredentialsError> {
        let mut seen = BTreeMap::new();
        for Entry { selector, credential } in &self.entries {
            let whom = match selector {
                Selector::Host(name) => format!("host {name}"),
                Selector::Mac(mac) => format!("MAC {mac}"),
                Selector::Pattern(_) => continue,
                Selector::Default => "every other host".to_owned(),
            };
            if let Some(first) = seen.insert(whom.clone(), &credential.origin) {
                let (first, second) = (first.clone(), credential.origin.clone());
                return Err(CredentialsError::Double { whom, first, second });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
