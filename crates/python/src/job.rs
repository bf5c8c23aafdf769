//! Runs of workloads, launch files and traces, with the options that Python gives as keywords.

use crate::failure::{bad_input, failed};
use crate::monitor::Watch;
use crate::outcome::{self, Outcome};
use config::GpuConfig;
use kit::suggest;
use lab::{Job, Report, Setup};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use request::documents::{Call, by_keyword};
use request::options::Texts;
use request::{Group, Options, Way, gpu, name, outputs, sweep};
use std::ffi::OsString;
use std::path::PathBuf;

/// Keywords, each with the texts of its values.
pub type Keywords = Vec<(String, Vec<OsString>)>;

/// The options that keywords give.
///
/// # Errors
/// There is no such keyword (`TypeError`), or no such value (`InputError`).
pub fn options(way: Way, keywords: Keywords) -> PyResult<Options> {
    read(way, &texts(way, keywords)?)
}

/// The options that texts give.
///
/// # Errors
/// A value is not valid.
pub fn read(way: Way, texts: &Texts) -> PyResult<Options> {
    Options::read(way, texts, &|row| row.called(way)).map_err(bad_input)
}

/// Why `call` has no keyword `keyword`; `known` are its arguments.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "what Python gives is copied")]
pub fn unexpected(call: &str, keyword: &str, known: Vec<String>) -> PyResult<String> {
    let call = Call::ALL.into_iter().find(|of| of.name() == call);
    call.map(|call| call.unexpected(keyword, &known)).ok_or_else(|| PyTypeError::new_err("not a call with options"))
}

/// The texts of the options that keywords give.
///
/// # Errors
/// A keyword is unknown.
pub fn texts(way: Way, keywords: Keywords) -> PyResult<Texts> {
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
    Ok(texts)
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
