//! What is wrong with a trace, and where.

use std::path::{Path, PathBuf};

/// A trace that cannot be used: what is wrong, in which file and line, and what may help.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {what}{}", file.display(), self.place(), self.advice())]
pub struct TraceError {
    /// The file.
    pub file: PathBuf,
    /// Its line, from 1, after decompression; 0 for the file as a whole, or where `byte` says more.
    pub line: u64,
    /// Where in a file that has no lines.
    pub byte: Option<u64>,
    /// What is wrong.
    pub what: String,
    /// What may help; empty if nothing comes to mind.
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
