//! Positions of syntax in the text.

/// A range of bytes of the source text.
///
/// A span is the position of a node, which is not part of its meaning: **any two compare equal**, so that
/// trees of the same meaning are equal whatever their layout. Compare [`Span::range`] to compare positions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

impl Span {
    /// The bytes from `start` up to, but not including, `end`.
    pub const fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// The smallest span that covers both.
    #[must_use]
    pub fn to(self, last: Span) -> Self {
        Self { start: self.start.min(last.start), end: self.end.max(last.end) }
    }

    /// The span as a range of indices of the text.
    pub const fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl PartialEq for Span {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Span {}

/// Line and column, both counted from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Position {
    pub line: u32,
    pub column: u32,
}

/// A source text with its name and an index of its lines.
#[derive(Clone, Debug)]
pub struct SourceText {
    /// Name in messages.
    pub name: String,
    text: String,
    line_starts: Vec<u32>,
}

impl SourceText {
    /// Indexes the lines of `text`.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let newlines = text.bytes().enumerate().filter(|(_, b)| *b == b'\n');
        let line_starts = std::iter::once(0).chain(newlines.map(|(i, _)| i as u32 + 1)).collect();
        Self { name: name.into(), text, line_starts }
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text under `span`; empty if the span is not in the text.
    pub fn snippet(&self, span: Span) -> &str {
        self.text.get(span.range()).unwrap_or("")
    }

    /// Line and column of the byte at `offset`. An offset beyond the end means the end.
    pub fn position(&self, offset: u32) -> Position {
        let line = self.line_index(offset);
        let start = self.line_starts[line] as usize;
        let before = self.text.get(start..(offset as usize).min(self.text.len())).unwrap_or("");
        Position { line: line as u32 + 1, column: before.chars().count() as u32 + 1 }
    }

    /// Line number, from 1, of the byte at `offset`: cheaper than [`SourceText::position`].
    pub fn line(&self, offset: u32) -> u32 {
        self.line_index(offset) as u32 + 1
    }

    /// Offset of the first byte of line `line` (from 1); the end of the text if there is no such line.
    pub fn line_start(&self, line: u32) -> usize {
        let index = (line as usize).wrapping_sub(1);
        self.line_starts.get(index).map_or(self.text.len(), |&start| start as usize)
    }

    /// The text of line `line` (from 1) without its line end; empty if there is no such line.
    pub fn line_text(&self, line: u32) -> &str {
        let index = (line as usize).wrapping_sub(1);
        let Some(&start) = self.line_starts.get(index) else { return "" };
        let end = self.line_starts.get(index + 1).map_or(self.text.len(), |&next| next as usize - 1);
        self.text.get(start as usize..end).unwrap_or("").trim_end_matches('\r')
    }

    fn line_index(&self, offset: u32) -> usize {
        self.line_starts.partition_point(|&start| start <= offset) - 1
    }
}
