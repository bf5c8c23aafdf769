//! What a GPU description says. Every leaf is a plain value in the units its name ends in; where
//! it comes from stands in the file's `[sources]` table.

use isa::OpClass;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuConfig {
    /// Short name, as on the command line: `rtx2060s`.
    pub name: String,
    /// Full name and what it is modelled after.
    pub description: String,
    /// Compute capability times ten: 75 for sm_75.
    pub sm_version: u32,
    /// SMs on the chip.
    pub sm_count: u32,
    /// SMs that share a crossbar port and take CTAs in turn.
    #[serde(default = "one")]
    pub sms_per_cluster: u32,
    /// Clock domains.
    pub clocks: Clocks,
    /// Kernel and CTA launch.
    pub launch: Launch,
    /// One SM.
    pub sm: Sm,
    /// Crossbar between SMs and memory partitions.
    pub interconnect: Interconnect,
    /// Second-level cache and its partitions.
    pub l2: L2,
    /// DRAM behind each memory partition.
    pub dram: Dram,
    /// What its events cost.
    #[serde(default)]
    pub energy: Energy,
}

const fn one() -> u32 {
    1
}

/// Frequencies. The DRAM clock is the command clock; data moves at
/// [`Dram::data_rate`] beats per command cycle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clocks {
    /// SMs.
    pub core_mhz: f64,
    /// Crossbar.
    pub interconnect_mhz: f64,
    /// L2 slices.
    pub l2_mhz: f64,
    /// DRAM command clock.
    pub dram_mhz: f64,
}

/// Which coefficients energy and power are computed with; without a model there are none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Energy {
    /// Name of coefficients that come with the program, or path of a file.
    pub model: Option<String>,
    /// Chip voltage; that of the coefficients if absent.
    pub volts: Option<f64>,
}

/// Kernel and CTA launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    /// From a kernel's turn to its first CTA's dispatch, in core cycles.
    pub kernel_latency_cycles: u32,
    /// Added per CTA, in core cycles.
    pub cta_latency_cycles: u32,
    /// Kernels resident at once.
    pub max_concurrent_kernels: u32,
    /// Whether L1 contents are dropped at the start of each kernel.
    pub flush_l1_between_kernels: bool,
    /// Whether L2 contents are dropped at the end of each kernel.
    pub flush_l2_between_kernels: bool,
    /// Whether what the host copies to the device is left in L2, as far as it fits.
    #[serde(default)]
    pub host_copies_fill_l2: bool,
}

/// One streaming multiprocessor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sm {
    /// Warp slots (at most 128).
    pub max_warps: u32,
    /// CTA slots (at most 32).
    pub max_ctas: u32,
    /// 32-bit registers.
    pub registers: u32,
    /// Registers are given to a warp in multiples of this many (per warp).
    pub register_allocation_unit: u32,
    /// Most registers a thread may have.
    pub max_registers_per_thread: u32,
    /// CTAs per SM, as the stride of local memory and the carve-out of L1 use them, are limited by the
    /// grid too.
    pub residency_counts_grid: bool,
    /// Start of local memory as the caches see it, in KiB.
    pub local_base_kib: u32,
    /// Most shared memory that one CTA may have.
    pub max_shared_bytes_per_cta: u32,
    /// Named barriers per CTA.
    pub barriers_per_cta: u32,
    /// Fetch and decode.
    pub frontend: Frontend,
    /// Warp scheduling and issue.
    pub issue: Issue,
    /// Operand collectors and register file.
    pub operands: Operands,
    /// Execution units by name.
    pub units: BTreeMap<Unit, UnitConfig>,
    /// Result buses: warp instructions written back per cycle.
    pub writeback_width: u32,
    /// Latency and initiation interval per class for PTX.
    pub ptx_timing: BTreeMap<String, OpTiming>,
    /// Latency and initiation interval per class for machine code and traces.
    pub sass_timing: BTreeMap<String, OpTiming>,
    /// Shared memory.
    pub shared: SharedMemory,
    /// L1 data cache.
    pub l1d: L1Data,
    /// Constant cache.
    pub constant_cache: Cache,
    /// Constant and instruction caches always hit.
    pub perfect_instruction_and_constant_caches: bool,
    /// Texture cache.
    pub texture_cache: Cache,
}

