//! Events that consume energy, and the parts of the GPU to which it is charged.

use std::ops::{Index, IndexMut};

macro_rules! components {
    ($($(#[doc = $text:literal])+ $name:ident = $key:literal,)*) => {
        /// A part of the GPU to which energy is charged.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Component { $($(#[doc = $text])+ $name,)* }

        impl Component {
            /// All components in the order of declaration: `ALL[c as usize] == c`.
            pub const ALL: &'static [Component] = &[$(Component::$name,)*];
            /// The name used in reports.
            pub const fn name(self) -> &'static str {
                match self { $(Component::$name => $key,)* }
            }
            /// One sentence about what is charged to it.
            pub const fn description(self) -> &'static str {
                match self { $(Component::$name => concat!($($text,)+).trim_ascii(),)* }
            }
        }
    };
}

components! {
    /// Instruction buffers and decoders.
    InstructionBuffer = "instruction_buffer",
    /// Instruction caches.
    InstructionCache = "instruction_cache",
    /// Warp schedulers and scoreboards.
    Scheduler = "scheduler",
    /// Structures of the core design beyond the in-order core's.
    Design = "design",
    /// Register files and operand collectors.
    RegisterFile = "register_file",
    /// Integer lanes: add, logic, shift, multiply, address arithmetic.
    IntLanes = "int_lanes",
    /// Single and half precision lanes.
    FpLanes = "fp_lanes",
    /// Double precision lanes.
    DpLanes = "dp_lanes",
    /// Special function units.
    SfuLanes = "sfu_lanes",
    /// Tensor cores.
    TensorLanes = "tensor_lanes",
    /// Texture units.
    TextureUnits = "texture_units",
    /// Pipeline registers of the SMs, or of the units of a fabric.
    Pipeline = "pipeline",
    /// Links, switches and wires between the units of a fabric, and its crossbar to the banks of L1.
    Interconnect = "interconnect",
    /// Token buffers, reservation buffers and delay FIFOs of a fabric.
    TokenBuffers = "token_buffers",
    /// Matching of tags, choice of the thread that fires, and the injector of a fabric.
    UnitControl = "unit_control",
    /// Configuration registers of a fabric.
    Configuration = "configuration",
    /// Shared memory.
    SharedMemory = "shared_memory",
    /// L1 data caches with their coalescers.
    L1 = "l1",
    /// Constant caches.
    ConstantCache = "constant_cache",
    /// Texture caches.
    TextureCache = "texture_cache",
    /// Crossbar between SMs and memory partitions.
    Crossbar = "crossbar",
    /// L2 cache.
    L2 = "l2",
    /// Memory controllers and DRAM.
    Dram = "dram",
    /// SMs without a warp: what they draw although nothing runs there.
    IdleSms = "idle_sms",
    /// Leakage and clocking of active SMs, by how many lanes are in use; of a fabric's own parts.
    Static = "static",
    /// Power of the board whatever runs: fans, regulators, memory refresh, host interface.
    Constant = "constant",
}

impl Component {
    /// Whether it manages values and instructions in place of computing: register file, pipeline and scheduler of an
    /// SM, and what replaces them in a fabric (Voitsechov and Etsion, ISCA 2014, section 7.1).
    pub const fn is_management(self) -> bool {
        use Component::{Configuration, Interconnect, Pipeline, RegisterFile, Scheduler, TokenBuffers, UnitControl};
        matches!(self, RegisterFile | Pipeline | Scheduler | Interconnect | TokenBuffers | UnitControl | Configuration)
    }
}

macro_rules! events {
    ($($(#[doc = $text:literal])+ $name:ident = $key:literal, $component:ident, $unit:literal;)*) => {
        /// An event that consumes energy each time.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Event { $($(#[doc = $text])+ $name,)* }

        impl Event {
            /// All events in the order of declaration: `ALL[e as usize] == e`.
            pub const ALL: &'static [Event] = &[$(Event::$name,)*];
            /// Number of events.
            pub const COUNT: usize = Self::ALL.len();
            /// Its key in coefficient files and its name in reports.
            pub const fn name(self) -> &'static str {
                match self { $(Event::$name => $key,)* }
            }
            /// Unit of its count.
            pub const fn unit(self) -> &'static str {
                match self { $(Event::$name => $unit,)* }
            }
            /// The component to which its energy is charged.
            pub const fn component(self) -> Component {
                match self { $(Event::$name => Component::$component,)* }
            }
            /// One sentence about when it happens.
            pub const fn description(self) -> &'static str {
                match self { $(Event::$name => concat!($($text,)+).trim_ascii(),)* }
            }
        }
    };
}

