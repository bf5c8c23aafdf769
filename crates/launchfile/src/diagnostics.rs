//! Mistakes in a launch file, and their places.

use kit::text::counted;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Maximum number of problems in a message.
const MOST_PROBLEMS: usize = 50;

/// A problem of a launch file and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct Problem {
    /// The bytes of the launch file; `None` if the problem is elsewhere.
    pub span: Option<Range<usize>>,
    pub message: String,
}

impl Problem {
    /// A problem at a place.
    pub fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        Self { span: Some(span), message: message.into() }
    }

    /// A problem that is not in the file itself.
    pub fn elsewhere(message: impl Into<String>) -> Self {
        Self { span: None, message: message.into() }
    }
}

/// A launch file that cannot be used, with all its problems.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct LaunchFileError {
    pub path: PathBuf,
    pub text: String,
    /// The mistakes, in the order of the file.
    pub problems: Vec<Problem>,
}

impl LaunchFileError {
    /// An error with its problems sorted and without duplicates.
    pub fn new(path: &Path, text: &str, mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|p| p.span.as_ref().map(|s| (s.start, s.end)));
        problems.dedup();
        Self { path: path.to_owned(), text: text.to_owned(), problems }
    }

    /// Line and column (in characters), from 1, of a byte offset.
    pub fn position(&self, offset: usize) -> (usize, usize) {
        let before = self.text.get(..offset).unwrap_or(&self.text);
        let start = before.rfind('\n').map_or(0, |i| i + 1);
        (before.matches('\n').count() + 1, before[start..].chars().count() + 1)
    }

    fn write_problem(&self, f: &mut fmt::Formatter<'_>, problem: &Problem) -> fmt::Result {
        let Some(span) = &problem.span else {
            return writeln!(f, "{}: {}", self.path.display(), problem.message);
        };
        let (line, column) = self.position(span.start);
        writeln!(f, "{}:{line}:{column}: {}", self.path.display(), problem.message)?;
        let Some(source) = self.text.lines().nth(line - 1).filter(|l| !l.trim().is_empty()) else { return Ok(()) };
        let before = self.text.get(..span.start).unwrap_or(&self.text);
        let shown = kit::text::pointed(source, before.len() - before.rfind('\n').map_or(0, |i| i + 1), span.len());
        let number = line.to_string();
        let margin = " ".repeat(number.len());
        writeln!(f, " {number} | {}", shown.line)?;
        writeln!(f, " {margin} | {}", shown.mark)
    }
}

impl fmt::Display for LaunchFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problems.iter().take(MOST_PROBLEMS).try_for_each(|problem| self.write_problem(f, problem))?;
        match self.problems.len().saturating_sub(MOST_PROBLEMS) {
            0 => Ok(()),
            more => writeln!(f, "{}: and {}", self.path.display(), counted(more as u64, "more problem")),
        }
    }
}

impl std::error::Error for LaunchFileError {}
