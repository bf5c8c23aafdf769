//! Kernels as the SM sees them: static instructions with their pipe and timing resolved.

use crate::dependence::Distances;
use crate::half::half_operations;
use crate::inflight::Entry;
use crate::resolved::{Banks, Micro, Names, Operands, RegSet, Scheduling};
use crate::spec::{CoreSpec, Pipe};
use crate::warps::occupancy::{Occupancy, occupancy};
use crate::warps::stall_counters::issue_distance;
use config::{OpTiming, Unit};
use gpu::CoreKernel;
use isa::{ConstantOperand, Inst, LaunchShape, OpClass, Pc, Program, RegId};
use mem::coalesce::LocalLayout;
use std::sync::Arc;

/// Where constant banks are for the caches.
pub(crate) const CONSTANT_BASE: u64 = mem::CODE.end;
/// Bytes of memory behind a program that are fetched with it: an empty kernel's launch descriptor (see `mem`'s cache of a
/// GPC) has a prefetch of nine times 256 bytes.
const CODE_BEHIND: u64 = 2048;
/// Units whose instructions end at no time that a compiler knows.
const VARIABLE_LATENCY: [Option<Unit>; 3] = [Some(Unit::Mem), Some(Unit::Sfu), Some(Unit::Texture)];

/// A program with its instructions resolved: made once per program and GPU, shared by launches and SMs.
#[derive(Debug)]
pub struct Code {
    /// The program.
    pub program: Arc<Program>,
    /// Record of an execution of each instruction when it is decoded.
    templates: Box<[Entry]>,
    registers: Box<[RegId]>,
    /// Where it is in memory, for front ends that fetch it from there: after the start of [`mem::CODE`].
    pub loaded_at: u64,
    /// Constant operands of the instructions of fixed latency; empty if there are none.
    constants: Box<[Option<ConstantOperand>]>,
}

/// Cycles for which an instruction on `unit` keeps pipes active: FP64 and tensor cores also the pipe that they share.
fn pipe_cycles(inst: &Inst, unit: Unit, initiation_cycles: u32) -> u8 {
    let pipes = match unit {
        Unit::Sp | Unit::Int => 1,
        Unit::Dp | Unit::Tensor => 2,
        _ => 0,
    };
    if inst.work.is_arithmetic() { (pipes * initiation_cycles).min(u8::MAX.into()) as u8 } else { 0 }
}

impl Code {
    /// Resolves `program` against the timing table of `spec`.
    pub fn new(program: Arc<Program>, spec: &CoreSpec) -> Self {
        let mut registers = Vec::new();
        let ignored = |reg: &RegId| spec.sm.issue.ignore_predicates == Some(true) && program.regs.is_predicate(*reg);
        let honours_stalls = spec.honours_stall_counts();
        let tracked = |regs: &[RegId]| regs.iter().copied().filter(|reg| !ignored(reg)).collect::<Vec<_>>();
        let has_bits = program.insts().iter().any(|inst| inst.control_bits.is_some());
        let distances = Distances::of(&program, spec);
        let templates = program.insts().iter().enumerate().map(|(pc, inst)| {
            let (start, mut dsts, mut srcs) =
                (registers.len(), tracked(program.dsts(inst)), tracked(program.srcs(inst)));
            let group = inst.matrix.and_then(|work| work.group);
            if group.is_some() {
                // The tensor core reads and writes the accumulator by itself.
                srcs.retain(|reg| !dsts.contains(reg));
                dsts.clear();
            }
            let operands = Operands::new(&program, &dsts, &srcs, &mut registers);
            let banks = Banks::new(&program, &registers[start..], dsts.len(), spec.banks_per_partition());
            let mut scheduling = match inst.control_bits {
                None if has_bits => Scheduling::WAITS_FOR_ALL,
                _ => Scheduling::of(inst, program.srcs(inst)),
            };
            scheduling.names_constant = inst.constant.is_some();
            let names = Names { operands, reads: RegSet::of(&srcs), writes: RegSet::of(&dsts), banks, scheduling };
            let timing @ OpTiming { unit, initiation_cycles, .. } = spec.timing_at(&program, Pc::from(pc));
            let latency_cycles = distances.latency(pc, timing);
            let initiation = if inst.packed_half { initiation_cycles / 2 } else { initiation_cycles };
            // Units of textures are for instructions without addresses, as traces have them.
            let in_memory = inst.class == OpClass::Texture && inst.mem.is_some();
            let mut micro = Micro {
                class: inst.class,
                work: inst.work,
                pipe: Pipe::of(if in_memory { Unit::Mem } else { unit }),
                control: inst.control,
                mem: inst.mem.filter(|_| !inst.is_indexed_constant_load() || spec.serves_by_word(inst)),
                latency_cycles: latency_cycles.clamp(1, u32::from(u16::MAX)) as u16,
                initiation_cycles: initiation.clamp(1, u32::from(u16::MAX)) as u16,
                vector_srcs: names.operands.vector_end - names.operands.dsts,
                dsts: names.operands.dsts,
                vector_dsts: program.dsts(inst).iter().filter(|r| program.regs.is_vector(**r)).count() as u8,
                issue_distance: inst.control_bits.filter(|_| honours_stalls).map_or(1, issue_distance),
                pipe_cycles: pipe_cycles(inst, unit, initiation),
                half_operations: if inst.class == OpClass::Half {
                    half_operations(program.text(Pc::from(pc)))
                } else {
                    0
                },
                multiply_adds: inst.matrix.map_or(0, |work| work.multiply_adds),
                is_special: false,
                is_wide: program.dsts(inst).iter().chain(program.srcs(inst)).any(|r| r.index() >= RegSet::BOUND),
                wavefronts: group.map_or(0, |group| spec.sm.matrix_groups.wavefronts(group) as u16),
            };
            micro.is_special = micro.counts_apart();
            Entry::template(Pc::from(pc), micro, names)
        });
        let templates: Box<[Entry]> = templates.collect();
        let fixed = |entry: &Entry| !VARIABLE_LATENCY.contains(&entry.inst.pipe.unit());
        let constant = |(inst, entry): (&Inst, &Entry)| inst.constant.filter(|_| fixed(entry));
        let mut constants: Box<[_]> = program.insts().iter().zip(&templates).map(constant).collect();
        if constants.iter().all(Option::is_none) {
            constants = Box::default();
        }
        Self { program, templates, registers: registers.into(), constants, loaded_at: 0 }
    }

