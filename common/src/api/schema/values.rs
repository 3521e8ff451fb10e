//! Schemas of single values.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::json;

use super::super::NodeNeed;
use super::{MOST_NODES, rule};

/// Digits, for rules that look at the ends of a text: what that costs does not depend on its length.
const DIGITS: &str = "['0','1','2','3','4','5','6','7','8','9']";

/// Kubernetes' form of a quantity without a sign, one with an example for whoever reads it.
const QUANTITY: &str = "^(8Gi|[+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][-+]?[0-9]+)?\
    |[^0-9.+].*|.*[^0-9.numkMGTPEi]|.*[a-z]i|.*[ ,_].*)$";

/// Characters of a quantity.
const LONGEST_QUANTITY: usize = 64;

/// Six octets in each of the usual spellings.
const MAC: &str = "^(52:54:00:aa:01:02|([0-9A-Fa-f]{1,2}[:-]){5}[0-9A-Fa-f]{1,2}|([0-9A-Fa-f]{4}[.]){2}[0-9A-Fa-f]{4}|[0-9A-Fa-f]{12})$";

/// Memory or disk: a number of bytes, or text with a unit.
///
/// The pattern refuses what is wrong in the middle; what is wrong at the ends, and what people put
/// between digits and unit, it leaves to the rules, which say it in words. Of a text that is too long
/// the rules say nothing: reading it costs.
pub fn quantity(_: &mut SchemaGenerator) -> Schema {
    let mut schema = json_schema!({
        "x-kubernetes-int-or-string": true,
        "nullable": true,
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "maxLength": LONGEST_QUANTITY,
        "pattern": QUANTITY,
    });
    rule(
        &mut schema,
        &format!(
            "type(self) == int ? self >= 0 : self.size() > {LONGEST_QUANTITY} || {DIGITS}.exists(d, self.startsWith(d)) || self.startsWith('+') || self.startsWith('.')"
        ),
        "wanted a size that is not negative and begins with a digit, such as 8Gi, 512Mi or 100G",
    );
    rule(
        &mut schema,
        &format!(
            "type(self) == int || self.size() > {LONGEST_QUANTITY} || {DIGITS}.exists(d, self.endsWith(d)) || ['.','n','u','m','k','M','G','T','P','E','Ki','Mi','Gi','Ti','Pi','Ei'].exists(u, self.endsWith(u))"
        ),
        "wanted a number with one of the units Ki, Mi, Gi, Ti, k, M, G, T (no B, no blank), such as 8Gi, 512Mi or 100G",
    );
    // Place by place, as what a search costs is estimated for the longest text that there can be.
    let places: Vec<String> = (0..LONGEST_QUANTITY).map(|place| place.to_string()).collect();
    rule(
        &mut schema,
        &format!(
            "type(self) == int || self.size() > {LONGEST_QUANTITY} || ![{}].exists(i, i < self.size() && self.charAt(i) in [' ',',','_'])",
            places.join(",")
        ),
        "wanted the unit right behind the number, without a blank, `,` or `_`, such as 8Gi, 1.5Gi or 100G",
    );
    schema
}

/// Logical CPUs.
pub fn cpus(_: &mut SchemaGenerator) -> Schema {
    whole_number(1_000_000, "wanted a whole number of CPUs from 0 to 1000000, such as 8")
}

/// Nodes of one entry.
pub fn count(_: &mut SchemaGenerator) -> Schema {
    whole_number(
        MOST_NODES,
        "wanted a whole number of nodes from 0 to 1000, such as 3; more are not possible in one cluster",
    )
}

/// A number, or text of digits as the original CRs may have it.
fn whole_number(most: usize, message: &str) -> Schema {
    let mut schema = json_schema!({
        "x-kubernetes-int-or-string": true,
        "nullable": true,
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "maxLength": 10,
        "pattern": "^([0-9]+|[^0-9].*|.*[^0-9])$",
    });
    rule(
        &mut schema,
        &format!(
            "type(self) == int ? self >= 0 && self <= {most} : self.size() > 10 || {DIGITS}.exists(d, self.startsWith(d)) && {DIGITS}.exists(d, self.endsWith(d))"
        ),
        message,
    );
    schema
}

/// One MAC or a list of them.
pub fn mac_list(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "x-kubernetes-preserve-unknown-fields": true,
        "nullable": true,
        "maxLength": 64,
        "pattern": MAC,
        "maxItems": 64,
        "items": {"type": "string", "maxLength": 64, "pattern": MAC},
    })
}

/// `masters` and `workers`: a list of one-key maps, name to need; a value may be null.
pub fn node_table(generator: &mut SchemaGenerator) -> Schema {
    let mut need = generator.subschema_for::<NodeNeed>();
    need.insert("nullable".to_owned(), json!(true));
    let mut item = json_schema!({
        "type": "object",
        "maxProperties": 4,
        "additionalProperties": need,
    });
    // None is let through: client-side `kubectl apply` sends `- NAME:` with no value as an empty map.
    rule(
        &mut item,
        "self.size() <= 1",
        "wanted one node name per list item: write each node as an item of its own, `- NAME: {cpu: 8, memory: 16Gi}`",
    );
    json_schema!({
        "type": "array",
        "nullable": true,
        "maxItems": MOST_NODES,
        "items": item,
    })
}

/// An IP address.
pub fn address(_: &mut SchemaGenerator) -> Schema {
    let mut schema = json_schema!({"type": "string", "nullable": true, "maxLength": 45});
    rule(&mut schema, "isIP(self)", "wanted an IP address such as 192.0.2.10 or 2001:db8::10");
    schema
}

/// A network in CIDR form.
pub fn subnet(_: &mut SchemaGenerator) -> Schema {
    let mut schema = json_schema!({"type": "string", "nullable": true, "maxLength": 50});
    rule(&mut schema, "isCIDR(self)", "wanted a network such as 10.244.64.0/18");
    schema
}

/// An object with whatever fields.
pub fn free_map(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "nullable": true,
        "maxProperties": 512,
        "x-kubernetes-preserve-unknown-fields": true,
    })
}

/// An image as Metal3 has it. What else its releases know is kept.
pub fn image(_: &mut SchemaGenerator) -> Schema {
    let text = |description: &str| json!({"type": "string", "maxLength": 4096, "description": description});
    json_schema!({
        "type": "object",
        "nullable": true,
        "maxProperties": 64,
        "x-kubernetes-preserve-unknown-fields": true,
        "properties": {
            "url": text("Where the image is, as the hosts' site reaches it."),
            "checksum": text("Its checksum, or a URL of a file with it."),
            "checksumType": text("md5, sha256, sha512 or auto."),
            "format": text("raw, qcow2, vdi, vmdk or live-iso."),
        },
    })
}

/// Labels to match, name to value.
pub fn labels(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "maxProperties": 64,
        "additionalProperties": {"type": "string", "maxLength": 63},
    })
}

/// Packages of a Software: names, or maps of a name to its version.
pub fn packages(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "nullable": true,
        "maxItems": 1000,
        "items": {
            "x-kubernetes-preserve-unknown-fields": true,
            "maxLength": 255,
            "maxProperties": 64,
            "pattern": "^(htop|[A-Za-z0-9][A-Za-z0-9+._-]*)$",
        },
    })
}
