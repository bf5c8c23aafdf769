//! A run as Python sees it.

use crate::failure;
use config::GpuConfig;
use lab::changes::Changes;
use lab::diagnosis::Cause;
use lab::{Report, RunError};
use pyo3::prelude::*;
use render::profile::{Detail, Order, View};
use render::timeline::drawn::Drawing;
use render::{page, timeline};
use request::baseline::Baseline;
use std::path::PathBuf;

/// The report of a run, in the forms that there are.
#[pyclass(frozen, module = "warpwright._native")]
pub struct Outcome {
    report: Report,
    gpu: GpuConfig,
}

impl Outcome {
    /// The report of a run on `gpu`.
    pub fn new(report: Report, gpu: GpuConfig) -> Self {
        Self { report, gpu }
    }

    fn against(&self, baseline: Result<Baseline, String>) -> PyResult<(String, String)> {
        let changes = baseline.and_then(|baseline| baseline.changes(&self.report));
        changes_of(&changes.map_err(|why| failure::bad_input(format!("baseline: {why}")))?, None)
    }
}

/// Changes as JSON and as text.
pub fn changes_of(changes: &Changes, now: Option<&str>) -> PyResult<(String, String)> {
    let json = serde_json::to_string(changes).map_err(failure::failed)?;
    Ok((json, plain(&render::changes::section(changes, now))))
}

/// The exception for a run on `gpu` that failed, with what is known of it.
pub fn raised(py: Python<'_>, error: RunError, gpu: &GpuConfig) -> PyErr {
    let exception = if error.bad_input { failure::bad_input(&error) } else { failure::failed(&error) };
    let partial = error.partial.map(|report| Outcome::new(*report, gpu.clone()));
    match exception.value(py).setattr("partial", partial) {
        Ok(()) => exception,
        Err(other) => other,
    }
}

/// Text without colours.
fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[pymethods]
impl Outcome {
    /// The report as `warpwright run --json` has it.
    fn json(&self) -> PyResult<String> {
        serde_json::to_string(&self.report).map_err(failure::failed)
    }

    /// Statistics of each kernel over all of its launches.
    fn kernels(&self) -> PyResult<String> {
        serde_json::to_string(&self.report.by_kernel).map_err(failure::failed)
    }

    /// The same with further causes, given as JSON, in the diagnosis.
    fn with_causes(&self, causes: &str) -> PyResult<Self> {
        let causes: Vec<Cause> = serde_json::from_str(causes).map_err(failure::bad_input)?;
        let mut report = self.report.clone();
        if let Some(diagnosis) = &mut report.diagnosis {
            diagnosis.add(causes);
        }
        Ok(Self { report, gpu: self.gpu.clone() })
    }

    /// The changes from `baseline`, which is called `name`, as JSON and as text.
    fn against_run(&self, name: &str, baseline: &Self) -> PyResult<(String, String)> {
        self.against(Baseline::of_report(name, baseline.report.clone()))
    }

    /// The same from a report in a file.
    #[allow(clippy::needless_pass_by_value, reason = "arguments from Python are copied")]
    fn against_file(&self, path: PathBuf) -> PyResult<(String, String)> {
        self.against(Baseline::read(&path))
    }

    /// The report as `warpwright run` prints it.
    fn text(&self, all_statistics: bool, all_kernels: bool, energy: bool) -> String {
        let failed = self.report.error.is_some();
        plain(&render::report::render(
            &self.report,
            render::report::Detail { all_statistics, all_kernels, energy, failed },
        ))
    }

    /// The page as `warpwright run --html` writes it.
    fn html(&self) -> String {
        let program = concat!(env!("CARGO_PKG_VERSION"), " (Python)");
        page::run(&page::Run { report: &self.report, gpu: &self.gpu, program })
    }

    /// The profile as `warpwright profile` prints it, if there is one.
    fn profile(&self, show: &str, order: &str, most: usize) -> PyResult<Option<String>> {
        let view = match show {
            "instructions" => View::Instructions,
            "lines" => View::Lines,
            "listing" => View::Listing,
            "latencies" => View::Latencies,
            other => return Err(failure::unknown("show", other, &["instructions", "lines", "listing", "latencies"])),
        };
        let order = match order {
            "slots" => Order::Slots,
            "causes" => Order::Causes,
            "energy" => Order::Energy,
            "code" => Order::Code,
            other => return Err(failure::unknown("order", other, &["slots", "causes", "energy", "code"])),
        };
        let profile = self.report.profile.as_ref();
        Ok(profile.map(|profile| plain(&render::profile::render(profile, Detail { view, order, most }))))
    }

    /// Statistics over time as CSV, and power where it has the same intervals, if they were sampled.
    fn samples(&self) -> Option<String> {
        let samples = self.report.samples.as_ref()?;
        let mut csv = Vec::new();
        // Memory takes all bytes, and they are text.
        samples.write_csv(self.report.power.as_ref(), &mut csv).ok()?;
        String::from_utf8(csv).ok()
    }

    /// The timeline as a file of Konata or Perfetto, or as text.
    fn timeline(&self, format: &str) -> PyResult<String> {
        let timelines = &self.report.timelines;
        match format {
            "konata" => Ok(timeline::konata::render(timelines)),
            "perfetto" => Ok(timeline::perfetto::render(&self.report, &self.gpu)),
            "text" => Ok(plain(&timeline::drawn::render(timelines, Drawing { most: 60, width: 160, is_whole: false }))),
            other => Err(failure::unknown("format", other, &["konata", "perfetto", "text"])),
        }
    }
}
