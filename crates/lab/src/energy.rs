//! From what a run counted to joules: the counters of the simulator as events of the power model.
//!
//! Which of our counts are which of its events follows AccelWattch (Kandiah et al., MICRO 2021) as its
//! published sources count them in Accel-Sim; deviations are numbered. `docs/energy.md` has the table.
//!
//! - D-E1: registers are counted by active lanes; Accel-Sim counts all 32 lanes of a warp.
//! - D-E2: operands from elsewhere (immediates, constants, predicates) are not counted. AccelWattch
//!   counts none in machine code either; GPUWattch does in PTX.
//! - D-E3: a constant read as operand of an arithmetic instruction is no access to the constant cache.
//! - D-E4: a request that waits for data already under way counts as a hit, in L1 as in L2.
//! - D-E5: static power follows the units and lanes in use over a whole kernel, not over 500 cycles.

use crate::design_cost::{DesignPower, in_order};
use crate::report::EnergyModelInUse;
use crate::{Setup, structures};
use config::GpuConfig;
use energy::{Activity, Coefficients, Component, Energy, Event};
use gpu::Snapshot;
use isa::OpClass;
use kit::WARP_LANES;
use mem::cache::CacheCounters;
use serde::Serialize;
use sm::{Structure, Work};
use std::num::NonZeroU64;
use std::path::Path;

/// What energy and power of a GPU are computed with.
#[derive(Clone, Debug, PartialEq)]
pub struct EnergyModel {
    coefficients: Coefficients,
    volts: f64,
}

impl EnergyModel {
    /// The one that the description of `gpu` names; `None` if it names none.
    ///
    /// # Errors
    /// There is no such model, or its file is wrong: everything that is.
    pub fn of(gpu: &GpuConfig) -> Result<Option<Self>, String> {
        gpu.energy.model.as_ref().map(|name| Self::named(Path::new(name), gpu)).transpose()
    }

    /// One that comes with the program or is in a file, for the description `gpu`.
    ///
    /// # Errors
    /// As [`EnergyModel::of`].
    pub fn named(name_or_path: &Path, gpu: &GpuConfig) -> Result<Self, String> {
        let coefficients = coefficients(name_or_path)?;
        let volts = gpu.energy.volts.unwrap_or(coefficients.volts);
        Ok(Self { coefficients, volts })
    }

    /// Its coefficients.
    pub fn coefficients(&self) -> &Coefficients {
        &self.coefficients
    }

    /// Chip voltage.
    pub fn volts(&self) -> f64 {
        self.volts
    }

    /// Energy of what `counted` says on `gpu`, with the in-order core.
    pub fn energy(&self, counted: &Snapshot, gpu: &GpuConfig) -> Energy {
        self.coefficients.energy(&activity(counted, gpu, DesignPower::default()), self.volts)
    }
}

/// Coefficients that come with the program, or those in a file.
fn coefficients(path: &Path) -> Result<Coefficients, String> {
    let name = &*kit::text::excerpt(&path.to_string_lossy());
    let known = || Coefficients::builtin().collect::<Vec<_>>().join(", ");
    let parsed = match path.to_str().and_then(Coefficients::of) {
        Some(parsed) => parsed,
        None => {
            let text = kit::files::read_text(path).map_err(|e| {
                let known = known();
                format!("there is no energy model `{name}` and the file cannot be read: {e}\n  hint: models that come with the program: {known}; docs/energy.md describes files of your own")
            })?;
            Coefficients::parse(&text)
        }
    };
    parsed.map_err(|e| format!("energy model `{name}`:\n{e}"))
}

