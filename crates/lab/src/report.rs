//! The report of a run: one typed schema for the text and the JSON.

use crate::changes::Changes;
use crate::diagnosis::Diagnosis;
use crate::grouping::Grouping;
use crate::memory_checks::MemoryChecks;
use crate::packed::{self, PackedStats};
use crate::power::PowerSeries;
use crate::profile::Profile;
use crate::samples::{Overview, SampleSeries};
use crate::sampling::Sampling;
use crate::summed::summed;
use crate::timeline::SmTimeline;
use gpu::Stats;
use gpu::{Prediction, Scaling};
use isa::Dim3;
use serde::de::Deserializer;
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use sm::{Example, Findings, Party, Violation};
use workloads::Form;

/// Source of the number of registers per thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RegisterSource {
    /// Estimated from the liveness of virtual registers; or the maximum of the GPU, if the compiler allots more to the
    /// kernel on newer ones. Spills are not simulated then (registers that are allocated here have theirs).
    Estimated,
    /// From the machine-code compiler's output for the kernel.
    Compiled,
    /// From register allocation here, which the instructions run with.
    Allocated,
    /// From the launch file or the command line.
    Given,
}

/// How many CTAs fit on an SM, and the limiter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct OccupancyReport {
    pub ctas_per_sm: u32,
    /// Warps per SM of those.
    pub warps_per_sm: u32,
    /// Warps per SM as a share of the warp slots, in percent.
    pub theoretical_percent: f64,
    /// The resource that the next CTA lacks.
    pub limiter: String,
}

/// A kernel launch and its statistics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct KernelReport {
    /// Number of the launch, from 0.
    pub launch: u32,
    pub name: String,
    /// Number of its stream: launches of one run in order.
    pub stream: u32,
    /// Code that was executed.
    pub code: Form,
    /// Number of CTAs in each dimension.
    #[serde(serialize_with = "dim3", deserialize_with = "of_dim3")]
    pub grid: Dim3,
    /// Threads of a CTA in each dimension.
    #[serde(serialize_with = "dim3", deserialize_with = "of_dim3")]
    pub block: Dim3,
    /// Registers per thread that occupancy was computed with.
    pub registers_per_thread: u32,
    /// Source of that number.
    pub register_source: RegisterSource,
    /// Shared memory per CTA.
    pub shared_bytes: u32,
    pub occupancy: OccupancyReport,
    /// Cycle of the launch: the launch latency begins.
    pub start_cycle: u64,
    /// Statistics; where kernels overlap, of the whole GPU while this one ran.
    pub statistics: PackedStats,
}

/// All launches of a kernel together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct KernelTotal {
    pub name: String,
    /// Those that have ended.
    pub launches: u64,
    /// Their statistics; where kernels overlap, of the whole GPU while these ran.
    pub statistics: PackedStats,
}

fn dim3<S: Serializer>(d: &Dim3, serializer: S) -> Result<S::Ok, S::Error> {
    [d.x, d.y, d.z].serialize(serializer)
}

fn of_dim3<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Dim3, D::Error> {
    <[u32; 3]>::deserialize(deserializer).map(|[x, y, z]| Dim3::new(x, y, z))
}

/// Energy model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct EnergyModelInUse {
    /// Name of the coefficients.
    pub name: String,
    pub volts: f64,
    /// Core clock, in MHz.
    pub core_mhz: f64,
}

/// Outcome of the comparison with the host reference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct CheckResult {
    pub passed: bool,
    /// The comparison made, or the difference found: count, first place, expected and found.
    pub details: String,
}

/// Time and memory of the simulation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostFigures {
    /// Wall-clock time of the simulation proper; of a trace, with reading it.
    pub seconds: f64,
    /// Simulated core cycles per second, launch latencies included.
    pub cycles_per_second: f64,
    /// Simulated warp instructions per second.
    pub warp_instructions_per_second: f64,
    /// Maximum memory that the whole process has held so far (resident set); absent where the system
    /// does not report it.
    pub peak_memory_bytes: Option<u64>,
    /// How long it would take on several host threads, if that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaling: Option<HostScaling>,
}

