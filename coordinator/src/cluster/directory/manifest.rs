//! From the text of a file to manifests: each document on its own, with limits. Pure.

use std::collections::BTreeSet;
use std::fmt;

use bpa_common::api::ObjectKey;
use serde_json::{Map, Value};

use super::header::{Header, header};
use crate::cluster::decode::drop_nulls;
use crate::cluster::kind::{DEFAULT_NAMESPACE, ObjectId};
use crate::cluster::neighbours::{self, Neighbour};
use crate::cluster::port::ObjectProblem;

/// Largest file that is read, bytes.
pub const MAX_FILE: u64 = 32 << 20;
/// Most documents in one file.
pub const MAX_DOCUMENTS: usize = 4096;
/// Deepest nesting in one document.
const MAX_DEPTH: usize = 64;
/// Most values in one document (an export of thousands of hosts is one document).
const MAX_NODES: usize = 4_000_000;

/// Where a manifest stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Path relative to the objects directory.
    pub file: String,
    /// From 1.
    pub document: usize,
    /// From 1, in a `List`.
    pub item: Option<usize>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, document {}", self.file.escape_debug(), self.document)?;
        match self.item {
            Some(item) => write!(f, ", item {item}"),
            None => Ok(()),
        }
    }
}

/// One object as a file has it: header checked, the rest still plain JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    pub id: ObjectId,
    pub place: Place,
    pub value: Value,
}

/// What a file holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parsed {
    pub manifests: Vec<Manifest>,
    pub problems: Vec<ObjectProblem>,
    /// What objects of others say about hosts.
    pub neighbours: Vec<Neighbour>,
    /// Documents of kinds that are not ours to read (Secrets of an export, CAPI's Cluster, …).
    pub ignored: usize,
    /// Objects whose documents name no namespace.
    pub unplaced: BTreeSet<ObjectId>,
}

/// Reads all manifests of a file. Never fails as a whole because of one document.
pub fn parse(file: &str, text: &str) -> Parsed {
    let mut parsed = Parsed::default();
    let documents = split(text);
    if documents.len() > MAX_DOCUMENTS {
        let message = format!(
            "the file has {} documents, wanted at most {MAX_DOCUMENTS}; split it into several files",
            documents.len()
        );
        let place = Place { file: file.to_owned(), document: MAX_DOCUMENTS + 1, item: None };
        parsed.problems.push(problem(&place, None, message));
    }
    for (index, document) in documents.iter().take(MAX_DOCUMENTS).enumerate() {
        let place = Place { file: file.to_owned(), document: index + 1, item: None };
        match read(file, document) {
            Ok(Value::Null) => {}
            Ok(value) => take(&mut parsed, place, value),
            Err(message) => parsed.problems.push(problem(&place, None, message)),
        }
    }
    parsed
}

/// One document of a file and the line on which it begins (from 0).
struct Document<'a> {
    text: &'a str,
    first_line: u64,
}

/// Splits at lines that begin with `---` or are `...`: YAML allows them nowhere else.
fn split(text: &str) -> Vec<Document<'_>> {
    let mut documents = Vec::new();
    let (mut start, mut first_line, mut at) = (0, 0, 0);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let marker = |mark: &str| {
            line.strip_prefix(mark)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
        };
        if marker("---") || marker("...") {
            documents.push(Document { text: &text[start..at], first_line });
            // What follows the mark on its line belongs to the new document.
            (start, first_line) = (at + 3, number as u64);
        }
        at += line.len();
    }
    documents.push(Document { text: &text[start..], first_line });
    documents.retain(|document| has_content(document.text));
    documents
}

/// Comments, blank lines and `%` directives are no document.
fn has_content(text: &str) -> bool {
    text.lines().map(str::trim_start).any(|line| !line.is_empty() && !line.starts_with(['#', '%']))
}

fn read(file: &str, document: &Document<'_>) -> Result<Value, String> {
    if file.ends_with(".json") {
        return serde_json::from_str(document.text).map_err(|error| {
            let (line, column) = (document.first_line + error.line() as u64, error.column());
            format!(
                "not JSON: {error} (line {line}, column {column} of the file); correct it there"
            )
        });
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            max_nodes: MAX_NODES,
            max_events: MAX_NODES * 2,
            max_documents: 1,
            max_aliases: 1000,
            max_anchors: 1000,
        },
        // A MAC or a name of digits only must not lose its zeros.
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
    };
    serde_saphyr::from_str_with_options(document.text, options).map_err(|error| {
        // Its own line counts from the start of the document; people count in the file.
        let said = error.without_snippet().to_string();
        let bare = said.split(" at line ").next().unwrap_or(&said);
        let line = error.location().map_or(0, |at| at.line()) + document.first_line;
        format!("not YAML that can be read: {bare} (line {line} of the file); correct it there")
    })
}

/// Takes one document: an object, or a list of objects.
fn take(parsed: &mut Parsed, place: Place, value: Value) {
    let is_list = value.get("kind").and_then(Value::as_str).is_some_and(|k| k.ends_with("List"));
    match value {
        Value::Object(mut fields)
            if is_list && fields.get("items").is_some_and(Value::is_array) =>
        {
            let Some(Value::Array(items)) = fields.remove("items") else { return };
            for (index, item) in items.into_iter().enumerate() {
                take_object(parsed, Place { item: Some(index + 1), ..place.clone() }, item);
            }
        }
        other => take_object(parsed, place, other),
    }
}

fn take_object(parsed: &mut Parsed, place: Place, value: Value) {
    match header(&value) {
        Ok(Header::Foreign) => match neighbours::kind_of(&value) {
            Some(kind) => {
                let part = |name: &str| value["metadata"][name].as_str();
                let namespace = part("namespace").unwrap_or(DEFAULT_NAMESPACE);
                let by = ObjectKey::new(namespace, part("name").unwrap_or_default());
                parsed.neighbours.extend(neighbours::read(kind, by, &value));
            }
            None => parsed.ignored += 1,
        },
        Ok(Header::Ours(id)) => {
            if value["metadata"].get("namespace").is_none_or(Value::is_null) {
                parsed.unplaced.insert(id.clone());
            }
            let value = clean(value, &id);
            parsed.manifests.push(Manifest { id, place, value });
        }
        Err(bad) => parsed.problems.push(problem(&place, bad.id, bad.message)),
    }
}

/// Drops what nobody here reads, and nulls, which an API server would drop too.
fn clean(mut value: Value, id: &ObjectId) -> Value {
    drop_nulls(&mut value);
    if let Some(Value::Object(metadata)) = value.get_mut("metadata") {
        metadata.remove("managedFields");
        metadata.remove("selfLink");
        metadata.insert("namespace".to_owned(), id.key.namespace.clone().into());
        if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
            annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
        }
    }
    if let Value::Object(fields) = &mut value {
        fields.entry("spec").or_insert_with(|| Value::Object(Map::new()));
    }
    value
}

/// A problem at a place of a file.
pub fn problem(place: &Place, id: Option<ObjectId>, message: String) -> ObjectProblem {
    ObjectProblem {
        place: place.to_string(),
        kind: id.as_ref().map(|id| id.kind.to_string()).unwrap_or_default(),
        key: id.map(|id| id.key),
        message,
    }
}

#[cfg(test)]
#[path = "manifest_tests.rs"]
mod tests;
