//! Tables of aligned columns.

use super::style::{HEADING, styled};
use std::fmt::Write as _;

/// Where a column's text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// At the left: words.
    Left,
    /// At the right: numbers.
    Right,
}

/// Rows of text under headings.
#[derive(Clone, Debug)]
pub struct Table {
    headings: Vec<String>,
    aligns: Vec<Align>,
    rows: Vec<Vec<String>>,
}

/// Blanks between columns.
const GAP: &str = "  ";
/// Longest text that [`shortened`] leaves alone.
const MAX_WIDTH: usize = 56;

impl Table {
    /// An empty table of columns.
    pub fn new<H: Into<String>>(columns: impl IntoIterator<Item = (H, Align)>) -> Self {
        let (headings, aligns) = columns.into_iter().map(|(heading, align)| (heading.into(), align)).unzip();
        Self { headings, aligns, rows: Vec::new() }
    }

    /// Adds a row, which has a cell for each column.
    pub fn row(&mut self, cells: &[String]) {
        assert_eq!(cells.len(), self.aligns.len(), "a cell for each column");
        self.rows.push(cells.to_vec());
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table as lines, each indented by two blanks; without headings if all are empty.
    pub fn render(&self) -> String {
        let columns: Vec<usize> = (0..self.aligns.len()).collect();
        self.render_columns(&columns, &self.widths())
    }

    /// The table in as many parts as it takes to keep lines within `limit` characters, each with the
    /// first column.
    pub fn render_within(&self, limit: usize) -> String {
        let widths = self.widths();
        let mut parts = vec![vec![0]];
        let mut used = GAP.len() + widths[0];
        for (column, width) in widths.iter().enumerate().skip(1) {
            let last = parts.last_mut().expect("there is always a part");
            if last.len() > 1 && used + GAP.len() + width > limit {
                parts.push(vec![0, column]);
                used = GAP.len() + widths[0] + GAP.len() + width;
            } else {
                last.push(column);
                used += GAP.len() + width;
            }
        }
        parts.iter().map(|columns| self.render_columns(columns, &widths)).collect::<Vec<_>>().join("\n")
    }

    fn widths(&self) -> Vec<usize> {
        let rows = || self.rows.iter().chain([&self.headings]);
        (0..self.aligns.len()).map(|i| rows().map(|row| width(&row[i])).max().unwrap_or(0)).collect()
    }

    fn render_columns(&self, columns: &[usize], widths: &[usize]) -> String {
        let mut out = String::new();
        if self.headings.iter().any(|h| !h.is_empty()) {
            let _ = writeln!(out, "  {}", styled(HEADING, self.line(&self.headings, columns, widths)));
        }
        for row in &self.rows {
            let _ = writeln!(out, "  {}", self.line(row, columns, widths));
        }
        out
    }

    fn line(&self, cells: &[String], columns: &[usize], widths: &[usize]) -> String {
        let mut line = String::new();
        for &column in columns {
            let cell = &cells[column];
            let padding = " ".repeat(widths[column] - width(cell));
            match self.aligns[column] {
                Align::Left => line.extend([cell, padding.as_str(), GAP]),
                Align::Right => line.extend([padding.as_str(), cell, GAP]),
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// Columns that text takes, colours left out.
fn width(text: &str) -> usize {
    anstream::adapter::strip_str(text).to_string().chars().count()
}

/// A text without its middle if it is long: mangled names take hundreds of characters.
pub fn shortened(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= MAX_WIDTH {
        return text.to_owned();
    }
    let tail = MAX_WIDTH / 2;
    let head = MAX_WIDTH - tail - 1;
    chars[..head].iter().chain(['…'].iter()).chain(&chars[chars.len() - tail..]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_whatever_their_colours() {
        let mut table = Table::new([("name", Align::Left), ("n", Align::Right)]);
        table.row(&[styled(HEADING, "a"), "1".into()]);
        table.row(&["longer".into(), "1,000".into()]);
        let text = anstream::adapter::strip_str(&table.render()).to_string();
        assert_eq!(text, "  name        n\n  a           1\n  longer  1,000\n");
    }

    #[test]
    fn wide_tables_come_in_parts() {
        let mut table =
            Table::new([("", Align::Left), ("one", Align::Right), ("two", Align::Right), ("three", Align::Right)]);
        table.row(&["a", "1", "2", "3"].map(str::to_owned));
        let within = |limit| anstream::adapter::strip_str(&table.render_within(limit)).to_string();
        assert_eq!(within(20), "     one  two  three\n  a    1    2      3\n");
        assert_eq!(within(19), "     one  two\n  a    1    2\n\n     three\n  a      3\n");
        assert_eq!(within(1).lines().filter(|l| l.starts_with("  a ")).count(), 3);
    }

    #[test]
    fn long_texts_lose_their_middle() {
        assert_eq!(shortened("short"), "short");
        let short = shortened(&"0123456789".repeat(8));
        assert_eq!(short.chars().count(), MAX_WIDTH);
        assert!(short.starts_with("012") && short.ends_with("789") && short.contains('…'));
    }
}
