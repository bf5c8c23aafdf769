//! The fixed properties of an SM: derived from the GPU description once, shared by all SMs.

use crate::operands::scalar::parameters::ScalarConfig;
use config::{MatrixTiming, OpTable, OpTiming, Sm as SmConfig, Unit, UnitConfig};
use isa::{MatrixType, MatrixWork, OpClass, Pc, Program, SingleOperation, Traits};
use std::fmt;
use std::ops::Range;

/// Maximum number of warp schedulers, rounded up.
pub const SCHEDULERS: usize = 8;

/// A kind of execution unit by its place in the order in which operand collectors serve the kinds:
/// SP, SFU, memory, tensor, DP, INT, then the specialised ones (GPGPU-Sim's order of ports).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pipe(pub u8);

/// The kinds in order of service.
const SERVICE_ORDER: [Unit; Unit::ALL.len()] =
    [Unit::Sp, Unit::Sfu, Unit::Mem, Unit::Tensor, Unit::Dp, Unit::Int, Unit::Branch, Unit::Texture, Unit::Uniform];

impl Pipe {
    /// How many kinds there are.
    pub const COUNT: usize = Unit::ALL.len() + 1;
    /// Loads and stores.
    pub const MEM: Pipe = Pipe(2);

    /// Units of a layer over the operand stage, which most cores lack ([`crate::operands`]).
    pub const OF_LAYER: Pipe = Pipe(Unit::ALL.len() as u8);
    /// Integer and single precision arithmetic.
    pub const OF_ARITHMETIC: PipeSet = PipeSet(0).with(Pipe(0)).with(Pipe(5));

    /// The pipe of a kind of unit.
    pub fn of(unit: Unit) -> Self {
        Pipe(SERVICE_ORDER.iter().position(|&u| u == unit).expect("every kind is listed") as u8)
    }

    /// The kind of unit in GPU descriptions; `None` for a layer's units.
    pub fn unit(self) -> Option<Unit> {
        SERVICE_ORDER.get(self.index()).copied()
    }

    /// This pipe as an index.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Every pipe, in order of service.
    #[inline]
    pub fn all() -> impl Iterator<Item = Self> {
        (0..Self::COUNT as u8).map(Self)
    }
}

/// A set of [`Pipe`]s; bit *i* is `Pipe(i)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PipeSet(pub u16);

impl PipeSet {
    /// Every pipe.
    pub const ALL: PipeSet = PipeSet((1 << Pipe::COUNT) - 1);

    /// Whether `pipe` is in the set.
    #[inline]
    pub const fn contains(self, pipe: Pipe) -> bool {
        self.0 >> pipe.0 & 1 != 0
    }

    /// The pipes in the set, in order of service.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = Pipe> {
        kit::bits::set_bits(u64::from(self.0)).map(|p| Pipe(p as u8))
    }

    /// The set with `pipe`.
    #[inline]
    pub const fn with(self, pipe: Pipe) -> Self {
        PipeSet(self.0 | 1 << pipe.0)
    }

    /// The set without those in `others`.
    #[inline]
    pub const fn except(self, others: Self) -> Self {
        PipeSet(self.0 & !others.0)
    }

    /// The set without `pipe`.
    #[inline]
    pub const fn without(self, pipe: Pipe) -> Self {
        PipeSet(self.0 & !(1 << pipe.0))
    }
}

/// Choices of behaviour that no GPU description fixes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CoreOptions {
    /// Warp scheduler with its parameters, in place of the GPU's own ([`config::Issue::scheduler`]).
    pub scheduler: Option<String>,
    /// Operand collectors take and send instructions in exactly the order of GPGPU-Sim 4.2, in which
    /// sub-cores get in each other's way and an instruction can wait in its collector without end
    /// (see `operand_collector`, D-OC1 and D-OC3). Without it they take turns.
    pub collectors_as_gpgpu_sim: bool,
    /// Instructions behind a barrier are decoded while their warp waits there, as in GPGPU-Sim. Only
    /// for streams in which nothing depends on the barrier: traces. Without it they are decoded when
    /// the barrier is released, a few cycles later.
    pub decode_past_barriers: bool,
    /// Single operations have latencies of their own: [`config::OperationLatencies`].
    pub times_operations: bool,
    /// The scalar path of a scalar-vector core.
    pub scalar: Option<ScalarConfig>,
}

