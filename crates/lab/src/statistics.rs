//! From counters to statistics: the one table behind [`schema`] and every report.

use crate::cores::design_statistics;
use crate::report::{StatInfo, Stats, Value};
use config::{GpuConfig, builtin};
use energy::{Component, Energy};
use gpu::Snapshot;
use isa::OpClass;
use kit::Counters;
use mem::DramCounters;
use mem::cache::CacheCounters;
use sm::{DesignStatistic, Per, Stall, Work};
use std::sync::Arc;

/// The reasons that the GhOST paper counts as scheduler stalls (section VI-A): "a scheduler cannot find
/// any instruction ready for issue due to data and/or structural hazards".
const HAZARDS: [Stall; 10] = [
    Stall::MemoryPipeFull,
    Stall::UnitBusy,
    Stall::CollectorFull,
    Stall::SameUnit,
    Stall::Design,
    Stall::War,
    Stall::Waw,
    Stall::Raw,
    Stall::RawMemory,
    Stall::MemoryOrder,
];

/// Collects statistics in the order of the schema.
struct Table(Stats);

impl Table {
    fn put(&mut self, name: impl Into<String>, unit: &'static str, description: impl Into<String>, value: Value) {
        let info = StatInfo { name: name.into(), unit, description: description.into() };
        self.0.0.push((info.into(), value));
    }

    fn count(&mut self, name: &str, unit: &'static str, description: &str, value: u64) {
        self.put(name, unit, description, Value::Count(value));
    }

    /// All counters of a group, each name behind `part`.
    fn group<C: Counters>(&mut self, part: &str, counters: &C) {
        for (info, value) in C::SCHEMA.iter().zip(counters.values()) {
            self.put(format!("{part}.{}", info.name), info.unit, info.description, Value::Count(value));
        }
    }

    /// A statistic of an issue design's own.
    fn design(&mut self, of: &DesignStatistic) {
        let value = match of.per {
            None => Value::Count(of.count),
            Some(Per { count, scale }) => Value::ratio(of.count, count, scale.into()),
        };
        self.put(format!("design.{}", of.info.name), of.info.unit, of.info.description, value);
    }

    /// A cache's counters and hit rate.
    fn cache(&mut self, part: &str, c: &CacheCounters) {
        let hits = c.read_hits + c.write_hits;
        let accesses = hits + c.read_merges + c.read_misses + c.read_sector_misses + c.write_merges + c.write_misses;
        self.count(&format!("{part}.accesses"), "requests", "Reads and writes.", accesses);
        self.put(
            format!("{part}.hit_rate"),
            "%",
            "Reads and writes that found their data, as a share of all.",
            Value::ratio(hits, accesses, 100.0),
        );
        self.group(part, c);
    }
}

/// The statistics of what `s` counted, on a GPU like `gpu`, after a launch latency of `launch_cycles`, and
/// of the energy that it took, if there is a model of it.
pub(crate) fn statistics(s: &Snapshot, launch_cycles: u64, gpu: &GpuConfig, energy: Option<&Energy>) -> Stats {
    let mut t = Table(Stats::default());
    times(&mut t, s.kernel_cycles(), launch_cycles, gpu);
    headline(&mut t, s, gpu);
    self::energy(&mut t, s, energy);
    slots(&mut t, s);
    for class in OpClass::ALL {
        t.put(
            format!("mix.{}", class.name()),
            "warp instructions",
            class.description(),
            Value::Count(s.classes.0[*class as usize]),
        );
    }
    for work in Work::ALL {
        let lanes = s.works.0[*work as usize];
        t.put(format!("lanes.{}", work.name()), "lane operations", work.description(), Value::Count(lanes));
    }
    t.group("sm", &s.sm);
    t.cache("l1d", &s.l1d);
    t.cache("icache", &s.icache);
    t.cache("constant", &s.constant);
    t.cache("texture", &s.texture);
    t.group("memory", &s.memory.answers);
    t.put(
        "memory.mean_read_latency",
        "core cycles",
        "From an SM's request to its answer, mean over reads and atomics beyond L1.",
        Value::ratio(s.memory.answers.read_latency, s.memory.answers.reads, 1.0),
    );
    t.group("crossbar.requests", &s.memory.requests);
    t.group("crossbar.replies", &s.memory.replies);
    t.cache("l2", &s.memory.l2);
    t.group("partition", &s.memory.partitions);
    dram(&mut t, s, gpu);
    s.design.iter().for_each(|one| t.design(one));
    t.0
}

/// Cycles of kernels and launch latency, apart and together.
fn times(t: &mut Table, cycles: u64, launch_cycles: u64, gpu: &GpuConfig) {
    let mhz = gpu.clocks.core_mhz;
    let micros = |cycles: u64| Value::Real((mhz > 0.0).then(|| cycles as f64 / mhz));
    let total = cycles + launch_cycles;
    let of_kernels = "Kernels: from the end of the launch latency to the end of the last CTA. Where kernels overlap, a cycle of the run counts once.";
    t.count("cycles", "core cycles", of_kernels, cycles);
    t.put("time", "us", "The cycles at the core clock.", micros(cycles));
    let of_launches =
        "Launch latency: from a launch to where its first CTA may start. Of a run, cycles in which no kernel ran.";
    t.count("launch_cycles", "core cycles", of_launches, launch_cycles);
    t.count(
        "total_cycles",
        "core cycles",
        "Cycles of kernels and of launch latency: cycles as Accel-Sim counts them.",
        total,
    );
    t.put("total_time", "us", "The total cycles at the core clock.", micros(total));
}

