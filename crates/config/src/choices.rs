//! The words of choices: for a key of the kind `Choice`, a row gives a word of descriptions and its meaning.

use crate::table::choices;
use serde::{Deserialize, Serialize};

choices! {
    /// Instructions fetched after a branch until it issues.
    BranchFetch {
        /// The next instruction in memory; flushed when the branch goes elsewhere (GPGPU-Sim live).
        SequentialFlush = "sequential_flush",
        /// The path that the branch takes, as if predicted perfectly (Accel-Sim trace mode).
        Oracle = "oracle",
        /// Nothing until the branch has issued.
        Stall = "stall",
    }

    /// Cycles that the latency of an instruction counts.
    LatencyOf {
        /// From entry into the unit to the result. Dependent instructions are 5 cycles further apart: the pipeline's own stages (GPGPU-Sim).
        Execution = "execution",
        /// From issue to the issue of a dependent instruction, which a bypass gives the result; at least 4.
        Issue = "issue",
    }

    /// Atomics that hold their warp.
    HoldingAtomics {
        /// No atomics.
        None = "none",
        /// Atomics on global memory.
        Global = "global",
        /// Atomics on global and on shared memory.
        All = "all",
    }

    /// Events that a fence waits for.
    FenceWaits {
        /// All accesses of the warp, stores until they are acknowledged.
        Accesses = "accesses",
        /// Instructions of the warp that write registers, arithmetic too (GPGPU-Sim).
        Registers = "registers",
    }

    /// Rules by which a generic address of Accel-Sim's traces belongs to a state space.
    GenericSpaces {
        /// Shared and local memory have windows of 16 MiB from the bases that the trace names.
        Windows = "windows",
        /// Shared memory is from its base to the base of local memory, local memory 16 KiB from its base (Accel-Sim).
        Bases = "bases",
    }

    /// Kinds of execution unit.
    Unit {
        /// Single precision (and, without an integer unit, everything simple).
        Sp = "sp",
        /// Integer arithmetic.
        Int = "int",
        /// Double precision.
        Dp = "dp",
        /// Special functions.
        Sfu = "sfu",
        /// Matrix products.
        Tensor = "tensor",
        /// Loads and stores.
        Mem = "mem",
        /// Branches, convergence barriers.
        Branch = "branch",
        /// Texture reads.
        Texture = "texture",
        /// Uniform datapath.
        Uniform = "uniform",
    }

    /// Profilers whose way of running and counting a kernel is imitated.
    Profiler {
        /// Nsight Compute, as it is by default: one kernel at a time, caches empty before each.
        Ncu = "ncu",
        /// nvprof: one kernel at a time, caches as the program leaves them.
        Nvprof = "nvprof",
    }

    /// Fences that invalidate L1.
    InvalidatingFences {
        /// No fences.
        None = "none",
        /// Fences of device or wider scope.
        Device = "device",
        /// All fences, those between the threads of a CTA too, unless nothing has used L1 since the last one (GPGPU-Sim).
        All = "all",
    }

    /// In what order L1 looks up the parts of one access.
    LookUpOrder {
        /// The highest address first; a part whose bank is busy keeps those behind it waiting.
        Address = "address",
        /// Each bank takes the next part that is its own, in every cycle.
        Bank = "bank",
    }

    /// Which line of a full set is replaced.
    Replacement {
        /// Least recently used.
        Lru = "lru",
        /// First in, first out.
        Fifo = "fifo",
        /// A line drawn at random, the same ones in every run.
        Random = "random",
        /// Re-reference interval prediction, static with hit priority (Jaleel et al., ISCA 2010): keeps what was hit when a scan passes.
        Srrip = "srrip",
        /// Tree pseudo-LRU: a tree of bits that lead away from what was used last.
        Plru = "plru",
    }

    /// Effect of a write on a line that the cache holds.
    WritePolicy {
        /// The cache holds no writes.
        ReadOnly = "read_only",
        /// Writes stay in the cache until the line is replaced.
        WriteBack = "write_back",
        /// Writes update the line and go to the next level.
        WriteThrough = "write_through",
        /// Writes drop the line and go to the next level.
        WriteEvict = "write_evict",
        /// Write-back for local, write-through for global memory.
        LocalWriteBackGlobalWriteThrough = "local_write_back_global_write_through",
    }

    /// When a line is reserved.
    Allocate {
        /// At the miss.
        OnMiss = "on_miss",
        /// When the data arrive.
        OnFill = "on_fill",
        /// When the data arrive, so that misses never wait for a line; at the miss where L1 shares its array with no shared memory (Volta's streaming L1).
        Streaming = "streaming",
    }

    /// Effect of a write miss.
    WriteAllocate {
        /// The write goes to the next level.
        None = "none",
        /// Writes into a line and fetches the rest at once.
        Write = "write",
        /// Fetches the sector, then writes.
        FetchOnWrite = "fetch_on_write",
        /// Writes with a byte mask, fetches the rest when it is read.
        LazyFetchOnRead = "lazy_fetch_on_read",
    }

    /// How an address chooses its set.
    IndexFunction {
        /// The line's number modulo the number of sets.
        Linear = "linear",
        /// The bits of the line's number that the number of sets less one has (GPGPU-Sim): without a power of two of sets, some are never used.
        Masked = "masked",
        /// Exclusive-or with upper bits.
        Xor = "xor",
        /// The hash found in Fermi's L1.
        Fermi = "fermi",
        /// Irreducible polynomial.
        IPoly = "i_poly",
    }

    /// Which of several packets for one output goes first.
    Arbiter {
        /// Plain round robin over the inputs.
        RoundRobin = "round_robin",
        /// Iterative round robin with slipping pointers (iSLIP).
        Islip = "islip",
        /// The packet that has waited longest at the head of its input (age-based arbitration: Abts and Weisser, SC 2007).
        OldestFirst = "oldest_first",
    }

    /// Which of the requests queued for a DRAM channel is served next.
    DramScheduler {
        /// First ready, first come, first served: the oldest request to a bank's open row, else its oldest (Rixner et al., ISCA 2000).
        FrFcfs = "fr_fcfs",
        /// `fr_fcfs` in which the oldest request of a bank goes after four younger ones to the open row (Mutlu and Moscibroda, MICRO 2007).
        FrFcfsCap = "fr_fcfs_cap",
    }

    /// How an address chooses its memory partition.
    PartitionIndex {
        /// The partitions in turn.
        Linear = "linear",
        /// Exclusive-or with upper bits.
        Xor = "xor",
        /// Irreducible polynomial.
        IPoly = "i_poly",
        /// The slices in turn, from one on that a hash of the upper bits chooses; for any number of partitions.
        Rotate = "rotate",
    }
}
