//! Runs of workloads, launch files and traces, with the options that Python gives as keywords.

use crate::failure::{bad_input, failed};
use crate::monitor::Watch;
use crate::outcome::{self, Outcome};
use config::GpuConfig;
use kit::suggest;
use lab::{Job, Report, Setup};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use request::comparison::{Cell, Comparison};
use request::documents::by_keyword;
use request::options::Texts;
use request::sweep::Sweep as Machines;
use request::{Group, Options, Way, gpu, name, outputs, sweep};
use std::ffi::OsString;
use std::path::PathBuf;
use workloads::Form;

/// Keywords, each with the texts of its values.
pub type Keywords = Vec<(String, Vec<OsString>)>;

/// The options that keywords give.
///
/// # Errors
/// There is no such keyword (`TypeError`), or no such value (`InputError`).
pub fn options(way: Way, keywords: Keywords) -> PyResult<Options> {
    let mut texts = Texts::new();
    for (keyword, values) in keywords {
        let Some(row) = by_keyword(&keyword) else {
            let known: Vec<&str> = request::ROWS.iter().map(request::OptionRow::keyword).collect();
            return Err(PyTypeError::new_err(suggest::unknown("keyword", &keyword, &known)));
        };
        if let Some(reason) = row.reason(way) {
            return Err(PyTypeError::new_err(format!("{keyword}: {} does not have it: {reason}", way.name())));
        }
        if texts.iter().any(|(given, _)| given.name == row.name) {
            return Err(PyTypeError::new_err(format!("{keyword} is given under two names")));
        }
        texts.push((row, values));
    }
    Options::read(way, &texts, &|row| row.called(way)).map_err(bad_input)
}

/// Checks that no keyword says what runs: a device is told by calls.
pub fn check_without_input(keywords: &Keywords) -> PyResult<()> {
    for (keyword, _) in keywords {
        let row = by_keyword(keyword).filter(|row| row.group == Group::Input);
        if row.is_some_and(|row| row.reason(Way::Exec).is_some()) {
            return Err(PyTypeError::new_err(format!("{keyword}: a device has no workload; `warpwright.run` has it")));
        }
    }
    Ok(())
}

/// Runs a workload, a launch file or a trace. Other Python threads run meanwhile.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "what Python gives is copied")]
pub fn run(py: Python<'_>, workload: PathBuf, keywords: Keywords, progress: Option<Py<PyAny>>) -> PyResult<Outcome> {
    let options = options(Way::Python, keywords)?;
    let (setup, described) = sweep::one(&options, &workload).map_err(bad_input)?;
    let job = name::job(&workload, &options).map_err(bad_input)?;
    let model = options.energy_model.iter().map(|model| model.0.clone());
    let inputs =
        job.inputs().into_iter().chain(gpu::files(&described)).chain(gpu::energy_file(&setup.gpu)).chain(model);
    check_files(&options, &inputs.collect::<Vec<_>>())?;
    run_on(py, &setup, &job, progress, |report| save(&options, report, &setup.gpu))
}

/// Checks that the files that keywords name can be written and are not `inputs`.
pub fn check_files(options: &Options, inputs: &[PathBuf]) -> PyResult<()> {
    kit::output::check(&outputs::files(options), inputs).map_err(bad_input)
}

/// Writes the files that keywords name: a timeline, statistics over time.
pub fn save(options: &Options, report: &Report, gpu: &GpuConfig) -> PyResult<()> {
    outputs::of_run(options, report, gpu, 0, outputs::Program { commit: None }).map_err(failed)
}

fn run_on(
    py: Python<'_>,
    setup: &Setup,
    job: &Job,
    progress: Option<Py<PyAny>>,
    save: impl Fn(&Report) -> PyResult<()>,
) -> PyResult<Outcome> {
    let (mut watch, stopped) = Watch::new(progress);
    let ran = py.detach(|| lab::run(setup, job, &mut watch));
    stopped.check()?;
    match ran {
        Ok(report) => save(&report).map(|()| Outcome::new(report, setup.gpu.clone())),
        Err(error) => {
            // Why the run failed is what counts.
            let _ = error.partial.as_deref().map(save);
            Err(outcome::raised(py, error, &setup.gpu))
        }
    }
}

