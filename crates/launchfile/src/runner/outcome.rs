//! How a run of a launch file ends.

use crate::diagnostics::{LaunchFileError, Problem};
use crate::model::LaunchFile;
use std::path::PathBuf;
use workloads::check::Check;
use workloads::device::DeviceError;

/// Why a launch file did not run to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub enum LaunchFileRunError {
    /// Something is wrong with the file or with what it refers to.
    #[error("{0}")]
    File(#[from] Box<LaunchFileError>),
    /// An output cannot be written, known before anything runs.
    #[error("{0}")]
    Output(#[from] kit::output::Refused),
    /// A result could not be written.
    #[error("`{}` cannot be written: {source}", path.display())]
    Unwritten { path: PathBuf, source: std::io::Error },
    /// A file could not be read.
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    /// The condition of a loop never ceased to hold.
    #[error("{0}")]
    Endless(Box<LaunchFileError>),
    /// The device could not do its part.
    #[error("{0}")]
    Device(#[from] DeviceError),
}

/// Outcome of the run.
#[derive(Debug, Default)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct LaunchOutcome {
    pub launches: u64,
    /// Text to print.
    pub prints: Vec<String>,
    pub written: Vec<PathBuf>,
    pub checks: Vec<Check>,
    /// The first output that could not be made.
    pub error: Option<LaunchFileRunError>,
}

impl LaunchOutcome {
    /// Whether every comparison agrees.
    pub fn passed(&self) -> bool {
        self.checks.iter().all(Check::passed)
    }
}

/// A problem that a run finds in its launch file.
pub fn refused(file: &LaunchFile, problem: Problem) -> LaunchFileRunError {
    refused_for(file, vec![problem])
}

/// The same of several.
pub fn refused_for(file: &LaunchFile, problems: Vec<Problem>) -> LaunchFileRunError {
    LaunchFileRunError::File(Box::new(LaunchFileError::new(&file.path, &file.text, problems)))
}