    /// The constant operand of the instruction at `pc`, if its latency is fixed.
    #[inline]
    pub(crate) fn constant(&self, pc: Pc) -> Option<ConstantOperand> {
        self.constants.get(pc.index()).copied().flatten()
    }

    /// The resolved instruction at `pc`.
    #[inline]
    pub fn micro(&self, pc: Pc) -> &Micro {
        &self.template(pc).inst.micro
    }

    /// Record of an execution of the instruction at `pc` when it is decoded, before its warp is known.
    #[inline]
    pub fn template(&self, pc: Pc) -> &Entry {
        &self.templates[pc.index()]
    }

    /// Where the instruction at `pc` is, for front ends that fetch it from memory.
    #[inline]
    pub fn address(&self, pc: Pc) -> u64 {
        mem::CODE.start + self.loaded_at + self.program.address(pc)
    }

    /// The bytes of its instructions in memory.
    pub fn bytes(&self) -> u64 {
        self.templates.len() as u64 * u64::from(self.program.inst_bytes)
    }

    /// Address and bytes of what is fetched ahead of it: the program, and what is behind it in its module.
    pub fn fetched(&self) -> (u64, u64) {
        (self.address(Pc(0)), self.bytes() + CODE_BEHIND)
    }

    /// The registers of its instructions that name many.
    #[inline]
    pub(crate) fn registers(&self) -> &[RegId] {
        &self.registers
    }
}

/// A kernel launch: what runs and in what shape. The whole GPU keeps a table of these, indexed by
/// [`KernelId`](isa::KernelId).
#[derive(Clone, Debug)]
pub struct ResidentKernel {
    /// The code.
    pub code: Arc<Code>,
    /// Grid, block, registers, shared memory.
    pub shape: LaunchShape,
    /// How many of its CTAs an SM holds, and what limits them.
    pub occupancy: Occupancy,
    /// CTAs that an SM is taken to hold where memory is shared out among them: by the occupancy, or
    /// fewer ([`config::Sm::residency_counts_grid`]).
    pub ctas_per_sm: u32,
    /// Where its threads' local memory lies.
    pub local_layout: LocalLayout,
}

impl CoreKernel for ResidentKernel {
    fn shape(&self) -> &LaunchShape {
        &self.shape
    }

    fn parameters(&self) -> Option<(u64, u64)> {
        // The bank that a launch writes, in whole lines.
        let offsets = self.code.constants.iter().flatten().filter(|constant| constant.bank == 0);
        let last = offsets.map(|constant| u64::from(constant.offset)).max()?;
        Some((CONSTANT_BASE, (last + 4).next_multiple_of(128)))
    }

    fn code(&self) -> Option<(u64, u64)> {
        Some(self.code.fetched())
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
