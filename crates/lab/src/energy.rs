//! From what a run counted to joules: the counters of the simulator as events of the power model.
//!
//! A core turns its own counts into events ([`gpu::CoreReport::activity`]); those of the memory system are
//! counted here, as AccelWattch (Kandiah et al., MICRO 2021) counts them in its published sources.
//! `docs/energy.md` has the table and the deviations; two of them are here:
//!
//! - D-E4: a request that waits for data already under way counts as a hit, in L1 as in L2.
//! - D-E5: static power follows the units and lanes in use over a whole kernel, not over 500 cycles.

use crate::design_cost::{DesignPower, in_order};
use crate::report::EnergyModelInUse;
use crate::{Setup, structures};
use config::GpuConfig;
use energy::{Activity, Coefficients, Component, Energy, Event};
use gpu::AnySnapshot;
use mem::MemoryCounters;
use serde::Serialize;
use sm::Structure;
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
    pub fn energy(&self, counted: &AnySnapshot, gpu: &GpuConfig) -> Energy {
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

/// What `counted` says as events of the power model; `design` is what the core design's own structures take.
pub fn activity(counted: &AnySnapshot, gpu: &GpuConfig, design: DesignPower) -> Activity {
    let mut activity = Activity {
        design_pj: design.dynamic_pj,
        design_leakage_watts: design.leakage_watts,
        ..counted.core.activity(counted.cycles, gpu)
    };
    let MemoryCounters { requests, replies, l2, dram, .. } = &counted.memory;
    let mut count = |event: Event, n: u64| activity.events[event] += n as f64;
    count(Event::CrossbarFlit, requests.flits + replies.flits);
    count(Event::L2ReadHit, l2.reads_served());
    count(Event::L2ReadMiss, l2.reads_missed());
    count(Event::L2WriteHit, l2.writes_served());
    count(Event::L2WriteMiss, l2.write_misses);
    count(Event::DramRead, dram.read_commands);
    count(Event::DramWrite, dram.write_commands);
    count(Event::DramPrecharge, dram.precharges);
    activity
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

/// Events of an interval, not yet energy: static power is known when the run has ended.
#[derive(Clone, Debug)]
struct Stretch {
    end_cycle: u64,
    activity: Activity,
}

/// Turns the counters of a run into energy while it runs.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    model: Option<EnergyModel>,
    gpu: GpuConfig,
    /// Structures of the core design and those of the in-order core, whose energy is that of events;
    /// none of a design that is not registered.
    structures: Option<[Vec<Structure>; 2]>,
    interval: Option<NonZeroU64>,
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
            stretches: Vec::new(),
            weighted_static: (0.0, 0.0),
        }
    }

    /// Interval of the samples that it needs.
    pub fn interval(&self) -> Option<NonZeroU64> {
        self.interval
    }

    /// What energy is computed with.
    pub fn model_in_use(&self) -> Option<EnergyModelInUse> {
        let EnergyModel { coefficients, volts } = self.model.as_ref()?;
        Some(EnergyModelInUse { name: coefficients.name.clone(), volts: *volts, core_mhz: self.gpu.clocks.core_mhz })
    }

    /// Adds what was counted in the next interval.
    pub fn add_interval(&mut self, counted: &AnySnapshot) {
        let stretch = self.stretch(counted);
        self.stretches.push(stretch);
    }

    /// What was counted after the last interval.
    fn stretch(&self, counted: &AnySnapshot) -> Stretch {
        let start_cycle = self.stretches.last().map_or(0, |last| last.end_cycle);
        Stretch { end_cycle: start_cycle + counted.cycles, activity: self.activity(counted) }
    }

    /// What `counted` says as events, with the energy of the core design's own structures.
    fn activity(&self, counted: &AnySnapshot) -> Activity {
        let beyond = |(model, cores): (&EnergyModel, &[Vec<Structure>; 2])| {
            let of = |core: &Vec<Structure>| DesignPower::of(core, counted, self.gpu.sm_count, &model.coefficients);
            let [own, in_order] = cores.each_ref().map(of);
            own.beyond(&in_order)
        };
        let design = self.model.as_ref().zip(self.structures.as_ref());
        activity(counted, &self.gpu, design.map(beyond).unwrap_or_default())
    }

    /// Energy of a kernel that has ended.
    pub fn of_kernel(&mut self, counted: &AnySnapshot) -> Option<Energy> {
        let EnergyModel { coefficients, volts } = self.model.as_ref()?;
        let activity = self.activity(counted);
        let (static_watts, active) = (coefficients.static_watts(&activity), counted.core.active_cycles() as f64);
        self.weighted_static.0 += static_watts * active;
        self.weighted_static.1 += active;
        Some(coefficients.energy_with_static(&activity, *volts, static_watts))
    }

    /// Energy of the run, whose kernels have been metered: its static power is the mean of theirs, so that
    /// kernels that follow each other add up to the run.
    pub fn of_run(&self, counted: &AnySnapshot) -> Option<Energy> {
        let EnergyModel { coefficients, volts } = self.model.as_ref()?;
        let activity = self.activity(counted);
        Some(coefficients.energy_with_static(&activity, *volts, self.static_watts()))
    }

    fn static_watts(&self) -> f64 {
        let (sum, active) = self.weighted_static;
        if active > 0.0 { sum / active } else { 0.0 }
    }

    /// Power over time, if it is requested; `rest` was counted after the last interval.
    pub fn series(&self, rest: &AnySnapshot) -> Option<PowerSeries> {
        let EnergyModel { coefficients, volts } = self.model.as_ref()?;
        let interval_cycles = self.interval?.get();
        let rest = (rest.cycles > 0).then(|| self.stretch(rest));
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
