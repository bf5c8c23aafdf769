//! Experiments: a workload on a GPU with a core design, and its report.
//!
//! The layer between the simulator and what asks for runs (`request`): everything here returns typed values; nothing
//! prints.
//!
//! One run passes each of these once; a module uses only those above it:
//!
//! | module | role |
//! | --- | --- |
//! | `power`, `packed`, `samples`, [`profile`], [`timeline`], `report`, `error`, `monitor` | data: reports, and why there is none |
//! | `early_reads` | control bits of machine code against the latencies of a description |
//! | [`listing`] | instructions beside their lines of PTX and CUDA |
//! | [`design_cost`], [`energy`], [`attribution`] | from counters to joules, of a run and of its instructions |
//! | `source` | what the warps do: live execution, a recording of it, or a trace, as one type of stream |
//! | `engine` | a machine of any core; the one place of dynamic dispatch |
//! | `other_core` | cores that are not SMs |
//! | `designs`, `core_name`, `for_core` | the core designs, their names and parameters, work with one by its name |
//! | `cores` | builds a machine of any design |
//! | `checkpoint` | what is kept of a run between kernels, and the way back to it |
//! | [`diagnosis`] | why a run takes the time it takes: roofs and rules |
//! | [`changes`] | changes between two runs of the same work |
//! | `setup`, `structures`, `statistics`, `meter` | description of a run, its figures |
//! | `sampling` | what of a run is simulated in time, and what is inferred of the rest |
//! | `simulation` | machine, launches, meter and monitor together |
//! | `device`, `traces` | feed a simulation: as a device that programs use, from files |
//! | [`grouping`] | the kernels of a program by what launched them |
//! | `run`, `kept` | a job, whatever it is; what is kept of it |
//! | `summed` | the statistics of several launches together |

#![warn(missing_docs)]

pub mod attribution;
pub mod changes;
mod checkpoint;
pub mod core_cost;
mod core_name;
mod cores;
pub mod design_cost;
mod designs;
mod device;
pub mod diagnosis;
mod early_reads;
pub mod energy;
mod engine;
mod error;
mod export;
mod for_core;
mod functional;
pub mod grouping;
mod kept;
pub mod listing;
mod memory_checks;
mod meter;
mod monitor;
mod other_core;
mod packed;
mod power;
pub mod profile;
mod registers;
mod report;
mod run;
mod samples;
mod sampling;
mod setup;
mod sgmf;
mod simulation;
mod source;
mod statistics;
mod structures;
mod summed;
pub mod timeline;
mod traces;

pub use ::trace::Compression;
pub use checkpoint::{CheckpointPlan, Checkpoints, JobIdentity, MODEL, SavedRun};
pub use core_name::{SCALAR_CHOICES, ScalarChoice, core_parameters, scalar_parameters, with_parameter};
pub use designs::{CORES, DESIGNS, Design, in_order_on_stages_of, stands_for};
pub use device::SimulatedDevice;
pub use early_reads::{EarlyReadFinding, ReadChecker, stalls_without_yield};
pub use error::RunError;
pub use exec::OutOfBounds;
pub use exec::memory::MAX_LOCAL_BYTES;
pub use export::{CORE_OF_TRACES, Export, TraceFormat, convert, export};
pub use for_core::{
    ForCore, check_core, for_core, has_energy, is_sm, is_timed, lacks_hazard_guard, needs_ptx, scheduler_of,
    unread_keys,
};
pub use gpu::{HostThreads, StatInfo, Stats, Value};
pub use kept::{KeptReport, identity_of};
pub use lower::DEFAULT_STACK_BYTES;
pub use memory_checks::{MemoryChecks, MemoryFinding};
pub use monitor::{Details, Monitor, Progress, Unattended};
pub use packed::{PackedStats, Values};
pub use power::{Interval, PowerSeries};
pub use registers::{RegisterChoice, RegisterMode};
pub use report::{
    CheckResult, EnergyModelInUse, HostFigures, HostScaling, KernelReport, KernelTotal, OccupancyReport, OnThreads,
    RegisterSource, Report, summed_by_kernel,
};
pub use run::{
    Job, audit, check_scheduler, cores, run, run_design, run_kept, scheduler_parameters, scheduler_with, schedulers,
};
pub use samples::{Overview, Sample, SampleSeries};
pub use sampling::{Began, Filled, GroupSample, How, LaunchSample, Likeness, Sampling, Time, Which};
pub use setup::Setup;
pub use sgmf::{FabricCompiler, Unmapped};
pub use simulation::clusters_at_once;
pub use sm::{Example, Findings, Party, Structure, Violation};
pub use statistics::schema;
pub use structures::{hardware, in_order, structures};
pub use summed::summed;
pub use traces::{LIST_FILE, NATIVE_FILE, is_trace};
