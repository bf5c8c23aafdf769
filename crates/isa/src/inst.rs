//! Static instructions, decoded once per kernel into dense arrays.

use crate::{ControlBits, CounterBound, MatrixWork, OpClass, Work};
use std::sync::Arc;

kit::id! {
    /// Index of a static instruction in its [`Program`].
    pub struct Pc(u32);
    /// A register in the dense numbering of dependence checks: first the 32-bit vector registers, then
    /// predicates, then other registers of the front end. See [`RegFile`].
    pub struct RegId(u16);
}

/// Positions of the register files in the numbering of [`RegId`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegFile {
    /// 32-bit vector registers: ids `0..vector`. They are in the banked register file. A 64-bit value has two
    /// consecutive ones, low word first.
    pub vector: u16,
    /// One-bit predicate registers: ids `vector..vector + predicate`.
    pub predicate: u16,
    /// Uniform registers and uniform predicates (SASS): the ids that follow.
    pub uniform: u16,
}

impl RegFile {
    /// Total number of ids.
    pub const fn count(&self) -> usize {
        self.vector as usize + self.predicate as usize + self.uniform as usize
    }

    /// Whether `reg` is read through the operand collector.
    #[inline]
    pub const fn is_vector(&self, reg: RegId) -> bool {
        reg.0 < self.vector
    }

    /// Whether `reg` is a predicate, other than a uniform one.
    pub const fn is_predicate(&self, reg: RegId) -> bool {
        reg.0 >= self.vector && reg.0 - self.vector < self.predicate
    }
}

/// State space of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Device memory through L1 and L2.
    Global,
    /// Memory of one thread, interleaved by lane, through L1 and L2.
    Local,
    /// Scratchpad of a CTA.
    Shared,
    /// Constant memory through the constant cache.
    Constant,
    /// Kernel parameters: timed as constant.
    Param,
    /// Determined per access: see [`DynInst::space`](crate::DynInst::space).
    Generic,
    /// Device memory through textures: the texture cache, or L1 if that is unified.
    Texture,
}

/// The kind of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Access {
    Load,
    Store,
    /// Reads, modifies and writes at the L2 (global) or in shared memory, and returns the old value.
    Atomic,
    /// As `Atomic`, without a result.
    Reduction,
    /// Reads global and writes shared memory without registers.
    AsyncCopy,
}

/// Cache operator, as far as timing distinguishes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum CacheOp {
    /// All levels (`.ca`, `.wb`, default).
    #[default]
    All,
    /// L2 only (`.cg`, and accesses with `.gpu` or wider scope).
    L2,
    Streaming,
    LastUse,
    /// Do not cache (`.cv`, `.wt`, volatile).
    Volatile,
    /// Read-only data path (`.nc`).
    ReadOnly,
}

/// The static part of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct MemAccess {
    /// State space, or [`Space::Generic`].
    pub space: Space,
    pub access: Access,
    /// Bytes per lane: 1 to 16.
    pub bytes: u8,
    pub cache: CacheOp,
}

impl MemAccess {
    /// Whether each lane has two addresses: see [`DynInst::addresses2`](crate::DynInst::addresses2).
    pub fn has_two_addresses(self) -> bool {
        self.access == Access::AsyncCopy || self.space == Space::Texture
    }
}

/// Effect of an instruction on its warp's control flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Control {
    /// Continues at the next instruction.
    #[default]
    None,
    /// May continue elsewhere: branch, indirect branch, call, return.
    Branch,
    /// Ends the threads that execute it.
    Exit,
    /// Arrives at a CTA barrier and waits for it.
    BarrierSync,
    /// Arrives at a CTA barrier without waiting.
    BarrierArrive,
    /// Waits until the warp's earlier memory accesses are performed; device or wider scope.
    Fence,
    /// As `Fence`, with CTA scope.
    FenceCta,
    /// Waits until at most `DynInst::async_groups_left` groups of asynchronous copies are pending.
    AsyncWait,
    /// Closes a group of asynchronous copies.
    AsyncCommit,
    /// Starts asynchronous work: [`DynInst::transfer`](crate::DynInst::transfer).
    Transfer,
    /// As `AsyncWait`, of bulk groups: transfers of the copy engine ([`Transfer`](crate::Transfer)).
    BulkWait,
    /// As `BulkWait`, until their sources have been read.
    BulkReadWait,
    /// Closes a bulk group.
    BulkCommit,
    /// As `AsyncWait`, of groups of matrix operations of warp groups ([`GroupWork`](crate::GroupWork)).
    MatrixWait,
    /// Closes a group of matrix operations, the instruction itself included.
    MatrixCommit,
    /// Suspends the warp for about `DynInst::sleep_cycles`.
    Sleep,
}

