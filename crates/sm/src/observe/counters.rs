//! Counters of an SM.

use isa::OpClass;
use kit::persist::{Archive, Fresh, Mismatch, Persist};
use kit::{ByKind, CounterInfo, Counters};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

kit::counters! {
    /// Events in one SM.
    pub struct SmCounters {
        /// Warp instructions issued.
        pub warp_instructions: "warp instructions",
        /// Thread instructions issued: active lanes over all warp instructions.
        pub thread_instructions: "thread instructions",
        /// Warp instructions issued with no active lane.
        pub empty_instructions: "warp instructions",
        /// Squares of the numbers of instructions of the warps that finished, summed: their spread. It ends at 2^55.
        pub squared_instructions: "squared warp instructions",
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
        /// Warp instructions whose lanes compute or fetch from textures.
        pub unit_instructions: "warp instructions",
        /// Active cycles of ALU, FMA, FP64 and tensor pipes of sub-cores, the last two together with the pipe that
        /// they share.
        pub pipe_cycles: "pipe cycles",
        /// Cycles for which matrix instructions keep tensor cores from taking the next one.
        pub tensor_cycles: "unit cycles",
        /// Of these, cycles of matrix operations of warp groups.
        pub matrix_group_cycles: "unit cycles",
        /// Bytes of factors that these read from shared memory.
        pub matrix_group_bytes: "bytes",
        /// Multiply-adds of matrix instructions, by their shapes.
        pub matrix_multiply_adds: "multiply-adds",
        /// Floating-point operations of half precision, f16 and bf16, by active lanes: a product with a sum is two,
        /// a packed instruction does each twice.
        pub half_operations: "operations",
        /// Loads from constant memory that execute as moves: in machine code, without a register in their address.
        pub constant_moves: "warp instructions",
        /// 32-bit registers read by lanes: register reads, each by the active lanes of its instruction.
        pub lane_reads: "lane operands",
        /// 32-bit registers written by lanes, predicates not among them.
        pub lane_writes: "lane operands",
        /// Times that a register bank served a read while others waited for it.
        pub bank_conflicts: "bank cycles",
        /// Barrier arrivals of warps.
        pub barrier_arrivals: "warps",
        /// Transfers that the copy engine got.
        pub transfers: "transfers",
        /// Bytes of shared memory that they accessed.
        pub transfer_bytes: "bytes",
        /// Of these, bytes from global memory.
        pub transfer_load_bytes: "bytes",
        /// Of these, bytes to global memory without reductions.
        pub transfer_store_bytes: "bytes",
        /// Of these, bytes that were reduced into global memory.
        pub transfer_reduction_bytes: "bytes",
        /// Bytes that the loads among them brought to other CTAs of the cluster, counted for each receiver.
        pub multicast_bytes: "bytes",
        /// Cycles in which the copy engine sent requests, or waited between two because of its rate.
        pub transfer_cycles: "cycles",
        /// Cycles in which the part of the memory pipe that sub-cores share took an access or moved its data.
        pub memory_pipe_cycles: "cycles",
        /// Warp accesses to shared memory.
        pub shared_accesses: "warp instructions",
        /// Warp accesses to shared memory of CTAs on other SMs.
        pub peer_accesses: "warp instructions",
        /// Bytes of data that these, and copies between CTAs, moved there or back.
        pub peer_bytes: "bytes",
        /// Cycles that bank conflicts in shared memory added.
        pub shared_conflict_cycles: "cycles",
        /// Cycles in which accesses occupied the banks of shared memory.
        pub shared_cycles: "cycles",
        /// Of these, cycles beyond those that the bytes of all active lanes need: 128-bit accesses of a warp need
        /// several without a conflict.
        pub shared_excess_cycles: "cycles",
        /// Warp accesses to global memory, atomics included.
        pub global_accesses: "warp instructions",
        /// Warp accesses to local memory.
        pub local_accesses: "warp instructions",
        /// Warp accesses to constants and parameters.
        pub constant_accesses: "warp instructions",
        /// Cycles that different words added to accesses to constants.
        pub constant_conflict_cycles: "cycles",
        /// Warp accesses to textures.
        pub texture_accesses: "warp instructions",
        /// Transactions into which global and local accesses were coalesced.
        pub transactions: "transactions",
        /// Sectors that loads from global memory move beyond those in which the bytes of all active lanes would fit.
        pub excess_load_sectors: "sectors",
        /// The same of stores to global memory.
        pub excess_store_sectors: "sectors",
        /// Warp atomics and reductions on global memory.
        pub global_atomics: "warp instructions",
        /// Transactions of those.
        pub atomic_transactions: "transactions",
        /// Of these transactions, those at the address of an earlier one of their instruction.
        pub atomic_repeats: "transactions",
        /// Requests sent to the memory system.
        pub requests: "requests",
        /// Cycles in which the memory unit held an access that could not continue.
        pub memory_stall_cycles: "cycles",
    }
}

