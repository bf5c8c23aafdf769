//! What an SM counts.

use isa::OpClass;

kit::counters! {
    /// Events in one SM.
    pub struct SmCounters {
        /// Warp instructions issued.
        pub warp_instructions: "warp instructions",
        /// Thread instructions issued: active lanes over all warp instructions.
        pub thread_instructions: "thread instructions",
        /// Warp instructions issued with no active lane.
        pub empty_instructions: "warp instructions",
        /// Cycles in which some warp was resident.
        pub active_cycles: "cycles",
        /// Resident warps, summed over cycles.
        pub warp_cycles: "warp cycles",
        /// CTAs started.
        pub ctas_started: "CTAs",
        /// CTAs finished.
        pub ctas_finished: "CTAs",
        /// Fetches from the instruction cache.
        pub fetches: "fetches",
        /// Fetches that missed in the instruction cache.
        pub fetch_misses: "fetches",
        /// Fetches refused by the instruction cache, to be tried again.
        pub fetch_refusals: "fetches",
        /// Warp instructions decoded.
        pub decoded: "warp instructions",
        /// Times that fetch was turned to another path when a change of control flow issued.
        pub flushes: "flushes",
        /// Control instructions whose lanes went different ways.
        pub divergences: "warp instructions",
        /// Cycles in which a scheduler issued more than one instruction.
        pub multiple_issues: "scheduler cycles",
        /// Register reads by operand collectors, in warp operands.
        pub register_reads: "warp operands",
        /// Register writes, in warp operands.
        pub register_writes: "warp operands",
        /// Times that a register bank served a read while others waited for it.
        pub bank_conflicts: "bank cycles",
        /// Barrier arrivals of warps.
        pub barrier_arrivals: "warps",
        /// Warp accesses to shared memory.
        pub shared_accesses: "warp instructions",
        /// Cycles that bank conflicts in shared memory added.
        pub shared_conflict_cycles: "cycles",
        /// Warp accesses to global memory, atomics included.
        pub global_accesses: "warp instructions",
        /// Warp accesses to local memory.
        pub local_accesses: "warp instructions",
        /// Warp accesses to constants and parameters.
        pub constant_accesses: "warp instructions",
        /// Warp accesses to textures.
        pub texture_accesses: "warp instructions",
        /// Transactions into which global and local accesses were coalesced.
        pub transactions: "transactions",
        /// Warp atomics and reductions on global memory.
        pub global_atomics: "warp instructions",
        /// Requests sent to the memory system.
        pub requests: "requests",
        /// Cycles in which the memory unit held an access that could not go on.
        pub memory_stall_cycles: "cycles",
    }
}

/// Warp instructions issued, by class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassCounts(pub [u64; OpClass::COUNT]);

impl Default for ClassCounts {
    fn default() -> Self {
        Self([0; OpClass::COUNT])
    }
}
