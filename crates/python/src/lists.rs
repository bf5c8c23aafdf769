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

/// Name and summary of each bundled workload, with its parameters: name, description, values for small, medium and
/// large.
#[pyfunction]
#[allow(clippy::type_complexity, reason = "a table of the package, which Python names")]
pub fn workloads() -> Vec<(&'static str, &'static str, Vec<(&'static str, &'static str, [u64; 3])>)> {
    let parameters =
        |workload: &'static Workload| workload.parameters.iter().map(|p| (p.name, p.description, p.sizes)).collect();
    suite::ALL.iter().map(|workload| (workload.name, workload.summary, parameters(workload))).collect()
}

/// Name, unit and meaning of each statistic.
#[pyfunction]
pub fn statistics() -> Vec<(String, &'static str, String)> {
    lab::schema().into_iter().map(|info| (info.name.to_string(), info.unit, info.description.to_string())).collect()
}