/// A GPU description that no SM can be built from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpecError {
    /// A class without timing.
    NoTiming(Vec<&'static str>),
    /// A class whose unit the SM lacks: class and unit.
    NoUnit(&'static str, Unit),
    /// A value outside what the model handles: what, value, bounds.
    OutOfRange(&'static str, u64, u64, u64),
    /// The warp scheduler or a parameter of it does not exist: the message.
    Scheduler(String),
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTiming(classes) => write!(f, "no latency given for {}", classes.join(", ")),
            Self::NoUnit(class, unit) => {
                write!(f, "class `{class}` executes on a {unit:?} unit, of which the SM has none")
            }
            Self::OutOfRange(what, value, low, high) => write!(f, "{what} is {value}, not in {low}..={high}"),
            Self::Scheduler(problem) => f.write_str(problem),
        }
    }
}

impl std::error::Error for SpecError {}

/// # Errors
/// `value` is not in `low..=high`.
pub(crate) fn within(what: &'static str, value: u32, low: u64, high: u64) -> Result<(), SpecError> {
    let value = u64::from(value);
    if (low..=high).contains(&value) { Ok(()) } else { Err(SpecError::OutOfRange(what, value, low, high)) }
}

/// The immutable description of an SM, checked.
#[derive(Clone, Debug)]
pub struct CoreSpec {
    /// The GPU's description of its SMs.
    pub sm: SmConfig,
    /// Compute capability times ten.
    pub sm_version: u32,
    /// SMs on the chip, for the layout of local memory.
    pub sm_count: u32,
    /// Packets that the crossbar's input holds for an SM: the most that its outbox may.
    pub outbox_packets: u32,
    /// Latency, initiation interval and unit of each class.
    pub timing: OpTable,
    /// Addresses whose lines caches of instructions and constants keep at a launch.
    pub kept_at_launches: Range<u64>,
    /// Choices of behaviour.
    pub options: CoreOptions,
    /// Parts into which latches, collectors and register banks are split: the schedulers in the
    /// sub-core model, else one.
    pub partitions: usize,
}

impl CoreSpec {
    /// The warp scheduler in use, with its parameters as they were written.
    pub fn scheduler_name(&self) -> &str {
        self.options.scheduler.as_deref().unwrap_or(&self.sm.issue.scheduler)
    }

    /// Warp schedulers.
    pub fn schedulers(&self) -> usize {
        self.sm.issue.schedulers as usize
    }

    /// The part of latches, collectors and banks that scheduler `scheduler` uses.
    pub fn partition(&self, scheduler: usize) -> usize {
        if self.partitions == 1 { 0 } else { scheduler }
    }

    /// Register banks of each part.
    pub fn banks_per_partition(&self) -> u32 {
        self.sm.operands.banks / self.partitions as u32
    }

    /// Units of each pipe.
    pub fn unit_count(&self, pipe: Pipe) -> usize {
        self.of_pipe(pipe, |unit| unit.count, self.layer_units()) as usize
    }

    /// Whether each partition has units of `pipe` of its own. Fewer units than partitions serve all of them.
    pub fn has_own_units(&self, pipe: Pipe) -> bool {
        self.unit_count(pipe).is_multiple_of(self.partitions)
    }

    /// Latches of each pipe before the operand collectors.
    pub fn issue_latches(&self, pipe: Pipe) -> u32 {
        self.of_pipe(pipe, |unit| unit.issue_latches, self.layer_ports())
    }

    /// Latches of each pipe behind the operand collectors.
    pub fn dispatch_latches(&self, pipe: Pipe) -> u32 {
        self.of_pipe(pipe, |unit| unit.dispatch_latches, self.layer_ports())
    }

    /// The GPU description's entry for the units of `pipe`, or `of_layer` for the layer's units.
    fn of_pipe(&self, pipe: Pipe, of: impl Fn(&UnitConfig) -> u32, of_layer: u32) -> u32 {
        pipe.unit().map_or(of_layer, |unit| self.sm.units.get(&unit).map_or(0, of))
    }

