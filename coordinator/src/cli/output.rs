//! Results on standard output: table, JSON or YAML.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Value, json};

use super::exit::CliError;

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Output {
    Table,
    Json,
    Yaml,
}

/// Prints text. A reader that went away (`| head`) is no error.
///
/// # Errors
/// When standard output can't be written.
pub fn print(text: &str) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(CliError::other(error)),
        _ => Ok(()),
    }
}

/// Prints a line for a person to standard error.
pub fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

impl Output {
    /// Prints a value as JSON or YAML, or the text for a person.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn show(
        self,
        value: &impl Serialize,
        table: impl FnOnce() -> String,
    ) -> Result<(), CliError> {
        print(&self.text(value, table)?)
    }

    fn text(
        self,
        value: &impl Serialize,
        table: impl FnOnce() -> String,
    ) -> Result<String, CliError> {
        match self {
            Self::Table => Ok(table()),
            Self::Json => {
                let text = serde_json::to_string_pretty(value).map_err(CliError::other)?;
                Ok(text + "\n")
            }
            Self::Yaml => {
                // Through a JSON value, so that both show the same fields in the same order.
                let value = serde_json::to_value(value).map_err(CliError::other)?;
                serde_saphyr::to_string(&value).map_err(CliError::other)
            }
        }
    }
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
    fn the_same_value_in_three_forms() {
        let value = json!({"b": [1, 2], "a": "x"});
        let text = |output: Output| output.text(&value, || "table\n".to_owned()).unwrap();
        assert_eq!(text(Output::Table), "table\n");
        assert_eq!(serde_json::from_str::<Value>(&text(Output::Json)).unwrap(), value);
        assert_eq!(serde_saphyr::from_str::<Value>(&text(Output::Yaml)).unwrap(), value);
    }

    #[test]
    fn one_object_stands_alone_and_several_make_a_list() {
        assert_eq!(list(vec![json!(1)], true), json!(1));
        assert_eq!(list(vec![json!(1)], false)["items"], json!([1]));
        assert_eq!(list(vec![json!(1), json!(2)], true)["items"], json!([1, 2]));
        assert_eq!(list(vec![], false)["kind"], "List");
    }
}