/// What `counted` says as events of the power model, `design` being what the core design's own structures
/// take.
pub fn activity(counted: &Snapshot, gpu: &GpuConfig, design: DesignPower) -> Activity {
    let s = counted;
    let cycles = s.cycles as f64;
    let sms = f64::from(gpu.sm_count);
    let mut activity = Activity {
        seconds: cycles / (gpu.clocks.core_mhz * 1e6),
        lanes: mean_lanes(s),
        active_sms: if s.cycles > 0 { s.sm.active_cycles as f64 / cycles } else { 0.0 },
        sms,
        design_pj: design.dynamic_pj,
        design_leakage_watts: design.leakage_watts,
        ..Activity::default()
    };
    let events = &mut activity.events;
    let mut count = |event: Event, n: u64| events[event] += n as f64;
    count(Event::Decode, s.sm.decoded);
    count(Event::Schedule, OpClass::ALL.iter().filter(|c| !is_memory(**c)).map(|c| s.classes.0[*c as usize]).sum());
    count(Event::IcacheHit, s.sm.fetches - s.sm.fetch_misses);
    count(Event::IcacheMiss, s.sm.fetch_misses);
    for &work in Work::ALL {
        if let Some(event) = event_of(work) {
            count(event, s.works.0[work as usize]);
        }
    }
    count(Event::IntAdd, s.classes.0[OpClass::Uniform as usize]);
    count(Event::SharedAccess, s.sm.shared_accesses + s.sm.shared_conflict_cycles);
    count(Event::L1ReadHit, read_hits(&s.l1d));
    count(Event::L1ReadMiss, read_misses(&s.l1d));
    count(Event::L1WriteHit, s.l1d.write_hits + s.l1d.write_merges);
    count(Event::L1WriteMiss, s.l1d.write_misses);
    if gpu.sm.perfect_instruction_and_constant_caches {
        count(Event::ConstantHit, s.sm.constant_accesses);
    }
    count(Event::ConstantHit, read_hits(&s.constant));
    count(Event::ConstantMiss, read_misses(&s.constant));
    count(Event::TextureHit, read_hits(&s.texture));
    count(Event::TextureMiss, read_misses(&s.texture));
    count(Event::CrossbarFlit, s.memory.requests.flits + s.memory.replies.flits);
    count(Event::L2ReadHit, read_hits(&s.memory.l2));
    count(Event::L2ReadMiss, read_misses(&s.memory.l2));
    count(Event::L2WriteHit, s.memory.l2.write_hits + s.memory.l2.write_merges);
    count(Event::L2WriteMiss, s.memory.l2.write_misses);
    count(Event::DramRead, s.memory.dram.read_commands);
    count(Event::DramWrite, s.memory.dram.write_commands);
    count(Event::DramPrecharge, s.memory.dram.precharges);
    // What the scalar path keeps from lanes is in no count of theirs; its own register file and detector
    // are structures of the design. A copy from there writes a register of all lanes.
    count(Event::RegisterRead, s.sm.lane_reads);
    count(Event::RegisterWrite, s.sm.lane_writes + s.scalar.scalar_copies * WARP_LANES as u64);
    let full = (WARP_LANES as f64) * f64::from(gpu.sm.writeback_width) * sms;
    events[Event::PipelineDuty] = (s.sm.thread_instructions - s.scalar.lane_operations_saved) as f64 / full;
    activity
}

/// The event of a lane's work; `None` if it costs nothing there.
const fn event_of(work: Work) -> Option<Event> {
    Some(match work {
        Work::None | Work::Memory => return None,
        Work::IntAdd => Event::IntAdd,
        Work::IntMul => Event::IntMul,
        Work::IntDiv => Event::IntDiv,
        Work::FpAdd => Event::FpAdd,
        Work::FpMul => Event::FpMul,
        Work::FpDiv => Event::FpDiv,
        Work::DpAdd => Event::DpAdd,
        Work::DpMul => Event::DpMul,
        Work::DpDiv => Event::DpDiv,
        Work::Sqrt => Event::Sqrt,
        Work::Log => Event::Log,
        Work::Sin => Event::Sin,
        Work::Exp => Event::Exp,
        Work::Tensor => Event::Tensor,
        Work::Texture => Event::Texture,
    })
}

const fn is_memory(class: OpClass) -> bool {
    use OpClass::{AsyncCopy, Atomic, Load, MatrixLoad, Store, Texture};
    matches!(class, Load | Store | Atomic | AsyncCopy | MatrixLoad | Texture)
}

/// Whether the class is one of the arithmetic units'.
const fn is_arithmetic(class: OpClass) -> bool {
    use OpClass::{Barrier, Branch, Exit, Fence, Nop, Texture, Uniform};
    matches!(class, Texture) || !is_memory(class) && !matches!(class, Nop | Branch | Exit | Barrier | Fence | Uniform)
}

/// Active lanes of an instruction of the arithmetic units, in the mean.
fn mean_lanes(s: &Snapshot) -> f64 {
    let lanes: u64 = Work::ALL.iter().filter(|w| w.is_arithmetic()).map(|w| s.works.0[*w as usize]).sum();
    let instructions: u64 = OpClass::ALL.iter().filter(|c| is_arithmetic(**c)).map(|c| s.classes.0[*c as usize]).sum();
    if instructions > 0 { lanes as f64 / instructions as f64 } else { 0.0 }
}

const fn read_hits(c: &CacheCounters) -> u64 {
    c.read_hits + c.read_merges
}

const fn read_misses(c: &CacheCounters) -> u64 {
    c.read_misses + c.read_sector_misses
}

/// Power over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PowerSeries {
    /// Length of an interval in core cycles; the last one may be shorter.
    pub interval_cycles: u64,
    /// The intervals in order, without gaps.
    pub intervals: Vec<Interval>,
}

/// A stretch of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// Its first core cycle.
    pub start_cycle: u64,
    /// The core cycle after its last.
    pub end_cycle: u64,
    /// What it took.
    pub energy: Energy,
}

impl Serialize for Interval {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("start_cycle", &self.start_cycle)?;
        map.serialize_entry("end_cycle", &self.end_cycle)?;
        map.serialize_entry("seconds", &self.energy.seconds)?;
        map.serialize_entry("watts", &self.energy.total_watts())?;
        for (component, _) in self.energy.parts() {
            map.serialize_entry(component.name(), &self.energy.watts(component))?;
        }
        map.end()
    }
}

