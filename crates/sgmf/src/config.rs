//! Parameters of the core (§5, table 1) and what follows from them and from the description of the GPU.

use ::config::{Allocate, Cache, GpuConfig, IndexFunction, OpTable, WriteAllocate, WritePolicy};
use dataflow::graph::NodeOp;
use dataflow::resources::SPECIAL_CLASSES;
use isa::OpClass;

kit::words! {
    /// Write policy of L1.
    pub enum L1Write {
        /// Write-back, write-allocate (§6).
        Back = "back",
        /// Write-through, no allocation: the baseline's.
        Through = "through",
    }
}

kit::words! {
    /// Where LDST and special units hold threads of younger epochs back.
    pub enum EpochGate {
        /// At the entry: such threads "will not be processed by a LDST unit before all threads from previous epochs have
        /// left the node" (§4.1).
        Entry = "entry",
        /// At the exit: "once all the tokens from the current epoch have been sent, the epoch counter is advanced by one,
        /// and the tokens from the next epoch can be sent on" (§5.1). A unit processes threads of the next epoch meanwhile.
        Exit = "exit",
    }
}

kit::parameters! {
    /// Parameters of an SGMF core.
    pub struct SgmfConfig {
        /// Entries of each token buffer and of each reservation buffer: threads that a unit holds.
        pub entries: u32 = 16 in (1, 64),
        /// Whether LDST and special units process a thread only after all of older epochs have left them (§4.1).
        pub epochs: bool = true,
        /// Where epochs hold threads back: `entry`, younger threads are not processed (§4.1), or `exit`, their results are
        /// not sent (§5.1).
        pub epoch_gate: EpochGate = (EpochGate::Entry),
        /// Dividers (or roots) of a special unit.
        pub dividers: u32 = 8 in (1, 64),
        /// Fabric cycles of an operation on a divider or root, which it occupies for all of them (§4.2: with 8 dividers
        /// "(practically)" an operation a cycle); 0: latency and initiation interval of the GPU's operations.
        pub special_latency: u32 = 8 in (0, 1000),
        /// Fabric cycles between two threads that the injector sends.
        pub inject_interval: u32 = 1 in (1, 64),
        /// Whether the injector sends all values of a thread in one cycle, when the destinations of all accept them;
        /// without it each value by itself (§4.1, fig. 4).
        pub inject_together: bool = false,
        /// Fabric cycles in a core cycle of the GPU's description.
        pub clock_ratio: u32 = 2 in (1, 16),
        /// Bits of the configuration that are written in a core cycle; 0: configuration takes no time.
        pub configuration_bits: u32 = 1024 in (0, 65536),
        /// What L1 does with stores.
        pub write: L1Write = (L1Write::Back),
        /// Fabric cycles that a token takes for a link.
        pub hop_cycles: u32 = 1 in (1, 8),
        /// Fabric cycles between two double-precision operations on a compute unit. The paper lists what is not
        /// pipelined (§2.1, §4.2, §5.2), and double precision is not among it.
        pub double_interval: u32 = 1 in (1, 64),
        /// Size of L1 in KiB; it has 4 ways of 128-byte lines.
        pub l1_kib: u32 = 64 in (1, 1024),
        /// Banks of L1, each with one access a fabric cycle.
        pub l1_banks: u32 = 32 in (1, 64),
        /// Whether each access hits, whatever L1 holds: a limit.
        pub perfect_l1: bool = false,
        /// Bytes after which the bank of L1 changes.
        pub bank_bytes: u32 = 4 in (4, 128),
        /// Fabric cycles from an access to its reply if it hits in L1; 0: as the GPU's L1.
        pub l1_latency: u32 = 0 in (0, 1000),
        /// Misses of L1 under way.
        pub mshrs: u32 = 64 in (1, 1024),
        /// Accesses that wait for one miss.
        pub mshr_merges: u32 = 32 in (1, 1024),
        /// Threads that a core takes before the first of them has ended.
        pub batch_threads: u32 = 65536 in (1024, 1048576),
        /// Consecutive threads that pass the same copy of a graph, if there are several side by side; the next ones pass
        /// the next copy.
        pub copy_block: u32 = 1 in (1, 1024),
        /// Whether the injector sends only the threads that take part in a region, numbered in their order; without
        /// it all threads of the batch pass, masked (§4.6).
        pub skip_masked: bool = false,
    }
}

