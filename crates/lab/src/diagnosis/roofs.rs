//! Rates that the GPU description allows, and how much of each a kernel used.

use config::{GpuConfig, OpTable, Unit};
use gpu::{Stats, Value};
use isa::OpClass;
use mem::Level;
use mem::coalesce::{Granularity, SECTOR_BYTES};
use workloads::Form;

/// A rate that cannot be exceeded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Roof {
    /// Words for a sentence.
    pub name: &'static str,
    /// What is limited.
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
    /// Banks of shared memory.
    Shared,
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
    let mut roofs = vec![Roof { name: "issue slots", resource: Resource::Issue, share: issue }];
    roofs.extend(units(stats, gpu, form, cycles));
    let share = of(stats.number("sm.shared_cycles"), cycles * f64::from(gpu.sm_count));
    roofs.push(Roof { name: "cycles of the banks of shared memory", resource: Resource::Shared, share });
    for (level, name) in
        [(Level::L1, "bandwidth of L1"), (Level::L2, "bandwidth of L2"), (Level::Dram, "bandwidth of DRAM")]
    {
        if let Some(LevelPeak { bytes, peak, .. }) = level_peak(level, stats, gpu) {
            roofs.push(Roof { name, resource: Resource::Level(level), share: of(bytes, cycles * peak) });
        }
    }
    roofs
}

/// Execution units, by the initiation intervals of what issued.
fn units(stats: &Stats, gpu: &GpuConfig, form: Form, cycles: f64) -> Vec<Roof> {
    const NAMES: [(Unit, &str); 5] = [
        (Unit::Sp, "FP32 units"),
        (Unit::Int, "integer units"),
        (Unit::Dp, "FP64 units"),
        (Unit::Sfu, "special function units"),
        (Unit::Tensor, "tensor cores"),
    ];
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
    let roof = |(unit, name): (Unit, &'static str)| {
        let count = f64::from(gpu.sm.units.get(&unit)?.count) * f64::from(gpu.sm_count);
        Some(Roof { name, resource: Resource::Unit(unit), share: busy(unit) / (count * cycles) })
    };
    NAMES.into_iter().filter_map(roof).collect()
}
