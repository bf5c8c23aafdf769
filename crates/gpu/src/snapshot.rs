//! All counters of the machine at one moment; the difference of two is what happened in between.

use kit::{Counters, Cycle};
use mem::cache::CacheCounters;
use mem::{DramCounters, MemoryCounters};
use sm::scalar::ScalarCounters;
use sm::{ClassCounts, CoreDesign, DesignStatistic, IssuePolicy, Observer, Sm, SmCounters, Stall, WorkCounts};

/// What passed while each kernel on the machine was within its launch latency: no SM had a warp, and the
/// memory system at most completed what earlier kernels had left it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchWait {
    /// Core cycles.
    pub cycles: Cycle,
    /// Issue slots, all of which were idle.
    pub slots: u64,
    /// Command cycles of one DRAM channel.
    pub dram_cycles: u64,
    /// DRAM.
    pub dram: DramCounters,
}

impl LaunchWait {
    /// Adds a wait that followed this one.
    pub fn add(&mut self, other: &Self) {
        self.cycles += other.cycles;
        self.slots += other.slots;
        self.dram_cycles += other.dram_cycles;
        self.dram.add(&other.dram);
    }

    fn since(&self, earlier: &Self) -> Self {
        Self {
            cycles: self.cycles - earlier.cycles,
            slots: self.slots - earlier.slots,
            dram_cycles: self.dram_cycles - earlier.dram_cycles,
            dram: self.dram.since(&earlier.dram),
        }
    }
}

/// Counters of the whole machine, SMs added up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Core cycles, launch latencies included.
    pub cycles: Cycle,
    /// What of all this passed before any kernel had started.
    pub launch: LaunchWait,
    /// SMs.
    pub sm: SmCounters,
    /// Issue slots that issued.
    pub slots_issued: u64,
    /// Issue slots lost, by [`Stall`].
    pub slots_stalled: [u64; Stall::COUNT],
    /// Warp instructions by class.
    pub classes: ClassCounts,
    /// Active lanes of warp instructions, by what they do.
    pub works: WorkCounts,
    /// Of the issue design's own; none before an SM was added.
    pub design: Vec<DesignStatistic>,
    /// The scalar path, if there is one.
    pub scalar: ScalarCounters,
    /// L1 data caches.
    pub l1d: CacheCounters,
    /// Instruction caches.
    pub icache: CacheCounters,
    /// Constant caches.
    pub constant: CacheCounters,
    /// Texture caches.
    pub texture: CacheCounters,
    /// Beyond the SMs.
    pub memory: MemoryCounters,
    /// Command cycles of one DRAM channel.
    pub dram_cycles: u64,
}

impl Snapshot {
    /// Core cycles in which a kernel ran that was past its launch latency.
    pub fn kernel_cycles(&self) -> Cycle {
        self.cycles - self.launch.cycles
    }

    /// Issue slots in all, launch latencies included.
    pub fn slots(&self) -> u64 {
        self.slots_issued + self.slots_stalled.iter().sum::<u64>()
    }

    /// The time since `earlier`, all of which was a wait for launches.
    pub(crate) fn wait_since(&self, earlier: &Self) -> LaunchWait {
        LaunchWait {
            cycles: self.cycles - earlier.cycles,
            slots: self.slots() - earlier.slots(),
            dram_cycles: self.dram_cycles - earlier.dram_cycles,
            dram: self.memory.dram.since(&earlier.memory.dram),
        }
    }

    /// Adds the counters of one SM.
    pub fn add_sm<S: isa::WarpStream, P: CoreDesign, O: Observer>(&mut self, sm: &Sm<S, P, O>) {
        self.sm.add(sm.counters());
        self.slots_issued += sm.account().issued();
        for (sum, &stall) in self.slots_stalled.iter_mut().zip(Stall::ALL) {
            *sum += sm.account().stalled(stall);
        }
        for (sum, count) in self.classes.0.iter_mut().zip(&sm.class_counts().0) {
            *sum += count;
        }
        for (sum, lanes) in self.works.0.iter_mut().zip(&sm.work_counts().0) {
            *sum += lanes;
        }
        let mut design = sm.policy().statistics();
        if let Some(scalar) = sm.scalar_counts() {
            design.extend(scalar.statistics());
            self.scalar.add(&scalar.counters);
        }
        DesignStatistic::add_all(&mut self.design, &design);
        self.l1d.add(&sm.l1_counters());
        if let Some(cache) = sm.icache() {
            self.icache.add(cache.counters());
        }
        if let Some(cache) = sm.constant_cache() {
            self.constant.add(cache.counters());
        }
        self.texture.add(sm.texture_counters());
    }

    /// What happened since `earlier`, a former state of the same machine.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            cycles: self.cycles - earlier.cycles,
            launch: self.launch.since(&earlier.launch),
            sm: self.sm.since(&earlier.sm),
            slots_issued: self.slots_issued - earlier.slots_issued,
            slots_stalled: std::array::from_fn(|i| self.slots_stalled[i] - earlier.slots_stalled[i]),
            classes: ClassCounts(std::array::from_fn(|i| self.classes.0[i] - earlier.classes.0[i])),
            works: WorkCounts(std::array::from_fn(|i| self.works.0[i] - earlier.works.0[i])),
            design: DesignStatistic::since(&self.design, &earlier.design),
            scalar: self.scalar.since(&earlier.scalar),
            l1d: self.l1d.since(&earlier.l1d),
            icache: self.icache.since(&earlier.icache),
            constant: self.constant.since(&earlier.constant),
            texture: self.texture.since(&earlier.texture),
            memory: self.memory.since(&earlier.memory),
            dram_cycles: self.dram_cycles - earlier.dram_cycles,
        }
    }
}
