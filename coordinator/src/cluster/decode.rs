//! From a value to an object of ours, alike for both worlds. Pure.
//!
//! An object that does not fit is a problem of its own, told by field, what was wanted and what was
//! found; nothing else is affected. Values may come from anywhere: from a file, or from an API
//! server that stored them under the definitions of the original, which checked nothing.

use bpa_common::api::{Provisioning, ProvisioningSpec};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A field that can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct FieldProblem {
    /// `spec.masters[0].m-0.memory`.
    pub path: String,
    /// What was wanted and found, never long.
    pub message: String,
}

/// What is shown of a text that does not belong where it is.
const MAX_SHOWN: usize = 80;
/// Longest message, characters.
const MAX_MESSAGE: usize = 400;

/// Reads an object. One without a `spec` has an empty one.
///
/// # Errors
/// The first field that does not fit.
pub fn from_value<T: DeserializeOwned>(mut value: Value) -> Result<T, FieldProblem> {
    drop_nulls(&mut value);
    if let Value::Object(fields) = &mut value {
        fields.entry("spec").or_insert_with(|| json!({}));
    }
    serde_path_to_error::deserialize(value).map_err(|error| FieldProblem {
        path: shorten(&error.path().to_string(), MAX_SHOWN * 2),
        message: said(&error.inner().to_string()),
    })
}

/// Reads a Provisioning, and one whose spec can't be read as one that says so: it is refused with
/// these words in its status, and it can still be deleted, as its finalizer is ours to take away.
///
/// # Errors
/// When its metadata or its status can't be read: then nobody knows what is ours.
pub fn provisioning(value: Value) -> Result<Provisioning, FieldProblem> {
    let problem = match from_value(value.clone()) {
        Ok(provisioning) => return Ok(provisioning),
        Err(problem) => problem,
    };
    let mut bare = value;
    bare["spec"] = json!({});
    let mut provisioning: Provisioning = from_value(bare)?;
    provisioning.spec =
        ProvisioningSpec { unreadable: Some(problem.to_string()), ..ProvisioningSpec::default() };
    Ok(provisioning)
}

/// Drops nulls, which mean the same as nothing. Lists keep theirs: in `workers`, `- master-1:` says
/// something. So do free variables.
pub fn drop_nulls(value: &mut Value) {
    if let Value::Object(fields) = value {
        fields.retain(|_, inner| !inner.is_null());
        for (name, inner) in fields.iter_mut() {
            if name != "vars" {
                drop_nulls(inner);
            }
        }
    }
}

/// What the reader said, in the words that are used elsewhere.
fn said(text: &str) -> String {
    if let Some((found, wanted)) = split(text, "unknown variant ") {
        return format!("wanted {}, found {found}", shorten(wanted, MAX_MESSAGE));
    }
    if let Some((found, wanted)) = split(text, "unknown field ") {
        return format!("{found} is not a field here; wanted {}", shorten(wanted, MAX_MESSAGE));
    }
    if let Some(name) = text.strip_prefix("missing field ") {
        return format!("{} is missing", shorten(name, MAX_SHOWN));
    }
    let Some((found, wanted)) = text
        .strip_prefix("invalid type: ")
        .or_else(|| text.strip_prefix("invalid value: "))
        .and_then(|rest| rest.rsplit_once(", expected "))
    else {
        return shorten(text, MAX_MESSAGE);
    };
    let (wanted, found) = (wanted_words(wanted), found_words(found));
    let quotes = wanted == "text" && found.starts_with("the number");
    let hint = if quotes { "; put it in quotes" } else { "" };
    format!("wanted {wanted}, found {found}{hint}")
}

/// What was found, and what was expected instead.
fn split<'a>(text: &'a str, start: &str) -> Option<(String, &'a str)> {
    let (found, wanted) = text.strip_prefix(start)?.split_once(", expected ")?;
    Some((shorten(found, MAX_SHOWN), wanted))
}

fn wanted_words(wanted: &str) -> String {
    match wanted {
        "a sequence" => "a list".to_owned(),
        "a map" => "a map of names to values".to_owned(),
        "a string" => "text".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "u16" | "u32" | "u64" | "i64" | "usize" => "a whole number that is not negative".to_owned(),
        other => match other.strip_prefix("struct ") {
            Some(_) => "a map of fields to values".to_owned(),
            None => shorten(other, MAX_SHOWN),
        },
    }
}

fn found_words(found: &str) -> String {
    match found {
        "sequence" => "a list".to_owned(),
        "map" => "a map".to_owned(),
        "null" => "nothing".to_owned(),
        other => match other.split_once(' ') {
            Some(("string", text)) => format!("the text {}", shorten(text, MAX_SHOWN)),
            Some(("integer", number)) => format!("the number {}", number.trim_matches('`')),
            Some(("floating", rest)) => {
                format!("the number {}", rest.trim_start_matches("point ").trim_matches('`'))
            }
            Some(("boolean", word)) => word.trim_matches('`').to_owned(),
            _ => shorten(other, MAX_SHOWN),
        },
    }
}

/// The beginning of a text, and how long it is if that is not all.
fn shorten(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}... ({} characters)", &text[..end], text.chars().count()),
    }
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
