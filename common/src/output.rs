//! Results of commands on standard output, alike for both binaries: table, JSON or YAML.

use std::io::{self, Write};

use serde::Serialize;

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Output {
    #[default]
    Table,
    Json,
    Yaml,
}

/// Prints text. A reader that went away (`| head`) is no error.
///
/// # Errors
/// When standard output can't be written.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

impl Output {
    /// Prints a value as JSON or YAML, or the text for a person.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn show(self, value: &impl Serialize, table: impl FnOnce() -> String) -> io::Result<()> {
        print(&self.text(value, table)?)
    }

    /// A value as JSON or YAML, or the text for a person.
    ///
    /// # Errors
    /// When the value has no such form.
    pub fn text(
        self,
        value: &impl Serialize,
        table: impl FnOnce() -> String,
    ) -> io::Result<String> {
        match self {
            Self::Table => Ok(table()),
            Self::Json => Ok(serde_json::to_string_pretty(value)? + "\n"),
            Self::Yaml => {
                // Through a JSON value, so that both show the same fields.
                let value = serde_json::to_value(value)?;
                serde_saphyr::to_string(&value).map_err(io::Error::other)
            }
        }
    }
}

/// Blanks between two columns.
const GAP: &str = "   ";

/// Columns that are as wide as their widest cell, no blanks at line ends. Cells are shown as they
/// are: who fills them cleans what came from outside.
pub fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |at: usize| rows.iter().filter_map(|r| r.get(at)).map(|c| c.chars().count()).max();
    let widths: Vec<usize> = (0..count).map(|at| width(at).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(&format!("{cell:<width$}{GAP}"));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

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
    fn columns_line_up() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        assert_eq!(columns(&[row(["A", "B"]), row(["long", ""])]), "A      B\nlong\n");
        assert_eq!(columns(&[]), "");
    }
}
