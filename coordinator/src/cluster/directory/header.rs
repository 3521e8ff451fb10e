//! What kind of object a document is, and which one. Pure.

use bpa_common::api::ObjectKey;
use serde_json::{Map, Value};

use crate::cluster::kind::{DEFAULT_NAMESPACE, Kind, ObjectId, is_dns_label, is_dns_subdomain};

/// What a document is.
pub enum Header {
    Ours(ObjectId),
    Foreign,
}

/// Why a document can't be used, and which object it is as far as that can be read.
pub struct BadHeader {
    pub id: Option<ObjectId>,
    pub message: String,
}

impl From<String> for BadHeader {
    fn from(message: String) -> Self {
        Self { id: None, message }
    }
}

/// What kind of object is this, and which one?
///
/// # Errors
/// When it is none of ours but should be, or is not an object at all.
pub fn header(value: &Value) -> Result<Header, BadHeader> {
    let Value::Object(fields) = value else {
        return Err(format!(
            "wanted an object with apiVersion, kind and metadata, found {}",
            kind_of(value)
        )
        .into());
    };
    let api_version = text_field(fields, "apiVersion")?;
    let kind_name = text_field(fields, "kind")?;
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let known =
        Kind::ALL.into_iter().find(|kind| kind.name() == kind_name && kind.group() == group);
    let Some(kind) = known else {
        if group != bpa_common::api::GROUP {
            return Ok(Header::Foreign);
        }
        return Err(format!(
            "kind `{}` is not known in {group}; wanted one of Provisioning, Site, Software, Cluster",
            kind_name.escape_debug()
        )
        .into());
    };
    let id = identity(kind, fields)?;
    if api_version != kind.api_version() {
        let message = format!(
            "apiVersion is `{}`, wanted `{}`; export it again in that version",
            api_version.escape_debug(),
            kind.api_version()
        );
        return Err(BadHeader { id: Some(id), message });
    }
    Ok(Header::Ours(id))
}

fn identity(kind: Kind, fields: &Map<String, Value>) -> Result<ObjectId, BadHeader> {
    let Some(Value::Object(metadata)) = fields.get("metadata") else {
        return Err("there is no `metadata`; wanted at least `metadata: {name: …}`"
            .to_owned()
            .into());
    };
    let name = text_field(metadata, "name").map_err(|message| format!("metadata.{message}"))?;
    if !is_dns_subdomain(name) {
        return Err(bad_name("metadata.name", name).into());
    }
    let namespace = match metadata.get("namespace") {
        None | Some(Value::Null) => DEFAULT_NAMESPACE,
        Some(Value::String(text)) if is_dns_label(text) => text,
        Some(Value::String(text)) if text.is_empty() => DEFAULT_NAMESPACE,
        Some(Value::String(text)) => return Err(bad_name("metadata.namespace", text).into()),
        Some(other) => {
            return Err(format!("metadata.namespace is {}, wanted text", kind_of(other)).into());
        }
    };
    Ok(ObjectId::new(kind, ObjectKey::new(namespace, name)))
}

fn bad_name(field: &str, found: &str) -> String {
    let found: String = found.chars().take(80).collect();
    format!(
        "{field} is `{}`, wanted lower-case letters, digits and `-` (a DNS-1123 name)",
        found.escape_debug()
    )
}

fn text_field<'a>(fields: &'a Map<String, Value>, name: &str) -> Result<&'a str, String> {
    match fields.get(name) {
        Some(Value::String(text)) => Ok(text),
        None | Some(Value::Null) => Err(format!("`{name}` is missing; every object needs it")),
        Some(other) => Err(format!("{name} is {}, wanted text; put it in quotes", kind_of(other))),
    }
}

fn kind_of(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(found) => format!("the boolean {found}"),
        Value::Number(found) => format!("the number {found}"),
        Value::String(_) => "text".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}