    /// Results that may be written back in a cycle.
    pub fn writeback_width(&self) -> usize {
        (self.sm.writeback_width + self.layer_ports()) as usize
    }

    /// Whether the stall counts of machine code hold warps.
    pub fn honours_stall_counts(&self) -> bool {
        self.sm.issue.stall_counts == Some(true)
    }

    /// Where an instruction executes and how fast.
    pub fn timing_of(&self, inst: &Traits) -> OpTiming {
        let of_class = self.timing.of(inst.class);
        if let Some(MatrixWork { ty, multiply_adds, group: Some(group) }) = inst.matrix {
            return self.sm.matrix_groups.timing(of_class.unit, ty, multiply_adds, group);
        }
        let work_and_rate = inst.matrix.and_then(|work| Some((work, self.sm.tensor.get(work.ty.name())?)));
        work_and_rate.map_or(of_class, |(work, rate)| matrix_timing(of_class.unit, rate, work.multiply_adds))
    }

    /// Whether `inst` is a constant load of machine code that the memory stage serves, word by word.
    pub fn serves_by_word(&self, inst: &Traits) -> bool {
        inst.is_indexed_constant_load() && self.sm.constant_words_per_cycle.is_some()
    }

    /// Where the instruction at `pc` of `program` executes and how fast.
    pub fn timing_at(&self, program: &Program, pc: Pc) -> OpTiming {
        let mut of_class = self.timing_of(program.inst(pc));
        if self.serves_by_word(program.inst(pc)) {
            of_class.unit = Unit::Mem;
        }
        if !self.options.times_operations {
            return of_class;
        }
        let own = &self.sm.operation_latencies;
        let inst = program.inst(pc);
        let has_register = || program.srcs(inst).iter().any(|reg| program.regs.is_vector(*reg));
        let cycles = inst.single.and_then(|operation| match operation {
            SingleOperation::ConstantLoad if has_register() => own.indexed_constant_load_cycles,
            SingleOperation::ConstantLoad => own.constant_load_cycles,
            SingleOperation::SpecialRegister => own.special_register_cycles,
            SingleOperation::UniformMove => own.uniform_move_cycles,
            SingleOperation::Vote => own.vote_cycles,
            SingleOperation::WordToFloat => {
                own.word_to_float_cycles.inspect(|_| of_class = self.timing.of(OpClass::IntAdd))
            }
        });
        cycles.map_or(of_class, |latency_cycles| OpTiming { latency_cycles, ..of_class })
    }

    /// Greatest latency of an instruction.
    pub fn max_latency(&self) -> usize {
        let of_classes = OpClass::ALL.iter().map(|c| self.timing.of(*c));
        let unit = self.timing.of(OpClass::Tensor).unit;
        let rate = |ty: &MatrixType| Some((self.sm.tensor.get(ty.name())?, ty.most_multiply_adds()));
        let of_matrices = MatrixType::ALL.iter().filter_map(rate).map(|(rate, most)| matrix_timing(unit, rate, most));
        let own = &self.sm.operation_latencies;
        let of_operations = [
            own.constant_load_cycles,
            own.indexed_constant_load_cycles,
            own.special_register_cycles,
            own.uniform_move_cycles,
            own.vote_cycles,
            own.word_to_float_cycles,
        ];
        let of_operations = of_operations.into_iter().flatten().filter(|_| self.options.times_operations);
        let of_groups = if self.sm_version >= 90 { self.sm.matrix_groups.longest() } else { 0 };
        let of_operations = of_operations.chain([of_groups]);
        let all = of_classes.chain(of_matrices).map(|timing| timing.latency_cycles).chain(of_operations);
        all.max().unwrap_or(1).max(self.sm.dependence.longest()) as usize
    }
}

/// Timing of a matrix operation of `multiply_adds` on `unit`.
fn matrix_timing(unit: Unit, rate: &MatrixTiming, multiply_adds: u32) -> OpTiming {
    let initiation_cycles = rate.initiation_cycles(multiply_adds);
    OpTiming { unit, latency_cycles: rate.latency_cycles + initiation_cycles, initiation_cycles }
}