/// The runs of a comparison.
#[pyclass(frozen, module = "warpwright._native")]
pub struct Sweep {
    machines: Machines,
    codes: Vec<Form>,
    jobs: Vec<Job>,
    kernels: Vec<String>,
}

/// A run as Python has it, and why it failed.
type Ran<T> = (Option<T>, Option<String>);

/// A column as Python has it: label, GPU, core, scheduler, settings, index of the column that speedups are over.
type Column = (String, String, String, Option<String>, Vec<String>, usize);

#[pymethods]
impl Sweep {
    #[new]
    #[allow(clippy::needless_pass_by_value, reason = "what Python gives is copied")]
    fn new(workloads: Vec<PathBuf>, keywords: Keywords) -> PyResult<Self> {
        let options = options(Way::PythonCompare, keywords)?;
        let machines = Machines::new(&options, &workloads).map_err(bad_input)?;
        let codes = machines.codes(&options).into_iter().map(|(code, _)| code).collect();
        let job = |workload: &PathBuf| name::job(workload, &options).map_err(bad_input);
        let jobs = machines.workloads.iter().map(job).collect::<PyResult<Vec<_>>>()?;
        Ok(Self { machines, codes, jobs, kernels: options.kernels })
    }

    /// The rows.
    fn workloads(&self) -> Vec<String> {
        self.machines.workloads.iter().map(|workload| workload.display().to_string()).collect()
    }

    /// The columns.
    fn columns(&self) -> Vec<Column> {
        let columns = self.machines.columns.iter().cloned();
        columns.map(|c| (c.label, c.gpu, c.core, c.scheduler, c.settings, c.baseline)).collect()
    }

    /// Runs at the same time: as many as there are host threads.
    fn threads(&self) -> usize {
        self.machines.setups.first().map_or(1, |setup| setup.threads.total())
    }

    /// Runs a workload on a machine. Other Python threads run meanwhile.
    fn run(&self, py: Python<'_>, row: usize, column: usize, progress: Option<Py<PyAny>>) -> PyResult<Outcome> {
        let setup = Setup { code: self.codes[row], ..self.machines.setups[column].clone() };
        run_on(py, &setup, &self.jobs[row], progress, |_| Ok(()))
    }

    /// Whether rows are of kernels in place of whole workloads.
    fn is_by_kernel(&self) -> bool {
        !self.kernels.is_empty()
    }

    /// The rows by kernel of the runs of all workloads in order, on each machine: the label of a row, and its runs.
    fn by_kernel(&self, runs: Vec<Ran<Py<Outcome>>>) -> Vec<(String, Vec<Ran<Outcome>>)> {
        let workloads = self.workloads();
        let remarks = vec![None; workloads.len()];
        let cells = runs.into_iter().map(cell).collect();
        let columns = self.machines.columns.clone();
        let all = Comparison { workloads, codes: self.codes.clone(), remarks, columns, cells, again: Vec::new() }
            .by_kernel(&self.kernels);
        let ran = |(cell, setup): (&Cell, &Setup)| {
            let report = cell.any_report().map(|report| Outcome::new(report.clone(), setup.gpu.clone()));
            (report, cell.reason().map(str::to_owned))
        };
        let rows =
            all.cells.chunks(all.columns.len()).map(|row| row.iter().zip(&self.machines.setups).map(ran).collect());
        all.workloads.into_iter().zip(rows).collect()
    }
}

/// A run as comparisons have it.
fn cell((outcome, why): Ran<Py<Outcome>>) -> Cell {
    let report = outcome.map(|outcome| Box::new(outcome.get().report().clone()));
    match (why, report) {
        (Some(why), report) => Cell::Failed(why, report),
        (None, Some(report)) if !report.interrupted => Cell::Complete(report),
        (None, report) => Cell::Interrupted(report),
    }
}

/// The geometric mean; None of nothing.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "what Python gives is copied")]
pub fn geometric_mean(ratios: Vec<f64>) -> Option<f64> {
    request::comparison::geometric_mean(&ratios)
}
