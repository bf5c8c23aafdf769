//! A machine's counters for reports and the energy model. Cores add their own rows and events
//! ([`CoreReport`](crate::CoreReport)).
//!
//! Events are counted as AccelWattch (Kandiah et al., MICRO 2021) counts them in its published sources: a request that
//! waits for data already under way is a hit. `docs/energy.md` has the table.

use crate::snapshot::AnySnapshot;
use crate::statistics::{Period, Stats, Table, Value};
use config::GpuConfig;
use energy::{Activity, Component, Energy, Event};
use isa::Work;
use mem::{DramCounters, MemoryCounters};

impl AnySnapshot {
    /// The statistics of what was counted, on a GPU like `gpu`, after a launch latency of `launch_cycles`, and of the
    /// energy that it took, if there is a model of it.
    pub fn statistics(&self, launch_cycles: u64, gpu: &GpuConfig, energy: Option<&Energy>) -> Stats {
        let period = Period { kernel_cycles: self.kernel_cycles(), gpu };
        let mut t = Table::default();
        times(&mut t, self.kernel_cycles(), launch_cycles, gpu);
        self.core.headline(period, &mut t);
        self::energy(&mut t, self, energy);
        self.core.parts(period, &mut t);
        t.group("memory", &self.memory.answers);
        t.put(
            "memory.mean_read_latency",
            "core cycles",
            "From an SM's request to its reply, mean over reads and atomics beyond L1.",
            Value::ratio(self.memory.answers.read_latency, self.memory.answers.reads, 1.0),
        );
        t.group("crossbar.requests", &self.memory.requests);
        t.group("crossbar.replies", &self.memory.replies);
        let of_gpcs = &self.memory.gpc_caches;
        let about = "Misses of instructions and constants of SMs that came to the caches of their GPCs.";
        t.count("gpc_cache.requests", "requests", about, of_gpcs.accesses());
        t.count("gpc_cache.fetches", "lines", "Lines that the caches of GPCs fetched from L2.", of_gpcs.fetches);
        t.cache("l2", &self.memory.l2);
        let busiest = self.memory.l2_slices.0.iter().max().copied().unwrap_or(0);
        let about = "Reads and writes of the busiest slice; `l2.accesses` over the number of slices if all are equal.";
        // A ratio, because it does not add up over intervals.
        t.put("l2.busiest_slice", "requests", about, Value::ratio(busiest, 1, 1.0));
        t.group("partition", &self.memory.partitions);
        dram(&mut t, self, gpu);
        self.core.design(&mut t);
        t.0
    }

    /// Counts as events of the power model: of the cores and of the memory system.
    pub fn activity(&self, gpu: &GpuConfig) -> Activity {
        let mut activity = self.core.activity(self.cycles, gpu);
        let MemoryCounters { requests, replies, l2, dram, .. } = &self.memory;
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
}

/// Cycles of kernels, of launch latency, and their sum.
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

/// Absent without a model of energy.
fn energy(t: &mut Table, s: &AnySnapshot, energy: Option<&Energy>) {
    let joules = energy.map(Energy::total_joules);
    let each = |count: u64| Value::Real(joules.filter(|_| count > 0).map(|j| j / count as f64 * 1e12));
    t.put("energy.total", "J", "Energy of the GPU and its board, all components.", Value::Real(joules));
    t.put(
        "energy.per_thread_instruction",
        "pJ",
        "That energy by thread instructions.",
        each(s.core.thread_instructions()),
    );
    t.put("energy.per_warp_instruction", "pJ", "That energy by warp instructions.", each(s.core.warp_instructions()));
    t.put(
        "power.mean",
        "W",
        "That energy by simulated time, launch latency included.",
        Value::Real(energy.map(Energy::total_watts)),
    );
    t.put(
        "energy.management",
        "J",
        "Of that, register file, pipeline and scheduler of SMs, or what replaces them in a fabric: links, switches, token buffers, control and pipelines of units, configuration.",
        Value::Real(energy.map(Energy::management_joules)),
    );
    for &component in Component::ALL {
        let of = energy.map(|e| e.joules(component));
        t.put(format!("energy.{}", component.name()), "J", component.description(), Value::Real(of));
    }
}

fn dram(t: &mut Table, s: &AnySnapshot, gpu: &GpuConfig) {
    let (dram, waited, channels) = (&s.memory.dram, &s.launch, u64::from(gpu.l2.partitions));
    t.group("dram", dram);
    let cycle_ns = 1e3 / gpu.clocks.dram_mhz;
    t.put(
        "dram.mean_read_latency",
        "ns",
        "From a read's entry into its DRAM channel to its data's return to L2, mean over reads.",
        Value::Real((dram.reads > 0).then(|| dram.read_latency as f64 / dram.reads as f64 * cycle_ns)),
    );
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
    let busiest = s.memory.dram_channels.0.iter().max().copied().unwrap_or(0);
    let about = "Bytes of the busiest channel; `dram.bytes` over the number of channels if all are equal.";
    t.put("dram.busiest_channel", "bytes", about, Value::ratio(busiest * burst, 1, 1.0));
    let seconds = s.kernel_cycles() as f64 / (gpu.clocks.core_mhz * 1e6);
    t.put(
        "dram.bandwidth",
        "GB/s",
        "Bytes read and written while kernels ran, per second of that time.",
        Value::Real((seconds > 0.0).then(|| (bytes(dram) - bytes(&waited.dram)) as f64 / seconds / 1e9)),
    );
}

/// The event of a lane's work; `None` if it costs nothing there.
pub const fn event_of(work: Work) -> Option<Event> {
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
