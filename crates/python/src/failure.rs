//! Errors as exceptions.

use crate::outcome::Outcome;
use config::GpuConfig;
use lab::RunError;
use pyo3::create_exception;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

create_exception!(warpwright, Error, PyRuntimeError, "A simulation failed. `partial` is the run up to there, or None.");
create_exception!(warpwright, InputError, Error, "What was asked for makes no sense; nothing was simulated.");

/// The exception for input that makes no sense.
pub fn bad_input(problem: impl std::fmt::Display) -> PyErr {
    InputError::new_err(problem.to_string().trim_end().to_owned())
}

/// The exception for a run that failed otherwise.
pub fn failed(problem: impl std::fmt::Display) -> PyErr {
    Error::new_err(problem.to_string().trim_end().to_owned())
}

/// The exception for a run on `gpu` that failed, with what is known of it.
pub fn of_run(py: Python<'_>, error: RunError, gpu: &GpuConfig) -> PyErr {
    let exception = if error.bad_input { bad_input(&error) } else { failed(&error) };
    let partial = error.partial.map(|report| Outcome::new(*report, gpu.clone()));
    match exception.value(py).setattr("partial", partial) {
        Ok(()) => exception,
        Err(other) => other,
    }
}

/// The exception for a `value` that an option does not have.
pub fn unknown(option: &str, value: &str, known: &[&str]) -> PyErr {
    let known = known.join(", ");
    bad_input(format!("{option}={value:?}: it is one of {known}"))
}
