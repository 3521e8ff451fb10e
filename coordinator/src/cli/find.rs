//! Finding the object that a person names.

use bpa_common::api::{ObjectKey, ObjectMeta};

use super::exit::CliError;
use crate::cluster::kind::Kind;

/// The kind that a person means.
///
/// # Errors
/// With the list of kinds when it is none.
pub fn kind(text: &str) -> Result<Kind, CliError> {
    Kind::parse(text).ok_or_else(|| {
        let known: Vec<&str> =
            Kind::ALL.iter().filter_map(|k| k.aliases().first().copied()).collect();
        CliError::Usage(format!(
            "`{}` is no kind of object; wanted one of {}",
            text.escape_debug(),
            known.join(", ")
        ))
    })
}

/// The object of this name. `NAME` is enough while it is in one namespace only.
///
/// # Errors
/// When there is none, with the names that there are, or when several namespaces have it.
pub fn pick<'a, T>(
    kind: Kind,
    items: &'a [T],
    meta: impl Fn(&T) -> &ObjectMeta,
    name: &str,
) -> Result<&'a T, CliError> {
    let keys: Vec<ObjectKey> = items.iter().map(|item| meta(item).key()).collect();
    let index = pick_key(kind, &keys, name)?;
    // pick_key gives an index of `keys`, which has the length of `items`.
    Ok(&items[index])
}

/// As [`pick`], for keys alone: the index of the one that is meant.
///
/// # Errors
/// As [`pick`].
pub fn pick_key(kind: Kind, keys: &[ObjectKey], name: &str) -> Result<usize, CliError> {
    let matches = |key: &ObjectKey| match name.split_once('/') {
        Some((namespace, name)) => key.namespace == namespace && key.name == name,
        None => key.name == name,
    };
    let found: Vec<usize> = (0..keys.len()).filter(|&index| matches(&keys[index])).collect();
    match found.as_slice() {
        [only] => Ok(*only),
        [] => {
            let known: Vec<String> = keys.iter().take(10).map(ToString::to_string).collect();
            let there = match known.is_empty() {
                true => "there is none at all".to_owned(),
                false => format!("there is {}", known.join(", ")),
            };
            Err(CliError::NotFound(format!("no {kind} `{}`; {there}", name.escape_debug())))
        }
        several => {
            let list: Vec<String> = several.iter().map(|&i| keys[i].to_string()).collect();
            Err(CliError::Usage(format!(
                "several namespaces have a {kind} `{name}`: write one of {}",
                list.join(", ")
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_enough_while_it_is_unique() {
        let keys = [ObjectKey::new("a", "x"), ObjectKey::new("b", "x"), ObjectKey::new("b", "y")];
        let pick = |name: &str| pick_key(Kind::Site, &keys, name);
        assert_eq!(pick("y").unwrap(), 2);
        assert_eq!(pick("b/x").unwrap(), 1);
        let error = pick("x").unwrap_err();
        assert!(matches!(&error, CliError::Usage(text) if text.contains("a/x, b/x")), "{error}");
        let error = pick("z").unwrap_err();
        assert!(matches!(&error, CliError::NotFound(text) if text.contains("b/y")), "{error}");
        let error = pick_key(Kind::Site, &[], "z").unwrap_err();
        assert!(error.to_string().contains("none at all"), "{error}");
    }

    #[test]
    fn an_unknown_kind_lists_the_known_ones() {
        assert_eq!(kind("bmh").unwrap(), Kind::Host);
        let error = kind("pods").unwrap_err().to_string();
        assert!(error.contains("hosts") && error.contains("provisionings"), "{error}");
    }
}