/// How long a simulation would take on several host threads, from what the parts of its windows took on one
/// ([`gpu::Scaling`]).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostScaling {
    /// Between tasks: exchange, merge, dispatch, which one thread does.
    pub alone_seconds: f64,
    /// In tasks: cores and memory system.
    pub task_seconds: f64,
    /// In the memory system, which is one of them.
    pub memory_seconds: f64,
    /// Cost on this host of sharing a round with a second thread.
    pub handover_seconds: f64,
    /// By the number of threads.
    pub threads: Vec<OnThreads>,
}

/// The time on a number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct OnThreads {
    pub threads: usize,
    pub seconds: f64,
    /// Over one thread.
    pub times_faster: f64,
}

impl HostScaling {
    /// The prediction from `measured`.
    pub(crate) fn of(measured: &Scaling) -> Self {
        let handover = gpu::handover();
        let predictions = measured.predictions(handover);
        let one = predictions.first().map_or(0.0, |first| first.seconds);
        let on = |p: &Prediction| OnThreads { threads: p.threads, seconds: p.seconds, times_faster: one / p.seconds };
        Self {
            alone_seconds: measured.alone_seconds(),
            task_seconds: measured.task_seconds(),
            memory_seconds: measured.memory_seconds(),
            handover_seconds: handover.as_secs_f64(),
            threads: predictions.iter().map(on).collect(),
        }
    }
}

/// `VmHWM` of this process, as Linux counts it.
pub(crate) fn peak_memory_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

fn findings<S: Serializer>(found: &Option<Findings>, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Audit {
        instructions: u64,
        dependences: u64,
        violations: Vec<Found>,
    }
    #[derive(Serialize)]
    struct Found {
        kind: &'static str,
        count: u64,
        first: First,
    }
    #[derive(Serialize)]
    struct First {
        kernel: Option<String>,
        cycle: u64,
        warp: u16,
        younger: Option<Instruction>,
        what: String,
        older: Option<Instruction>,
    }
    #[derive(Serialize)]
    struct Instruction {
        pc: u32,
        text: String,
        issued: Option<u64>,
    }
    let instruction = |party: Party| Instruction { pc: party.pc.0, text: party.text, issued: party.issued };
    let first = |Example { kernel, cycle, warp, younger, what, older }: Example| First {
        kernel,
        cycle,
        warp: warp.0,
        younger: younger.map(instruction),
        what,
        older: older.map(instruction),
    };
    let audit = |found: &Findings| Audit {
        instructions: found.instructions,
        dependences: found.dependences,
        violations: Violation::ALL
            .iter()
            .filter_map(|&kind| {
                let first = first(found.first(kind)?.clone());
                Some(Found { kind: kind.name(), count: found.count(kind), first })
            })
            .collect(),
    };
    found.as_ref().map(audit).serialize(serializer)
}

/// The report of a run, complete or not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct Report {
    /// Version of this schema.
    pub schema: u32,
    /// Version of the simulator.
    pub version: String,
    /// The workload's name with its parameters, the launch file, or the trace.
    pub workload: String,
    /// Name of the GPU description.
    pub gpu: String,
    /// Name of the core design, with its parameters.
    pub core: String,
    pub scheduler: String,
    /// Values changed on the command line, as `key=value`.
    pub settings: Vec<String>,
    /// Whether the run ended early (Ctrl-C, cycle limit): the figures are of what was simulated.
    pub interrupted: bool,
    /// Why the run failed, if it did: the figures are of what was simulated until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Kernel launches in order of their end.
    pub kernels: Vec<KernelReport>,
    /// Statistics of the whole run.
    #[serde(deserialize_with = "packed::statistics")]
    pub total: Stats,
    /// Reads and writes of each L2 slice.
    #[serde(default)]
    pub l2_slice_accesses: Vec<u64>,
    /// Statistics of each kernel over its launches that have ended. They follow from the launches' statistics.
    #[serde(skip)]
    pub by_kernel: Vec<KernelTotal>,
    /// Energy model; absent if the GPU has none.
    pub energy_model: Option<EnergyModelInUse>,
    /// Power over time, if asked for.
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub power: Option<PowerSeries>,
    /// Statistics over time, if asked for; in no JSON.
    #[serde(skip)]
    pub samples: Option<SampleSeries>,
    /// The run over time, if it was asked for and no intervals were; in no JSON.
    #[serde(skip)]
    pub overview: Option<Overview>,
    /// Anomalies of the input, and choices that were made for the user.
    pub remarks: Vec<String>,
    /// Output of the kernels and of the launch file.
    pub output: Vec<String>,
    /// Comparison with the host reference, where there is one.
    pub check: Option<CheckResult>,
    /// Findings of the hazard auditors, if the run was audited.
    #[serde(serialize_with = "findings", skip_deserializing)]
    pub audit: Option<Findings>,
    /// Where issue slots and time went, by instruction, if that was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// Cycle-by-cycle records, if requested. They have files of their own.
    #[serde(skip)]
    pub timelines: Vec<SmTimeline>,
    /// The part simulated in time, and inferences about the rest, unless all was simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<Sampling>,
    /// The kernels by what launched them, of a program whose user has asked for it.
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub grouping: Option<Grouping>,
    /// Findings about memory accesses, if they were checked.
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub memory_checks: Option<MemoryChecks>,
    /// Why it took the time it took; absent for cores that are not SMs or have no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<Diagnosis>,
    /// The changes from the baseline, if there is one.
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub changes: Option<Changes>,
    /// Time and memory of the simulation on this machine.
    pub host: HostFigures,
}

