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
        let widths: Vec<usize> = (0..self.aligns.len())
            .map(|i| self.rows.iter().chain([&self.headings]).map(|row| width(&row[i])).max().unwrap_or(0))
            .collect();
        let mut out = String::new();
        if self.headings.iter().any(|h| !h.is_empty()) {
            let _ = writeln!(out, "  {}", styled(HEADING, self.line(&self.headings, &widths)));
        }
        for row in &self.rows {
            let _ = writeln!(out, "  {}", self.line(row, &widths));
        }
        out
    }

    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let mut line = String::new();
        for ((cell, &column), align) in cells.iter().zip(widths).zip(&self.aligns) {
            let padding = " ".repeat(column - width(cell));
            match align {
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
    fn long_texts_lose_their_middle() {
        assert_eq!(shortened("short"), "short");
        let short = shortened(&"0123456789".repeat(8));
        assert_eq!(short.chars().count(), MAX_WIDTH);
        assert!(short.starts_with("012") && short.ends_with("789") && short.contains('…'));
    }
}
