//! Static instructions, decoded once per kernel into dense arrays.

use crate::{ControlBits, OpClass, Work};

kit::id! {
    /// Index of a static instruction in its [`Program`].
    pub struct Pc(u32);
    /// A register in the one dense numbering that dependence checks use: first the 32-bit vector
    /// registers, then predicates, then whatever else the front end has. See [`RegFile`].
    pub struct RegId(u16);
}

/// Where the files of registers lie in the dense numbering of [`RegId`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegFile {
    /// 32-bit vector registers: ids `0..vector`. These live in the banked register file; a 64-bit
    /// value occupies two of them, consecutive, low word first.
    pub vector: u16,
    /// One-bit predicate registers: ids `vector..vector + predicate`.
    pub predicate: u16,
    /// Uniform registers and uniform predicates (SASS): the ids that follow.
    pub uniform: u16,
}

impl RegFile {
    /// Number of ids in all.
    pub const fn count(&self) -> usize {
        self.vector as usize + self.predicate as usize + self.uniform as usize
    }

    /// Whether `reg` is read through the operand collector.
    #[inline]
    pub const fn is_vector(&self, reg: RegId) -> bool {
        reg.0 < self.vector
    }
}

/// State space of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Device memory through L1 and L2.
    Global,
    /// Per-thread memory, interleaved by lane, through L1 and L2.
    Local,
    /// Per-CTA scratchpad.
    Shared,
    /// Constant cache.
    Constant,
    /// Kernel parameters: timed as constant.
    Param,
    /// Found out per access: [`DynInst::space`](crate::DynInst::space) has the outcome.
    Generic,
    /// Device memory through textures: the texture cache, or L1 where that is one with it.
    Texture,
}

/// What a memory instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Reads, modifies and writes at the L2 (global) or in shared memory, and returns the old value.
    Atomic,
    /// The same without a result.
    Reduction,
    /// Reads global and writes shared memory without passing registers.
    AsyncCopy,
}

/// Cache operator, as far as timing can tell them apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CacheOp {
    /// All levels (`.ca`, `.wb`, default).
    #[default]
    All,
    /// L2 only (`.cg`, and accesses with `.gpu` or wider scope).
    L2,
    /// Streaming (`.cs`).
    Streaming,
    /// Last use (`.lu`).
    LastUse,
    /// Do not cache (`.cv`, `.wt`, volatile).
    Volatile,
    /// Read-only data path (`.nc`).
    ReadOnly,
}

/// The static part of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemAccess {
    /// State space, or [`Space::Generic`].
    pub space: Space,
    /// What is done there.
    pub access: Access,
    /// Bytes per lane: 1 to 16.
    pub bytes: u8,
    /// Cache operator.
    pub cache: CacheOp,
}

impl MemAccess {
    /// Whether each lane has two addresses: see [`DynInst::addresses2`](crate::DynInst::addresses2).
    pub fn has_two_addresses(self) -> bool {
        self.access == Access::AsyncCopy || self.space == Space::Texture
    }
}

/// How an instruction steers its warp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Control {
    /// Goes on to the next instruction.
    #[default]
    None,
    /// May go elsewhere: branch, indirect branch, call, return.
    Branch,
    /// Ends the threads that execute it.
    Exit,
    /// Arrives at a CTA barrier and waits for it.
    BarrierSync,
    /// Arrives at a CTA barrier without waiting.
    BarrierArrive,
    /// Waits until the warp's earlier memory accesses are performed; of device or wider scope.
    Fence,
    /// Likewise, between the threads of a CTA only.
    FenceCta,
    /// Waits until at most `DynInst::async_groups_left` groups of asynchronous copies are pending.
    AsyncWait,
    /// Closes a group of asynchronous copies.
    AsyncCommit,
    /// Suspends the warp for about `DynInst::sleep_cycles`.
    Sleep,
}

/// Where an instruction comes from, for messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// Line in the front end's own text (PTX or disassembly); 0 if unknown.
    pub line: u32,
    /// File index and line of the high-level source (`.loc`); (0, 0) if unknown.
    pub origin: (u16, u32),
}

/// What the timing model knows of a static instruction besides its registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traits {
    /// Kind of instruction, which decides unit, latency and initiation interval.
    pub class: OpClass,
    /// What its lanes do, which decides their energy.
    pub work: Work,
    /// Effect on control flow.
    pub control: Control,
    /// Memory access, if it is one.
    pub mem: Option<MemAccess>,
    /// Packed half operation that leaves its unit free after half the interval: Accel-Sim's
    /// convention for traces.
    pub packed_half: bool,
    /// What it writes may differ between lanes though the registers that it reads do not: it reads the
    /// position of a thread, memory of each thread's own, or the lane's part of a matrix.
    pub per_lane: bool,
    /// A vector register that it writes may be written, here or by another instruction, in only a part
    /// of the warp's live threads: such a register is never kept once for the whole warp. Front ends
    /// that see a whole kernel find out; Accel-Sim's traces do not say.
    pub partial: bool,
    /// How the compiler schedules it; `None` but for machine code that is decoded.
    pub control_bits: Option<ControlBits>,
}

