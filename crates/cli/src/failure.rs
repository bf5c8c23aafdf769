//! How a command ends.

use request::BadRequest;
use std::fmt::Display;
use std::process::ExitCode;

/// How a command ended: the exit status, documented in `docs/cli.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Success,
    /// A result is wrong, or a run met a fault or a deadlock, or output could not be written.
    Failed,
    /// The command line or a file that it names is at fault. Same status as clap's.
    BadInput,
    /// The user has interrupted the command.
    Interrupted,
}

impl Exit {
    /// The number that the caller sees.
    pub const fn status(self) -> u8 {
        match self {
            Exit::Success => 0,
            Exit::Failed => 1,
            Exit::BadInput => 2,
            // 128 + SIGINT, as shells have it.
            Exit::Interrupted => 130,
        }
    }
}

impl Exit {
    /// That of two parts of a command: the first one that is not a success.
    pub fn and(self, next: Self) -> Self {
        if self == Self::Success { next } else { self }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.status().into()
    }
}

/// Why a command could not do what was asked.
#[derive(Debug)]
pub struct Failure {
    /// The message: problem, place, reason, remedy; may have several lines.
    pub message: String,
    pub exit: Exit,
}

impl Failure {
    /// The command line or a file that it names is at fault.
    pub fn bad_input(message: impl Display) -> Self {
        Self { message: message.to_string(), exit: Exit::BadInput }
    }

    /// A `name` is not one of those `known`.
    pub fn unknown(what: &str, name: &str, known: &[&str]) -> Self {
        Self::bad_input(kit::suggest::unknown(what, name, known))
    }

    /// Something else went wrong.
    pub fn failed(message: impl Display) -> Self {
        Self { message: message.to_string(), exit: Exit::Failed }
    }
}

impl From<BadRequest> for Failure {
    fn from(problem: BadRequest) -> Self {
        Self::bad_input(problem)
    }
}

/// Result of a command.
pub type Outcome = Result<Exit, Failure>;