/// Origin of an instruction, for messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// Line in the front end's own text (PTX or disassembly); 0 if unknown.
    pub line: u32,
    /// File index and line of the high-level source (`.loc`); (0, 0) if unknown.
    pub origin: (u16, u32),
}

/// A constant operand of machine code: `c[bank][offset]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConstantOperand {
    /// Index of the bank.
    pub bank: u8,
    /// In bytes.
    pub offset: u16,
}

/// Properties of a static instruction besides its registers, for the timing model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traits {
    /// Kind of instruction, which determines unit, latency and initiation interval.
    pub class: OpClass,
    /// Work of its lanes, which determines their energy.
    pub work: Work,
    /// Effect on control flow.
    pub control: Control,
    /// Memory access, if it is one.
    pub mem: Option<MemAccess>,
    /// Matrix multiplication, if it is one of known shape.
    pub matrix: Option<MatrixWork>,
    /// A machine operation that may have a latency of its own.
    pub single: Option<SingleOperation>,
    /// Packed half operation that frees its unit after half the interval, as Accel-Sim does for traces.
    pub packed_half: bool,
    /// Its results may differ between lanes even if the registers that it reads do not: it reads the position
    /// of a thread, memory of each thread, or the lane's part of a matrix.
    pub per_lane: bool,
    /// A vector register that it writes may be written, here or by another instruction, in only a part of the
    /// warp's live threads; such a register is never kept once for the whole warp. Front ends that see a
    /// whole kernel determine this; it is unknown in Accel-Sim's traces.
    pub partial: bool,
    /// Its last source is the predicate that guards it. Never set in Accel-Sim's traces, which lack predicates.
    pub guarded: bool,
    /// The compiler's scheduling; `None` except for decoded machine code.
    pub control_bits: Option<ControlBits>,
    /// The general register in each of the positions A, B and C of a machine instruction, for which its reuse bits
    /// stand; the first one of a wider operand.
    pub slots: [Option<u8>; 3],
    /// The dependence barrier that it waits for until little is left, as `DEPBAR.LE` does.
    pub counter_bound: Option<CounterBound>,
    /// The constant that it reads as an operand, without loading it; `None` except for decoded machine code,
    /// and if a register says where the constant is.
    pub constant: Option<ConstantOperand>,
}

impl Traits {
    /// Whether it loads constants in the time of a move, as machine code does, from addresses that are known: those in
    /// general registers, where front ends see what the lanes read.
    pub fn is_indexed_constant_load(&self) -> bool {
        self.single == Some(SingleOperation::ConstantLoad) && self.mem.is_some()
    }

    /// An instruction of `class` without memory access or control effect. If the class has several kinds of
    /// work, it has the most common one.
    pub const fn of(class: OpClass) -> Self {
        let work = match (class, Work::of(class)) {
            (_, Some(work)) => work,
            (OpClass::Convert, None) => Work::IntAdd,
            (OpClass::Half, None) => Work::FpAdd,
            (_, None) => Work::Sin,
        };
        Self {
            class,
            work,
            control: Control::None,
            mem: None,
            matrix: None,
            single: None,
            packed_half: false,
            per_lane: false,
            partial: false,
            guarded: false,
            control_bits: None,
            slots: [None; 3],
            counter_bound: None,
            constant: None,
        }
    }
}

/// Machine operations for which hardware was measured to differ from others of their class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SingleOperation {
    /// Load of a constant (`LDC`).
    ConstantLoad,
    /// Read of a special register (`S2R`).
    SpecialRegister,
    /// Move within the uniform datapath (`UMOV`), and its loads of constants and votes.
    UniformMove,
    /// Vote of the warp (`VOTE`).
    Vote,
    /// Conversion of a word on the main datapath (`I2FP`).
    WordToFloat,
}

impl SingleOperation {
    /// The operation of a machine opcode without modifiers, if it is one of these.
    pub fn of_opcode(opcode: &str) -> Option<Self> {
        Some(match opcode {
            "LDC" => Self::ConstantLoad,
            "S2R" => Self::SpecialRegister,
            "UMOV" | "ULDC" | "VOTEU" => Self::UniformMove,
            "VOTE" => Self::Vote,
            "I2FP" => Self::WordToFloat,
            _ => return None,
        })
    }
}

/// A static instruction for the timing model. Its registers are in [`Program::dsts`] and [`Program::srcs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inst {
    /// Its properties; also accessible through the instruction itself.
    pub traits: Traits,
    operands: u32,
    dst_count: u8,
    src_count: u8,
}

