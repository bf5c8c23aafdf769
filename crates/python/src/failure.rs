//! Errors as exceptions.

use pyo3::create_exception;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

create_exception!(warpwright, Error, PyRuntimeError, "A simulation failed. `partial` is the run up to there, or None.");
create_exception!(warpwright, InputError, Error, "The request makes no sense; nothing was simulated.");

/// The exception for input that makes no sense.
pub fn bad_input(problem: impl std::fmt::Display) -> PyErr {
    InputError::new_err(problem.to_string().trim_end().to_owned())
}

/// The exception for a run that failed otherwise.
pub fn failed(problem: impl std::fmt::Display) -> PyErr {
    Error::new_err(problem.to_string().trim_end().to_owned())
}

/// The exception for a `value` that an option does not have.
pub fn unknown(option: &str, value: &str, known: &[&str]) -> PyErr {
    let known = known.join(", ");
    bad_input(format!("{option}={value:?}: it is one of {known}"))
}
