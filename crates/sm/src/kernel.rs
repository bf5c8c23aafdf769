//! Kernels as the SM sees them: static instructions with their pipe and timing resolved.

use crate::spec::{CoreSpec, Pipe};
use crate::warps::occupancy::{Occupancy, occupancy};
use config::{OpTiming, Unit};
use gpu::CoreKernel;
use isa::{Control, LaunchShape, MemAccess, OpClass, Pc, Program, RegId, Space, Work};
use mem::coalesce::LocalLayout;
use std::sync::Arc;

/// What stages ask of a static instruction again and again, resolved against a GPU's timing table once
/// per program. What it names stands apart.
#[derive(Clone, Copy, Debug)]
pub struct Micro {
    /// Kind of work.
    pub class: OpClass,
    /// What its lanes do, as far as energy goes.
    pub work: Work,
    /// Where it executes.
    pub pipe: Pipe,
    /// Effect on control flow.
    pub control: Control,
    /// Memory access, if it is one.
    pub mem: Option<MemAccess>,
    /// From entry into the unit to the result, in cycles.
    pub latency_cycles: u16,
    /// From its entry into the unit to the next instruction's, in cycles.
    pub initiation_cycles: u16,
    /// How many registers it reads through operand collectors.
    pub vector_srcs: u8,
    /// How many registers it writes.
    pub dsts: u8,
    /// How many of these lie in the register file.
    pub vector_dsts: u8,
    /// Some of its registers have no place in a [`RegSet`].
    pub(crate) is_wide: bool,
}

impl Micro {
    /// What a place for an instruction holds before the first one comes.
    pub(crate) const NOTHING: Self = Self {
        class: OpClass::Nop,
        work: Work::ALL[0],
        pipe: Pipe(0),
        control: Control::None,
        mem: None,
        latency_cycles: 0,
        initiation_cycles: 0,
        vector_srcs: 0,
        dsts: 0,
        vector_dsts: 0,
        is_wide: false,
    };
}

/// What a static instruction names, for stages that look at its registers.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(crate) struct Names {
    /// Its registers.
    pub operands: Operands,
    /// The registers that it reads.
    pub reads: RegSet,
    /// Those that it writes.
    pub writes: RegSet,
    /// Where they lie.
    pub banks: Banks,
}

/// The banks, within a sub-core, of the vector registers of an instruction of a warp whose register 0
/// lies in bank 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Banks {
    /// How often it reads each of them, three times at most: the lower bits of these numbers, and the higher ones.
    pub reads: [u64; 2],
    /// It reads some more than three times.
    pub has_many: bool,
    /// Those that it writes.
    pub writes: u64,
}

impl Banks {
    fn new(program: &Program, operands: &[RegId], dsts: usize, count: u32) -> Self {
        let (writes, reads) = operands.split_at(dsts);
        let vector = |reg: &&RegId| program.regs.is_vector(**reg);
        let bank = |reg: &RegId| 1 << (u32::from(reg.0) % count);
        let mut banks =
            Self { writes: writes.iter().filter(vector).map(bank).fold(0, |set, bank| set | bank), ..Self::default() };
        reads.iter().filter(vector).for_each(|reg| banks.add_read(bank(reg)));
        banks
    }

    /// One more read of `bank`, a bit.
    pub fn add_read(&mut self, bank: u64) {
        let [low, high] = self.reads;
        if low & high & bank != 0 {
            self.has_many = true;
        } else {
            self.reads = [low ^ bank, high ^ low & bank];
        }
    }

    /// Those that it reads.
    #[inline]
    pub fn read(&self) -> u64 {
        self.reads[0] | self.reads[1]
    }
}

/// A set of registers below [`RegSet::BOUND`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RegSet([u64; RegSet::BOUND / 64]);

impl RegSet {
    /// Registers from here on have no place in such a set.
    pub const BOUND: usize = 256;

    /// Those of `regs` that have a place.
    fn of(regs: &[RegId]) -> Self {
        let mut set = Self::default();
        for reg in regs.iter().filter(|r| r.index() < Self::BOUND) {
            set.0[reg.index() / 64] |= 1 << (reg.index() % 64);
        }
        set
    }

