//! Runs traces of Accel-Sim.
//!
//! The model is set to what Accel-Sim makes of them: fetch knows the path, latencies and units are machine code's,
//! registers are given out in fours per thread, a warp waits for its atomics, copies from the host leave nothing in L2.
//! Kernels run one after the other unless the user requests that kernels of different streams overlap. Settings of the
//! user stay.

use super::ahead::Ahead;
use super::checks::{Ran, Stop, check_architecture, no_values, plain};
use super::remarks::Remarks;
use crate::checkpoint::{Answer, Keeper};
use crate::cores::MachineBuilder;
use crate::error::RunError;
use crate::monitor::Monitor;
use crate::report::RegisterSource;
use crate::sampling::{self, work::Work};
use crate::setup::Setup;
use crate::simulation::{Expected, Launched, Simulation, check_fit, check_launches};
use crate::source::Source;
use config::BranchFetch;
use gpu::StreamId;
use sm::CoreOptions;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trace::{Command, Header, KernelTrace, List, Oddities, TraceError, TraceShared};
use workloads::Form;

/// Registers per warp are given out in multiples of this: four per thread.
const REGISTER_UNIT: u32 = 4 * kit::WARP_LANES as u32;

/// Maximum number of mistakes that one message lists.
const MOST_MISTAKES: usize = 10;

/// Runs the trace listed at `path` on a GPU set up like `setup`.
pub(super) fn run<'m>(
    setup: &Setup,
    path: &Path,
    (concurrent_streams, keeper): (bool, Option<Keeper>),
    monitor: &'m mut dyn Monitor,
    remarks: &mut Remarks,
) -> Result<Ran<'m>, RunError> {
    let files = kernel_files(path)?;
    let mut setup = setup.clone();
    if !setup.sets("sm.frontend.branches") {
        setup.gpu.sm.frontend.branches = BranchFetch::Oracle;
    }
    if !setup.sets("sm.register_allocation_unit") {
        setup.gpu.sm.register_allocation_unit = REGISTER_UNIT;
    }
    let expected = look_through(path, &files, &setup, remarks)?;
    let options = CoreOptions {
        collectors_as_gpgpu_sim: true,
        decode_past_barriers: true,
        ..setup.core_options().map_err(RunError::input)?
    };
    if options.scalar.is_some() {
        let remedy =
            "run the program itself, or a trace of our own format that was recorded with `warpwright trace --values`";
        return Err(no_values(&setup, path, remedy));
    }
    let spaces = match setup.gpu.sm.trace_generic_spaces {
        Some(config::GenericSpaces::Bases) => trace::GenericSpaces::Bases,
        _ => trace::GenericSpaces::Windows,
    };
    let source = Source::AccelSim(TraceShared::new().with_spaces(spaces));
    let machine =
        MachineBuilder::new(&setup, &options, source).and_then(MachineBuilder::build).map_err(RunError::input)?;
    let mut simulation = Simulation::new(machine, &setup, Box::new(monitor));
    simulation.expected = Some(expected);
    keeper.map_or(Ok(()), |keeper| simulation.keep_checkpoints(keeper)).map_err(RunError::input)?;
    let at_once = if concurrent_streams { setup.gpu.launch.max_concurrent_kernels as usize } else { 1 };
    let outcome = run_all(&mut simulation, &files, at_once, remarks);
    Ok((simulation, outcome))
}

/// Runs the kernels of `files`, of which at most `at_once` are in the machine at a time.
fn run_all(
    simulation: &mut Simulation<'_>,
    files: &[PathBuf],
    at_once: usize,
    remarks: &mut Remarks,
) -> Result<(), Stop> {
    let mut ahead: Option<Ahead> = None;
    for (number, file) in (0..).zip(files) {
        if !is_timed(simulation, number, file)? {
            continue;
        }
        run_to(simulation, at_once - 1)?;
        if simulation.is_next_launch_over() {
            launch_again(simulation, (number, file), at_once, remarks)?;
            continue;
        }
        let kept_bytes = KernelTrace::KEPT_BYTES / at_once;
        let threads = simulation.setup().threads.share();
        let read = match &ahead {
            Some(ahead) => ahead.take(&mut || simulation.keep_on())?,
            None => KernelTrace::open_while(file, kept_bytes, threads, &mut || simulation.keep_on())?,
        };
        let Some(trace) = read else { return Err(Stop::Run(gpu::MachineError::Interrupted)) };
        let (instructions, trace) = (trace.warp_instructions, Arc::new(trace));
        remarks.add(&trace.header.name, &trace.oddities);
        keep_oddities(simulation, &mut trace.oddities.clone())?;
        let launched = launched(number, &trace.header, at_once);
        let id = simulation.launch(&trace.program, None, launched).map_err(Stop::Launch)?;
        let same = simulation.source().accelsim().launch(trace)?;
        debug_assert_eq!(id, same);
        let next = &files[number as usize + 1..];
        if ahead.is_none() && !next.is_empty() && threads > 1 && at_once == 1 && simulation.sampler.is_none() {
            ahead = Some(Ahead::read(next.to_vec(), kept_bytes));
        }
        if let Some(sampler) = &mut simulation.sampler {
            sampler.set_instructions(number, instructions);
            if let Some(part) = sampler.part(number) {
                simulation.source().accelsim().skip(id, part.start)?;
            }
        }
    }
    run_to(simulation, 0)
}

