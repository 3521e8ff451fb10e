//! What people and scripts read: notes on standard error, objects as kubectl frames them.

use std::io::{self, Write};

pub use bpa_common::output::{Output, print};
use serde_json::{Value, json};

/// Prints a line for a person to standard error.
pub fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Objects as `kubectl get -o json` frames them: one by itself, several as a List.
pub fn list(mut items: Vec<Value>, single: bool) -> Value {
    match items.pop() {
        Some(only) if single && items.is_empty() => only,
        last => {
            items.extend(last);
            json!({"apiVersion": "v1", "kind": "List", "metadata": {}, "items": items})
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_object_stands_alone_and_several_make_a_list() {
        assert_eq!(list(vec![json!(1)], true), json!(1));
        assert_eq!(list(vec![json!(1)], false)["items"], json!([1]));
        assert_eq!(list(vec![json!(1), json!(2)], true)["items"], json!([1, 2]));
        assert_eq!(list(vec![], false)["kind"], "List");
    }
}
