//! A status is never larger than the API server's store takes. Pure.

use serde_json::{Value, json};

/// Largest status, bytes of JSON. An object may have 1.5 MiB, its spec and the API server's own
/// records of who wrote what included.
pub const MAX_STATUS: usize = 512 << 10;
/// Texts that may be shortened: nothing is decided by them.
const TEXTS: [&str; 8] =
    ["message", "lastLine", "task", "wanted", "found", "fix", "summary", "phase"];
/// Lists whose end may be left out, and how much of them is kept at least.
const LISTS: [(&str, usize); 2] = [("checks", 20), ("sources", 20)];
/// Lengths to which texts are shortened, characters, one after the other.
const LENGTHS: [usize; 5] = [4096, 1024, 256, 96, 48];

/// The status within this many bytes: texts are shortened and long lists cut, and a condition says
/// so. None when that is not enough.
pub fn bounded(mut status: Value, max: usize) -> Option<Value> {
    if size(&status) <= max {
        return Some(status);
    }
    for length in LENGTHS {
        shorten(&mut status, length);
        cut(&mut status);
        say(&mut status);
        if size(&status) <= max {
            return Some(status);
        }
    }
    None
}

fn size(value: &Value) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Counting can't fail, and a value is always JSON.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

fn shorten(value: &mut Value, length: usize) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::String(text) if TEXTS.contains(&name.as_str()) => clip(text, length),
                    other => shorten(other, length),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| shorten(item, length)),
        _ => {}
    }
}

fn clip(text: &mut String, length: usize) {
    const MARK: char = '…';
    if let Some((end, _)) = text.char_indices().nth(length) {
        text.truncate(end);
        text.push(MARK);
    }
}

fn cut(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let keep = LISTS.iter().find(|(list, _)| list == name).map(|(_, keep)| *keep);
                if let (Value::Array(items), Some(keep)) = (&mut *field, keep) {
                    items.truncate(keep);
                }
                cut(field);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(cut),
        _ => {}
    }
}

/// Type of the condition that says that a status is not whole.
const COMPLETE: &str = "StatusComplete";

fn say(status: &mut Value) {
    let Some(Value::Array(conditions)) = status.get_mut("conditions") else { return };
    if conditions.iter().any(|condition| condition["type"] == COMPLETE) {
        return;
    }
    let latest = conditions.iter().filter_map(|c| c["lastTransitionTime"].as_str()).max();
    let time = latest.unwrap_or("1970-01-01T00:00:00Z").to_owned();
    conditions.push(json!({
        "type": COMPLETE, "status": "False", "reason": "Shortened", "lastTransitionTime": time,
        "message": "the status is larger than an object may be: texts and lists of checks are shortened here; bpa-coordinator logs has all of it",
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(nodes: usize, message: usize) -> Value {
        let node = |n: usize| json!({"name": format!("worker-{n}"), "hostUid": "0123456789abcdef", "message": "m".repeat(message)});
        json!({
            "phase": "Failed",
            "conditions": [{"type": "Ready", "status": "False", "reason": "X", "message": "why",
                "lastTransitionTime": "2026-12-01T00:00:00Z"}],
            "nodes": (0..nodes).map(node).collect::<Vec<_>>(),
            "run": {"checks": (0..nodes).map(|n| json!({"id": n.to_string()})).collect::<Vec<_>>()},
        })
    }

    #[test]
    fn a_status_that_fits_is_left_as_it_is() {
        let status = status(10, 100);
        assert_eq!(bounded(status.clone(), MAX_STATUS), Some(status));
    }

    #[test]
    fn a_large_one_is_shortened_and_says_so_and_keeps_what_decisions_need() {
        let large = status(200, 100_000);
        let bound = bounded(large.clone(), MAX_STATUS).unwrap();
        assert!(size(&bound) <= MAX_STATUS);
        assert_eq!(bound["nodes"].as_array().unwrap().len(), 200, "no node is forgotten");
        assert_eq!(bound["nodes"][7]["hostUid"], large["nodes"][7]["hostUid"]);
        assert_eq!(bound["run"]["checks"].as_array().unwrap().len(), 20);
        let said = &bound["conditions"][1];
        assert_eq!((&said["type"], &said["status"]), (&json!(COMPLETE), &json!("False")));
        assert_eq!(said["lastTransitionTime"], "2026-12-01T00:00:00Z");
        assert_eq!(bounded(large, MAX_STATUS), Some(bound), "the same again");
    }

    #[test]
    fn what_can_not_be_made_to_fit_is_not_written_half() {
        assert_eq!(bounded(status(20_000, 10), MAX_STATUS), None);
    }

    #[test]
    fn texts_are_cut_between_characters() {
        let mut text = "äöü".to_owned();
        clip(&mut text, 2);
        assert_eq!(text, "äö…");
        clip(&mut text, 3);
        assert_eq!(text, "äö…");
    }
}
