//! What is done with each option of Accel-Sim's files.

use std::fmt;

/// What became of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionReport {
    /// Its name, with the hyphen.
    pub option: String,
    /// Its value; `… (default)` if the files do not give it.
    pub value: String,
    /// File and line; `None` for a default.
    pub at: Option<(String, u32)>,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was read; this is where it went.
    Understood(String),
    /// It plays no part in what is simulated; this is why.
    Ignored(String),
    /// It asks for something that does not exist here.
    CannotHonour {
        /// What it asks for.
        why: String,
        /// What is done instead.
        instead: String,
    },
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Understood(to) => write!(f, "understood: {to}"),
            Outcome::Ignored(why) => write!(f, "ignored: {why}"),
            Outcome::CannotHonour { why, instead } => write!(f, "cannot be honoured: {why}; instead: {instead}"),
        }
    }
}

impl fmt::Display for OptionReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.option, self.value, self.outcome)
    }
}
