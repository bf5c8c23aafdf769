//! The fate of each option of Accel-Sim's files.

use std::fmt;

/// Fate of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionReport {
    /// Name of the option, with the hyphen.
    pub option: String,
    /// Value of the option; `… (default)` if the files do not give it.
    pub value: String,
    /// File and line; `None` for a default.
    pub at: Option<(String, u32)>,
    /// Its fate.
    pub outcome: Outcome,
}

/// Fate of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was read; this is where it went.
    Understood(String),
    /// It does not affect the simulation; this is why.
    Ignored(String),
    /// It requests something that does not exist here.
    CannotHonour {
        /// Its request.
        why: String,
        /// The substitute.
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