impl std::ops::Deref for Inst {
    type Target = Traits;

    #[inline]
    fn deref(&self) -> &Traits {
        &self.traits
    }
}

/// The static instructions of a kernel with all data for timing.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Name of the kernel.
    pub name: String,
    /// The instructions; [`Pc`] is the index.
    insts: Vec<Inst>,
    /// Destinations, then sources (including the guard predicate), of one instruction after the other.
    operands: Vec<RegId>,
    /// Origin of each instruction.
    sources: Vec<Source>,
    /// Texts of all instructions, for listings and messages, and the end of each.
    texts: String,
    text_ends: Vec<u32>,
    /// Layout of register ids.
    pub regs: RegFile,
    /// Size of an instruction in memory and in the instruction cache.
    pub inst_bytes: u32,
    /// Address of the first instruction.
    pub base_address: u64,
    /// File names that [`Source::origin`] refers to, by index.
    pub files: Vec<String>,
    /// Name of the file that contains the instructions; empty if unknown, as in traces.
    pub code_file: String,
    /// More of their origin, if it is known.
    pub lines: Lines,
}

/// Lines of a program's instructions besides [`Source`]; empty where the front end knows none.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    /// By instruction of machine code: its line in `ptx_text`, from 1; 0 if unknown. Empty if no line is known.
    pub ptx: Vec<u32>,
    /// The PTX that the machine code was assembled from, if the file holds it.
    pub ptx_text: Option<Arc<str>>,
    /// By instruction: the call in `calls` that its code was inlined for. Empty if nothing was inlined.
    pub inlined: Vec<Option<u32>>,
    /// Calls of inlined functions.
    pub calls: Vec<InlinedCall>,
}

/// A call whose callee was inlined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InlinedCall {
    /// File and line of the call, as [`Source::origin`].
    pub at: (u16, u32),
    /// Index of the call that the function with this call was inlined for; less than the index of this one.
    pub outer: Option<u32>,
}

impl Program {
    /// The instruction at `pc`.
    #[inline]
    pub fn inst(&self, pc: Pc) -> &Inst {
        &self.insts[pc.index()]
    }

    /// All instructions in order of [`Pc`].
    pub fn insts(&self) -> &[Inst] {
        &self.insts
    }

    /// Registers that `inst` writes.
    #[inline]
    pub fn dsts(&self, inst: &Inst) -> &[RegId] {
        let start = inst.operands as usize;
        &self.operands[start..start + inst.dst_count as usize]
    }

    /// Registers that `inst` reads, including its guard predicate.
    #[inline]
    pub fn srcs(&self, inst: &Inst) -> &[RegId] {
        let start = inst.operands as usize + inst.dst_count as usize;
        &self.operands[start..start + inst.src_count as usize]
    }

    /// Address of the instruction at `pc`, for the instruction cache.
    #[inline]
    pub fn address(&self, pc: Pc) -> u64 {
        self.base_address + u64::from(pc.0) * u64::from(self.inst_bytes)
    }

    /// Origin of the instruction at `pc`.
    pub fn source(&self, pc: Pc) -> Source {
        self.sources[pc.index()]
    }

    /// Position of the instruction at `pc`, such as `saxpy.ptx:34, from saxpy.cu:9`, `saxpy.cubin, byte 0xd0
    /// of the kernel` or `line 34`; empty if unknown.
    pub fn place(&self, pc: Pc) -> String {
        let code = self.place_in_code(pc);
        match self.origin(pc) {
            None => code,
            Some((file, line)) if code.is_empty() => format!("from {file}:{line}"),
            Some((file, line)) => format!("{code}, from {file}:{line}"),
        }
    }

    /// The same without the source.
    pub fn place_in_code(&self, pc: Pc) -> String {
        match (&*self.code_file, self.source(pc).line) {
            ("", 0) => String::new(),
            ("", line) => format!("line {line}"),
            (file, 0) => format!("{file}, byte {:#x} of the kernel", u64::from(pc.0) * u64::from(self.inst_bytes)),
            (file, line) => format!("{file}:{line}"),
        }
    }

    /// File and line of the high-level source that the instruction at `pc` was compiled from, if known.
    pub fn origin(&self, pc: Pc) -> Option<(&str, u32)> {
        self.named(self.source(pc).origin)
    }

