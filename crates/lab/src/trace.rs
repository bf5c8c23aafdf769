//! Runs Accel-Sim traces.
//!
//! The model is set to what Accel-Sim makes of traces: fetch knows the way, latencies and units
//! are those for machine code, registers are given out in fours per thread, a warp waits for its
//! atomics, kernels run one after the other, and copies from the host leave nothing in L2.

use config::{BranchFetch, GpuConfig};
use gpu::{KernelRun, Machine, RunError, Snapshot, StreamId};
use sm::{Code, CoreOptions, CoreSpec, InOrder, Scoreboard, Silent, TimingTable};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use trace::{Command, Generation, KernelTrace, List, Oddities, TraceShared, TraceStream};

/// Registers per warp are given out in multiples of this: four per thread.
const REGISTER_UNIT: u32 = 4 * kit::WARP_LANES as u32;

/// What a trace runs on.
#[derive(Clone, Debug)]
pub struct TraceSetup {
    /// GPU description.
    pub gpu: GpuConfig,
    /// Warp scheduler; the GPU's own if absent.
    pub scheduler: Option<String>,
    /// Whether the machine code may be of another architecture generation than the GPU.
    pub any_architecture: bool,
}

/// A kernel of a trace, run.
#[derive(Clone, Debug)]
pub struct TraceKernel {
    /// Its name, as the compiler mangled it.
    pub name: String,
    /// Cycles from its turn to its end, launch latency included.
    pub cycles: u64,
    /// What the GPU did in them.
    pub counters: Snapshot,
    /// What is odd about its trace.
    pub oddities: Oddities,
}

/// A trace, run.
#[derive(Clone, Debug)]
pub struct TraceRun {
    /// Its kernels, in order.
    pub kernels: Vec<TraceKernel>,
    /// Host time for reading and simulating.
    pub host_time: Duration,
}

impl TraceRun {
    /// Cycles of all kernels.
    pub fn cycles(&self) -> u64 {
        self.kernels.iter().map(|k| k.cycles).sum()
    }

    /// Warp instructions of all kernels.
    pub fn warp_instructions(&self) -> u64 {
        self.kernels.iter().map(|k| k.counters.sm.warp_instructions).sum()
    }

    /// Thread instructions of all kernels.
    pub fn thread_instructions(&self) -> u64 {
        self.kernels.iter().map(|k| k.counters.sm.thread_instructions).sum()
    }
}

/// Why a trace did not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum TraceRunError {
    /// The trace cannot be used.
    #[error(transparent)]
    Trace(#[from] trace::TraceError),
    /// The GPU description cannot be built.
    #[error("{0}")]
    Setup(String),
    /// The trace and the GPU are of different architectures.
    #[error("{kernel} is machine code for sm_{trace} ({trace_generation:?}), the GPU is sm_{gpu} ({gpu_generation:?})")]
    Architecture {
        /// Kernel name.
        kernel: String,
        /// Compute capability of the trace.
        trace: u32,
        /// Its generation.
        trace_generation: Generation,
        /// Compute capability of the GPU.
        gpu: u32,
        /// Its generation.
        gpu_generation: Generation,
    },
    /// A CTA does not fit on an SM.
    #[error("a CTA of {kernel} does not fit on an SM: too many {limiter}")]
    TooLarge {
        /// Kernel name.
        kernel: String,
        /// What there is too little of.
        limiter: &'static str,
    },
    /// The run failed.
    #[error("{0}")]
    Run(String),
}

/// Runs the `kernelslist.g` at `list`.
///
/// # Errors
/// See [`TraceRunError`].
pub fn run_trace(list: &Path, setup: &TraceSetup) -> Result<TraceRun, TraceRunError> {
    let started = Instant::now();
    let mut gpu = setup.gpu.clone();
    gpu.sm.frontend.branches = BranchFetch::Oracle;
    gpu.sm.register_allocation_unit = REGISTER_UNIT;
    let options = CoreOptions {
        scheduler: setup.scheduler.clone(),
        atomics_hold_warp: true,
        collectors_as_gpgpu_sim: true,
        decode_past_barriers: true,
    };
    let spec = CoreSpec::new(&gpu, TimingTable::Sass, options).map_err(|e| TraceRunError::Setup(e.to_string()))?;
    let spec = Arc::new(spec);
    let shared = TraceShared::new();
    let mut machine: Machine<TraceStream, InOrder<Scoreboard>> =
        Machine::new(&gpu, spec.clone(), &(), shared, |_| TraceStream::new(), |_| Silent);
    let mut kernels = Vec::new();
    for command in &List::open(list)?.commands {
        let Command::Kernel(path) = command else { continue };
        let trace = Arc::new(KernelTrace::open(path)?);
        check(&trace, &spec, setup)?;
        let code = Arc::new(Code::new(trace.program.clone(), &spec));
        let id = machine.launch(code, trace.header.shape, StreamId(0));
        let same = machine.shared.launch(trace.clone())?;
        debug_assert_eq!(id, same);
        machine.run(&mut |_| ControlFlow::Continue(())).map_err(|e| TraceRunError::Run(explain(&e)))?;
        machine.shared.close(id);
        kernels.extend(machine.take_ended().into_iter().map(|run| report(run, &trace)));
    }
    Ok(TraceRun { kernels, host_time: started.elapsed() })
}

fn report(run: KernelRun, trace: &KernelTrace) -> TraceKernel {
    TraceKernel {
        name: trace.header.name.clone(),
        cycles: run.end - run.start,
        counters: run.counters,
        oddities: trace.oddities.clone(),
    }
}

fn explain(error: &RunError) -> String {
    match error {
        RunError::Fault(fault) => fault.to_string(),
        RunError::Deadlock(deadlock) => deadlock.to_string(),
        RunError::Interrupted => "interrupted".into(),
    }
}

fn check(trace: &KernelTrace, spec: &CoreSpec, setup: &TraceSetup) -> Result<(), TraceRunError> {
    let kernel = || trace.header.name.clone();
    let gpu_generation = Generation::of(spec.sm_version);
    if trace.generation() != gpu_generation && !setup.any_architecture {
        return Err(TraceRunError::Architecture {
            kernel: kernel(),
            trace: trace.header.binary_version,
            trace_generation: trace.generation(),
            gpu: spec.sm_version,
            gpu_generation,
        });
    }
    let occupancy = sm::occupancy(&spec.sm, &trace.header.shape);
    if occupancy.ctas_per_sm == 0 {
        return Err(TraceRunError::TooLarge { kernel: kernel(), limiter: occupancy.limiter.name() });
    }
    Ok(())
}
