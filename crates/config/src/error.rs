//! Mistakes in a GPU description, all at once.

use kit::text::{Pointed, pointed};
use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// File name, or the origin of a text that is in no file.
    pub file: Arc<str>,
    /// Line, from 1; 0 if the whole file is meant.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// The file's text; every value of a description has a spot, and few are ever shown.
    text: Arc<str>,
    /// The place in it, in bytes.
    offset: usize,
}

impl Spot {
    /// The place of byte `offset` in `text`.
    pub(crate) fn at(file: &Arc<str>, text: &str, offset: usize) -> Self {
        Lines::new(file, text).spot(offset)
    }

    /// `file` as a whole.
    pub(crate) fn whole(file: &str) -> Self {
        Self { file: file.into(), line: 0, column: 0, text: "".into(), offset: 0 }
    }

    /// The line's text, or what is around the place if the line is long, with a mark.
    pub fn excerpt(&self) -> Pointed {
        let start = self.text[..self.offset].rfind('\n').map_or(0, |i| i + 1);
        let end = self.text[self.offset..].find('\n').map_or(self.text.len(), |i| self.offset + i);
        pointed(self.text[start..end].trim_end(), self.offset - start, 1)
    }
}

/// A text with the places of its lines: every key of a description has a [`Spot`], and finding
/// each from the text's start would take most of the loading.
pub(crate) struct Lines {
    file: Arc<str>,
    text: Arc<str>,
    /// Where each line begins.
    starts: Vec<usize>,
    /// The last place that was asked for: its byte, and the characters before it in its line. Places are
    /// mostly asked for in order, and a line may be very long.
    last: Cell<(usize, usize)>,
}

impl Lines {
    pub(crate) fn new(file: &Arc<str>, text: &str) -> Self {
        let after = memchr::memchr_iter(b'\n', text.as_bytes()).map(|i| i + 1);
        let starts = std::iter::once(0).chain(after).collect();
        Self { file: file.clone(), text: text.into(), starts, last: Cell::new((0, 0)) }
    }

    /// The place of byte `offset`.
    pub(crate) fn spot(&self, offset: usize) -> Spot {
        let text = &self.text;
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.starts.partition_point(|&start| start <= offset);
        let start = self.starts[line - 1];
        let last = self.last.get();
        let (known, before) = if (start..=offset).contains(&last.0) { last } else { (start, 0) };
        let before = before + text[known..offset].chars().count();
        self.last.set((offset, before));
        Spot {
            file: self.file.clone(),
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: u32::try_from(before + 1).unwrap_or(u32::MAX),
            text: text.clone(),
            offset,
        }
    }
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}", self.file),
            line => write!(f, "{}:{line}:{}", self.file, self.column),
        }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct Problem {
    /// Dotted path of the key; empty if no key is to blame.
    pub key: String,
    /// The place in the file; `None` for descriptions made by a program.
    pub spot: Option<Spot>,
    pub message: String,
    /// Remedy.
    pub hint: Option<String>,
}

impl Problem {
    pub(crate) fn new(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { key: key.into(), spot: None, message: message.into(), hint: None }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn at(mut self, spot: Spot) -> Self {
        self.spot = Some(spot);
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(spot) = &self.spot {
            write!(f, "{spot}: ")?;
        }
        if !self.key.is_empty() {
            write!(f, "`{}` ", kit::text::excerpt(&self.key))?;
        }
        write!(f, "{}", self.message)?;
        if let Some(spot) = self.spot.as_ref().filter(|spot| spot.line > 0) {
            let excerpt = spot.excerpt();
            write!(f, "\n    {}\n    {}", excerpt.line, excerpt.mark)?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n    hint: {hint}")?;
        }
        Ok(())
    }
}

/// Everything that is wrong with a GPU description, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The problems, of which there is at least one.
    pub problems: Vec<Problem>,
}

impl ConfigError {
    /// `Ok` if there are no problems.
    pub(crate) fn unless_none(mut problems: Vec<Problem>) -> Result<(), Self> {
        if problems.is_empty() {
            return Ok(());
        }
        problems.sort_by_key(|p| p.spot.as_ref().map_or((u32::MAX, 0), |s| (s.line, s.column)));
        Err(Self { problems })
    }
}

impl From<Problem> for ConfigError {
    fn from(problem: Problem) -> Self {
        Self { problems: vec![problem] }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.problems.iter().enumerate() {
            if i != 0 {
                writeln!(f)?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spot_counts_lines_and_characters() {
        let text = "first\nsécond line\nthird";
        let spot = Spot::at(&"f".into(), text, text.find("line").unwrap());
        assert_eq!((spot.line, spot.column, spot.excerpt().line.as_str()), (2, 8, "sécond line"));
        assert_eq!(Spot::at(&"f".into(), text, 1000).line, 3);
    }

    /// Each key of a description has a spot: the whole line with each would be gigabytes, and counting
    /// from its start each time hours.
    #[test]
    fn spots_in_a_long_line_are_small_and_found_at_once() {
        let text = "k=1,".repeat(1 << 20);
        let lines = Lines::new(&"f".into(), &text);
        for i in 0..1 << 20 {
            let spot = lines.spot(4 * i);
            assert!(spot.column as usize == 4 * i + 1 && size_of_val(&spot) < 100);
        }
        assert!(lines.spot(text.len() / 2).excerpt().line.len() < 200);
        assert_eq!(lines.spot(8).column, 9, "and backwards");
    }
}