impl SgmfConfig {
    /// Bits of a TID, by which links tag their tokens.
    pub(crate) const fn tag_bits(&self) -> u32 {
        u32::BITS - (self.batch_threads - 1).leading_zeros()
    }

    /// Bits of a TID that token buffers keep: an entry's number has the others.
    pub(crate) const fn stored_tag_bits(&self) -> u32 {
        self.tag_bits().saturating_sub(self.entries.ilog2())
    }
}

/// Latencies of the units, in fabric cycles.
#[derive(Clone, Debug)]
pub struct Timing {
    /// By class of operation.
    pub classes: [u32; OpClass::COUNT],
    /// By class: how long an operation occupies a divider or a root, which may be pipelined.
    pub blocks: [u32; OpClass::COUNT],
    /// Of labels, joins and ends of regions.
    pub control: u32,
    /// Of an access that hits in L1.
    pub l1_hit: u32,
}

impl Timing {
    /// Latencies of `gpu`'s operations for PTX and of its L1; special units have
    /// [`SgmfConfig::special_latency`]. If that is 0, an operation occupies a block for its initiation interval: the SM's
    /// lanes with the same logic start another one after it.
    ///
    /// # Errors
    /// The description lacks a class.
    pub fn of(gpu: &GpuConfig, config: &SgmfConfig) -> Result<Self, String> {
        let missing = |names: Vec<&str>| format!("sm.ptx_timing lacks {}", names.join(", "));
        let table = OpTable::of_ptx(&gpu.sm).map_err(missing)?;
        let cycles = |class: OpClass| (table.of(class).latency_cycles * config.clock_ratio).max(1);
        let l1 = if config.l1_latency > 0 { config.l1_latency } else { gpu.sm.l1d.latency_cycles * config.clock_ratio };
        let occupied = |class: OpClass| (table.of(class).initiation_cycles * config.clock_ratio).max(1);
        let mut timing = Self {
            classes: std::array::from_fn(|i| cycles(OpClass::ALL[i])),
            blocks: std::array::from_fn(|i| occupied(OpClass::ALL[i])),
            control: 1,
            l1_hit: l1.max(1),
        };
        if config.special_latency > 0 {
            for class in SPECIAL_CLASSES {
                timing.classes[class as usize] = config.special_latency;
                timing.blocks[class as usize] = config.special_latency;
            }
        }
        Ok(timing)
    }

    /// Of a unit that executes `op`; an access hits in L1.
    pub fn of_node(&self, op: &NodeOp) -> u32 {
        match op {
            NodeOp::Apply(function) => self.classes[function.class() as usize],
            NodeOp::Select => self.classes[OpClass::Move as usize],
            NodeOp::Delay(places) => u32::from(*places).clamp(1, 2),
            NodeOp::Access(_) => self.l1_hit,
            _ => self.control,
        }
    }

    /// All units take one cycle, L1 too: the paper's drawings.
    pub const fn unit() -> Self {
        Self { classes: [1; OpClass::COUNT], blocks: [1; OpClass::COUNT], control: 1, l1_hit: 1 }
    }
}

/// L1 of `config` (table 1), with the replacement policy and the miss queue of the description's.
pub(crate) fn l1_cache(gpu: &GpuConfig, config: &SgmfConfig) -> Cache {
    let (write, write_allocate) = match config.write {
        L1Write::Back => (WritePolicy::WriteBack, WriteAllocate::FetchOnWrite),
        L1Write::Through => (WritePolicy::WriteThrough, WriteAllocate::None),
    };
    Cache {
        sectored: false,
        sets: (2 * config.l1_kib).max(1),
        line_bytes: 128,
        ways: 4,
        write,
        write_allocate,
        allocate: Allocate::OnMiss,
        index: IndexFunction::Linear,
        mshr_entries: config.mshrs,
        mshr_merges: config.mshr_merges,
        port_bytes: 128,
        ..gpu.sm.l1d.cache.clone()
    }
}