/// Warp instructions issued, by class.
pub type ClassCounts = ByKind<{ OpClass::COUNT }>;

/// A statistic that only one issue design has. Reports call it `design.` and its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DesignStatistic {
    /// Its meaning.
    pub info: CounterInfo,
    /// The counts.
    pub count: u64,
    /// For a ratio: what the count is divided by.
    pub per: Option<Per>,
}

/// The denominator of a ratio of counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Per {
    /// The counts.
    pub count: u64,
    /// Factor of the quotient: 100 for percent.
    pub scale: u32,
}

impl DesignStatistic {
    /// A plain count.
    pub const fn count(name: &'static str, unit: &'static str, description: &'static str, count: u64) -> Self {
        Self { info: CounterInfo { name, unit, description }, count, per: None }
    }

    /// Instructions that went ahead of an older one of their warp, of so many.
    pub const fn reordered_share(reordered: u64, all: u64) -> Self {
        const WHAT: &str = "Instructions that issued (under LOOG: left their stations) before an older one of their \
                            warp, as a share of all.";
        Self::count("reordered_share", "%", WHAT, reordered).per(all, 100)
    }

    /// The same count as a quotient.
    pub const fn per(self, count: u64, scale: u32) -> Self {
        Self { per: Some(Per { count, scale }), ..self }
    }

    /// Both counts put together by `join`.
    fn joined(self, other: &Self, join: fn(u64, u64) -> u64) -> Self {
        debug_assert_eq!(self.info, other.info);
        let per = self.per.zip(other.per).map(|(a, b)| Per { count: join(a.count, b.count), ..a });
        Self { count: join(self.count, other.count), per, ..self }
    }
}

/// The statistics of one issue design; none before an SM was added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DesignStatistics(pub Vec<DesignStatistic>);

impl Counters for DesignStatistics {
    fn add(&mut self, other: &Self) {
        if self.0.is_empty() {
            self.0.extend_from_slice(&other.0);
        } else {
            self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a = a.joined(b, |a, b| a + b));
        }
    }

    fn since(&self, earlier: &Self) -> Self {
        if earlier.0.is_empty() {
            return self.clone();
        }
        Self(self.0.iter().zip(&earlier.0).map(|(a, b)| a.joined(b, |a, b| a - b)).collect())
    }
}

/// Names and descriptions are the program's. They are texts in an archive, each of which is kept once, for good.
fn known(text: &mut &'static str, archive: &mut Archive) -> Result<(), Mismatch> {
    static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut owned = (*text).to_owned();
    owned.persist(archive)?;
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    *text = match known.get(owned.as_str()) {
        Some(known) => known,
        None => {
            let kept: &'static str = owned.leak();
            known.insert(kept);
            kept
        }
    };
    Ok(())
}

impl Persist for DesignStatistic {
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        let Self { info: CounterInfo { name, unit, description }, count, per } = self;
        known(name, archive)?;
        known(unit, archive)?;
        known(description, archive)?;
        count.persist(archive)?;
        per.persist(archive)
    }
}

impl Fresh for DesignStatistic {
    fn fresh() -> Self {
        Self::count("", "", "", 0)
    }
}

kit::persist! {
    new struct Per { count, scale }
    new id DesignStatistics;
}
