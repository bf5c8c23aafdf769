//! Area, energy and power of a core design's own structures.
//!
//! [`Structure`] describes a structure and its use, [`energy::Storage`] computes its cost.
//! In a run clocks are gated: only flip-flops that are written are clocked. A free-running
//! clock takes [`DesignCost::clock_pj`] more in each cycle.

use energy::{Coefficients, Cost, Structure, Uses};
use gpu::{AnySnapshot, CoreReport};
use sm::scalar::ScalarCounters;
use sm::{SmCounters, SmTotals};

/// A process and the voltage it is run at.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct Process {
    /// Feature size in nanometres.
    pub node_nm: f64,
    pub volts: f64,
}

impl From<&Coefficients> for Process {
    fn from(of: &Coefficients) -> Self {
        Self { node_nm: of.node_nm, volts: of.volts }
    }
}

/// Cost of structures in an SM.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct DesignCost {
    pub bits: f64,
    /// Area in square micrometres.
    pub area_um2: f64,
    pub leakage_uw: f64,
    /// Energy of a warp instruction with two sources and a result that accesses no memory, in picojoules;
    /// in a core with a scalar path, of one whose sources are compared and are not scalar.
    pub instruction_pj: f64,
    /// Energy of a cycle of all clocks, were they not gated, in picojoules.
    pub clock_pj: f64,
}

impl DesignCost {
    /// The cost of `structures` together.
    pub fn of(structures: &[Structure], process: Process) -> Self {
        let instruction = SmTotals {
            sm: SmCounters { warp_instructions: 1, register_reads: 2, register_writes: 1, ..SmCounters::default() },
            layer: ScalarCounters { scalar_compared: 2, ..ScalarCounters::default() },
            ..SmTotals::default()
        };
        let mut sum = Self { instruction_pj: dynamic_pj(structures, &instruction, process), ..Self::default() };
        for structure in structures {
            let (cost, instances) = (cost(structure, process), structure.instances as f64);
            sum.bits += structure.total_bits() as f64;
            sum.area_um2 += instances * cost.area_um2;
            sum.leakage_uw += instances * cost.leakage_nw * 1e-3;
            sum.clock_pj += instances * cost.clock_pj;
        }
        sum
    }

    /// The difference to `other`; negative where it saves.
    pub fn beyond(&self, other: &Self) -> Self {
        Self {
            bits: self.bits - other.bits,
            area_um2: self.area_um2 - other.area_um2,
            leakage_uw: self.leakage_uw - other.leakage_uw,
            instruction_pj: self.instruction_pj - other.instruction_pj,
            clock_pj: self.clock_pj - other.clock_pj,
        }
    }

    /// Power of leakage and of clocks that are not gated, in watts.
    pub fn idle_watts(&self, core_mhz: f64) -> f64 {
        self.leakage_uw * 1e-6 + self.clock_pj * core_mhz * 1e-6
    }
}

/// The cost of one instance of `structure`.
pub fn cost(structure: &Structure, process: Process) -> Cost {
    structure.storage.cost(process.node_nm, process.volts)
}

/// Energy and leakage of a core design's structures in a run, at the voltage of the coefficients.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DesignPower {
    /// Energy of using them, in picojoules.
    pub dynamic_pj: f64,
    /// Power that they leak, in watts.
    pub leakage_watts: f64,
}

impl DesignPower {
    /// For the structures of `sms` SMs that counted `counts`.
    pub fn of(structures: &[Structure], counts: &AnySnapshot, sms: u32, coefficients: &Coefficients) -> Self {
        let process = Process::from(coefficients);
        Self {
            dynamic_pj: dynamic_pj(structures, &*counts.core, process),
            leakage_watts: DesignCost::of(structures, process).leakage_uw * 1e-6 * f64::from(sms),
        }
    }

    /// The difference to `other`; negative where it saves.
    pub fn beyond(&self, other: &Self) -> Self {
        Self { dynamic_pj: self.dynamic_pj - other.dynamic_pj, leakage_watts: self.leakage_watts - other.leakage_watts }
    }
}

/// Energy of using the structures, in picojoules.
fn dynamic_pj(structures: &[Structure], core: &dyn CoreReport, process: Process) -> f64 {
    let of = |structure: &Structure| {
        let cost = cost(structure, process);
        let used = |uses: Uses| f64::from(uses.times) * core.uses(uses.per) as f64;
        used(structure.reads) * cost.read_pj
            + used(structure.writes) * cost.write_pj
            + used(structure.searches) * cost.search_pj
    };
    structures.iter().map(of).sum()
}