    /// Files and lines of the calls that the instruction at `pc` was inlined for, the innermost first.
    pub fn calls(&self, pc: Pc) -> impl Iterator<Item = (&str, u32)> {
        let call = |index: &Option<u32>| Some(self.lines.calls[(*index)? as usize]);
        let first = self.lines.inlined.get(pc.index()).and_then(call);
        std::iter::successors(first, move |inlined| call(&inlined.outer)).filter_map(|inlined| self.named(inlined.at))
    }

    /// Line of the PTX that the instruction at `pc` was assembled from, if known; of PTX itself its own line.
    pub fn ptx_line(&self, pc: Pc) -> Option<u32> {
        let line = self.lines.ptx.get(pc.index()).copied().unwrap_or(self.source(pc).line);
        (line != 0).then_some(line)
    }

    fn named(&self, (file, line): (u16, u32)) -> Option<(&str, u32)> {
        let file = self.files.get(usize::from(file)).filter(|_| line != 0)?;
        Some((file, line))
    }

    /// Text of the instruction at `pc`.
    pub fn text(&self, pc: Pc) -> &str {
        let start = pc.index().checked_sub(1).map_or(0, |before| self.text_ends[before]);
        &self.texts[start as usize..self.text_ends[pc.index()] as usize]
    }

    /// Sets [`Source::origin`] of the instruction at `pc`.
    pub fn set_origin(&mut self, pc: Pc, origin: (u16, u32)) {
        self.sources[pc.index()].origin = origin;
    }

    /// Sets [`Traits::control_bits`] of the instruction at `pc`.
    pub fn set_control_bits(&mut self, pc: Pc, bits: ControlBits) {
        self.insts[pc.index()].traits.control_bits = Some(bits);
    }

    /// Sets [`Traits::partial`] of every instruction that writes one of `registers`, a set of numbers of
    /// vector registers.
    pub fn mark_partial(&mut self, registers: &kit::BitSet) {
        for inst in &mut self.insts {
            let start = inst.operands as usize;
            let dsts = &self.operands[start..start + inst.dst_count as usize];
            inst.traits.partial |= dsts.iter().any(|&r| self.regs.is_vector(r) && registers.contains(r.index()));
        }
    }
}

/// Builds a [`Program`] instruction by instruction.
#[derive(Debug, Default)]
pub struct ProgramBuilder {
    program: Program,
}

impl ProgramBuilder {
    /// An empty program `name` with instructions of `inst_bytes` each.
    pub fn new(name: impl Into<String>, inst_bytes: u32) -> Self {
        Self { program: Program { name: name.into(), inst_bytes, ..Program::default() } }
    }

    /// Appends an instruction. Panics on more than 255 destinations or sources.
    pub fn push(&mut self, spec: InstSpec<'_>) -> Pc {
        let p = &mut self.program;
        let pc = Pc::from(p.insts.len());
        p.insts.push(Inst {
            traits: spec.traits,
            operands: u32::try_from(p.operands.len()).expect("operand pool too large"),
            dst_count: u8::try_from(spec.dsts.len()).expect("too many destinations"),
            src_count: u8::try_from(spec.srcs.len()).expect("too many sources"),
        });
        p.operands.extend_from_slice(spec.dsts);
        p.operands.extend_from_slice(spec.srcs);
        p.sources.push(spec.source);
        p.texts.push_str(spec.text);
        p.text_ends.push(u32::try_from(p.texts.len()).expect("texts too large"));
        pc
    }

    /// Number of instructions so far, which is the next instruction's [`Pc`].
    pub fn next_pc(&self) -> Pc {
        Pc::from(self.program.insts.len())
    }

    /// Completes the program.
    pub fn finish(mut self, regs: RegFile, files: Vec<String>) -> Program {
        self.program.regs = regs;
        self.program.files = files;
        self.program.insts.shrink_to_fit();
        self.program.operands.shrink_to_fit();
        self.program.sources.shrink_to_fit();
        self.program.texts.shrink_to_fit();
        self.program.text_ends.shrink_to_fit();
        debug_assert!(self.program.operands.iter().all(|r| r.index() < regs.count()));
        self.program
    }
}

/// An instruction for [`ProgramBuilder::push`].
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct InstSpec<'a> {
    /// All properties except registers.
    pub traits: Traits,
    pub dsts: &'a [RegId],
    /// Registers read, including the guard predicate.
    pub srcs: &'a [RegId],
    pub source: Source,
    pub text: &'a str,
}

impl InstSpec<'_> {
    /// An instruction with `traits` and without operands.
    pub const fn of(traits: Traits) -> Self {
        InstSpec { traits, dsts: &[], srcs: &[], source: Source { line: 0, origin: (0, 0) }, text: "" }
    }
}