/// Version of the schema.
pub(crate) const SCHEMA: u32 = 2;

impl Report {
    /// The report in the JSON that a run has written.
    ///
    /// # Errors
    /// It is not the report of a run, or a part is damaged.
    pub fn read(json: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Head {
            schema: Option<u32>,
            columns: Option<serde::de::IgnoredAny>,
            kernels: Option<serde::de::IgnoredAny>,
            total: Option<serde::de::IgnoredAny>,
        }
        let head: Head = serde_json::from_slice(json).map_err(|e| format!("not JSON of a report: {e}"))?;
        match head {
            Head { columns: Some(_), .. } => Err("the results of a comparison, not of one run".to_owned()),
            Head { kernels: None, .. } | Head { total: None, .. } => Err("not the report of a run".to_owned()),
            Head { schema: Some(SCHEMA), .. } => {
                let mut report: Self = serde_json::from_slice(json).map_err(|e| format!("damaged: {e}"))?;
                if report.profile.as_ref().is_some_and(|profile| profile.checked_slots().is_none()) {
                    return Err("damaged: its profile has too many issue slots".to_owned());
                }
                report.by_kernel = summed_by_kernel(&report.kernels);
                Ok(report)
            }
            Head { schema, .. } => {
                let schema = schema.map_or_else(|| "none".to_owned(), |schema| schema.to_string());
                Err(format!("of another version of warpwright: its schema is {schema}, here {SCHEMA}"))
            }
        }
    }

    /// Code of the kernels, if it is the same for all.
    pub fn code(&self) -> Option<Form> {
        let first = self.kernels.first()?.code;
        self.kernels.iter().all(|kernel| kernel.code == first).then_some(first)
    }

    /// The report of the launches of the kernel called `name` only; `None` if none has ended.
    pub fn of_kernel(&self, name: &str) -> Option<Self> {
        let total = self.by_kernel.iter().find(|kernel| kernel.name == name && kernel.launches > 0)?;
        Some(Self {
            kernels: self.kernels.iter().filter(|kernel| kernel.name == name).cloned().collect(),
            total: total.statistics.unpacked(),
            by_kernel: vec![total.clone()],
            ..self.clone()
        })
    }
}

/// The launches of each kernel together, in the order of the first launch of each.
pub fn summed_by_kernel(launches: &[KernelReport]) -> Vec<KernelTotal> {
    let mut names: Vec<&str> = Vec::new();
    for launch in launches {
        if !names.contains(&launch.name.as_str()) {
            names.push(&launch.name);
        }
    }
    let total = |name: &&str| {
        let of = || launches.iter().filter(|launch| launch.name == **name);
        let statistics = summed(of().map(|launch| &launch.statistics)).into();
        KernelTotal { name: (*name).to_owned(), launches: of().count() as u64, statistics }
    };
    names.iter().map(total).collect()
}
