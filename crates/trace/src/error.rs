//! Errors of traces with their positions.

use std::path::{Path, PathBuf};

/// A trace that cannot be used: description, file, line and hint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {what}{}", file.display(), self.place(), self.advice())]
#[allow(missing_docs, reason = "the names say it")]
pub struct TraceError {
    pub file: PathBuf,
    /// Line of the decompressed file, from 1; 0 for the file as a whole, or if `byte` is set.
    pub line: u64,
    /// Position in a file without lines.
    pub byte: Option<u64>,
    /// Description of the problem.
    pub what: String,
    /// How to solve it; may be empty.
    pub hint: &'static str,
}

impl TraceError {
    pub(crate) fn new(file: &Path, line: u64, what: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, byte: None, what: what.into(), hint: "" }
    }

    pub(crate) fn at_byte(file: &Path, byte: u64, what: impl Into<String>) -> Self {
        Self { byte: Some(byte), ..Self::new(file, 0, what) }
    }

    pub(crate) fn hint(mut self, hint: &'static str) -> Self {
        self.hint = hint;
        self
    }

    fn place(&self) -> String {
        match self.byte {
            Some(byte) => format!(", byte {byte}"),
            None if self.line == 0 => String::new(),
            None => format!(":{}", self.line),
        }
    }

    fn advice(&self) -> String {
        if self.hint.is_empty() { String::new() } else { format!("\n  hint: {}", self.hint) }
    }
}