/// Fetch, instruction cache, decode, instruction buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frontend {
    /// Warps fetched for (and decoded) per cycle, over the whole SM.
    pub fetches_per_cycle: u32,
    /// Instructions that one fetch brings.
    pub instructions_per_fetch: u32,
    /// Entries of each warp's instruction buffer.
    pub buffer_entries: u32,
    /// What is fetched behind a branch that has not issued.
    pub branches: BranchFetch,
    /// Instruction cache.
    pub icache: Cache,
}

/// What is fetched behind a branch that has not yet issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BranchFetch {
    /// The next instruction in memory; flushed when the branch goes elsewhere (GPGPU-Sim live).
    SequentialFlush,
    /// The right path, as if predicted perfectly (Accel-Sim trace mode).
    Oracle,
    /// Nothing.
    Stall,
}

/// Warp scheduling and issue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Issue {
    /// Warp schedulers; warp *w* belongs to scheduler *w* mod this.
    pub schedulers: u32,
    /// Default policy.
    pub scheduler: String,
    /// Instructions that a scheduler may issue per cycle, all from one warp.
    pub width: u32,
    /// When two issue together, they must go to different kinds of unit.
    pub dual_issue_needs_different_units: bool,
    /// Active set of the two-level scheduler, in warps per scheduler.
    pub two_level_active_warps: u32,
    /// Atomics after which their warp issues nothing until they have returned. After others only the
    /// readers of the result wait.
    pub atomics_hold_warp: HoldingAtomics,
}

/// Atomics that hold their warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HoldingAtomics {
    /// None.
    None,
    /// Those on global memory.
    Global,
    /// Those on global and on shared memory.
    All,
}

/// Operand collectors and the banked register file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operands {
    /// Each scheduler has its own share of collectors, banks and units (sub-core model).
    pub sub_cores: bool,
    /// Collector units in the SM.
    pub collectors: u32,
    /// Instructions that enter collectors per cycle, SM-wide.
    pub in_ports: u32,
    /// Instructions that leave collectors per cycle, SM-wide.
    pub out_ports: u32,
    /// Register-file banks in the SM.
    pub banks: u32,
    /// Reads that one bank serves per cycle.
    pub reads_per_bank: u32,
    /// bank = (register + warp) mod banks, instead of register mod banks.
    pub bank_uses_warp: bool,
}

/// Kinds of execution unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Single precision (and, without an integer unit, everything simple).
    Sp,
    /// Integer.
    Int,
    /// Double precision.
    Dp,
    /// Special functions.
    Sfu,
    /// Matrix.
    Tensor,
    /// Loads and stores.
    Mem,
    /// Branches, convergence barriers.
    Branch,
    /// Texture.
    Texture,
    /// Uniform datapath.
    Uniform,
}

impl Unit {
    /// Every kind, in declaration order.
    pub const ALL: [Unit; 9] =
        [Unit::Sp, Unit::Int, Unit::Dp, Unit::Sfu, Unit::Tensor, Unit::Mem, Unit::Branch, Unit::Texture, Unit::Uniform];

    /// The name used in GPU descriptions and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Unit::Sp => "sp",
            Unit::Int => "int",
            Unit::Dp => "dp",
            Unit::Sfu => "sfu",
            Unit::Tensor => "tensor",
            Unit::Mem => "mem",
            Unit::Branch => "branch",
            Unit::Texture => "texture",
            Unit::Uniform => "uniform",
        }
    }
}

/// How many units of a kind, and the latches around the operand collectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnitConfig {
    /// Units in the SM.
    pub count: u32,
    /// Instructions that wait between issue and operand collection (ID_OC).
    pub issue_latches: u32,
    /// Instructions that wait between operand collection and execution (OC_EX).
    pub dispatch_latches: u32,
}

/// Where a class executes and how fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpTiming {
    /// Unit.
    pub unit: Unit,
    /// From entry into the unit to the result, in core cycles.
    pub latency_cycles: u32,
    /// From one instruction's entry to the next one's, in core cycles.
    pub initiation_cycles: u32,
}

/// Shared memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedMemory {
    /// Bytes in the SM, at most (before carve-out).
    pub bytes: u32,
    /// Banks, 4 bytes wide.
    pub banks: u32,
    /// Latency of a conflict-free access, in core cycles.
    pub latency_cycles: u32,
    /// Only one word is broadcast per cycle.
    pub limited_broadcast: bool,
}

