//! Checks of both kinds of traces, and how a trace's run ends.

use super::remarks::Remarks;
use crate::error::RunError;
use crate::setup::Setup;
use crate::simulation::{Halt, Simulation};
use std::path::Path;
use trace::{Generation, TraceError};

/// A simulation of a trace, and whether all of its kernels ran.
pub(super) type Ran<'m> = (Simulation<'m>, Result<(), Stop>);

/// Why the kernels of a trace did not all run.
#[derive(Debug)]
pub(super) enum Stop {
    /// A file is damaged.
    Trace(TraceError),
    /// The core cannot execute a program.
    Launch(String),
    Run(gpu::MachineError),
}

impl From<TraceError> for Stop {
    fn from(error: TraceError) -> Self {
        Stop::Trace(error)
    }
}

impl From<Halt> for Stop {
    fn from(halt: Halt) -> Self {
        match halt {
            Halt::Machine(error) => Stop::Run(error),
            Halt::Checkpoint(why) => Stop::Launch(why),
        }
    }
}

/// A scalar path depends on values, which the trace at `path` does not have.
pub(super) fn no_values(setup: &Setup, path: &Path, remedy: &str) -> RunError {
    let (core, shown) = (&setup.core, path.display());
    RunError::input(format!("`{core}` looks at the values of operands, and `{shown}` has none; {remedy}"))
}

/// Machine code of another generation than the GPU's runs only if the user allows it.
pub(super) fn check_architecture(
    kernel: &str,
    version: u32,
    setup: &Setup,
    remarks: &mut Remarks,
) -> Result<(), String> {
    let gpu = &setup.gpu;
    let (of_trace, of_gpu) = (Generation::of(version), Generation::of(gpu.sm_version));
    if of_trace == of_gpu {
        return Ok(());
    }
    let mismatch = format!(
        "{kernel} is machine code for sm_{version} ({}), {} is sm_{} ({})",
        Generation::name_of(version),
        gpu.name,
        gpu.sm_version,
        Generation::name_of(gpu.sm_version)
    );
    if setup.any_architecture {
        remarks.note(mismatch);
        return Ok(());
    }
    Err(format!("{mismatch}\n  hint: choose another GPU, or allow any architecture (option any_architecture)"))
}

/// A kernel's name as in its source.
pub(super) fn plain(name: String) -> String {
    exec::plain_name(&name).map(str::to_owned).unwrap_or(name)
}