events! {
    /// An instruction is decoded, written to the instruction buffer and read from it.
    Decode = "decode", InstructionBuffer, "warp instructions";
    /// An instruction that is not a memory access is scheduled.
    Schedule = "schedule", Scheduler, "warp instructions";
    /// A fetch hits in the instruction cache.
    IcacheHit = "icache_hit", InstructionCache, "fetches";
    /// A fetch misses in the instruction cache.
    IcacheMiss = "icache_miss", InstructionCache, "fetches";
    /// A lane reads a 32-bit register.
    RegisterRead = "register_read", RegisterFile, "lane operands";
    /// A lane writes a 32-bit register.
    RegisterWrite = "register_write", RegisterFile, "lane operands";
    /// A lane takes an operand from elsewhere: an immediate, a constant, a predicate.
    OtherOperand = "other_operand", RegisterFile, "lane operands";
    /// Integer add, logic, shift, compare, move, select, exchange between lanes, conversion; an
    /// operation of the uniform datapath, which has one lane.
    IntAdd = "int_add", IntLanes, "lane operations";
    /// Integer multiply and multiply-add; in machine code also a scaled address.
    IntMul = "int_mul", IntLanes, "lane operations";
    /// Integer division as one operation (PTX).
    IntDiv = "int_div", IntLanes, "lane operations";
    /// Single or half precision add, compare, minimum, maximum; conversion from or to floating point.
    FpAdd = "fp_add", FpLanes, "lane operations";
    /// Single or half precision multiply and fused multiply-add.
    FpMul = "fp_mul", FpLanes, "lane operations";
    /// Single precision division as one operation (PTX).
    FpDiv = "fp_div", FpLanes, "lane operations";
    /// Double precision add, compare, minimum, maximum.
    DpAdd = "dp_add", DpLanes, "lane operations";
    /// Double precision multiply and fused multiply-add.
    DpMul = "dp_mul", DpLanes, "lane operations";
    /// Double precision division or square root as one operation (PTX).
    DpDiv = "dp_div", DpLanes, "lane operations";
    /// Square root, reciprocal square root; in PTX also reciprocal.
    Sqrt = "sqrt", SfuLanes, "lane operations";
    /// Logarithm.
    Log = "log", SfuLanes, "lane operations";
    /// Sine, cosine; in machine code other functions too.
    Sin = "sin", SfuLanes, "lane operations";
    /// Exponential; in PTX also hyperbolic tangent, in machine code reciprocal.
    Exp = "exp", SfuLanes, "lane operations";
    /// Matrix multiply-accumulate.
    Tensor = "tensor", TensorLanes, "lane operations";
    /// Texture fetch.
    Texture = "texture", TextureUnits, "lane operations";
    /// The pipelines of all SMs are fully busy for a core cycle; fractions count.
    PipelineDuty = "pipeline_duty", Pipeline, "GPU cycles";
    /// A pipe of a sub-core is active: ALU, FMA, FP64 or tensor cores, the last two together with the pipe that they
    /// share.
    PipeCycle = "pipe_cycle", Pipeline, "pipe cycles";
    /// An access of a warp, or another pass of it where banks conflict.
    SharedAccess = "shared_access", SharedMemory, "bank cycles";
    /// A warp instruction accesses shared memory, whether or not banks conflict.
    SharedInstruction = "shared_instruction", SharedMemory, "warp instructions";
    /// A read hits in an L1 data cache.
    L1ReadHit = "l1_read_hit", L1, "requests";
    /// A read misses in an L1 data cache.
    L1ReadMiss = "l1_read_miss", L1, "requests";
    /// A write hits in an L1 data cache.
    L1WriteHit = "l1_write_hit", L1, "requests";
    /// A write misses in an L1 data cache.
    L1WriteMiss = "l1_write_miss", L1, "requests";
    /// A read hits in a constant cache.
    ConstantHit = "constant_hit", ConstantCache, "requests";
    /// A read misses in a constant cache.
    ConstantMiss = "constant_miss", ConstantCache, "requests";
    /// A read hits in a texture cache.
    TextureHit = "texture_hit", TextureCache, "requests";
    /// A read misses in a texture cache.
    TextureMiss = "texture_miss", TextureCache, "requests";
    /// A flit crosses the crossbar, either way.
    CrossbarFlit = "crossbar_flit", Crossbar, "flits";
    /// A read hits in the L2.
    L2ReadHit = "l2_read_hit", L2, "requests";
    /// A read misses in the L2.
    L2ReadMiss = "l2_read_miss", L2, "requests";
    /// A write hits in the L2.
    L2WriteHit = "l2_write_hit", L2, "requests";
    /// A write misses in the L2.
    L2WriteMiss = "l2_write_miss", L2, "requests";
    /// A read command goes to a DRAM channel.
    DramRead = "dram_read", Dram, "commands";
    /// A write command goes to a DRAM channel.
    DramWrite = "dram_write", Dram, "commands";
    /// A bank of a DRAM channel is precharged.
    DramPrecharge = "dram_precharge", Dram, "commands";
    /// A bit of a token, its tag included, is written to a token buffer of a fabric.
    TokenWrite = "token_write", TokenBuffers, "bits";
    /// A bit of a token is read from a token buffer.
    TokenRead = "token_read", TokenBuffers, "bits";
    /// A bit is written to a reservation buffer.
    ReservationWrite = "reservation_write", TokenBuffers, "bits";
    /// A bit is read from a reservation buffer.
    ReservationRead = "reservation_read", TokenBuffers, "bits";
    /// A bit of a token is written to a delay FIFO and read again.
    FifoBit = "fifo_bit", TokenBuffers, "bits";
    /// A token's tag is compared with those at the other ports of its unit.
    TokenMatch = "token_match", UnitControl, "comparisons";
    /// A unit chooses a thread whose tokens are complete.
    UnitFiring = "unit_firing", UnitControl, "firings";
    /// The injector makes a bit of a token.
    InjectedBit = "injected_bit", UnitControl, "bits";
    /// A bit moves a stage in the pipeline of a unit.
    UnitStage = "unit_stage", Pipeline, "bit stages";
    /// A bit is written to the register of a link.
    LinkBit = "link_bit", Interconnect, "bits";
    /// A bit travels the distance between two adjacent units.
    WireBit = "wire_bit", Interconnect, "bit pitches";
    /// A bit passes the multiplexer of a switch.
    SwitchBit = "switch_bit", Interconnect, "bits";
    /// A bit crosses the crossbar between load/store units and banks of L1, either way.
    BankBit = "bank_bit", Interconnect, "bits";
    /// A bit of a configuration register is written.
    ConfigurationBit = "configuration_bit", Configuration, "bits";
}

impl Event {
    /// Whether it is one of a fabric: its energy follows from the sizes of structures ([`Hardware`](crate::Hardware)),
    /// unless a file of coefficients gives one.
    pub const fn is_of_fabric(self) -> bool {
        self as usize >= Self::TokenWrite as usize
    }

    /// Whether a file of coefficients may lack it: events of fabrics, and events that hardware counters count
    /// differently, of which a file has one or the other.
    pub const fn may_lack_energy(self) -> bool {
        self.is_of_fabric() || matches!(self, Self::PipeCycle | Self::SharedInstruction)
    }
}

/// A number for each event: its energy, or its count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PerEvent(pub [f64; Event::COUNT]);

impl Default for PerEvent {
    fn default() -> Self {
        Self([0.0; Event::COUNT])
    }
}

impl Index<Event> for PerEvent {
    type Output = f64;
    fn index(&self, event: Event) -> &f64 {
        &self.0[event as usize]
    }
}

impl IndexMut<Event> for PerEvent {
    fn index_mut(&mut self, event: Event) -> &mut f64 {
        &mut self.0[event as usize]
    }
}
