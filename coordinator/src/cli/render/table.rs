//! Tables as kubectl prints them: columns of text, wide enough, no lines.

use bpa_common::output::columns;

use super::text::{cell, clean};

/// Rows below a head. Cells are cleaned when they are added.
#[derive(Debug)]
pub struct Table {
    rows: Vec<Vec<String>>,
    /// The last column is told whole.
    whole: bool,
}

impl Table {
    /// An empty table with these columns.
    pub fn new(head: &[&str]) -> Self {
        Self { rows: vec![head.iter().map(ToString::to_string).collect()], whole: false }
    }

    /// A table whose last column is never shortened: for sentences that people need to the end.
    pub fn telling(head: &[&str]) -> Self {
        Self { whole: true, ..Self::new(head) }
    }

    /// Adds a row; an empty cell is shown as `-`.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl AsRef<str>>) {
        let last = self.rows.first().map_or(0, Vec::len).saturating_sub(1);
        let show = |(index, text): (usize, String)| {
            let shown = match self.whole && index == last {
                true => clean(&text.lines().map(str::trim).collect::<Vec<_>>().join("; ")),
                false => cell(&text),
            };
            if shown.is_empty() { "-".to_owned() } else { shown }
        };
        let cells = cells.into_iter().map(|text| text.as_ref().to_owned()).enumerate();
        self.rows.push(cells.map(show).collect());
    }

    /// True when there is nothing below the head.
    pub fn is_empty(&self) -> bool {
        self.rows.len() == 1
    }

    /// The table as text, each line after `indent`.
    pub fn render(&self, indent: &str) -> String {
        columns(&self.rows).lines().map(|line| format!("{indent}{line}\n")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_telling_table_keeps_the_whole_of_its_last_column() {
        let mut table = Table::telling(&["A", "MESSAGE"]);
        table.row(["x".repeat(200), format!("{}\nthen this", "y".repeat(200))]);
        let text = table.render("");
        assert!(text.contains("x…") && text.ends_with("y; then this\n"), "{text}");
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(&["NAME", "STATE"]);
        assert!(table.is_empty());
        table.row(["host-with-a-name", ""]);
        table.row(["b", "two\nlines\u{1b}"]);
        assert_eq!(
            table.render("  "),
            "  NAME               STATE\n  host-with-a-name   -\n  b                  two…\n"
        );
    }
}
