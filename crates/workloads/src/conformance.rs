//! Check that a device runs the whole suite right. Device crates call this from their tests.

use crate::device::Device;
use crate::suite;
use crate::workload::{Size, Workload};
use isa::Form;
use std::fmt::Write;

/// Runs every workload at the small size, each on a device of its own, and returns what went wrong:
/// an empty text if nothing did.
pub fn check_all<D: Device>(form: Form, mut device: impl FnMut() -> D) -> String {
    let mut problems = String::new();
    for workload in suite::ALL {
        let found = check_one(workload, &mut device(), form, &[], 1);
        problems += &found;
    }
    problems
}

/// Runs one workload at the small size with some parameters changed; returns what went wrong.
pub fn check_one(
    workload: &'static Workload,
    device: &mut dyn Device,
    form: Form,
    given: &[(&str, u64)],
    seed: u64,
) -> String {
    let given: Vec<(String, u64)> = given.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    let mut problems = String::new();
    let outcome = workload.params(Size::Small, &given).and_then(|params| workload.run(device, form, &params, seed));
    match outcome {
        Ok(outcome) => {
            for check in outcome.checks.iter().filter(|c| !c.passed()) {
                _ = writeln!(problems, "{}: {check}", workload.name);
            }
            if outcome.checks.iter().all(|c| c.compared == 0) {
                _ = writeln!(problems, "{}: nothing was compared", workload.name);
            }
        }
        Err(error) => _ = writeln!(problems, "{}: {error}", workload.name),
    }
    problems
}
