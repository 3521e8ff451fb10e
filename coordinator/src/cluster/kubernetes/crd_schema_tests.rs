//! Each rewriting by an example.

use serde::{Deserialize, Serialize};

use super::*;

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
enum Colour {
    /// As the sky.
    #[default]
    Blue,
    /// As grass.
    Green,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Sample {
    /// Which one.
    colour: Colour,
    /// Another.
    other: Option<Colour>,
    /// Long
    /// text.
    ///
    /// Second part.
    count: u64,
    list: Vec<String>,
    address: Option<std::net::IpAddr>,
    when: Option<jiff::Timestamp>,
}

#[test]
fn enums_become_one_enum_and_keep_their_words() {
    let found = schema::<Sample>(Part::Spec);
    let colour = &found["properties"]["colour"];
    assert_eq!(colour["enum"], json!(["Blue", "Green"]));
    assert_eq!(colour["description"], "Which one. Blue: As the sky. Green: As grass.");
    assert_eq!((&colour["type"], &colour["default"]), (&json!("string"), &json!("Blue")));
    let other = &found["properties"]["other"];
    assert_eq!((&other["enum"], &other["nullable"]), (&colour["enum"], &json!(true)));
    assert_eq!((&other["oneOf"], &other["anyOf"]), (&Value::Null, &Value::Null));
}

#[test]
fn only_what_kubernetes_knows_is_left() {
    let found = schema::<Sample>(Part::Spec);
    let properties = &found["properties"];
    assert_eq!(properties["count"]["format"], Value::Null);
    assert_eq!(properties["count"]["minimum"], 0);
    assert_eq!(properties["address"]["format"], Value::Null);
    assert_eq!(properties["when"]["format"], "date-time");
    assert_eq!(properties["when"]["nullable"], true);
    assert_eq!(found["additionalProperties"], Value::Null);
    assert_eq!(properties["count"]["description"], "Long text.\n\nSecond part.");
}

#[test]
fn defaults_say_something_or_are_left_out() {
    let spec = schema::<Sample>(Part::Spec);
    assert_eq!(spec["properties"]["count"]["default"], 0);
    assert_eq!(spec["properties"]["list"]["default"], Value::Null);
    assert_eq!(spec["properties"]["other"]["default"], Value::Null);
    let status = schema::<Sample>(Part::Status);
    assert_eq!(status["properties"]["colour"]["default"], Value::Null);
}