fn headline(t: &mut Table, s: &Snapshot, gpu: &GpuConfig) {
    let (warp, thread, cycles) = (s.sm.warp_instructions, s.sm.thread_instructions, s.kernel_cycles());
    t.count("warp_instructions", "warp instructions", "Instructions issued by warps.", warp);
    t.count("thread_instructions", "thread instructions", "Instructions executed by threads.", thread);
    t.put(
        "ipc",
        "thread instructions/cycle",
        "Thread instructions per core cycle of kernels.",
        Value::ratio(thread, cycles, 1.0),
    );
    t.put(
        "warp_ipc",
        "warp instructions/cycle",
        "Warp instructions per core cycle of kernels.",
        Value::ratio(warp, cycles, 1.0),
    );
    t.put(
        "lane_use",
        "%",
        "Lanes active in issued instructions: what divergence and guards leave.",
        Value::ratio(thread, warp * kit::WARP_LANES as u64, 100.0),
    );
    let slots = u64::from(gpu.sm.max_warps);
    t.put(
        "occupancy.achieved",
        "%",
        "Resident warps as a share of warp slots, mean over the cycles in which an SM had any.",
        Value::ratio(s.sm.warp_cycles, s.sm.active_cycles * slots, 100.0),
    );
    t.put(
        "occupancy.sm_activity",
        "%",
        "Cycles in which an SM had a warp, as a share of the kernels' cycles of all SMs.",
        Value::ratio(s.sm.active_cycles, cycles * u64::from(gpu.sm_count), 100.0),
    );
}

/// Absent without a model of energy.
fn energy(t: &mut Table, s: &Snapshot, energy: Option<&Energy>) {
    let joules = energy.map(Energy::total_joules);
    let each = |count: u64| Value::Real(joules.filter(|_| count > 0).map(|j| j / count as f64 * 1e12));
    t.put("energy.total", "J", "Energy of the GPU and its board, all components.", Value::Real(joules));
    t.put("energy.per_thread_instruction", "pJ", "That energy by thread instructions.", each(s.sm.thread_instructions));
    t.put("energy.per_warp_instruction", "pJ", "That energy by warp instructions.", each(s.sm.warp_instructions));
    t.put(
        "power.mean",
        "W",
        "That energy by simulated time, launch latency included.",
        Value::Real(energy.map(Energy::total_watts)),
    );
    for &component in Component::ALL {
        let of = energy.map(|e| e.joules(component));
        t.put(format!("energy.{}", component.name()), "J", component.description(), Value::Real(of));
    }
}

fn slots(t: &mut Table, s: &Snapshot) {
    let all = s.slots() - s.launch.slots;
    t.count("slots.all", "issue slots", "Scheduler slots: schedulers x issue width x cycles of kernels x SMs.", all);
    t.count("slots.issued", "issue slots", "Slots in which an instruction issued.", s.slots_issued);
    for stall in Stall::ALL {
        // No SM has a warp while all kernels wait for their launch latency.
        let waited = if *stall == Stall::Idle { s.launch.slots } else { 0 };
        let lost = s.slots_stalled[*stall as usize] - waited;
        t.put(format!("slots.{}", stall.name()), "issue slots", stall.description(), Value::Count(lost));
    }
    let hazards = HAZARDS.iter().map(|stall| s.slots_stalled[*stall as usize]).sum();
    let what = "Slots lost to data and structural hazards: no instruction of a warp that had one could issue.";
    t.count("stalls.hazards", "issue slots", what, hazards);
}

fn dram(t: &mut Table, s: &Snapshot, gpu: &GpuConfig) {
    let (dram, waited, channels) = (&s.memory.dram, &s.launch, u64::from(gpu.l2.partitions));
    t.group("dram", dram);
    t.put(
        "dram.row_hit_rate",
        "%",
        "Requests that found their row open, as a share of those scheduled.",
        Value::ratio(dram.row_hits, dram.scheduled, 100.0),
    );
    t.put(
        "dram.utilisation",
        "%",
        "Cycles in which a data bus moved data, as a share of the kernels' cycles of all channels.",
        Value::ratio(
            dram.data_bus_busy - waited.dram.data_bus_busy,
            (s.dram_cycles - waited.dram_cycles) * channels,
            100.0,
        ),
    );
    let burst = u64::from(gpu.dram.bus_bytes * gpu.dram.burst_length * gpu.dram.chips_per_channel);
    let bytes = |dram: &DramCounters| (dram.read_commands + dram.write_commands) * burst;
    t.count("dram.bytes", "bytes", "Bytes read and written.", bytes(dram));
    let seconds = s.kernel_cycles() as f64 / (gpu.clocks.core_mhz * 1e6);
    t.put(
        "dram.bandwidth",
        "GB/s",
        "Bytes read and written while kernels ran, per second of that time.",
        Value::Real((seconds > 0.0).then(|| (bytes(dram) - bytes(&waited.dram)) as f64 / seconds / 1e9)),
    );
}

/// Every statistic of a report, in order; last those that only some core designs have.
pub fn schema() -> Vec<StatInfo> {
    let gpu = builtin().first().map(|b| config::load(b.name));
    let Some(Ok(gpu)) = gpu else { return Vec::new() };
    let snapshot = Snapshot { design: design_statistics(&gpu), ..Snapshot::default() };
    statistics(&snapshot, 0, &gpu, None).0.into_iter().map(|(info, _)| Arc::unwrap_or_clone(info)).collect()
}
