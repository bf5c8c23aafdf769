//! Pieces of a page: escaped text, tables, sections. Everything is HTML that is well-formed XML, too.

use crate::table::Align;
use std::fmt::Write as _;

/// Text as the content of an element or the value of an attribute. Characters that XML excludes and what is
/// [invisible](kit::text::is_invisible) becomes U+FFFD.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' => out.push(c),
            c if kit::text::is_invisible(c) => out.push('\u{fffd}'),
            _ => out.push(c),
        }
    }
    out
}

/// A name of statistics for people: `memory_pipe_full` without the underscores.
pub fn spaced(name: &str) -> String {
    name.replace('_', " ")
}

/// A part of a page with a heading, which the list of contents names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Anchor within the page: lower-case letters and hyphens.
    pub id: String,
    /// Heading.
    pub title: String,
    /// HTML after the heading.
    pub body: String,
}

/// A sentence or more in small type under a heading; `text` is plain.
pub fn note(text: &str) -> String {
    format!("<p class=\"note\">{}</p>\n", escaped(text))
}

/// Text of a program.
pub fn code(text: &str) -> String {
    format!("<code>{}</code>", escaped(text))
}

/// Content behind a line that opens it.
pub fn details(summary: &str, body: &str) -> String {
    format!("<details><summary>{}</summary>\n{body}</details>\n", escaped(summary))
}

/// A drawing that the keyboard reaches, with what it shows for those who do not see it.
pub fn figure(label: &str, drawing: &str) -> String {
    format!("<figure tabindex=\"0\" role=\"group\" aria-label=\"{}\">\n{drawing}</figure>\n", escaped(label))
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    text: String,
    /// Sort key of the column, if not the text.
    value: Option<f64>,
    /// Strength of its ground, from -1 (the colour of slower) to 1 (the colour of faster).
    shade: Option<f64>,
}

impl Cell {
    /// A cell that is sorted by `value`.
    pub fn number(text: impl Into<String>, value: Option<f64>) -> Self {
        Self { text: text.into(), value, shade: None }
    }

    /// The same on a coloured ground.
    pub fn shaded(self, shade: f64) -> Self {
        Self { shade: Some(shade), ..self }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: text.into(), value: None, shade: None }
    }
}

/// Rows of text under headings.
#[derive(Clone, Debug, Default)]
pub struct Table {
    headings: Vec<(String, Align)>,
    rows: Vec<Vec<Cell>>,
    is_matrix: bool,
}

impl Table {
    /// An empty table of columns.
    pub fn new<H: Into<String>>(columns: impl IntoIterator<Item = (H, Align)>) -> Self {
        Self { headings: columns.into_iter().map(|(h, align)| (h.into(), align)).collect(), ..Self::default() }
    }

    /// The same for many narrow columns: headings take several lines, and the first column stays in sight.
    pub fn matrix(self) -> Self {
        Self { is_matrix: true, ..self }
    }

    /// Adds a row, which has a cell for each column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let cells: Vec<Cell> = cells.into_iter().collect();
        assert_eq!(cells.len(), self.headings.len(), "a cell for each column");
        self.rows.push(cells);
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table as HTML; wide ones scroll.
    pub fn render(&self) -> String {
        let kind = if self.is_matrix { " class=\"matrix\"" } else { "" };
        let mut out = format!("<div class=\"scroll\"><table{kind}>\n<thead><tr>");
        let name = |align: Align| match align {
            Align::Left => None,
            Align::Name => Some("name"),
            Align::Right => Some("num"),
        };
        let class = |align: Align, shade: Option<f64>| {
            let ground = shade.map(|shade| if shade < 0.0 { "slower" } else { "faster" });
            let classes: Vec<&str> = name(align).into_iter().chain(ground).collect();
            if classes.is_empty() { String::new() } else { format!(" class=\"{}\"", classes.join(" ")) }
        };
        for (heading, align) in &self.headings {
            let _ = write!(out, "<th scope=\"col\"{}>{}</th>", class(*align, None), escaped(heading));
        }
        out.push_str("</tr></thead>\n<tbody>\n");
        for row in &self.rows {
            out.push_str("<tr>");
            for (Cell { text, value, shade }, (_, align)) in row.iter().zip(&self.headings) {
                let sorted_by = value.map(|value| format!(" data-v=\"{value}\"")).unwrap_or_default();
                let ground = shade.map(|shade| format!(" style=\"--shade:{:.2}\"", shade.abs())).unwrap_or_default();
                let _ = write!(out, "<td{}{sorted_by}{ground}>{}</td>", class(*align, *shade), escaped(text));
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody></table></div>\n");
        out
    }
}

/// Labels with their values, which are plain text.
pub fn pairs(rows: &[(&str, String)]) -> String {
    let rows = rows.iter().filter(|(_, value)| !value.is_empty());
    let rows: String =
        rows.map(|(label, value)| format!("<dt>{}</dt><dd>{}</dd>\n", escaped(label), escaped(value))).collect();
    format!("<dl>\n{rows}</dl>\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use roxmltree::Document;

    /// Every character that may be in a name, in texts of a few: each is well-formed XML as an element's content and as an
    /// attribute's value, and reads as it was or as U+FFFD.
    #[test]
    fn any_text_is_well_formed() {
        let all: Vec<char> = ('\0'..=char::MAX)
            .step_by(1)
            .filter(|&c| c < '\u{3000}' || (c as u32).is_multiple_of(97) || kit::text::is_invisible(c))
            .collect();
        for some in all.chunks(64) {
            let text: String = some.iter().collect();
            let page = format!("<p title=\"{0}\">{0}</p>", escaped(&text));
            let document = Document::parse(&page).unwrap_or_else(|e| panic!("{text:?}: {e}"));
            let shown = kit::text::visible(&text).into_owned();
            assert_eq!(document.root_element().text(), Some(&*shown));
            // Attributes have blanks in place of line feeds and tabs.
            assert_eq!(document.root_element().attribute("title"), Some(&*shown.replace(['\n', '\t'], " ")));
        }
    }

    #[test]
    fn text_of_users_is_escaped() {
        assert_eq!(escaped("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
        assert_eq!(escaped("\u{1b}[1m\0\u{ffff}é\n"), "\u{fffd}[1m\u{fffd}\u{fffd}é\n");
        let bidi = "a\u{202e}b\u{2066}c\u{200b}d\u{feff}\r\u{9b}\u{fffe}";
        assert_eq!(escaped(bidi), "a\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}\u{fffd}\u{fffd}\u{fffd}");
        let mut table = Table::new([("<h>", Align::Name), ("n", Align::Right)]);
        table.row(["<script>".into(), Cell::number("1,234", Some(1234.0))]);
        let html = table.render();
        assert!(html.contains("&lt;script&gt;") && html.contains("&lt;h&gt;") && !html.contains("<script"), "{html}");
        assert!(html.contains("data-v=\"1234\">1,234<"), "{html}");
    }
}
