//! All counters of the machine at one moment; the difference of two is what happened in between.

use crate::core::CoreReport;
use kit::Cycle;
use mem::{DramCounters, MemoryCounters};

kit::counters! {
    /// The time in which each kernel on the machine was within its launch latency: no core had a thread, and
    /// the memory system at most completed what earlier kernels had left it.
    pub struct LaunchWait {
        /// Core cycles, all of them waits for launches.
        pub cycles: Cycle,
        /// Command cycles of one DRAM channel.
        pub dram_cycles: u64,
        /// Counts of the DRAM channels in this time.
        pub dram: DramCounters,
    }
}

kit::counters! {
    /// Counters of the whole machine, `K` being all cores' added up.
    pub struct Snapshot<K> {
        /// Core cycles, launch latencies included.
        pub cycles: Cycle,
        /// The part of all this in which every kernel was within its launch latency.
        pub launch: LaunchWait,
        /// Cores, without their idling during launch latencies.
        pub core: K,
        /// The memory system, all that is beyond the cores.
        pub memory: MemoryCounters,
        /// Command cycles of one DRAM channel.
        pub dram_cycles: u64,
    }
}

/// Counters of a machine whose type of cores is erased.
pub type AnySnapshot = Snapshot<Box<dyn CoreReport>>;

impl<K> Snapshot<K> {
    /// Core cycles in which a kernel ran that was past its launch latency.
    pub fn kernel_cycles(&self) -> Cycle {
        self.cycles - self.launch.cycles
    }

    /// The time since `earlier`, all of which was a wait for launches.
    pub(crate) fn wait_since(&self, earlier: &Self) -> LaunchWait {
        use kit::Counters;
        LaunchWait {
            cycles: self.cycles - earlier.cycles,
            dram_cycles: self.dram_cycles - earlier.dram_cycles,
            dram: self.memory.dram.since(&earlier.memory.dram),
        }
    }
}

impl<K: CoreReport + 'static> Snapshot<K> {
    /// The same counters without the type of the cores.
    pub fn erased(self) -> AnySnapshot {
        let Self { cycles, launch, core, memory, dram_cycles } = self;
        Snapshot { cycles, launch, core: Box::new(core), memory, dram_cycles }
    }
}
