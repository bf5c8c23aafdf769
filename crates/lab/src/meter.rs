//! The energy of a run, metered while it runs.

use crate::attribution::ByEvent;
use crate::design_cost::{DesignPower, Process};
use crate::energy::EnergyModel;
use crate::power::{Interval, PowerSeries};
use crate::report::EnergyModelInUse;
use crate::setup::Setup;
use crate::structures::{hardware, in_order, structures};
use config::GpuConfig;
use energy::{Activity, Coefficients, Energy};
use gpu::{AnySnapshot, CoreReport};
use sm::Structure;
use std::num::NonZeroU64;

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
    /// Leakage of the parts of cores that are not SMs.
    added_leakage_watts: f64,
    /// Structures of the core design and of the in-order core, whose energy is in the events;
    /// none of a design that is not registered.
    structures: Option<[Vec<Structure>; 2]>,
    interval: Option<NonZeroU64>,
    stretches: Vec<Stretch>,
    /// Static power of the kernels by their SMs' active cycles, and these.
    weighted_static: (f64, f64),
}

impl Meter {
    /// The meter of a run on machines like `setup`, whose cores have counters like `core`.
    pub fn new(setup: &Setup, core: &dyn CoreReport) -> Self {
        let mut model = setup.energy.clone().ok().flatten().filter(|_| core.has_energy_events());
        let process = model.as_ref().map(|model| Process::from(model.coefficients()));
        let hardware = process.and_then(|process| hardware(setup, process).ok().flatten()).unwrap_or_default();
        model = model.map(|model| model.on(&hardware));
        Self {
            added_leakage_watts: hardware.leakage_watts(setup.gpu.sm_count),
            interval: setup.power_interval.filter(|_| model.is_some()),
            model,
            gpu: setup.gpu.clone(),
            structures: structures(setup).ok().zip(in_order(setup).ok()).map(|(own, in_order)| [own, in_order]),
            stretches: Vec::new(),
            weighted_static: (0.0, 0.0),
        }
    }

    /// Coefficients and voltage, if there is a model.
    fn prices(&self) -> Option<(&Coefficients, f64)> {
        self.model.as_ref().map(|model| (model.coefficients(), model.volts()))
    }

    /// Interval of the samples that it needs.
    pub fn interval(&self) -> Option<NonZeroU64> {
        self.interval
    }

    /// Energy model.
    pub fn model_in_use(&self) -> Option<EnergyModelInUse> {
        let (coefficients, volts) = self.prices()?;
        Some(EnergyModelInUse { name: coefficients.name.clone(), volts, core_mhz: self.gpu.clocks.core_mhz })
    }

    /// Adds what was counted in the next interval.
    pub fn add_interval(&mut self, counted: &AnySnapshot) {
        if self.interval.is_some() {
            let stretch = self.stretch(counted);
            self.stretches.push(stretch);
        }
    }

    /// Counts after the last interval.
    fn stretch(&self, counted: &AnySnapshot) -> Stretch {
        let start_cycle = self.stretches.last().map_or(0, |last| last.end_cycle);
        Stretch { end_cycle: start_cycle + counted.cycles, activity: self.activity(counted) }
    }

    /// The counters as events, with the energy of the core design's own structures.
    fn activity(&self, counted: &AnySnapshot) -> Activity {
        let beyond = |(model, cores): (&EnergyModel, &[Vec<Structure>; 2])| {
            let of = |core: &Vec<Structure>| DesignPower::of(core, counted, self.gpu.sm_count, model.coefficients());
            let [own, in_order] = cores.each_ref().map(of);
            own.beyond(&in_order)
        };
        let design = self.model.as_ref().zip(self.structures.as_ref()).map(beyond).unwrap_or_default();
        Activity {
            design_pj: design.dynamic_pj,
            design_leakage_watts: design.leakage_watts,
            added_leakage_watts: self.added_leakage_watts,
            ..counted.activity(&self.gpu)
        }
    }

    /// Energy of a kernel that has ended.
    pub fn of_kernel(&mut self, counted: &AnySnapshot) -> Option<Energy> {
        let (coefficients, volts) = self.prices()?;
        let activity = self.activity(counted);
        let (static_watts, active) = (coefficients.static_watts(&activity), counted.core.active_cycles() as f64);
        let energy = coefficients.energy_with_static(&activity, volts, static_watts);
        self.weighted_static.0 += static_watts * active;
        self.weighted_static.1 += active;
        Some(energy)
    }

    /// Energy of the run, whose kernels have been metered: its static power is the mean of theirs, so that
    /// kernels that follow each other add up to the run.
    pub fn of_run(&self, counted: &AnySnapshot) -> Option<Energy> {
        let (coefficients, volts) = self.prices()?;
        let activity = self.activity(counted);
        Some(coefficients.energy_with_static(&activity, volts, self.static_watts()))
    }

    /// The same with what of it events took, for [`attribution`](crate::attribution).
    pub fn by_event(&self, counted: &AnySnapshot) -> Option<ByEvent> {
        let (coefficients, volts) = self.prices()?;
        let activity = self.activity(counted);
        Some(ByEvent {
            all: self.of_run(counted)?,
            events: coefficients.event_joules(&activity, volts),
            design: coefficients.design_joules(&activity, volts),
        })
    }

    fn static_watts(&self) -> f64 {
        let (sum, active) = self.weighted_static;
        if active > 0.0 { sum / active } else { 0.0 }
    }

    /// Power over time, if it is requested; `rest` was counted after the last interval.
    pub fn series(&self, rest: &AnySnapshot) -> Option<PowerSeries> {
        let interval_cycles = self.interval?.get();
        let rest = (rest.cycles > 0).then(|| self.stretch(rest));
        self.series_of(interval_cycles, self.stretches.iter().chain(&rest))
    }

    /// Power in each of `intervals`, which follow each other from the start of the run.
    pub fn power_in(&self, intervals: &[AnySnapshot]) -> Option<PowerSeries> {
        let mut end_cycle = 0;
        let stretch = |counted: &AnySnapshot| {
            end_cycle += counted.cycles;
            Stretch { end_cycle, activity: self.activity(counted) }
        };
        let stretches: Vec<Stretch> = intervals.iter().map(stretch).collect();
        self.series_of(intervals.first()?.cycles, &stretches)
    }

    fn series_of<'a>(
        &self,
        interval_cycles: u64,
        stretches: impl IntoIterator<Item = &'a Stretch>,
    ) -> Option<PowerSeries> {
        let (coefficients, volts) = self.prices()?;
        let mut start_cycle = 0;
        let intervals = stretches.into_iter().map(|Stretch { end_cycle, activity }| {
            let energy = coefficients.energy_with_static(activity, volts, self.static_watts());
            let interval = Interval { start_cycle, end_cycle: *end_cycle, energy };
            start_cycle = *end_cycle;
            interval
        });
        Some(PowerSeries { interval_cycles, intervals: intervals.collect() })
    }
}
