//! Area and power of whole core designs.

use crate::design_cost::{DesignCost, Process};
use crate::energy::EnergyModel;
use crate::error::RunError;
use crate::setup::Setup;
use crate::structures::{hardware, in_order, structures};
use energy::Hardware;

/// Cost of a core design on a GPU.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct CoreCost {
    /// Process of the GPU.
    pub process: Process,
    /// Area of its die in square millimetres.
    pub die_mm2: f64,
    pub sms: u32,
    /// All structures of an SM.
    pub all: DesignCost,
    /// The same beyond the in-order core's.
    pub beyond_in_order: DesignCost,
}

impl CoreCost {
    /// The cost of the core that `setup` names; none if its GPU names no energy model.
    ///
    /// # Errors
    /// There is no such design or energy model, or the description cannot be built.
    pub fn of(setup: &Setup) -> Result<Option<Self>, RunError> {
        let Some(model) = EnergyModel::of(&setup.gpu).map_err(RunError::input)? else { return Ok(None) };
        let coefficients = model.coefficients();
        let process = Process::from(coefficients);
        let all = DesignCost::of(&structures(setup)?, process);
        let beyond_in_order = all.beyond(&DesignCost::of(&in_order(setup)?, process));
        Ok(Some(Self { process, die_mm2: coefficients.die_mm2, sms: setup.gpu.sm_count, all, beyond_in_order }))
    }

    /// Percent of the die that `cost` of each SM takes.
    pub fn die_percent(&self, cost: &DesignCost) -> f64 {
        100.0 * cost.area_um2 * 1e-6 * f64::from(self.sms) / self.die_mm2
    }
}

/// Area of a core that is not an SM, by part.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct CoreArea {
    /// Process of the GPU.
    pub process: Process,
    /// Area of its die in square millimetres.
    pub die_mm2: f64,
    pub cores: u32,
    pub hardware: Hardware,
}

impl CoreArea {
    /// The area of the core that `setup` names; `None` of an SM, of a core without hardware, and where the GPU names
    /// no energy model.
    ///
    /// # Errors
    /// There is no such core or energy model, or description and parameters do not fit together.
    pub fn of(setup: &Setup) -> Result<Option<Self>, RunError> {
        let Some(model) = EnergyModel::of(&setup.gpu).map_err(RunError::input)? else { return Ok(None) };
        let (process, die_mm2) = (Process::from(model.coefficients()), model.coefficients().die_mm2);
        let hardware = hardware(setup, process).map_err(RunError::input)?;
        let area = |hardware| Self { process, die_mm2, cores: setup.gpu.sm_count, hardware };
        Ok(hardware.map(area))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design_cost::{DesignPower, cost};
    use energy::Coefficients;
    use sm::{SmTotals, Structure};

    const PROCESS: Process = Process { node_nm: 12.0, volts: 1.0 };

    fn all_of(core: &str, gpu: &str) -> Vec<Structure> {
        let gpu = config::load(gpu).unwrap();
        structures(&Setup { core: core.to_owned(), ..Setup::new(gpu) }).unwrap()
    }

    /// Whether an SM of `gpu` can have the design `core`.
    fn fits(core: &str, gpu: &str) -> bool {
        !core.starts_with("modern") || gpu != "gtx480"
    }

    fn cost_of(core: &str, gpu: &str) -> DesignCost {
        DesignCost::of(&all_of(core, gpu), PROCESS)
    }

    #[test]
    fn larger_designs_cost_more() {
        for chain in [
            &["ghost-4", "ghost", "ghost-16", "ghost-32"][..],
            &["socgpu-4", "socgpu", "socgpu-16", "socgpu-32"],
            &["warpboard-commit", "inorder", "warpboard-read", "bloomboard-1", "bloomboard-2", "inorder-war-exact"],
            &["ghost", "ghost-precise"],
            &["loog-8", "loog-16", "loog", "loog-lsq"],
        ] {
            for pair in chain.windows(2) {
                let more = cost_of(pair[1], "rtx2060s").beyond(&cost_of(pair[0], "rtx2060s"));
                assert!(more.bits > 0.0 && more.area_um2 > 0.0 && more.leakage_uw > 0.0, "{pair:?}: {more:?}");
                assert!(more.clock_pj > 0.0 && more.instruction_pj >= 0.0, "{pair:?}: {more:?}");
            }
        }
    }

    /// A structure that is never used would have no purpose.
    #[test]
    fn every_structure_of_every_design_is_used() {
        for (core, _) in crate::designs::CORES.iter().filter(|(core, _)| crate::for_core::is_sm(core)) {
            for gpu in ["gtx480", "rtx2060s"].into_iter().filter(|gpu| fits(core, gpu)) {
                for s in all_of(core, gpu) {
                    let cost = cost(&s, PROCESS);
                    assert!(s.reads.times > 0 || s.searches.times > 0, "{core}: nobody looks at {s:?}");
                    assert!(s.writes.times > 0 && cost.write_pj > 0.0, "{core}: {s:?}");
                    assert_eq!(s.searches.times > 0, s.storage.compared_bits > 0 || s.storage.matrix, "{core}: {s:?}");
                }
            }
        }
    }

    #[test]
    fn without_events_there_is_only_leakage() {
        let v100 = Coefficients::of("v100").unwrap().unwrap();
        let socgpu = all_of("socgpu", "v100");
        let power = |instructions| {
            let mut counts = gpu::Snapshot::<SmTotals>::default();
            counts.core.sm.warp_instructions = instructions;
            DesignPower::of(&socgpu, &counts.erased(), 80, &v100)
        };
        let [idle, busy, twice] = [0, 1000, 2000].map(power);
        let leakage_uw = DesignCost::of(&socgpu, Process::from(&v100)).leakage_uw;
        assert!((idle.leakage_watts / (leakage_uw * 80.0 * 1e-6) - 1.0).abs() < 1e-12);
        assert_eq!(idle.dynamic_pj, 0.0);
        assert!(busy.dynamic_pj > 0.0 && (twice.dynamic_pj / busy.dynamic_pj - 2.0).abs() < 1e-6, "{busy:?} {twice:?}");
        assert_eq!(busy.leakage_watts, idle.leakage_watts);
    }

    #[test]
    fn an_in_order_core_adds_nothing_to_itself() {
        let setup = Setup::new(config::load("gtx480").unwrap());
        let beyond = |setup: &Setup| CoreCost::of(setup).unwrap().unwrap().beyond_in_order;
        assert_eq!(beyond(&setup), DesignCost::default());
        let saves = Setup { core: "warpboard-commit".to_owned(), ..setup };
        assert!(beyond(&saves).area_um2 < 0.0, "it has no scoreboard");
    }
}
