//! Why a run has no complete report.

use crate::report::Report;

/// Why a run has no complete report.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct RunError {
    /// The message: problem, place, reason, remedy; may have several lines.
    pub message: String,
    /// Whether the user's input is at fault (exit status 2) or the run failed (exit status 1).
    pub bad_input: bool,
    /// Results before the failure.
    pub partial: Option<Box<Report>>,
}

impl RunError {
    /// A run that failed, with the `report` of what ran.
    pub(crate) fn after(report: Report, message: String, bad_input: bool) -> Self {
        let report = Report { error: Some(message.clone()), ..report };
        let partial = (!report.kernels.is_empty()).then(|| Box::new(report));
        Self { message, bad_input, partial }
    }

    /// A run that did not begin: the request is wrong, for the reason in `message`.
    pub fn input(message: String) -> Self {
        Self { message, bad_input: true, partial: None }
    }
}
