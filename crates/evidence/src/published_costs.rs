//! Our figures for areas and power that papers publish.

use crate::published::{self, Measure};
use lab::design_cost::{DesignCost, Process};
use lab::{RunError, Setup, hardware, structures};

/// Our figure for a published cost.
///
/// # Errors
/// The description of the GPU cannot be built.
pub fn ours(figure: &published::Cost) -> Result<f64, RunError> {
    let overrides: Vec<String> =
        figure.buffer_entries.map(|n| format!("sm.frontend.buffer_entries={n}")).into_iter().collect();
    let gpu = config::load_with(&figure.gpu, &overrides).map_err(|e| RunError::input(e.to_string()))?;
    let (sms, schedulers) = (f64::from(gpu.sm_count), f64::from(gpu.sm.issue.schedulers));
    let process = Process { node_nm: figure.node_nm, volts: figure.volts };
    if figure.measure == Measure::CoreMm2 {
        let setup = Setup { core: figure.core.clone(), ..Setup::new(gpu) };
        let hardware = hardware(&setup, process).map_err(RunError::input)?;
        return hardware.map(|of| of.area_mm2()).ok_or_else(|| {
            RunError::input(format!("core `{}` has no area of its own: it is an SM or no hardware", figure.core))
        });
    }
    let of = |core: &str| {
        let mut all = structures(&Setup { core: core.to_owned(), ..Setup::new(gpu.clone()) })?;
        all.retain(|s| figure.structures.is_empty() || figure.structures.iter().any(|name| name == s.name));
        Ok::<_, RunError>(DesignCost::of(&all, process))
    };
    let cost = match &figure.against {
        Some(baseline) => of(&figure.core)?.beyond(&of(baseline)?),
        None => of(&figure.core)?,
    };
    let watts = cost.idle_watts(figure.core_mhz);
    Ok(match figure.measure {
        Measure::CoreMm2 => cost.area_um2 * 1e-6,
        Measure::DiePercent => 100.0 * cost.area_um2 * 1e-6 * sms / figure.die_mm2,
        Measure::SchedulerUm2 => cost.area_um2 / schedulers,
        Measure::Watts => watts * sms,
        Measure::SchedulerMilliwatts => watts * 1e3 / schedulers,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_can_be_computed_beside_all_that_is_published() {
        for cost in published::costs() {
            assert!(ours(cost).is_ok(), "{cost:?}");
        }
    }

    /// Ours over published. Where that is far from 1, docs/designs say why.
    #[test]
    fn ratios_to_what_is_published() {
        let ratio = |what: &str| {
            let figure = published::costs().iter().find(|c| c.what == what).unwrap_or_else(|| panic!("{what}"));
            ours(figure).unwrap() / figure.value
        };
        let within = |what: &str, low: f64, high: f64| {
            let ratio = ratio(what);
            assert!((low..high).contains(&ratio), "{what}: {ratio}");
        };
        // GhOST's published cost is that of its scheduler here, within a factor of two ...
        within("its GhOST scheduler alone, area at 45 nm", 0.5, 2.0);
        within("its GhOST scheduler alone, power at 45 nm", 0.5, 2.0);
        // ... without the issue buffer's 7,104 bits a scheduler and the checkers.
        within("all it adds, area at 45 nm", 30.0, 80.0);
        within("all it adds, share of the die", 30.0, 80.0);
        within("all it adds, share of the die at 14 nm", 0.2, 0.5);
        within("all it adds, power of free-running clocks", 0.5, 2.0);
    }
}
