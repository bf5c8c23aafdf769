//! The choices that there are.

use crate::failure::bad_input;
use ::workloads::{Workload, suite};
use pyo3::prelude::*;

/// Name and description of each GPU that comes with the package.
#[pyfunction]
pub fn gpus() -> PyResult<Vec<(String, String)>> {
    let described = |name: &str| {
        let gpu = config::load(name).map_err(bad_input)?;
        Ok((name.to_owned(), gpu.description))
    };
    config::builtin().iter().map(|builtin| described(builtin.name)).collect()
}

/// Name and description of each core design.
#[pyfunction]
pub fn cores() -> Vec<(&'static str, &'static str)> {
    lab::cores().to_vec()
}

/// Name and description of each warp scheduler.
#[pyfunction]
pub fn schedulers() -> Vec<(&'static str, &'static str)> {
    lab::schedulers().to_vec()
}

/// A bundled workload: name, summary, suite, papers with its name in each, and its parameters: name, description,
/// values for small, medium and large.
type WorkloadRow = (
    &'static str,
    &'static str,
    &'static str,
    Vec<(&'static str, &'static str)>,
    Vec<(&'static str, &'static str, [u64; 3])>,
);

/// The bundled workloads.
#[pyfunction]
pub fn workloads() -> Vec<WorkloadRow> {
    let row = |w: &'static Workload| {
        let parameters = w.parameters.iter().map(|p| (p.name, p.description, p.sizes)).collect();
        (w.name, w.summary, w.suite.name(), w.papers.to_vec(), parameters)
    };
    suite::ALL.iter().map(row).collect()
}

/// Name, unit and meaning of each statistic.
#[pyfunction]
pub fn statistics() -> Vec<(String, &'static str, String)> {
    lab::schema().into_iter().map(|info| (info.name.to_string(), info.unit, info.description.to_string())).collect()
}
