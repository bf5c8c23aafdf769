//! Runs traces: Accel-Sim's here, our own format's in [`replay`](crate::replay).
//!
//! For Accel-Sim's traces the model is set to what Accel-Sim makes of them: fetch knows the way,
//! latencies and units are those for machine code, registers are given out in fours per thread, a
//! warp waits for its atomics, copies from the host leave nothing in L2, and kernels run one after
//! the other unless the user wants those of different streams to overlap. What the user has set stays.

use crate::replay::no_values;
use crate::report::{RegisterSource, Report};
use crate::run::{Monitor, RunError, Setup};
use crate::session::{Expected, LaunchRecord, Session, check_fit, check_launches};
use crate::{LIST_FILE, NATIVE_FILE, cores};
use config::BranchFetch;
use gpu::StreamId;
use kit::text::counted;
use sm::{Code, CoreOptions, CoreSpec, TimingTable};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use trace::{Command, Generation, Header, KernelTrace, List, Oddities, TraceError, TraceShared, TraceStream};
use workloads::Form;

/// Registers per warp are given out in multiples of this: four per thread.
const REGISTER_UNIT: u32 = 4 * kit::WARP_LANES as u32;

/// Most mistakes that one message lists.
const MOST_MISTAKES: usize = 10;

/// Whether `path` is meant as a trace: a list (`.g`), a folder with one, a file of our own format.
pub fn is_trace(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "g") || path.is_dir() && file_in(path).is_file() || trace::is_native(path)
}

/// The trace in `folder`: Accel-Sim's if there is one, else one of our own format.
pub(crate) fn file_in(folder: &Path) -> PathBuf {
    let names = [LIST_FILE, NATIVE_FILE].map(|name| folder.join(name));
    names.iter().find(|path| path.is_file()).unwrap_or(&names[0]).clone()
}

/// Every file that a run of the trace at `path` reads.
pub(crate) fn inputs(path: &Path) -> Vec<PathBuf> {
    let path = if path.is_dir() { file_in(path) } else { path.to_owned() };
    let kernels = if trace::is_native(&path) { None } else { kernel_files(&path).ok() };
    std::iter::once(path).chain(kernels.into_iter().flatten()).collect()
}

/// Runs the trace at `path` on a GPU set up like `setup`, telling `monitor` how far it is.
pub(crate) fn run(
    setup: &Setup,
    path: &Path,
    concurrent_streams: bool,
    monitor: &mut dyn Monitor,
) -> Result<Report, RunError> {
    let path = if path.is_dir() { file_in(path) } else { path.to_owned() };
    if trace::is_native(&path) {
        return crate::replay::run(setup, &path, monitor);
    }
    let started = Instant::now();
    let files = kernel_files(&path)?;
    let mut setup = setup.clone();
    if !setup.sets("sm.frontend.branches") {
        setup.gpu.sm.frontend.branches = BranchFetch::Oracle;
    }
    if !setup.sets("sm.register_allocation_unit") {
        setup.gpu.sm.register_allocation_unit = REGISTER_UNIT;
    }
    let mut remarks = Remarks::default();
    let expected = look_through(&path, &files, &setup, &mut remarks)?;
    let options = CoreOptions {
        collectors_as_gpgpu_sim: true,
        decode_past_barriers: true,
        ..setup.core_options().map_err(RunError::input)?
    };
    if options.scalar.is_some() {
        let remedy =
            "run the program itself, or a trace of our own format that was recorded with `warpwright trace --values`";
        return Err(no_values(&setup, &path, remedy));
    }
    let spec = CoreSpec::new(&setup.gpu, TimingTable::Sass, options).map_err(|e| RunError::input(e.to_string()))?;
    let spec = Arc::new(spec);
    let engine = cores::build::<TraceStream>(&setup, spec.clone(), TraceShared::new());
    let mut session = Session::new(engine.map_err(RunError::input)?, spec.clone(), &setup, Box::new(monitor));
    session.expected = Some(expected);
    let at_once = if concurrent_streams { setup.gpu.launch.max_concurrent_kernels as usize } else { 1 };
    let outcome = run_all(&mut session, &spec, &files, at_once, &mut remarks);
    let mut report =
        session.summary(path.display().to_string(), spec.scheduler_name(), started.elapsed().as_secs_f64());
    report.remarks = remarks.lines();
    conclude(outcome, report)
}

