//! Schemas of values that have a text or several forms in a manifest, for the CRDs.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::{MacList, Quantity};
use crate::net::MacAddress;

/// What a Kubernetes quantity looks like; what it means is read by [`Quantity`].
const QUANTITY: &str = r"^[+]?[0-9.]+([eE][+-]?[0-9]+|[numkKMGTPE]i?)?$";

impl JsonSchema for Quantity {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Quantity".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "x-kubernetes-int-or-string": true,
            "anyOf": [{ "type": "integer" }, { "type": "string" }],
            "pattern": QUANTITY,
            "maxLength": 64,
        })
    }
}

impl JsonSchema for MacAddress {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "MacAddress".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "maxLength": 64 })
    }
}

impl JsonSchema for MacList {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "MacList".into()
    }

    /// One MAC or a list of them: neither a structural type nor a rule can say that, so a wrong
    /// one is told by the coordinator.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "x-kubernetes-preserve-unknown-fields": true })
    }
}

/// A whole number, also as a string of digits.
pub fn whole_number(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "x-kubernetes-int-or-string": true,
        "anyOf": [{ "type": "integer" }, { "type": "string" }],
        "pattern": r"^\s*[0-9]{1,10}\s*$",
        "nullable": true,
    })
}

/// An object with any fields.
pub fn any_fields(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}

/// A list of anything.
pub fn any_list(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "nullable": true,
        "maxItems": 1000,
        "items": { "x-kubernetes-preserve-unknown-fields": true },
    })
}