/// The launch of a kernel's trace.
fn launched(number: u32, header: &Header, at_once: usize) -> Launched {
    // One stream for all is the order of the list.
    let stream = if at_once > 1 { StreamId(header.stream as u32) } else { StreamId(0) };
    let (name, shape) = (plain(header.name.clone()), header.shape);
    Launched { number, name, registers: RegisterSource::Compiled, code: Form::Sass, shape, stream }
}

/// Launches the kernel of `file`, which had ended before the checkpoint: its instructions are not read.
fn launch_again(
    simulation: &mut Simulation<'_>,
    (number, file): (u32, &Path),
    at_once: usize,
    remarks: &mut Remarks,
) -> Result<(), Stop> {
    let header = Header::open(file)?;
    let mut oddities = Oddities::default();
    keep_oddities(simulation, &mut oddities)?;
    remarks.add(&header.name, &oddities);
    simulation.launch(&Arc::default(), None, launched(number, &header, at_once)).map_err(Stop::Launch)?;
    simulation.source().accelsim().launch_closed();
    Ok(())
}

/// Anomalies of a trace are kept in checkpoints, with the anomalies of kernels that had ended.
fn keep_oddities(simulation: &mut Simulation<'_>, oddities: &mut Oddities) -> Result<(), Stop> {
    let Some(keeper) = simulation.keeper() else { return Ok(()) };
    if !keeper.answer_again(Answer::Oddities, oddities).map_err(Stop::Launch)? {
        keeper.note_answer(Answer::Oddities, oddities);
    }
    Ok(())
}

/// Whether the kernel of `file` is to be timed, or a part of it. Its work is only known when the file is read; the size
/// of the file is used in its place.
fn is_timed(simulation: &mut Simulation<'_>, number: u32, file: &Path) -> Result<bool, Stop> {
    if simulation.sampler.is_none() {
        return Ok(true);
    }
    let header = Header::open(file)?;
    let slots = sampling::slots(&simulation.setup().gpu, &header.shape);
    let bytes =
        std::fs::metadata(file).map_err(|e| Stop::Launch(format!("{}: cannot be read: {e}", file.display())))?.len();
    let work = Work { amount: bytes, ..Work::default() };
    let sampler = simulation.sampler.as_mut();
    Ok(sampler.is_none_or(|sampler| sampler.begin_traced(number, &plain(header.name), &header.shape, &work, slots)))
}

/// Runs until at most `pending` launches have not ended, and closes the traces of those that have.
fn run_to(simulation: &mut Simulation<'_>, pending: usize) -> Result<(), Stop> {
    for kernel in simulation.run_to(pending)? {
        simulation.source().accelsim().close(kernel);
    }
    Ok(())
}

/// The traces of kernels that `list` names.
pub(super) fn kernel_files(list: &Path) -> Result<Vec<PathBuf>, RunError> {
    let commands = List::open(list).map_err(|e| RunError::input(e.to_string()))?.commands;
    let file = |command| match command {
        Command::Kernel(path) => Some(path),
        Command::CopyToDevice { .. } | Command::CopyFromDevice => None,
    };
    let files: Vec<_> = commands.into_iter().filter_map(file).collect();
    if files.is_empty() {
        return Err(RunError::input(format!("{}: names no kernel, so there is nothing to run", list.display())));
    }
    check_launches(files.len()).map_err(|many| RunError::input(format!("{}: {many}", list.display())))?;
    Ok(files)
}

/// Reads the heads of all files: what is wrong with any of them is reported before anything runs.
fn look_through(list: &Path, files: &[PathBuf], setup: &Setup, remarks: &mut Remarks) -> Result<Expected, RunError> {
    let mut expected = Expected { kernels: files.len() as u32, ctas: 0 };
    let mut mistakes = Vec::new();
    for file in files {
        kit::stop::check().map_err(|e| RunError::input(e.to_string()))?;
        let unusable = |e: TraceError| format!("{e}\n  named in {}", list.display());
        let checked = Header::open(file).map_err(unusable).and_then(|header| {
            check_architecture(&header.name, header.binary_version, setup, remarks)?;
            check_fit(&setup.gpu, &header.shape).map_err(|misfit| format!("{}: {misfit}", header.name))?;
            Ok(header)
        });
        match checked {
            Ok(header) => expected.ctas += header.shape.ctas(),
            Err(mistake) if mistakes.contains(&mistake) => {}
            Err(mistake) => mistakes.push(mistake),
        }
    }
    if mistakes.is_empty() {
        return Ok(expected);
    }
    let more = mistakes.len().saturating_sub(MOST_MISTAKES);
    mistakes.truncate(MOST_MISTAKES);
    mistakes.extend((more > 0).then(|| format!("and {more} more")));
    Err(RunError::input(mistakes.join("\n")))
}
