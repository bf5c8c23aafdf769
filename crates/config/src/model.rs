//! The GPU description: one row per key gives its field, its kind of value and bounds, its unit
//! and its meaning. Loading, overrides, error messages, `list settings` and the tables of
//! `docs/gpus.md` follow from the rows.
//!
//! To add a key: a row here, its value in the files of `gpus/` (none if it is `optional`: the field
//! is an `Option` then), and `BLESS=1` for `docs/gpus.md`. To add a word of a choice: its row in [`choices`](crate::choices).

use crate::choices::*;
use crate::schema::MAX_LATENCY;
use crate::schema::ValueKind::{self, Bool, Choice, Int, List, Mhz, Pow2, Text, Volts};
use crate::table::keys;
use isa::OpClass;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const CYCLES: ValueKind = Int(0, MAX_LATENCY);
/// Pipelines are rings with one place per cycle.
pub(crate) const MAX_OP_CYCLES: u32 = 4000;
const OP_CYCLES: ValueKind = Int(1, MAX_OP_CYCLES);
const CYCLES_1: ValueKind = Int(1, MAX_LATENCY);
const COUNT: ValueKind = Int(1, 65_536);
/// DRAM timing parameters: far above any device's.
const NCK: ValueKind = Int(0, 10_000);
const NCK_1: ValueKind = Int(1, 10_000);

