//! Rates that the GPU description allows, and how much of each a kernel used.

use config::{GpuConfig, OpTable, Unit};
use gpu::{Stats, Value};
use isa::OpClass;
use mem::Level;
use mem::coalesce::{Granularity, SECTOR_BYTES};
use workloads::Form;

/// Definition of a unit kind's share.
const OF_UNITS: &str = "Initiation intervals of the instructions that issued, of the units' cycles.";

/// Resources with the words for their roofs in sentences and tables, and the share that is in use.
pub const ROOFS: [(Resource, &str, &str); 12] = [
    (Resource::Issue, "issue slots", "Slots that issued an instruction, of all."),
    (Resource::Unit(Unit::Sp), "FP32 units", OF_UNITS),
    (Resource::Unit(Unit::Int), "integer units", OF_UNITS),
    (Resource::Unit(Unit::Dp), "FP64 units", OF_UNITS),
    (Resource::Unit(Unit::Sfu), "special function units", OF_UNITS),
    (
        Resource::Unit(Unit::Tensor),
        "tensor cores",
        "Cycles that matrix instructions take, of the tensor cores' cycles.",
    ),
    (
        Resource::MemoryPipe,
        "cycles of the memory pipe",
        "Cycles in which the memory pipe that sub-cores share is in use.",
    ),
    (
        Resource::Shared,
        "cycles of the banks of shared memory",
        "Cycles in which the banks of shared memory are in use.",
    ),
    (Resource::CopyEngine, "cycles of the copy engine", "Cycles in which the copy engine sends requests."),
    (Resource::Level(Level::L1), "bandwidth of L1", "Bytes that L1 moves, of those that its banks can move."),
    (Resource::Level(Level::L2), "bandwidth of L2", "Bytes that L2 moves, of those that its slices can move."),
    (
        Resource::Level(Level::Dram),
        "bandwidth of DRAM",
        "Bytes that DRAM moves, of those that its data buses can move.",
    ),
];

/// The roof of a resource, of which `share` is in use.
fn roof(resource: Resource, share: f64) -> Option<Roof> {
    let &(resource, name, _) = ROOFS.iter().find(|(of, ..)| *of == resource)?;
    Some(Roof { name, resource, share })
}

/// A rate that cannot be exceeded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Roof {
    /// Words for a sentence.
    pub name: &'static str,
    /// The resource whose rate it is.
    pub resource: Resource,
    /// Share of it that was in use over the kernel's cycles.
    pub share: f64,
}

/// A limited resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Issue slots.
    Issue,
    /// Execution units of a kind.
    Unit(Unit),
    /// The part of the memory pipe that sub-cores share.
    MemoryPipe,
    /// Banks of shared memory.
    Shared,
    /// The copy engine.
    CopyEngine,
    /// Bandwidth of a level of memory.
    Level(Level),
}

/// Bytes that moved at a level of memory, and the bandwidth that the description allows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelPeak {
    /// Bytes that went to or came from it.
    pub bytes: f64,
    /// Bytes of a transaction of L1; 0 of other levels.
    pub transaction: f64,
    /// Whether `bytes` is an upper bound: transactions had at most this size.
    pub at_most: bool,
    /// Bytes per core cycle, of all SMs, slices or channels together.
    pub peak: f64,
}

/// The traffic of `level` and its peak; `None` if another level's traffic includes it.
pub fn level_peak(level: Level, stats: &Stats, gpu: &GpuConfig) -> Option<LevelPeak> {
    Some(match level {
        Level::L1 => {
            let l1d = &gpu.sm.l1d;
            let granularity = Granularity::of(gpu.sm_version, l1d.skip_global, l1d.cache.fetch_bytes());
            let (transaction, at_most) = match granularity {
                Granularity::Sector => (f64::from(SECTOR_BYTES), false),
                Granularity::Segment(most) => (f64::from(most), true),
            };
            // Cores without a coalescer count accesses to L1 only.
            let transactions = stats.get("sm.transactions").or_else(|| stats.get("l1d.accesses"));
            let transactions = transactions.and_then(Value::number).unwrap_or(0.0);
            let peak = f64::from(gpu.sm_count) * f64::from(l1d.banks) * transaction;
            LevelPeak { bytes: transactions * transaction, transaction, at_most, peak }
        }
        Level::L2 => LevelPeak {
            bytes: stats.number("partition.parts") * f64::from(gpu.l2.cache.fetch_bytes()),
            transaction: 0.0,
            at_most: false,
            peak: gpu.l2_peak_bytes_per_core_cycle(),
        },
        Level::L2Far => return None,
        Level::Dram => LevelPeak {
            bytes: stats.number("dram.bytes"),
            transaction: 0.0,
            at_most: false,
            peak: gpu.dram_peak_bytes_per_core_cycle(),
        },
    })
}

