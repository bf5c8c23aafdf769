//! From counters to joules: the counters of the simulator as events of the power model.
//!
//! A core turns its own counts into events ([`gpu::CoreReport::activity`]); those of the memory system are
//! counted here, as AccelWattch (Kandiah et al., MICRO 2021) counts them in its published sources.
//! `docs/energy.md` has the table and the deviations; two of them are here:
//!
//! - D-E4: a request that waits for data already under way counts as a hit, in L1 as in L2.
//! - D-E5: static power follows the units and lanes in use over a whole kernel, not over 500 cycles.

use crate::design_cost::DesignPower;
use config::GpuConfig;
use energy::{Activity, Coefficients, Energy, Event};
use gpu::AnySnapshot;
use mem::MemoryCounters;
use std::path::Path;

/// Coefficients and voltage that energy and power of a GPU are computed with.
#[derive(Clone, Debug, PartialEq)]
pub struct EnergyModel {
    coefficients: Coefficients,
    volts: f64,
}

impl EnergyModel {
    /// The one that the description of `gpu` names; `None` if it names none.
    ///
    /// # Errors
    /// There is no such model, or its file has mistakes (all are listed).
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

    /// The coefficients that energy is computed with.
    pub fn coefficients(&self) -> &Coefficients {
        &self.coefficients
    }

    /// Chip voltage that energy is computed at.
    pub fn volts(&self) -> f64 {
        self.volts
    }

    /// Energy of the events in `counted` on `gpu`, with the in-order core.
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

/// The counters as events of the power model; `design` is the energy of the core design's own structures.
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