impl PowerSeries {
    /// As a table: a line for each interval, watts by component.
    pub fn csv(&self) -> String {
        let names: Vec<&str> = Component::ALL.iter().map(|c| c.name()).collect();
        let mut out = format!("start_cycle,end_cycle,seconds,watts,{}\n", names.join(","));
        for Interval { start_cycle, end_cycle, energy } in &self.intervals {
            out += &format!("{start_cycle},{end_cycle},{:e},{}", energy.seconds, energy.total_watts());
            Component::ALL.iter().for_each(|&c| out += &format!(",{}", energy.watts(c)));
            out.push('\n');
        }
        out
    }
}

/// Counts of a stretch of time, not yet energy: static power is known when the run has ended.
#[derive(Clone, Debug)]
struct Stretch {
    end_cycle: u64,
    activity: Activity,
}

/// Turns the counters of a run into energy as it goes on.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    model: Option<EnergyModel>,
    gpu: GpuConfig,
    /// Structures of the core design and those of the in-order core, whose energy is that of events;
    /// none of a design that is not registered.
    structures: Option<[Vec<Structure>; 2]>,
    interval: Option<NonZeroU64>,
    last: Snapshot,
    stretches: Vec<Stretch>,
    /// Static power of the kernels by their SMs' active cycles, and these.
    weighted_static: (f64, f64),
}

impl Meter {
    pub fn new(setup: &Setup) -> Self {
        let model = setup.energy.clone().ok().flatten();
        Self {
            interval: setup.power_interval.filter(|_| model.is_some()),
            model,
            gpu: setup.gpu.clone(),
            structures: structures(setup).ok().zip(in_order(setup).ok()).map(|(own, in_order)| [own, in_order]),
            last: Snapshot::default(),
            stretches: Vec::new(),
            weighted_static: (0.0, 0.0),
        }
    }

    /// How often samples are wanted.
    pub fn interval(&self) -> Option<NonZeroU64> {
        self.interval
    }

    /// What energy is computed with.
    pub fn model_in_use(&self) -> Option<EnergyModelInUse> {
        let EnergyModel { coefficients, volts } = self.model.as_ref()?;
        Some(EnergyModelInUse { name: coefficients.name.clone(), volts: *volts, core_mhz: self.gpu.clocks.core_mhz })
    }

    /// Counters since the start, one interval after the other.
    pub fn add_samples(&mut self, samples: Vec<Snapshot>) {
        for sample in samples {
            let activity = self.activity(&sample.since(&self.last));
            self.stretches.push(Stretch { end_cycle: sample.cycles, activity });
            self.last = sample;
        }
    }

    /// What `counted` says as events, with the energy of the core design's own structures.
    fn activity(&self, counted: &Snapshot) -> Activity {
        let beyond = |(model, cores): (&EnergyModel, &[Vec<Structure>; 2])| {
            let of = |core: &Vec<Structure>| DesignPower::of(core, counted, self.gpu.sm_count, &model.coefficients);
            let [own, in_order] = cores.each_ref().map(of);
            own.beyond(&in_order)
        };
        let design = self.model.as_ref().zip(self.structures.as_ref());
        activity(counted, &self.gpu, design.map(beyond).unwrap_or_default())
    }

    /// Energy of a kernel that has ended.
    pub fn of_kernel(&mut self, counted: &Snapshot) -> Option<Energy> {
        let EnergyModel { coefficients, volts } = self.model.as_ref()?;
        let activity = self.activity(counted);
        let (static_watts, active) = (coefficients.static_watts(&activity), counted.sm.active_cycles as f64);
        self.weighted_static.0 += static_watts * active;
        self.weighted_static.1 += active;
        Some(coefficients.energy_with_static(&activity, *volts, static_watts))
    }

    /// Energy of the run, whose kernels have been told: its static power is the mean of theirs, so that
    /// kernels that follow each other add up to the run.
    pub fn of_run(&self, counted: &Snapshot) -> Option<Energy> {
        let EnergyModel { coefficients, volts } = self.model.as_ref()?;
        let activity = self.activity(counted);
        Some(coefficients.energy_with_static(&activity, *volts, self.static_watts()))
    }

    fn static_watts(&self) -> f64 {
        let (sum, active) = self.weighted_static;
        if active > 0.0 { sum / active } else { 0.0 }
    }

    /// Power over time up to `now`, if it is wanted.
    pub fn series(&self, now: &Snapshot) -> Option<PowerSeries> {
        let EnergyModel { coefficients, volts } = self.model.as_ref()?;
        let interval_cycles = self.interval?.get();
        let rest = self.activity(&now.since(&self.last));
        let rest = (now.cycles > self.last.cycles).then_some(Stretch { end_cycle: now.cycles, activity: rest });
        let mut start_cycle = 0;
        let intervals = self.stretches.iter().chain(&rest).map(|Stretch { end_cycle, activity }| {
            let energy = coefficients.energy_with_static(activity, *volts, self.static_watts());
            let interval = Interval { start_cycle, end_cycle: *end_cycle, energy };
            start_cycle = *end_cycle;
            interval
        });
        Some(PowerSeries { interval_cycles, intervals: intervals.collect() })
    }
}