/// The roofs of a kernel of code `form`. Of equal shares the first one limits: issue slots before units, units before
/// memory, the nearest level first.
pub fn roofs(stats: &Stats, gpu: &GpuConfig, form: Form) -> Vec<Roof> {
    let cycles = stats.number("cycles");
    if cycles <= 0.0 {
        return Vec::new();
    }
    let of = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let issue = of(stats.number("slots.issued"), stats.number("slots.all"));
    let mut roofs = Vec::from_iter(roof(Resource::Issue, issue));
    roofs.extend(units(stats, gpu, form, cycles));
    let sm_cycles = cycles * f64::from(gpu.sm_count);
    // Only sub-cores with queues of their own share it.
    let share = of(stats.number("sm.memory_pipe_cycles"), sm_cycles);
    if share > 0.0 {
        roofs.extend(roof(Resource::MemoryPipe, share));
    }
    // Also of factors that tensor cores read.
    let wavefronts = of(stats.number("sm.matrix_group_bytes"), gpu.sm.matrix_groups.shared_bytes_per_cycle().into());
    let share = of(stats.number("sm.shared_cycles") + wavefronts, sm_cycles);
    roofs.extend(roof(Resource::Shared, share));
    if gpu.sm_version >= 90 {
        let share = of(stats.number("sm.transfer_cycles"), sm_cycles);
        roofs.extend(roof(Resource::CopyEngine, share));
    }
    for level in [Level::L1, Level::L2, Level::Dram] {
        if let Some(LevelPeak { bytes, peak, .. }) = level_peak(level, stats, gpu) {
            roofs.extend(roof(Resource::Level(level), of(bytes, cycles * peak)));
        }
    }
    roofs
}

/// The roof of the greatest share: of equal ones the first.
pub fn nearest(roofs: &[Roof]) -> Option<&Roof> {
    roofs.iter().rev().max_by(|a, b| a.share.total_cmp(&b.share))
}

/// Execution units, by the initiation intervals of what issued.
fn units(stats: &Stats, gpu: &GpuConfig, form: Form, cycles: f64) -> Vec<Roof> {
    let table = if form == Form::Ptx { OpTable::of_ptx(&gpu.sm) } else { OpTable::of_machine_code(&gpu.sm) };
    let Ok(table) = table else { return Vec::new() };
    let busy = |unit: Unit| -> f64 {
        let classes = OpClass::ALL.iter().filter(|&&class| table.of(class).unit == unit);
        let cycles = |class: &OpClass| match class {
            OpClass::Tensor => stats.number("sm.tensor_cycles"),
            // Half of it may be packed, which enters twice as often: these units have a share of their own.
            OpClass::Half => 0.0,
            _ => stats.number(&format!("mix.{}", class.name())) * f64::from(table.of(*class).initiation_cycles),
        };
        classes.map(cycles).sum()
    };
    let of_unit = |&(resource, ..): &(Resource, &str, &str)| {
        let Resource::Unit(unit) = resource else { return None };
        let count = f64::from(gpu.sm.units.get(&unit)?.count) * f64::from(gpu.sm_count);
        roof(resource, busy(unit) / (count * cycles))
    };
    ROOFS.iter().filter_map(of_unit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_equal_shares_the_first_roof_limits() {
        let of = |resource, share| Roof { name: "", resource, share };
        let dram = Resource::Level(Level::Dram);
        let equal = [of(Resource::Issue, 0.7), of(Resource::Shared, 0.2), of(dram, 0.7)];
        assert_eq!(nearest(&equal).unwrap().resource, Resource::Issue);
        let other = [of(Resource::Issue, 0.7), of(Resource::Shared, 0.2), of(dram, 0.8)];
        assert_eq!(nearest(&other).unwrap().resource, dram);
    }

    #[test]
    fn shares_are_of_what_the_description_allows() {
        let gpu = config::load("rtx2060s").unwrap();
        let count = |name: &'static str, n: u64| {
            (gpu::StatInfo { name: name.into(), unit: "", description: "".into() }.into(), Value::Count(n))
        };
        // 34 SMs of four schedulers and four FP32 units, each busy for two cycles by a warp's multiply-add.
        let all = 34 * 4 * 1000;
        let counts = [("cycles", 1000), ("slots.all", all), ("slots.issued", all / 4), ("mix.fp_fma", all / 4)];
        let stats = Stats(counts.map(|(name, n)| count(name, n)).into());
        let roofs = roofs(&stats, &gpu, Form::Sass);
        let share = |resource| roofs.iter().find(|roof| roof.resource == resource).unwrap().share;
        assert_eq!((share(Resource::Issue), share(Resource::Unit(Unit::Sp))), (0.25, 0.5));
        assert_eq!(nearest(&roofs).unwrap().name, "FP32 units");
    }
}