    /// Whether the two have a register in common.
    #[inline]
    pub fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).fold(0, |common, (a, b)| common | a & b) != 0
    }

    /// Adds those in `other`.
    #[inline]
    pub fn insert(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a |= b);
    }

    /// Adds `reg`, if it has a place.
    #[inline]
    pub fn put(&mut self, reg: RegId) {
        if let Some(word) = self.0.get_mut(reg.index() / 64) {
            *word |= 1 << (reg.index() % 64);
        }
    }

    /// Takes `reg` out.
    #[inline]
    pub fn take(&mut self, reg: RegId) {
        if let Some(word) = self.0.get_mut(reg.index() / 64) {
            *word &= !(1 << (reg.index() % 64));
        }
    }

    /// Takes out those in `other`.
    #[inline]
    pub fn remove(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a &= !b);
    }

    /// Whether it is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.iter().fold(0, |all, a| all | a) == 0
    }
}

/// Most registers that an instruction carries with it.
const INLINE_REGISTERS: usize = 8;

/// An instruction's registers: those written, then those read from the banked register file, then
/// the others read. If they are many, they stand in the [`Code`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Operands {
    inline: [RegId; INLINE_REGISTERS],
    start: u32,
    dsts: u8,
    /// End of those read from the register file.
    vector_end: u8,
    /// End of all.
    end: u8,
    /// They stand in the code.
    is_long: bool,
}

impl Operands {
    /// Splits the registers of an instruction and appends them to `pool`.
    fn new(program: &Program, dsts: &[RegId], srcs: &[RegId], pool: &mut Vec<RegId>) -> Self {
        let start = pool.len();
        pool.extend_from_slice(dsts);
        // A register that an instruction names twice is read once.
        let named_first = |(i, reg): (usize, &RegId)| (!srcs[..i].contains(reg)).then_some(*reg);
        pool.extend(srcs.iter().enumerate().filter_map(named_first).filter(|r| program.regs.is_vector(*r)));
        let vector_end = (pool.len() - start) as u8;
        pool.extend(srcs.iter().enumerate().filter_map(named_first).filter(|r| !program.regs.is_vector(*r)));
        let all = &pool[start..];
        let is_long = all.len() > INLINE_REGISTERS;
        let mut inline = [RegId(0); INLINE_REGISTERS];
        if !is_long {
            inline[..all.len()].copy_from_slice(all);
        }
        // An instruction with more than 255 registers could not be encoded; its tail goes unseen.
        let end = all.len().min(255) as u8;
        Self { inline, start: start as u32, dsts: dsts.len() as u8, vector_end, end, is_long }
    }

    #[inline]
    fn all<'a>(&'a self, code: &'a Code) -> &'a [RegId] {
        if self.is_long { self.in_code(code) } else { &self.inline }
    }

    #[cold]
    fn in_code<'a>(&self, code: &'a Code) -> &'a [RegId] {
        let start = self.start as usize;
        &code.registers[start..start + self.end as usize]
    }

    /// Registers written.
    #[inline]
    pub fn dsts<'a>(&'a self, code: &'a Code) -> &'a [RegId] {
        &self.all(code)[..self.dsts as usize]
    }

    /// Registers read.
    #[inline]
    pub fn srcs<'a>(&'a self, code: &'a Code) -> &'a [RegId] {
        &self.all(code)[self.dsts as usize..self.end as usize]
    }

    /// Registers read through operand collectors.
    #[inline]
    pub fn vector_srcs<'a>(&'a self, code: &'a Code) -> &'a [RegId] {
        &self.all(code)[self.dsts as usize..self.vector_end as usize]
    }
}

/// A program with its [`Micro`]s and what its instructions name: made once per program and GPU, shared by
/// launches and SMs.
#[derive(Debug)]
pub struct Code {
    /// The program.
    pub program: Arc<Program>,
    micros: Box<[Micro]>,
    names: Box<[Names]>,
    registers: Box<[RegId]>,
}

