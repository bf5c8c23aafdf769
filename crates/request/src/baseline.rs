//! The report of an earlier run, with which a run is compared.

use crate::BadRequest;
use crate::options::Options;
use lab::changes::{Changes, share_a_kernel};
use lab::{Report, Setup};
use render::summary;
use std::path::Path;

/// Maximum size of a report.
const MOST_BYTES: u64 = 1 << 30;

/// A report that was written earlier.
#[derive(Clone, Debug)]
pub struct Baseline {
    /// The path of the file.
    name: String,
    report: Box<Report>,
}

impl Baseline {
    /// The baseline that `options` name, of a run on the machine `setup`, if they name one.
    ///
    /// # Errors
    /// It cannot be read, is not the whole report of a run, or is of another GPU.
    pub fn of(options: &Options, setup: &Setup) -> Result<Option<Self>, BadRequest> {
        let Some(path) = &options.baseline else { return Ok(None) };
        let refuse = |why: String| refused(options, &path.display().to_string(), &why);
        let baseline = Self::read(path).map_err(refuse)?;
        baseline.check_machine(&setup.gpu.name, &setup.core).map_err(refuse)?;
        Ok(Some(baseline))
    }

    /// The baseline in a file of JSON that a run has written.
    ///
    /// # Errors
    /// It cannot be read, or is not the whole report of a run.
    pub fn read(path: &Path) -> Result<Self, String> {
        let json = kit::files::read(path, MOST_BYTES).map_err(|e| e.to_string())?;
        let baseline = Report::read(&json).and_then(|report| Self::of_report(&path.display().to_string(), report));
        baseline.map_err(|why| format!("{why}\n  hint: `warpwright run … --json=FILE` writes a baseline"))
    }

    /// A run as a baseline.
    ///
    /// # Errors
    /// It did not finish, or has no time.
    pub fn of_report(name: &str, report: Report) -> Result<Self, String> {
        if report.interrupted || report.error.is_some() {
            return Err("the report of a run that did not finish".to_owned());
        }
        if !lab::is_timed(&report.core) {
            return Err(format!("core {} has no time to compare", report.core));
        }
        if !has_time(&report) {
            return Err("no kernel of it was simulated in time".to_owned());
        }
        Ok(Self { name: name.to_owned(), report: Box::new(report) })
    }

    /// Checks that it is of the GPU of a run, and that the run's core has time.
    fn check_machine(&self, gpu: &str, core: &str) -> Result<(), String> {
        if self.report.gpu != gpu {
            let before = &self.report.gpu;
            return Err(format!(
                "is of {before}, and the run is on {gpu}\n  hint: run with --gpu {before}, or write a baseline on {gpu}"
            ));
        }
        if !lab::is_timed(core) {
            return Err(format!("core {core} has no time to compare"));
        }
        Ok(())
    }

    /// The changes from it to the `report` of the run that `options` request; `None` if that run did not finish.
    ///
    /// # Errors
    /// They are of different kernels.
    pub fn against(&self, options: &Options, report: &Report) -> Result<Option<Changes>, BadRequest> {
        if report.interrupted {
            return Ok(None);
        }
        self.changes(report).map(Some).map_err(|why| refused(options, &self.name, &why))
    }

    /// The changes from it to `report`.
    ///
    /// # Errors
    /// The report is of other kernels, of another GPU, or of a run that did not finish.
    pub fn changes(&self, report: &Report) -> Result<Changes, String> {
        self.check_machine(&report.gpu, &report.core)?;
        if report.interrupted || report.error.is_some() {
            return Err("the run did not finish: nothing is compared".to_owned());
        }
        if !has_time(report) {
            return Err("no kernel of the run was simulated in time: nothing is compared".to_owned());
        }
        if !share_a_kernel(&self.report, report) {
            let names = |report: &Report| {
                let names: Vec<String> = report.by_kernel.iter().map(|kernel| format!("`{}`", kernel.name)).collect();
                if names.is_empty() { "no kernel".to_owned() } else { kit::text::bounded(&names.join(", ")) }
            };
            return Err(format!(
                "is of another kernel: it ran {}, this run {}\n  hint: `warpwright compare A.toml B.toml --as-columns` compares kernels of different names",
                names(&self.report),
                names(report)
            ));
        }
        Changes::between(&self.name, &self.report, report).ok_or_else(|| "one of the runs has no time".to_owned())
    }
}

/// Whether any of it was simulated in time.
fn has_time(report: &Report) -> bool {
    report.total.number(summary::CYCLES) > 0.0
}

fn refused(options: &Options, name: &str, why: &str) -> BadRequest {
    BadRequest::new(format!("{} {name}: {why}", options.called("baseline")))
}
