//! What a vault in a Secret does with its entries. Pure.

use std::collections::BTreeMap;
use std::io;

use k8s_openapi::ByteString;
use zeroize::Zeroizing;

/// What is asked. Holds secrets: not to be printed.
pub enum Op {
    Get(String),
    List(String),
    Put(String, Zeroizing<Vec<u8>>),
    Create(String, Zeroizing<Vec<u8>>),
    Remove(String),
}

/// What is answered.
pub enum Answer {
    Value(Option<Zeroizing<Vec<u8>>>),
    Names(Vec<String>),
    Done(bool),
}

/// The entries of the Secret.
pub type Data = BTreeMap<String, ByteString>;

/// Carries out one operation on the entries. True when they changed.
pub fn apply(op: &Op, data: &mut Data) -> io::Result<(Answer, bool)> {
    Ok(match op {
        Op::Get(name) => {
            let value = data.get(&entry(name)?).map(|value| Zeroizing::new(value.0.clone()));
            (Answer::Value(value), false)
        }
        Op::List(prefix) => {
            let names = data.keys().map(|key| key.replace(SLASH, "/"));
            let mut names: Vec<String> = names.filter(|name| name.starts_with(prefix)).collect();
            names.sort();
            (Answer::Names(names), false)
        }
        Op::Put(name, value) => {
            let old = data.insert(entry(name)?, ByteString(value.to_vec()));
            (Answer::Done(true), old.is_none_or(|old| old.0 != **value))
        }
        Op::Create(name, value) => {
            let name = entry(name)?;
            let is_new = !data.contains_key(&name);
            if is_new {
                data.insert(name, ByteString(value.to_vec()));
            }
            (Answer::Done(is_new), is_new)
        }
        Op::Remove(name) => {
            let was = data.remove(&entry(name)?).is_some();
            (Answer::Done(was), was)
        }
    })
}

/// Entries of a Secret can't have `/` in their names.
const SLASH: &str = "..";

/// The entry of a name: `sites/north/key` is `sites..north..key`.
fn entry(name: &str) -> io::Result<String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let part = |part: &str| {
        let ends = part.starts_with('.') || part.ends_with('.') || part.contains(SLASH);
        !part.is_empty() && !ends && part.chars().all(allowed)
    };
    let entry = name.replace('/', SLASH);
    if entry.len() <= 253 && name.split('/').all(part) {
        return Ok(entry);
    }
    let message = format!(
        "`{}` can't name a secret: wanted parts of letters, digits, `-`, `_` and single `.`, joined by `/`, of 253 characters at most",
        name.escape_debug()
    );
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(op: Op, data: &mut Data) -> (bool, bool) {
        match apply(&op, data).unwrap() {
            (Answer::Done(done), changed) => (done, changed),
            _ => panic!("an answer of another kind"),
        }
    }

    fn secret(text: &str) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(text.as_bytes().to_vec())
    }

    #[test]
    fn entries_are_kept_created_once_listed_and_removed() {
        let mut data = Data::new();
        let name = || "sites/north/key".to_owned();
        assert_eq!(done(Op::Create(name(), secret("1")), &mut data), (true, true));
        assert_eq!(done(Op::Create(name(), secret("2")), &mut data), (false, false));
        assert_eq!(done(Op::Put(name(), secret("1")), &mut data), (true, false), "the same");
        assert_eq!(done(Op::Put(name(), secret("3")), &mut data), (true, true));
        assert_eq!(done(Op::Put("epoch".into(), secret("1")), &mut data), (true, true));
        let (Answer::Value(Some(value)), false) = apply(&Op::Get(name()), &mut data).unwrap()
        else {
            panic!("it is there");
        };
        assert_eq!(&**value, b"3");
        let (Answer::Names(names), false) = apply(&Op::List("sites/".into()), &mut data).unwrap()
        else {
            panic!("names are listed");
        };
        assert_eq!(names, ["sites/north/key"]);
        assert_eq!(done(Op::Remove(name()), &mut data), (true, true));
        assert_eq!(done(Op::Remove(name()), &mut data), (false, false));
    }

    #[test]
    fn names_stay_unique_as_entries() {
        assert_eq!(entry("ca/authority.pem").unwrap(), "ca..authority.pem");
        for bad in ["", "/a", "a/", "a//b", "a./b", "a/.b", "a..b", "a b", "ä", &"a".repeat(254)] {
            assert!(entry(bad).is_err(), "{bad}");
        }
    }
}