impl Traits {
    /// An instruction of `class` without memory access or control effect. Of a class of several kinds of work it
    /// does the commonest.
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
            packed_half: false,
            per_lane: false,
            partial: false,
            control_bits: None,
        }
    }
}

/// A static instruction as the timing model sees it. Its registers are in
/// [`Program::dsts`] and [`Program::srcs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inst {
    /// All but its registers; also reached through the instruction itself.
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

/// A kernel's static instructions and what is needed to time them.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Name of the kernel.
    pub name: String,
    /// The instructions; [`Pc`] is the index.
    insts: Vec<Inst>,
    /// Destinations, then sources (guard predicate included), of each instruction in turn.
    operands: Vec<RegId>,
    /// Where each instruction comes from.
    sources: Vec<Source>,
    /// Text of each instruction, for listings and messages.
    texts: Vec<String>,
    /// Layout of register ids.
    pub regs: RegFile,
    /// Bytes that an instruction takes in memory and in the instruction cache.
    pub inst_bytes: u32,
    /// Address of the first instruction.
    pub base_address: u64,
    /// File names that [`Source::origin`] refers to, by index.
    pub files: Vec<String>,
    /// Name of the file that the instructions are in; empty if unknown, as in traces.
    pub code_file: String,
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

    /// Registers that `inst` reads, its guard predicate among them.
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

    /// Where the instruction at `pc` comes from.
    pub fn source(&self, pc: Pc) -> Source {
        self.sources[pc.index()]
    }

    /// Where the instruction at `pc` is, as `saxpy.ptx:34, from saxpy.cu:9`, `saxpy.cubin, byte 0xd0 of the
    /// kernel` or `line 34`; empty if unknown.
    pub fn place(&self, pc: Pc) -> String {
        let Source { line, origin: (file, at) } = self.source(pc);
        let mut place = match (&*self.code_file, line) {
            ("", 0) => String::new(),
            ("", _) => format!("line {line}"),
            (file, 0) => format!("{file}, byte {:#x} of the kernel", u64::from(pc.0) * u64::from(self.inst_bytes)),
            (file, _) => format!("{file}:{line}"),
        };
        if let Some(file) = self.files.get(file as usize).filter(|_| at != 0) {
            place += &format!("{}from {file}:{at}", if place.is_empty() { "" } else { ", " });
        }
        place
    }

    /// The instruction at `pc` as text.
    pub fn text(&self, pc: Pc) -> &str {
        &self.texts[pc.index()]
    }

    /// Sets [`Traits::control_bits`] of the instruction at `pc`.
    pub fn set_control_bits(&mut self, pc: Pc, bits: ControlBits) {
        self.insts[pc.index()].traits.control_bits = Some(bits);
    }

    /// Sets [`Traits::partial`] of every instruction that writes one of `registers`, which holds numbers
    /// of vector registers.
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
    /// An empty program named `name` whose instructions take `inst_bytes` each.
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
        p.texts.push(spec.text.into());
        pc
    }

    /// Number of instructions so far, which is the next instruction's [`Pc`].
    pub fn next_pc(&self) -> Pc {
        Pc::from(self.program.insts.len())
    }

    /// The finished program.
    pub fn finish(mut self, regs: RegFile, files: Vec<String>) -> Program {
        self.program.regs = regs;
        self.program.files = files;
        debug_assert!(self.program.operands.iter().all(|r| r.index() < regs.count()));
        self.program
    }
}

/// What [`ProgramBuilder::push`] needs to know of an instruction.
#[derive(Clone, Copy, Debug)]
pub struct InstSpec<'a> {
    /// All but its registers.
    pub traits: Traits,
    /// Registers written.
    pub dsts: &'a [RegId],
    /// Registers read, guard predicate included.
    pub srcs: &'a [RegId],
    /// Where it comes from.
    pub source: Source,
    /// As text.
    pub text: &'a str,
}

impl InstSpec<'_> {
    /// An instruction with `traits` and without operands.
    pub const fn of(traits: Traits) -> Self {
        InstSpec { traits, dsts: &[], srcs: &[], source: Source { line: 0, origin: (0, 0) }, text: "" }
    }
}