/// L1 data cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct L1Data {
    /// The cache proper; absent where global accesses go straight to L2.
    pub cache: Cache,
    /// Latency of a hit, in core cycles.
    pub latency_cycles: u32,
    /// Banks that are looked up in parallel.
    pub banks: u32,
    /// Bytes after which the bank changes.
    pub bank_interleave_bytes: u32,
    /// Global loads skip L1 (`-dlcm=cg`).
    pub skip_global: bool,
    /// Share of dirty lines, in percent, above which writes of one set stop being kept.
    pub write_ratio_percent: u32,
    /// Total of L1 and shared memory for GPUs that share one array; 0 for separate ones.
    pub unified_bytes: u32,
    /// Choices for the shared part, in bytes, ascending; empty for a fixed split.
    pub shared_carveouts_bytes: Vec<u32>,
    /// Fences that drop the contents of the SM's L1 when they complete.
    pub fences_invalidate: InvalidatingFences,
}

/// Fences that invalidate L1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InvalidatingFences {
    /// None.
    None,
    /// Those of device or wider scope.
    Device,
    /// All, those between the threads of a CTA too.
    All,
}

/// A set-associative cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// Lines are filled by 32-byte sectors.
    pub sectored: bool,
    /// Sets.
    pub sets: u32,
    /// Line size.
    pub line_bytes: u32,
    /// Ways.
    pub ways: u32,
    /// Which line goes.
    pub replacement: Replacement,
    /// What writes do.
    pub write: WritePolicy,
    /// When a line is reserved.
    pub allocate: Allocate,
    /// What a write miss does.
    pub write_allocate: WriteAllocate,
    /// How an address chooses its set.
    pub index: IndexFunction,
    /// Outstanding misses: lines (or sectors) with an MSHR.
    pub mshr_entries: u32,
    /// Requests that one MSHR can hold.
    pub mshr_merges: u32,
    /// Misses waiting to leave the cache.
    pub miss_queue: u32,
    /// Bytes read or written per cycle at the data port.
    pub port_bytes: u32,
}

impl Cache {
    /// Data capacity in bytes.
    pub const fn capacity_bytes(&self) -> u64 {
        self.sets as u64 * self.ways as u64 * self.line_bytes as u64
    }

    /// Bytes that one miss fetches, and the most that one request may ask for: a sector or a line.
    pub const fn fetch_bytes(&self) -> u32 {
        if self.sectored { 32 } else { self.line_bytes }
    }
}

/// Replacement policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Replacement {
    /// Least recently used.
    Lru,
    /// First in, first out.
    Fifo,
}

/// Write policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WritePolicy {
    /// Holds no writes.
    ReadOnly,
    /// Keeps dirty lines.
    WriteBack,
    /// Updates and passes on.
    WriteThrough,
    /// Drops the line and passes on.
    WriteEvict,
    /// Write-back for local, write-through for global memory.
    LocalWriteBackGlobalWriteThrough,
}

/// When a line is reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Allocate {
    /// At the miss.
    OnMiss,
    /// When the data arrive.
    OnFill,
    /// At the miss, in a cache whose misses never wait for a line (Volta's streaming L1).
    Streaming,
}

/// What a write miss does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteAllocate {
    /// Passes on.
    None,
    /// Writes into a line and fetches the rest at once.
    Write,
    /// Fetches the sector, then writes.
    FetchOnWrite,
    /// Writes with a byte mask, fetches the rest when it is read.
    LazyFetchOnRead,
}

/// How an address chooses its set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IndexFunction {
    /// Address bits.
    Linear,
    /// Exclusive-or with upper bits.
    Xor,
    /// The hash found in Fermi's L1.
    Fermi,
    /// Irreducible polynomial.
    IPoly,
}

/// Crossbar between SMs and L2 slices, one subnet each way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interconnect {
    /// Bytes that a port moves per interconnect cycle.
    pub flit_bytes: u32,
    /// Packets that wait at an input.
    pub input_buffer_packets: u32,
    /// Packets that wait at an output.
    pub output_buffer_packets: u32,
    /// Who goes first.
    pub arbiter: Arbiter,
    /// Responses that wait at an SM cluster.
    pub ejection_buffer_packets: u32,
}

/// Crossbar arbitration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arbiter {
    /// Each output serves its inputs in turn.
    RoundRobin,
    /// Iterative round robin with slipping pointers (iSLIP).
    Islip,
}

