//! From the JSON schema of a Rust type to the structural schema that Kubernetes wants. Pure.
//!
//! Rules of structural schemas: Kubernetes' documentation of CustomResourceDefinitions, "Specifying
//! a structural schema".

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// Which half of an object a schema is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Users write it: some defaults are filled in, so that `kubectl get -o yaml` shows them.
    Spec,
    /// We write it: nothing is filled in, since absent means unknown.
    Status,
}

/// The structural schema of `T`.
pub fn schema<T: JsonSchema>(part: Part) -> Value {
    let settings = SchemaSettings::openapi3().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    rewrite(&mut schema, part);
    schema
}

/// Formats that Kubernetes knows; it warns of others.
const FORMATS: [&str; 4] = ["int32", "int64", "double", "date-time"];

fn rewrite(schema: &mut Value, part: Part) {
    let Value::Object(fields) = schema else { return };
    fields.remove("title");
    one_of_constants(fields);
    optional(fields);
    if fields.get("format").and_then(Value::as_str).is_some_and(|f| !FORMATS.contains(&f)) {
        fields.remove("format");
    }
    keep_default(fields, part);
    if fields.get("additionalProperties").is_some_and(Value::is_boolean) {
        // Fields that are not named are dropped, or refused by kubectl with their name.
        fields.remove("additionalProperties");
    }
    if let Some(Value::String(text)) = fields.get_mut("description") {
        // Line ends of the source mean nothing; empty lines do.
        *text = text.split("\n\n").map(|p| p.replace('\n', " ")).collect::<Vec<_>>().join("\n\n");
    }
    for name in ["items", "additionalProperties"] {
        if let Some(inner) = fields.get_mut(name) {
            rewrite(inner, part);
        }
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties.values_mut().for_each(|inner| rewrite(inner, part));
    }
}

/// An enum whose variants are described comes as `oneOf` constants: Kubernetes wants one `enum`, and
/// the descriptions go where `kubectl explain` shows them.
fn one_of_constants(fields: &mut Map<String, Value>) {
    let Some(Value::Array(variants)) = fields.get("oneOf") else { return };
    let (mut names, mut words) = (Vec::new(), Vec::new());
    for variant in variants {
        let Some(Value::Array(found)) = variant.get("enum") else { return };
        names.extend(found.iter().cloned());
        if let (Some(name), Some(text)) = (found.first(), variant.get("description")) {
            words.push(format!(
                "{}: {}",
                name.as_str().unwrap_or_default(),
                text.as_str().unwrap_or_default()
            ));
        }
    }
    fields.remove("oneOf");
    fields.insert("type".to_owned(), json!("string"));
    fields.insert("enum".to_owned(), Value::Array(names));
    let own = fields.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
    let all: Vec<String> =
        std::iter::once(own).chain(words).filter(|text| !text.is_empty()).collect();
    fields.insert("description".to_owned(), json!(all.join(" ")));
}

/// An optional value of a type of its own comes as `anyOf` it and null.
fn optional(fields: &mut Map<String, Value>) {
    let Some(Value::Array(cases)) = fields.get("anyOf") else { return };
    let is_null = |case: &Value| case.get("enum") == Some(&json!([null]));
    let [Value::Object(first), second] = cases.as_slice() else { return };
    if !is_null(second) {
        return;
    }
    let mut first = first.clone();
    fields.remove("anyOf");
    first.insert("nullable".to_owned(), json!(true));
    for (name, value) in first {
        // What is said of the field is nearer than what is said of its type.
        fields.entry(name).or_insert(value);
    }
    one_of_constants(fields);
}

/// Keeps defaults that say something: a word, a number, a boolean.
fn keep_default(fields: &mut Map<String, Value>, part: Part) {
    let tells = match fields.get("default") {
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Bool(_) | Value::Number(_)) => true,
        _ => false,
    };
    if !tells || part == Part::Status {
        fields.remove("default");
    }
}

#[cfg(test)]
#[path = "crd_schema_tests.rs"]
mod tests;
