//! Runs traces of our own format.
//!
//! The model is the one that recorded them: the work of the warps comes from the file, everything else is as
//! in a live run. On the GPU and with the options of the recording, the figures are the same.

use super::checks::{Ran, Stop, check_architecture, no_values, plain};
use super::remarks::Remarks;
use crate::checkpoint::Keeper;
use crate::cores::MachineBuilder;
use crate::error::RunError;
use crate::monitor::Monitor;
use crate::report::RegisterSource;
use crate::sampling::{self, work::Work};
use crate::setup::Setup;
use crate::simulation::{Expected, Launched, MOST_PENDING, Simulation, check_fit, check_launches};
use crate::source::Source;
use gpu::StreamId;
use std::path::Path;
use std::sync::Arc;
use trace::{Action, NativeShared, NativeTrace};
use workloads::Form;

/// Runs the trace at `path` on a GPU set up like `setup`.
pub(super) fn run<'m>(
    setup: &Setup,
    path: &Path,
    keeper: Option<Keeper>,
    monitor: &'m mut dyn Monitor,
    remarks: &mut Remarks,
) -> Result<Ran<'m>, RunError> {
    let input = |error: trace::TraceError| RunError::input(error.to_string());
    let trace = Arc::new(NativeTrace::open(path).map_err(input)?);
    let few = check_launches(trace.launches().len());
    few.map_err(|many| RunError::input(format!("{}: {many}", path.display())))?;
    let expected = check(&trace, setup, remarks)?;
    let options = setup.core_options().map_err(RunError::input)?;
    if options.scalar.is_some() && !trace.contents.has_values {
        return Err(no_values(setup, path, "record it again with `warpwright trace --values`"));
    }
    let source = Source::Native(NativeShared::new(trace.clone()).map_err(input)?);
    let machine =
        MachineBuilder::new(setup, &options, source).and_then(MachineBuilder::build).map_err(RunError::input)?;
    let mut simulation = Simulation::new(machine, setup, Box::new(monitor));
    simulation.expected = Some(expected);
    keeper.map_or(Ok(()), |keeper| simulation.keep_checkpoints(keeper)).map_err(RunError::input)?;
    let outcome = run_all(&mut simulation, &trace);
    Ok((simulation, outcome))
}

/// Repeats what the host did, in the same order.
fn run_all(simulation: &mut Simulation<'_>, trace: &NativeTrace) -> Result<(), Stop> {
    let mut launches = trace.launches().iter().enumerate();
    for action in &trace.contents.actions {
        match *action {
            Action::Launch => {
                let Some((index, launch)) = launches.next() else { continue };
                let program = trace.code(index);
                let code = launch.timing;
                let (name, registers) = (plain(program.name.clone()), RegisterSource::Given);
                simulation.run_to(MOST_PENDING - 1)?;
                let number = index as u32;
                let slots = sampling::slots(&simulation.setup().gpu, &launch.shape);
                if let Some(sampler) = &mut simulation.sampler {
                    let work = Work {
                        amount: trace.warp_instructions(index),
                        thread_instructions: Some(trace.thread_instructions(index)),
                        ..Work::default()
                    };
                    let is_timed = sampler.begin_traced(number, &name, &launch.shape, &work, slots);
                    sampler.set_instructions(number, work.amount);
                    if !is_timed {
                        continue;
                    }
                }
                simulation.source().native().launch(index);
                let launched =
                    Launched { number, name, registers, code, shape: launch.shape, stream: StreamId(launch.stream) };
                simulation.launch(program, None, launched).map_err(Stop::Launch)?;
            }
            Action::Wait => {
                simulation.run_to(0)?;
            }
            Action::CopyToDevice { address, bytes } => {
                simulation.run_to(0)?;
                simulation.copied_to_device(address, bytes);
            }
        }
    }
    simulation.run_to(0)?;
    Ok(())
}

/// Whether every launch can run on the GPU; if so, how much there is to do.
fn check(trace: &NativeTrace, setup: &Setup, remarks: &mut Remarks) -> Result<Expected, RunError> {
    let mut expected = Expected { kernels: trace.launches().len() as u32, ctas: 0 };
    for (index, launch) in trace.launches().iter().enumerate() {
        let name = plain(trace.code(index).name.clone());
        if launch.timing == Form::Sass {
            check_architecture(&name, launch.architecture, setup, remarks).map_err(RunError::input)?;
        }
        check_fit(&setup.gpu, &launch.shape).map_err(|misfit| RunError::input(format!("{name}: {misfit}")))?;
        expected.ctas += launch.shape.ctas();
    }
    Ok(expected)
}
