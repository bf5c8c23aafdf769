//! Tables of aligned columns.

use crate::names;
use crate::style::{HEADING, styled};
use crate::wrap::{self, width};
use kit::text::middle_cut;
use std::borrow::Cow;
use std::fmt::Write as _;

/// How a column's text is aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// At the left: words.
    Left,
    /// At the left: names. Where lines would be wider than a terminal, mangled ones lose what C++ has added, then all
    /// lose their middle.
    Name,
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

const GAP: &str = "  ";
/// Shortest rest of a name.
const LEAST_NAME: usize = 16;

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
        let wide = |widths: &[usize]| widths.iter().map(|width| GAP.len() + width).sum::<usize>();
        let mut widths = self.widths();
        if wide(&widths) > wrap::line_limit() && self.has_mangled_names() {
            return self.with_short_names().render();
        }
        let wide = wide(&widths);
        for _ in wrap::line_limit()..wide {
            let names = columns.iter().filter(|&&i| self.aligns[i] == Align::Name && widths[i] > LEAST_NAME);
            match names.max_by_key(|&&i| widths[i]) {
                Some(&widest) => widths[widest] -= 1,
                None => break,
            }
        }
        self.render_columns(&columns, &widths)
    }

    /// The table in as many parts as it takes to keep lines within `limit` characters, each with the
    /// first column. Names take up to half of it.
    pub fn render_within(&self, limit: usize) -> String {
        let mut widths = self.widths();
        for (width, _) in widths.iter_mut().zip(&self.aligns).filter(|(_, align)| **align == Align::Name) {
            *width = (*width).min(limit / 2).max(1);
        }
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

    fn name_columns(&self) -> impl Iterator<Item = usize> {
        self.aligns.iter().enumerate().filter(|(_, align)| **align == Align::Name).map(|(column, _)| column)
    }

    fn has_mangled_names(&self) -> bool {
        self.name_columns().any(|column| self.rows.iter().any(|row| names::short(&row[column]) != row[column]))
    }

    fn with_short_names(&self) -> Self {
        let mut rows = self.rows.clone();
        for column in self.name_columns() {
            names::shorten(rows.iter_mut().map(|row| &mut row[column]));
        }
        Self { headings: self.headings.clone(), aligns: self.aligns.clone(), rows }
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
            let cell = self.fitted(&cells[column], column, widths[column]);
            let padding = " ".repeat(widths[column] - width(&cell));
            match self.aligns[column] {
                Align::Left | Align::Name => line.extend([&cell, padding.as_str(), GAP]),
                Align::Right => line.extend([padding.as_str(), &cell, GAP]),
            }
        }
        line.truncate(line.trim_end().len());
        line
    }

    /// A cell's text in a column of `most` characters.
    fn fitted<'a>(&self, cell: &'a str, column: usize, most: usize) -> Cow<'a, str> {
        if self.aligns[column] == Align::Name { middle_cut(cell, most) } else { cell.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wrap::WIDTH;

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
    fn long_names_lose_their_middle() {
        let long = "0123456789".repeat(20);
        let render = |first: &str, second: &str| {
            let columns = [("kernel", Align::Name), ("n", Align::Right), ("file", Align::Name)];
            let mut table = Table::new(columns);
            table.row(&[first.into(), "1,000".into(), second.into()]);
            anstream::adapter::strip_str(&table.render()).to_string()
        };
        assert_eq!(render("short", "a.cu").lines().last(), Some("  short   1,000  a.cu"));
        for (first, second) in [(&*long, "a.cu"), ("short", &*long), (&*long, &*long)] {
            let text = render(first, second);
            assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
            assert!(text.lines().any(|line| line.chars().count() == WIDTH), "{text}");
            assert!(text.contains("01234") && text.contains("56789") && text.contains('…'), "{text}");
        }
    }

    #[test]
    fn parts_of_a_table_have_short_names() {
        let mut table = Table::new([("", Align::Name), ("one", Align::Right), ("two", Align::Right)]);
        table.row(&["0123456789".repeat(20), "1".into(), "2".into()]);
        let text = anstream::adapter::strip_str(&table.render_within(80)).to_string();
        assert!(text.lines().all(|line| line.chars().count() <= 80) && text.lines().count() == 2, "{text}");
    }
}