impl Code {
    /// Resolves `program` against the timing table of `spec`.
    pub fn new(program: Arc<Program>, spec: &CoreSpec) -> Self {
        let mut registers = Vec::new();
        let ignored = |reg: &RegId| spec.sm.issue.ignore_predicates == Some(true) && program.regs.is_predicate(*reg);
        let tracked = |regs: &[RegId]| regs.iter().copied().filter(|reg| !ignored(reg)).collect::<Vec<_>>();
        let names = program.insts().iter().map(|inst| {
            let (start, dsts, srcs) = (registers.len(), tracked(program.dsts(inst)), tracked(program.srcs(inst)));
            let operands = Operands::new(&program, &dsts, &srcs, &mut registers);
            let banks = Banks::new(&program, &registers[start..], dsts.len(), spec.banks_per_partition());
            Names { operands, reads: RegSet::of(&srcs), writes: RegSet::of(&dsts), banks }
        });
        let names: Box<[Names]> = names.collect();
        let micros = program.insts().iter().zip(&names).map(|(inst, names)| {
            let OpTiming { unit, latency_cycles, initiation_cycles } = spec.timing_of(inst);
            let initiation = if inst.packed_half { initiation_cycles / 2 } else { initiation_cycles };
            // Units of textures are for instructions without addresses, as traces have them.
            let in_memory = inst.class == OpClass::Texture && inst.mem.is_some();
            Micro {
                class: inst.class,
                work: inst.work,
                pipe: Pipe::of(if in_memory { Unit::Mem } else { unit }),
                control: inst.control,
                mem: inst.mem,
                latency_cycles: latency_cycles.clamp(1, u32::from(u16::MAX)) as u16,
                initiation_cycles: initiation.clamp(1, u32::from(u16::MAX)) as u16,
                vector_srcs: names.operands.vector_end - names.operands.dsts,
                dsts: names.operands.dsts,
                vector_dsts: program.dsts(inst).iter().filter(|r| program.regs.is_vector(**r)).count() as u8,
                is_wide: program.dsts(inst).iter().chain(program.srcs(inst)).any(|r| r.index() >= RegSet::BOUND),
            }
        });
        let micros = micros.collect();
        Self { program, micros, names, registers: registers.into() }
    }

    /// The resolved instruction at `pc`.
    #[inline]
    pub fn micro(&self, pc: Pc) -> &Micro {
        &self.micros[pc.index()]
    }

    /// What the instruction at `pc` names.
    #[inline(always)]
    pub(crate) fn names(&self, pc: Pc) -> &Names {
        &self.names[pc.index()]
    }
}

/// A kernel launch: what runs and in what shape. The whole GPU keeps a table of these, indexed by
/// [`KernelId`](isa::KernelId).
#[derive(Clone, Debug)]
pub struct ResidentKernel {
    /// What runs.
    pub code: Arc<Code>,
    /// Grid, block, registers, shared memory.
    pub shape: LaunchShape,
    /// How many of its CTAs an SM holds, and what limits them.
    pub occupancy: Occupancy,
    /// CTAs that an SM is taken to hold where memory is shared out among them: those of the occupancy, or
    /// fewer ([`config::Sm::residency_counts_grid`]).
    pub ctas_per_sm: u32,
    /// Where its threads' local memory lies.
    pub local_layout: LocalLayout,
}

impl CoreKernel for ResidentKernel {
    fn shape(&self) -> &LaunchShape {
        &self.shape
    }

    fn reads_textures(&self) -> bool {
        self.code.program.insts().iter().any(|i| i.mem.is_some_and(|m| m.space == Space::Texture))
    }
}

impl ResidentKernel {
    /// A launch of `code` in `shape` on SMs like `spec`.
    pub fn new(code: Arc<Code>, shape: LaunchShape, spec: &CoreSpec) -> Self {
        let occupancy = occupancy(&spec.sm, &shape);
        let by_grid = if spec.sm.residency_counts_grid {
            shape.ctas().div_ceil(u64::from(spec.sm_count)).try_into().unwrap_or(u32::MAX)
        } else {
            u32::MAX
        };
        let ctas_per_sm = occupancy.ctas_per_sm.min(by_grid).max(1);
        let local_layout = LocalLayout {
            base: u64::from(spec.sm.local_base_kib) << 10,
            threads_per_cta: shape.warps() * kit::WARP_LANES as u32,
            ctas_per_sm,
            sm_count: spec.sm_count,
        };
        Self { code, shape, occupancy, ctas_per_sm, local_layout }
    }
}
