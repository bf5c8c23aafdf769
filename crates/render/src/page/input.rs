//! The input of a page of one run.

use config::GpuConfig;
use lab::Report;

/// A run, and what its page needs beyond its report.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The report, complete or not.
    pub report: &'a Report,
    /// The GPU that it ran on, with the settings of the run.
    pub gpu: &'a GpuConfig,
    /// Version and commit of the program.
    pub program: &'a str,
}