keys! {
    /// Description of a GPU. Every leaf is a plain value in the unit in which its name ends.
    GpuConfig at "" {
        /// Short name, as on the command line.
        name: String = Text, "";
        /// Full name and what it is modelled after.
        description: String = Text, "";
        /// Compute capability times ten: 75 for sm_75.
        sm_version: u32 = Int(10, 999), "";
        /// Optional. Core design that runs where none is chosen, with its parameters (`warpwright list cores`); `inorder` if absent.
        core: Option<String> = Text, "", optional;
        /// SMs on the chip.
        sm_count: u32 = Int(1, 4096), "SMs";
        /// SMs that share a crossbar port and take CTAs in turn.
        sms_per_cluster: u32 = Int(1, 64), "SMs";
        /// Optional. SMs of a GPC, at most, which share a cache of instructions and constants (`gpc_cache`) and on which all CTAs of a thread-block cluster run. SMs are spread over as few GPCs as possible, by pairs. All are of one GPC if absent.
        sms_per_gpc: Option<u32> = Int(1, 4096), "SMs", optional;
        /// Clock domains.
        clocks: Clocks;
        /// Kernel and CTA launch.
        launch: Launch;
        /// One SM.
        sm: Sm;
        /// Cache of instructions and constants of a GPC.
        gpc_cache: GpcCache => default;
        /// Crossbar between SMs and memory partitions.
        interconnect: Interconnect;
        /// Second-level cache and its partitions.
        l2: L2;
        /// DRAM of each memory partition.
        dram: Dram;
        /// Energy of its events.
        energy: Energy => default;
        /// The board of the chip.
        board: Board => default;
    }

    /// Frequencies. The DRAM clock is the command clock; data moves at
    /// [`Dram::data_rate`] beats per command cycle.
    Clocks at "clocks." {
        /// Clock of the SMs.
        core_mhz: f64 = Mhz, "MHz";
        /// Clock of the crossbar.
        interconnect_mhz: f64 = Mhz, "MHz";
        /// Clock of the L2 slices.
        l2_mhz: f64 = Mhz, "MHz";
        /// DRAM command clock; data moves at `dram.data_rate` beats per cycle of it.
        dram_mhz: f64 = Mhz, "MHz";
    }

    /// Kernel and CTA launch.
    Launch at "launch." {
        /// From a kernel's turn to its first CTA's dispatch; either this or `kernel_latency_ns` is given.
        kernel_latency_cycles: Option<u32> = Int(0, 10_000_000), "core cycles", optional;
        /// The same as a time, which the clock of the SMs makes cycles.
        kernel_latency_ns: Option<u32> = Int(0, 10_000_000), "nanoseconds", optional;
        /// Optional. Part of a launch before the first CTA that a profiler counts with a kernel's cycles; if absent, all of the latency.
        profiled_cycles: Option<u32> = Int(0, 10_000_000), "core cycles", optional;
        /// Optional. Profiler that cycles of this GPU are usually counted with; `ncu` if absent.
        profiler: Option<Profiler> = Choice(Profiler::WORDS), "", optional;
        /// Added per CTA.
        cta_latency_cycles: u32 = Int(0, 10_000_000), "core cycles";
        /// Optional. Cluster of SMs that is offered the first CTA of a run, of as many as there are; cluster 0 if absent. Results should not depend on it: other values show how much of a figure is chance.
        first_cluster: Option<u32> = Int(0, 4095), "", optional;
        /// Kernels resident at once.
        max_concurrent_kernels: u32 = Int(1, 1024), "kernels";
        /// Whether L1 contents are dropped at the start of each kernel.
        flush_l1_between_kernels: bool = Bool, "";
        /// Whether L2 contents are dropped at the end of each kernel.
        flush_l2_between_kernels: bool = Bool, "";
        /// Whether what the host copies to the device is left in L2, as far as it fits.
        host_copies_fill_l2: bool = Bool, "";
        /// Optional. Whether instruction caches keep their lines from kernel to kernel, for cores that empty them else. Constants are dropped in any case. False if absent.
        keeps_code: Option<bool> = Bool, "", optional;
        /// Optional. Bytes from a kernel's first instruction on, at most, that its launch fetches into the GPCs' caches (`gpc_cache`); none if absent.
        prefetched_code_bytes: Option<u32> = Int(0, 16_777_216), "bytes", optional;
        /// Optional. Whether a launch fetches a kernel's parameters into the GPCs' caches, too. False if absent.
        prefetches_parameters: Option<bool> = Bool, "", optional;
    }

    /// One streaming multiprocessor.
    Sm at "sm." {
        /// Warp slots of an SM.
        max_warps: u32 = Int(1, 128), "warps";
        /// CTA slots of an SM.
        max_ctas: u32 = Int(1, 32), "CTAs";
        /// 32-bit registers of an SM.
        registers: u32 = Int(32, 4_194_304), "registers";
        /// A warp gets registers in multiples of this many.
        register_allocation_unit: u32 = Int(32, 65_536), "registers";
        /// Maximum number of registers of a thread.
        max_registers_per_thread: u32 = Int(1, 255), "registers";
        /// CTAs per SM, as the stride of local memory and the carve-out of L1 use them, are limited by the grid too.
        residency_counts_grid: bool = Bool, "";
        /// Start of local memory as the caches see it.
        local_base_kib: u32 = Int(0, u32::MAX), "KiB";
        /// Optional. State space of a generic address in Accel-Sim's traces, by the first active lane; `windows` if absent.
        trace_generic_spaces: Option<GenericSpaces> = Choice(GenericSpaces::WORDS), "", optional;
        /// Maximum shared memory of one CTA.
        max_shared_bytes_per_cta: u32 = Int(0, 16_777_216), "bytes";
        /// Optional. Shared memory that the system takes besides for each CTA; none if absent.
        reserved_shared_bytes_per_cta: Option<u32> = Int(0, 65_536), "bytes", optional;
        /// Optional. A CTA gets shared memory in multiples of this many bytes; exactly what it asks for if absent.
        shared_allocation_unit: Option<u32> = Pow2(4, 65_536), "bytes", optional;
        /// Named barriers per CTA.
        barriers_per_cta: u32 = Int(1, 16), "barriers";
        /// Fetch and decode.
        frontend: Frontend;
        /// Warp scheduling and issue.
        issue: Issue;
        /// Operand collectors and register file.
        operands: Operands;
        /// Execution units by name.
        units: BTreeMap<Unit, UnitConfig>;
        /// Result buses: instructions written back per cycle.
        writeback_width: u32 = Int(1, 64), "warp instructions/cycle";
        /// Optional. From a warp's arrival at a barrier to the next one's, of all warps of the SM; none if absent.
        barrier_warp_cycles: Option<u32> = Int(1, 64), "core cycles", optional;
        /// Optional. From the last arrival at a barrier to the release of its warps; at once if absent.
        barrier_latency_cycles: Option<u32> = OP_CYCLES, "core cycles", optional;
        /// Optional. Meaning of `latency_cycles` of operation classes; `execution` if absent.
        latency: Option<LatencyOf> = Choice(LatencyOf::WORDS), "", optional;
        /// Latency and initiation interval per class for PTX.
        ptx_timing: BTreeMap<String, OpTiming>;
        /// Latency and initiation interval per class for machine code and traces.
        sass_timing: BTreeMap<String, OpTiming>;
        /// Rates of matrix operations by type; a type without one has the timing of the class `tensor`.
        tensor: BTreeMap<String, MatrixTiming> => default;
        /// Distances of dependent instructions by reader.
        dependence: Dependence => default;
        /// Instruction caches of sub-cores.
        instruction_caches: InstructionCaches => default;
        /// Queues of sub-cores before the load/store unit.
        memory_queues: MemoryQueues => default;
        /// Latencies of single operations of machine code.
        operation_latencies: OperationLatencies => default;
        /// Matrix operations of warp groups.
        matrix_groups: MatrixGroups => default;
        /// The copy engine.
        copy_engine: CopyEngine => default;
        /// The port to the other SMs of a cluster.
        cluster_port: ClusterPort => default;
        /// Shared memory.
        shared: SharedMemory;
        /// L1 data cache.
        l1d: L1Data;
        /// Constant cache.
        constant_cache: Cache;
        /// Optional. Different words of constants that an access reads per cycle; all if absent: machine code's `LDC` is then a move, whatever its addresses.
        constant_words_per_cycle: Option<u32> = Int(1, 32), "words/cycle", optional;
        /// Constant and instruction caches always hit.
        perfect_instruction_and_constant_caches: bool = Bool, "";
        /// Texture cache.
        texture_cache: Cache;
    }

    /// Fetch, instruction cache, decode, instruction buffer.
    Frontend at "sm.frontend." {
        /// Warps fetched for (and decoded) per cycle, over the whole SM.
        fetches_per_cycle: u32 = Int(1, 64), "warps/cycle";
        /// Instructions that one fetch brings.
        instructions_per_fetch: u32 = Int(1, 16), "instructions";
        /// Entries of each warp's instruction buffer.
        buffer_entries: u32 = Int(1, 64), "instructions";
        /// Instructions fetched after a branch until it issues; `flush` is `sequential_flush`, too.
        branches: BranchFetch = Choice(BranchFetch::WORDS), "";
        /// Instruction cache.
        icache: Cache;
    }

    /// Warp scheduling and issue.
    Issue at "sm.issue." {
        /// Warp schedulers; warp *w* belongs to scheduler *w* mod this.
        schedulers: u32 = Int(1, 7), "schedulers";
        /// Policy where none is chosen and the core design has none of its own: `lrr`, `gto`, `srr`, `two_level`, or what `list` shows, with parameters as in `two_level:active=4`.
        scheduler: String = Text, "";
        /// Instructions that a scheduler may issue per cycle, all from one warp.
        width: u32 = Int(1, 8), "instructions/cycle";
        /// When two issue together, they must go to different kinds of unit.
        dual_issue_needs_different_units: bool = Bool, "";
        /// Active set of the two-level scheduler, per scheduler, if its parameter `active` is not set.
        two_level_active_warps: u32 = Int(1, 64), "warps";
        /// Atomics after which their warp issues nothing until they have returned; after others only readers of the result wait.
        atomics_hold_warp: HoldingAtomics = Choice(HoldingAtomics::WORDS), "";
        /// Optional. Events that a fence waits for; `accesses` if absent.
        fences_wait_for: Option<FenceWaits> = Choice(FenceWaits::WORDS), "", optional;
        /// Optional. The stall count of machine code is the least distance to the issue of the warp's next instruction; ignored if absent. PTX and Accel-Sim's traces have none.
        stall_counts: Option<bool> = Bool, "", optional;
        /// Optional. Nothing waits for predicates (as guards, sources or results), as in Accel-Sim's traces, which lack them.
        ignore_predicates: Option<bool> = Bool, "", optional;
    }

    /// Operand collectors and the banked register file.
    Operands at "sm.operands." {
        /// Each scheduler has its own share of collectors, banks and units.
        sub_cores: bool = Bool, "";
        /// Collector units in the SM.
        collectors: u32 = Int(1, 64), "collector units";
        /// Instructions that enter collectors per cycle, SM-wide.
        in_ports: u32 = Int(1, 256), "instructions/cycle";
        /// Instructions that leave collectors per cycle, SM-wide.
        out_ports: u32 = Int(1, 256), "instructions/cycle";
        /// Register-file banks in the SM.
        banks: u32 = Int(1, 64), "banks";
        /// Reads that one bank serves per cycle.
        reads_per_bank: u32 = Int(1, 16), "reads/cycle";
        /// bank = (register + warp) mod banks, instead of register mod banks.
        bank_uses_warp: bool = Bool, "";
    }

    /// How many units of a kind, and the latches around the operand collectors.
    UnitConfig: Copy, Eq at "sm.units.<unit>." {
        /// Units of this kind in the SM; leave the unit out if there is none. Sub-cores share units that are fewer than they are: a free unit takes the oldest instruction of any.
        count: u32 = Int(1, 64), "units", optional;
        /// Instructions that wait between issue and operand collection (ID_OC).
        issue_latches: u32 = Int(1, 64), "instructions", optional;
        /// Instructions that wait between operand collection and execution (OC_EX).
        dispatch_latches: u32 = Int(1, 64), "instructions", optional;
    }

    /// Where a class executes and how fast.
    OpTiming: Copy, Eq at "sm.<timing>.<class>." {
        /// Unit that executes the class; `ptx_timing` is for PTX programs, `sass_timing` for machine code and traces.
        unit: Unit = Choice(Unit::WORDS), "";
        /// From entry into the unit to the result, or as `sm.latency` says.
        latency_cycles: u32 = OP_CYCLES, "core cycles";
        /// From one instruction's entry to the next one's.
        initiation_cycles: u32 = OP_CYCLES, "core cycles";
    }

    /// From an instruction's issue to that of a reader of its result, where the reader asks for more than the latency
    /// of the writer's class. They hold where latencies count from issue, in programs whose instructions have no stall
    /// counts that are honoured: PTX and traces. Latencies of loads and of other units do not depend on the reader.
    Dependence: Default at "sm.dependence." {
        /// Optional. From the unit `int` to the unit `sp`, and from `sp` to `int`; as the latency if absent, like the others.
        cross_cycles: Option<u32> = OP_CYCLES, "core cycles", optional;
        /// Optional. From `int` or `sp` to an instruction of double precision.
        to_dp_cycles: Option<u32> = OP_CYCLES, "core cycles", optional;
        /// Optional. From `int` or `sp` to one of the unit `sfu` or `texture`.
        to_sfu_cycles: Option<u32> = OP_CYCLES, "core cycles", optional;
        /// Optional. From `int` or `sp` to half precision.
        to_half_cycles: Option<u32> = OP_CYCLES, "core cycles", optional;
        /// Optional. From `int` or `sp` to a matrix operation.
        to_matrix_cycles: Option<u32> = OP_CYCLES, "core cycles", optional;
        /// Optional. From `int`, `sp` or `dp` to an access to memory that reads an address or data.
        to_memory_cycles: Option<u32> = OP_CYCLES, "core cycles", optional;
        /// Optional. From a predicate's writer to an instruction that it guards, branches among them.
        to_guard_cycles: Option<u32> = OP_CYCLES, "core cycles", optional;
        /// Optional. From double precision to `int`.
        dp_to_int_cycles: Option<u32> = OP_CYCLES, "core cycles", optional;
        /// Optional. From double precision to `sp`.
        dp_to_sp_cycles: Option<u32> = OP_CYCLES, "core cycles", optional;
        /// Optional. From a predicate's writer in double precision to an instruction that it guards; as `to_guard_cycles` if absent.
        dp_to_guard_cycles: Option<u32> = OP_CYCLES, "core cycles", optional;
    }

    /// Caches of instructions and constant operands and prefetchers of sub-cores, and the cache of the SM that they share. For core designs whose
    /// front end has them; others have `sm.frontend.icache`.
    InstructionCaches: Default at "sm.instruction_caches." {
        /// Optional. Every fetch hits, whatever `sm.perfect_instruction_and_constant_caches` says of other front ends; false if absent.
        perfect: Option<bool> = Bool, "", optional;
        /// Optional. Sets of the L0 instruction cache of a sub-core; 8 if absent.
        l0_sets: Option<u32> = Int(1, 65_536), "sets", optional;
        /// Optional. Lines of a set of L0; 32 if absent.
        l0_ways: Option<u32> = Int(1, 4096), "ways", optional;
        /// Optional. Bytes of a line of L0; 128 if absent.
        l0_line_bytes: Option<u32> = Pow2(32, 128), "bytes", optional;
        /// Optional. Lines that a sub-core prefetches after a miss in L0; 8 if absent, 0 for no prefetcher.
        stream_buffer_lines: Option<u32> = Int(0, 64), "lines", optional;
        /// Optional. Sets of the SM's L1 cache of instructions and constants; 64 if absent.
        l1_sets: Option<u32> = Int(1, 65_536), "sets", optional;
        /// Optional. Lines of a set of that L1; 16 if absent.
        l1_ways: Option<u32> = Int(1, 4096), "ways", optional;
        /// Optional. Bytes of a line of that L1, no fewer than of a line of a sub-core; 128 if absent.
        l1_line_bytes: Option<u32> = Pow2(32, 128), "bytes", optional;
        /// Optional. From a miss in L0 to L1; 39 if absent.
        to_l1_cycles: Option<u32> = OP_CYCLES, "core cycles", optional;
        /// Optional. From L1 to L0; 39 if absent.
        from_l1_cycles: Option<u32> = OP_CYCLES, "core cycles", optional;
        /// Optional. From the issue of a taken branch to the issue at its target, on hits in L0; 3 if absent, for fetch, decode and issue.
        taken_branch_cycles: Option<u32> = Int(3, 64), "core cycles", optional;
        /// Optional. Constant operands of instructions and `LDC` always hit, as they do if `perfect` is true; false if absent.
        perfect_constants: Option<bool> = Bool, "", optional;
        /// Optional. Sets of the cache of constant operands of a sub-core; 4 if absent.
        constant_sets: Option<u32> = Int(1, 65_536), "sets", optional;
        /// Optional. Lines of a set of that cache; 2 if absent.
        constant_ways: Option<u32> = Int(1, 4096), "ways", optional;
        /// Optional. Bytes of a line of that cache and of the SM's for `LDC`; 64 if absent.
        constant_line_bytes: Option<u32> = Pow2(32, 128), "bytes", optional;
        /// Optional. Sets of the SM's cache of constants that `LDC` loads by a register; 4 if absent.
        constant_load_sets: Option<u32> = Int(1, 65_536), "sets", optional;
        /// Optional. Lines of a set of that cache; 8 if absent.
        constant_load_ways: Option<u32> = Int(1, 4096), "ways", optional;
        /// Optional. Cycles in which a sub-core issues nothing after a miss of a constant operand, before other warps may; 4 if absent.
        constant_hold_cycles: Option<u32> = OP_CYCLES, "core cycles", optional;
    }

    /// Queues and address generation of sub-cores, and the load/store unit's part that they share. For core designs whose
    /// memory stage has them.
    MemoryQueues: Default at "sm.memory_queues." {
        /// Optional. Accesses of a sub-core between issue and the shared part; 5 if absent.
        accesses: Option<u32> = Int(1, 64), "accesses", optional;
        /// Optional. Address generation of a sub-core from one access to the next, half of it if the address is uniform or in shared memory; 4 if absent.
        address_cycles: Option<u32> = Int(2, 64), "core cycles", optional;
        /// Optional. An access alone from its sub-core's latch to the shared part, as a part of the latencies of L1 and shared memory, less what address generation saves; 8 if absent.
        unit_cycles: Option<u32> = Int(1, 64), "core cycles", optional;
        /// Optional. From one access that the shared part takes to the next; 2 if absent.
        shared_cycles: Option<u32> = Int(1, 64), "core cycles", optional;
        /// Optional. From the shared part to the load/store unit, unless the address is uniform, as a part of the same latencies; 1 if absent.
        gather_cycles: Option<u32> = Int(0, 64), "core cycles", optional;
        /// Optional. In which a register of data moves between a sub-core and the shared part; registers of a wide load from shared memory move in half of it; 2 if absent.
        register_cycles: Option<u32> = Int(1, 64), "core cycles", optional;
    }

    /// Latencies of single operations of machine code, from issue to issue, instead of their class's. For core designs
    /// that issue by control bits; all others have the class's.
    OperationLatencies: Default at "sm.operation_latencies." {
        /// Optional. `LDC` with its address in the instruction, to a reader of its result.
        constant_load_cycles: Option<u32> = OP_CYCLES, "core cycles", optional;
        /// Optional. `LDC` with a register in its address.
        indexed_constant_load_cycles: Option<u32> = OP_CYCLES, "core cycles", optional;
        /// Optional. `S2R`, which reads a special register.
        special_register_cycles: Option<u32> = OP_CYCLES, "core cycles", optional;
        /// Optional. `UMOV`, `ULDC` and `VOTEU`, the moves of the uniform datapath.
        uniform_move_cycles: Option<u32> = OP_CYCLES, "core cycles", optional;
        /// Optional. `VOTE`.
        vote_cycles: Option<u32> = OP_CYCLES, "core cycles", optional;
        /// Optional. `I2FP`, which the integer unit executes if this is given.
        word_to_float_cycles: Option<u32> = OP_CYCLES, "core cycles", optional;
    }

    /// Matrix operations of warp groups (`wgmma`), from compute capability 9.0 on. They execute on the unit of the class `tensor`.
    MatrixGroups: Default at "sm.matrix_groups." {
        /// Optional. Multiply-adds of 16-bit factors that one unit does per cycle, twice as many of 8 bits and half of them of 32; 512 if absent.
        multiply_adds_per_cycle: Option<u32> = Int(1, 65_536), "multiply-adds/cycle", optional;
        /// Optional. Bytes of factors that an operation reads from shared memory per cycle; 128 if absent.
        shared_bytes_per_cycle: Option<u32> = Pow2(4, 4096), "bytes/cycle", optional;
        /// Optional. From an operation to the next one, at least; 13 if absent.
        least_cycles: Option<u32> = OP_CYCLES, "core cycles", optional;
        /// Optional. From issue to the end of a wait for its group, without a cycle for each register of the accumulator; 49 if absent.
        latency_cycles: Option<u32> = OP_CYCLES, "core cycles", optional;
        /// Optional. Cycles that are saved of this if A comes from registers; 18 if absent.
        a_in_registers_saves_cycles: Option<u32> = OP_CYCLES, "core cycles", optional;
        /// Optional. Operations of an SM between issue and their end; 7 if absent.
        queue_entries: Option<u32> = Int(1, 64), "operations", optional;
    }

    /// The engine of an SM for bulk copies and boxes of tensors (TMA), from compute capability 9.0 on.
    CopyEngine: Default at "sm.copy_engine." {
        /// Optional. From the issue of the instruction that starts a transfer to its first request; 1 if absent.
        start_cycles: Option<u32> = OP_CYCLES, "core cycles", optional;
        /// Optional. From the arrival of the last byte of a load to the completion of its barrier; 1 if absent.
        completion_cycles: Option<u32> = OP_CYCLES, "core cycles", optional;
        /// Optional. Added before the first request of a load or prefetch with a tensor map; 128 if absent.
        tensor_load_cycles: Option<u32> = OP_CYCLES, "core cycles", optional;
        /// Optional. Rows of a box that the engine starts per cycle; 1 if absent.
        rows_per_cycle: Option<u32> = Int(1, 64), "rows/cycle", optional;
        /// Optional. Tensor maps that the engine keeps; it reads others from memory, and drops the least recently used one. 32 if absent.
        tensor_maps: Option<u32> = Int(1, 4096), "maps", optional;
        /// Optional. Bytes that loads and prefetches ask for per cycle; 112 if absent.
        load_bytes_per_cycle: Option<u32> = Int(1, 128), "bytes/cycle", optional;
        /// Optional. Bytes that stores send per cycle; 24 if absent.
        store_bytes_per_cycle: Option<u32> = Int(1, 128), "bytes/cycle", optional;
        /// Optional. Bytes that reductions send per cycle; 18 if absent.
        reduction_bytes_per_cycle: Option<u32> = Int(1, 128), "bytes/cycle", optional;
    }

    /// An SM's port to the network between the SMs of a cluster, from compute capability 9.0 on.
    ClusterPort: Default at "sm.cluster_port." {
        /// Optional. From an access to shared memory of a CTA on another SM to its reply, without the cycles of its bytes at the ports; 180 if absent.
        latency_cycles: Option<u32> = OP_CYCLES, "core cycles", optional;
        /// Optional. Bytes that a port passes per cycle, in each direction; 16 if absent.
        bytes_per_cycle: Option<u32> = Pow2(1, 1024), "bytes/cycle", optional;
    }

    /// Cache of instructions and constants that the SMs of a GPC share, between their own caches and L2.
    GpcCache: Default at "gpc_cache." {
        /// Optional. Its sets. GPUs without this key have no such cache.
        sets: Option<u32> = Int(1, 65_536), "sets", optional;
        /// Optional. Lines of a set; 16 if absent.
        ways: Option<u32> = Int(1, 4096), "ways", optional;
        /// Optional. Bytes of a line, no fewer than of a line of the caches that it serves; 128 if absent.
        line_bytes: Option<u32> = Pow2(32, 128), "bytes", optional;
        /// Optional. From an SM's miss to the first byte of a line that the cache has; 62 if absent.
        latency_cycles: Option<u32> = OP_CYCLES, "core cycles", optional;
        /// Optional. Bytes that it sends to SMs per cycle; 128 if absent.
        bytes_per_cycle: Option<u32> = Pow2(1, 1024), "bytes/cycle", optional;
    }

    /// How fast matrix operations of a type are, by their number of multiply-adds (m·n·k; half of k for sparse ones).
    /// They execute on the unit of the class `tensor`.
    MatrixTiming: Copy, Eq at "sm.tensor.<type>." {
        /// Multiply-adds that one unit does per cycle. An instruction's initiation interval is its multiply-adds divided by this, rounded up.
        multiply_adds_per_cycle: u32 = Int(1, 65_536), "multiply-adds/cycle", optional;
        /// Latency of an instruction beyond its initiation interval.
        latency_cycles: u32 = Int(0, MAX_OP_CYCLES), "core cycles", optional;
    }

    /// Shared memory.
    SharedMemory at "sm.shared." {
        /// Shared memory of an SM, at most (before carve-out).
        bytes: u32 = Int(0, 16_777_216), "bytes";
        /// Banks, 4 bytes wide.
        banks: u32 = Pow2(1, 64), "banks";
        /// Optional. Bytes that go to or from the lanes of an access per cycle, each lane's counted, be they the same word; no limit but the banks if absent.
        bytes_per_cycle: Option<u32> = Pow2(4, 4096), "bytes/cycle", optional;
        /// Latency of a conflict-free access.
        latency_cycles: u32 = CYCLES_1, "core cycles";
        /// Only one word is broadcast per cycle.
        limited_broadcast: bool = Bool, "";
        /// Optional. Cycles that each further lane of an atomic takes at its bank; if absent, lanes at one word take one cycle together, as in loads.
        atomic_lane_cycles: Option<u32> = Int(1, 64), "cycles", optional;
    }

    /// L1 data cache.
    L1Data at "sm.l1d." {
        /// The cache proper; absent where global accesses go straight to L2.
        cache: Cache;
        /// Latency of a hit.
        latency_cycles: u32 = CYCLES_1, "core cycles";
        /// Banks that are looked up in parallel.
        banks: u32 = Pow2(1, 64), "banks";
        /// Bytes after which the bank changes.
        bank_interleave_bytes: u32 = Pow2(4, 4096), "bytes";
        /// Optional. Banks are chosen by the exclusive-or of the address's bits with the line's bits, so that lines that follow each other begin in different banks.
        bank_hash: Option<bool> = Bool, "", optional;
        /// Optional. In what order the parts of one access are looked up; `address` if absent.
        look_up_order: Option<LookUpOrder> = Choice(LookUpOrder::WORDS), "", optional;
        /// Optional. Bytes that go to or from the lanes of an access per cycle, each lane's counted, be they the same word; no limit but the banks if absent.
        bytes_per_cycle: Option<u32> = Pow2(4, 4096), "bytes/cycle", optional;
        /// Global loads skip L1 (`-dlcm=cg`).
        skip_global: bool = Bool, "";
        /// Share of the lines that must be dirty before a dirty one may be replaced; a write-through cache counts the lines that it has written. 0: any line may go.
        write_ratio_percent: u32 = Int(0, 100), "percent";
        /// Total of L1 and shared memory where they share one array; 0 where they do not.
        unified_bytes: u32 = Int(0, 16_777_216), "bytes";
        /// Choices for the shared part, ascending; empty for a fixed split.
        shared_carveouts_bytes: Vec<u32> = List(None, 0, 16_777_216), "bytes";
        /// Fences that drop the contents of the SM's L1 when they complete.
        fences_invalidate: InvalidatingFences = Choice(InvalidatingFences::WORDS), "";
    }

    /// Crossbar between SMs and L2 slices, one subnet each way.
    Interconnect at "interconnect." {
        /// Bytes that a port moves per interconnect cycle.
        flit_bytes: u32 = Int(1, 4096), "bytes/cycle";
        /// Packets that wait at an input.
        input_buffer_packets: u32 = COUNT, "packets";
        /// Packets that wait at an output.
        output_buffer_packets: u32 = COUNT, "packets";
        /// Which of several packets for one output goes first.
        arbiter: Arbiter = Choice(Arbiter::WORDS), "";
        /// Responses that wait at an SM.
        ejection_buffer_packets: u32 = COUNT, "packets";
    }

    /// Second-level cache.
    L2 at "l2." {
        /// Memory partitions, each with a DRAM channel.
        partitions: u32 = Int(1, 1024), "partitions";
        /// Slices per partition, each with a crossbar port.
        slices_per_partition: u32 = Pow2(1, 16), "slices";
        /// The cache of one slice.
        cache: Cache;
        /// From a request's arrival at the slice to its look-up (raster operations path).
        latency_cycles: u32 = CYCLES, "L2 cycles";
        /// Optional. Time beyond `latency_cycles` of a request to a slice in the other half of the chip than the SM's; none if absent. SMs and slices are in halves by number.
        far_latency_cycles: Option<u32> = CYCLES, "L2 cycles", optional;
        /// Optional. Bytes of requests that a slice takes from the crossbar: 8 for each sector, and the data of stores and atomics. Any number if absent.
        request_bytes_per_cycle: Option<u32> = Int(1, 4096), "bytes/L2 cycle", optional;
        /// Queue lengths: crossbar to L2, L2 to DRAM, DRAM to L2, L2 to crossbar.
        queue_entries: [u32; 4] = List(Some(4), 1, 65_536), "requests";
        /// How addresses spread over partitions and slices.
        partition_index: PartitionIndex = Choice(PartitionIndex::WORDS), "";
    }

    /// DRAM of one channel. Timing in command cycles.
    Dram at "dram." {
        /// For reports: GDDR5, GDDR6, HBM2.
        technology: String = Text, "";
        /// Width of one chip's data bus.
        bus_bytes: u32 = Pow2(1, 256), "bytes";
        /// Chips side by side on a channel.
        chips_per_channel: u32 = Int(1, 64), "chips";
        /// Beats of one access.
        burst_length: u32 = Pow2(1, 64), "beats";
        /// Beats of data per command cycle.
        data_rate: u32 = Int(1, 16), "beats/command cycle";
        /// Optional. Which queued request a free bank takes; `fr_fcfs` if absent.
        scheduler: Option<DramScheduler> = Choice(DramScheduler::WORDS), "", optional;
        /// Requests that the scheduler chooses among; 0 for first come, first served from a queue of two, whatever the scheduler.
        scheduler_queue: u32 = Int(0, 65_536), "requests";
        /// Finished requests waiting to go back to L2.
        return_queue: u32 = COUNT, "requests";
        /// Fixed latency before a request reaches the scheduler.
        latency_cycles: u32 = CYCLES, "command cycles";
        /// Row, bank and column bits of an address, most significant first, as a string of `R`, `B`, `C`, `S` (offset within an access) and `0`; dots are for the eye.
        address_map: String = Text, "";
        /// Lowest address bit of the channel number.
        channel_bit: u32 = Int(5, 40), "bit";
        /// Row and column commands may go in one cycle.
        dual_command_bus: bool = Bool, "";
        /// Bank number is hashed with row bits.
        bank_hash: bool = Bool, "";
        /// Bank groups by low bits of the bank number instead of high ones.
        bank_group_low_bits: bool = Bool, "";
        /// Optional. Writes wait in a queue of their own: entries, drain above, drain until below.
        write_queue: Option<[u32; 3]> = List(Some(3), 1, 65_536), "requests", optional;
        /// Timing.
        timing: DramTiming;
    }

    /// DRAM timing parameters in command cycles, by their JEDEC names.
    DramTiming: Copy, Eq at "dram.timing." {
        /// Banks of a chip.
        nbk: u32 = Pow2(1, 64), "banks";
        /// Bank groups of a chip; 1 where there are none.
        nbkgrp: u32 = Pow2(1, 64), "bank groups";
        /// Column to column, different bank group.
        tCCD: u32 = NCK_1, "command cycles";
        /// Column to column, same bank group; 0 where there are no groups.
        tCCDL: u32 = NCK, "command cycles";
        /// Activate to activate, different banks.
        tRRD: u32 = NCK, "command cycles";
        /// Optional. Time in which at most four banks are activated (four-activate window); no limit if absent.
        tFAW: Option<u32> = NCK_1, "command cycles", optional;
        /// Optional. From one refresh of all banks to the next; no refresh if absent.
        tREFI: Option<u32> = Int(1, 1_000_000), "command cycles", optional;
        /// Optional. Time that a refresh takes, after which rows are closed; 0 if absent.
        tRFC: Option<u32> = NCK, "command cycles", optional;
        /// Activate to column.
        tRCD: u32 = NCK_1, "command cycles";
        /// Activate to precharge.
        tRAS: u32 = NCK_1, "command cycles";
        /// Precharge to activate.
        tRP: u32 = NCK_1, "command cycles";
        /// Activate to activate, same bank.
        tRC: u32 = NCK_1, "command cycles";
        /// Column read to data.
        tCL: u32 = NCK_1, "command cycles";
        /// Column write to data.
        tWL: u32 = NCK_1, "command cycles";
        /// Last write data to read, same rank.
        tCDLR: u32 = NCK, "command cycles";
        /// Last write data to precharge.
        tWR: u32 = NCK, "command cycles";
        /// Read to precharge.
        tRTPL: u32 = NCK, "command cycles";
    }

    /// Which coefficients energy and power are computed with; without a model there are none.
    Energy: Default at "energy." {
        /// Optional. Coefficients of energy and power: one of those that come with the program (`warpwright docs energy`), or the path of a file.
        model: Option<String> = Text, "", optional;
        /// Optional. Chip voltage; the voltage of the coefficients if absent.
        volts: Option<f64> = Volts, "V", optional;
    }

    /// The board as programs see it, and its link to the host.
    Board: Default at "board." {
        /// Optional. Name that programs see; the description if absent.
        product: Option<String> = Text, "", optional;
        /// Optional. Device memory; 8192 if absent.
        memory_mib: Option<u32> = Int(16, 16_777_216), "MiB", optional;
        /// Optional. Bandwidth of the link to the host in one direction; 12000 if absent, as PCI Express 3.0 with 16 lanes.
        link_mb_per_s: Option<u32> = Int(1, 10_000_000), "MB/s", optional;
        /// Optional. Time of a transfer beside its bytes; 10 if absent.
        link_latency_us: Option<u32> = Int(0, 1_000_000), "microseconds", optional;
    }

    /// A set-associative cache.
    Cache at "<cache>." {
        /// Lines are filled by 32-byte sectors.
        sectored: bool = Bool, "";
        /// Number of sets.
        sets: u32 = Int(1, 65_536), "sets";
        /// Bytes of a line.
        line_bytes: u32 = Pow2(32, 128), "bytes";
        /// Lines of a set.
        ways: u32 = Int(1, 4096), "ways";
        /// Which line of a full set is replaced.
        replacement: Replacement = Choice(Replacement::WORDS), "";
        /// Effect of writes.
        write: WritePolicy = Choice(WritePolicy::WORDS), "";
        /// When a line is reserved.
        allocate: Allocate = Choice(Allocate::WORDS), "";
        /// Effect of a write miss.
        write_allocate: WriteAllocate = Choice(WriteAllocate::WORDS), "";
        /// How an address chooses its set.
        index: IndexFunction = Choice(IndexFunction::WORDS), "";
        /// Outstanding misses: lines (or sectors) with an MSHR.
        mshr_entries: u32 = COUNT, "misses";
        /// Requests that one MSHR can hold.
        mshr_merges: u32 = COUNT, "requests";
        /// Misses waiting to leave the cache.
        miss_queue: u32 = COUNT, "requests";
        /// Bytes read or written per cycle at the data port.
        port_bytes: u32 = Pow2(4, 4096), "bytes/cycle";
    }
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

impl MatrixTiming {
    /// From an instruction of `multiply_adds` to the next one's entry into the unit, in core cycles.
    pub const fn initiation_cycles(&self, multiply_adds: u32) -> u32 {
        let cycles = multiply_adds.div_ceil(self.multiply_adds_per_cycle);
        if cycles == 0 { 1 } else { cycles }
    }
}

/// Timing per class, resolved to a dense table before the hot loop.
#[derive(Clone, Debug, PartialEq)]
pub struct OpTable([OpTiming; OpClass::COUNT]);

impl OpTable {
    /// Resolves the timing of PTX.
    ///
    /// # Errors
    /// The names of the classes that it lacks.
    pub fn of_ptx(sm: &Sm) -> Result<Self, Vec<&'static str>> {
        Self::resolve(&sm.ptx_timing, OpClass::part_of)
    }

    /// Resolves the timing of machine code.
    ///
    /// # Errors
    /// The names of the classes that it lacks.
    pub fn of_machine_code(sm: &Sm) -> Result<Self, Vec<&'static str>> {
        Self::resolve(&sm.sass_timing, OpClass::part_of_in_machine_code)
    }

    /// A class without a row has the row of the class that it is part of. Accesses have the time of their memories. A
    /// class of which a form of programs has no instructions is timed as another one, for programs made by hand.
    fn resolve(
        by_name: &BTreeMap<String, OpTiming>,
        part_of: fn(OpClass) -> Option<OpClass>,
    ) -> Result<Self, Vec<&'static str>> {
        use OpClass::{AsyncCopy, Atomic, DpDiv, FpDiv, IntAdd, IntDiv, Load, MatrixLoad, Sfu, Store, Uniform};
        const ACCESS: OpTiming = OpTiming { unit: Unit::Mem, latency_cycles: 1, initiation_cycles: 1 };
        let row = |class: OpClass| by_name.get(class.name()).copied();
        let row = |class: OpClass| {
            row(class).or_else(|| match class {
                Load | Store | Atomic | AsyncCopy | MatrixLoad => Some(ACCESS),
                Uniform => row(IntAdd),
                IntDiv | FpDiv | DpDiv => row(Sfu),
                _ => row(part_of(class)?),
            })
        };
        let missing: Vec<_> = OpClass::ALL.iter().filter(|&&c| row(c).is_none()).map(|c| c.name()).collect();
        if !missing.is_empty() {
            return Err(missing);
        }
        Ok(Self(std::array::from_fn(|i| row(OpClass::ALL[i]).expect("none is missing"))))
    }

    /// Where `class` executes and how fast.
    #[inline]
    pub fn of(&self, class: OpClass) -> OpTiming {
        self.0[class as usize]
    }
}