/// Second-level cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct L2 {
    /// Memory partitions (channels), each with a DRAM channel.
    pub partitions: u32,
    /// Slices per partition, each with a crossbar port.
    pub slices_per_partition: u32,
    /// One slice.
    pub cache: Cache,
    /// From a request's arrival at the slice to its look-up, in L2 cycles (raster operations path).
    pub latency_cycles: u32,
    /// Queue lengths: crossbar to L2, L2 to DRAM, DRAM to L2, L2 to crossbar.
    pub queue_entries: [u32; 4],
    /// How addresses spread over partitions and slices.
    pub partition_index: PartitionIndex,
}

/// How an address chooses its memory partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartitionIndex {
    /// Consecutive.
    Linear,
    /// Exclusive-or with upper bits.
    Xor,
    /// Irreducible polynomial.
    IPoly,
}

/// DRAM of one channel. Timing in command cycles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dram {
    /// Technology, for reports: GDDR5, GDDR6, HBM2.
    pub technology: String,
    /// Width of one chip's data bus; a channel's is this times [`Dram::chips_per_channel`].
    pub bus_bytes: u32,
    /// Chips side by side on a channel.
    pub chips_per_channel: u32,
    /// Beats of one access.
    pub burst_length: u32,
    /// Beats of data per command cycle.
    pub data_rate: u32,
    /// Requests that the scheduler chooses among; 0 for first come, first served.
    pub scheduler_queue: u32,
    /// Finished requests waiting to go back to L2.
    pub return_queue: u32,
    /// Fixed latency before a request reaches the scheduler, in command cycles.
    pub latency_cycles: u32,
    /// Row, bank and column bits, most significant first: GPGPU-Sim's string of `R`, `B`, `C`, `S`, `0`.
    pub address_map: String,
    /// Lowest address bit of the channel number (`dramid@N`).
    pub channel_bit: u32,
    /// Row and column commands may go in one cycle (dual command bus).
    pub dual_command_bus: bool,
    /// Bank number is hashed with row bits.
    pub bank_hash: bool,
    /// Bank groups by low bits of the bank number instead of high ones.
    pub bank_group_low_bits: bool,
    /// Writes wait in a queue of their own: (entries, drain above, drain until below).
    pub write_queue: Option<[u32; 3]>,
    /// Timing.
    pub timing: DramTiming,
}

/// DRAM timing parameters in command cycles, by their JEDEC names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(non_snake_case)]
pub struct DramTiming {
    /// Banks.
    pub nbk: u32,
    /// Bank groups.
    pub nbkgrp: u32,
    /// Column to column, different bank group.
    pub tCCD: u32,
    /// Column to column, same bank group.
    pub tCCDL: u32,
    /// Activate to activate, different banks.
    pub tRRD: u32,
    /// Activate to column.
    pub tRCD: u32,
    /// Activate to precharge.
    pub tRAS: u32,
    /// Precharge to activate.
    pub tRP: u32,
    /// Activate to activate, same bank.
    pub tRC: u32,
    /// Column read to data.
    pub tCL: u32,
    /// Column write to data.
    pub tWL: u32,
    /// Last write data to read, same rank.
    pub tCDLR: u32,
    /// Last write data to precharge.
    pub tWR: u32,
    /// Read to precharge.
    pub tRTPL: u32,
}

/// Timing per class, resolved to a dense table before the hot loop.
#[derive(Clone, Debug, PartialEq)]
pub struct OpTable([OpTiming; OpClass::COUNT]);

impl OpTable {
    /// Resolves a `ptx_timing` or `sass_timing` table.
    ///
    /// # Errors
    /// The names of the classes that `by_name` lacks.
    pub fn resolve(by_name: &BTreeMap<String, OpTiming>) -> Result<Self, Vec<&'static str>> {
        let missing: Vec<_> = OpClass::ALL.iter().map(|c| c.name()).filter(|n| !by_name.contains_key(*n)).collect();
        if !missing.is_empty() {
            return Err(missing);
        }
        Ok(Self(std::array::from_fn(|i| by_name[OpClass::ALL[i].name()])))
    }

    /// Timing of `class`.
    #[inline]
    pub fn of(&self, class: OpClass) -> OpTiming {
        self.0[class as usize]
    }
}