/// The report, or the error with what is known of the run.
pub(crate) fn conclude(outcome: Result<(), Stop>, report: Report) -> Result<Report, RunError> {
    let (message, bad_input) = match outcome {
        Ok(()) | Err(Stop::Run(gpu::RunError::Interrupted)) => return Ok(report),
        // Whatever failed, the user has ended it.
        Err(_) if kit::stop::requested() => return Ok(Report { interrupted: true, ..report }),
        Err(Stop::Trace(error)) => (error.to_string(), true),
        // The warps of a trace do what the file says: a fault is damage to the file.
        Err(Stop::Run(gpu::RunError::Fault(fault))) => {
            (format!("{}\n  in kernel `{}`, CTA {}", fault.what, fault.spot.kernel, fault.cta), true)
        }
        Err(Stop::Run(gpu::RunError::Deadlock(deadlock))) => (deadlock.to_string(), false),
        Err(Stop::Run(gpu::RunError::Livelock(livelock))) => (livelock.to_string(), false),
    };
    Err(RunError::after(report, message, bad_input))
}

/// Why the kernels of a trace did not all run.
#[derive(Debug)]
pub(crate) enum Stop {
    /// A file is damaged.
    Trace(TraceError),
    /// The run failed.
    Run(gpu::RunError),
}

impl From<TraceError> for Stop {
    fn from(error: TraceError) -> Self {
        Stop::Trace(error)
    }
}

impl From<gpu::RunError> for Stop {
    fn from(error: gpu::RunError) -> Self {
        Stop::Run(error)
    }
}

fn kernel_files(list: &Path) -> Result<Vec<PathBuf>, RunError> {
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

/// Reads the heads of all files: what is wrong with any of them is said before anything runs.
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

/// Machine code of another generation than the GPU's runs only if the user says so.
pub(crate) fn check_architecture(
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
    Err(format!("{mismatch}\n  hint: choose another GPU, or allow it with --any-architecture"))
}

/// Runs the kernels of `files`, `at_once` of them at most in the machine at a time.
fn run_all(
    session: &mut Session<'_, TraceStream>,
    spec: &CoreSpec,
    files: &[PathBuf],
    at_once: usize,
    remarks: &mut Remarks,
) -> Result<(), Stop> {
    for file in files {
        while session.pending() >= at_once {
            run_to_next_end(session)?;
        }
        let kept_bytes = KernelTrace::KEPT_BYTES / at_once;
        let Some(trace) = KernelTrace::open_while(file, kept_bytes, &mut || session.keep_on())? else {
            return Err(Stop::Run(gpu::RunError::Interrupted));
        };
        let trace = Arc::new(trace);
        remarks.add(&trace.header.name, &trace.oddities);
        let code = Arc::new(Code::new(trace.program.clone(), spec));
        // One stream for all is the order of the list.
        let stream = if at_once > 1 { StreamId(trace.header.stream as u32) } else { StreamId(0) };
        let (name, shape) = (plain(trace.header.name.clone()), trace.header.shape);
        let record = LaunchRecord { name, registers: RegisterSource::Compiled, code: Form::Sass };
        let id = session.launch(code, shape, stream, record);
        let same = session.engine.state().launch(trace)?;
        debug_assert_eq!(id, same);
    }
    while session.pending() > 0 {
        run_to_next_end(session)?;
    }
    Ok(())
}

fn run_to_next_end(session: &mut Session<'_, TraceStream>) -> Result<(), Stop> {
    for kernel in session.run_to_next_end()? {
        session.engine.state().close(kernel);
    }
    Ok(())
}

/// A kernel's name as in its source.
pub(crate) fn plain(name: String) -> String {
    exec::plain_name(&name).map(str::to_owned).unwrap_or(name)
}

/// What is odd about a trace, each thing once per kernel.
#[derive(Debug, Default)]
pub(crate) struct Remarks {
    notes: Vec<String>,
    kernels: Vec<(String, Oddities)>,
}

impl Remarks {
    pub fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Adds what is odd about one launch of `kernel`.
    pub fn add(&mut self, kernel: &str, oddities: &Oddities) {
        if let Some((_, sum)) = self.kernels.iter_mut().find(|(name, _)| name == kernel) {
            sum.add(oddities);
        } else {
            self.kernels.push((kernel.to_owned(), oddities.clone()));
        }
    }

    pub fn lines(&self) -> Vec<String> {
        let mut lines = self.notes.clone();
        for (kernel, odd) in &self.kernels {
            let counts = [
                (odd.accesses_without_address, "access", "by active lanes without an address: taken for address 0"),
                (odd.accesses_near_zero, "access", "to global memory below 64 KiB, where no allocation is"),
                (odd.accesses_beyond_memory, "access", "at addresses of more than 57 bits, which no GPU has: cut"),
                (odd.warps_without_exit, "warp", "without EXIT at the end"),
            ];
            for unknown in &odd.unknown_opcodes {
                let (opcode, count) = (&unknown.opcode, counted(unknown.count, "warp instruction"));
                lines.push(format!(
                    "{kernel}: the opcode {opcode} ({count}) is in no table: timed as an integer addition"
                ));
            }
            let some = counts.iter().filter(|(n, ..)| *n > 0);
            lines.extend(some.map(|(n, what, how)| format!("{kernel}: {} {how}", counted(*n, what))));
        }
        lines
    }
}
