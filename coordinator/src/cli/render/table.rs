//! Tables as kubectl prints them: columns of text, wide enough, no lines.

use super::text::cell;

/// Rows below a head. Cells are cleaned when they are added.
#[derive(Debug)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table with these columns.
    pub fn new(head: &[&str]) -> Self {
        Self { rows: vec![head.iter().map(ToString::to_string).collect()] }
    }

    /// Adds a row; an empty cell is shown as `-`.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl AsRef<str>>) {
        let show = |text: &str| match cell(text) {
            text if text.is_empty() => "-".to_owned(),
            text => text,
        };
        self.rows.push(cells.into_iter().map(|text| show(text.as_ref())).collect());
    }

    /// True when there is nothing below the head.
    pub fn is_empty(&self) -> bool {
        self.rows.len() == 1
    }

    /// The table as text, each line after `indent`.
    pub fn render(&self, indent: &str) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|text| text.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut out = String::new();
        for row in &self.rows {
            let cells: Vec<String> =
                row.iter().zip(&widths).map(|(text, &width)| format!("{text:width$}")).collect();
            out.push_str(indent);
            out.push_str(cells.join("   ").trim_end());
            out.push('\n');
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
