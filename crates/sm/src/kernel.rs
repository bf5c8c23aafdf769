//! Kernels as the SM sees them: static instructions with their pipe and timing resolved.

use crate::occupancy::{Occupancy, occupancy};
use crate::spec::{CoreSpec, Pipe};
use config::OpTiming;
use isa::{Control, LaunchShape, MemAccess, OpClass, Pc, Program, RegId};
use mem::coalesce::LocalLayout;
use std::sync::Arc;

/// One static instruction, resolved against a GPU's timing table once per program.
#[derive(Clone, Copy, Debug)]
pub struct Micro {
    /// Kind of work.
    pub class: OpClass,
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
    /// Where its registers stand.
    pub(crate) operands: Operands,
}

/// Where an instruction's registers stand in its [`Code`]: those written, then those read from the
/// banked register file, then the others read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Operands {
    start: u32,
    dsts: u8,
    vector_srcs: u8,
    srcs: u8,
}

/// A program with its [`Micro`]s: made once per program and GPU, shared by launches and SMs.
#[derive(Debug)]
pub struct Code {
    /// The program.
    pub program: Arc<Program>,
    micros: Box<[Micro]>,
    registers: Box<[RegId]>,
}

impl Code {
    /// Resolves `program` against the timing table of `spec`.
    pub fn new(program: Arc<Program>, spec: &CoreSpec) -> Self {
        let mut registers = Vec::new();
        let micros = program.insts().iter().map(|inst| {
            let (dsts, srcs) = (program.dsts(inst), program.srcs(inst));
            let start = registers.len() as u32;
            registers.extend_from_slice(dsts);
            registers.extend(srcs.iter().filter(|r| program.regs.is_vector(**r)));
            let vector_srcs = (registers.len() - start as usize - dsts.len()) as u8;
            registers.extend(srcs.iter().filter(|r| !program.regs.is_vector(**r)));
            let operands = Operands { start, dsts: dsts.len() as u8, vector_srcs, srcs: srcs.len() as u8 };

            let OpTiming { unit, latency_cycles, initiation_cycles } = spec.timing.of(inst.class);
            // Packed half operations leave the unit free twice as early (Accel-Sim does the same).
            let initiation = if inst.packed_half { initiation_cycles / 2 } else { initiation_cycles };
            Micro {
                class: inst.class,
                pipe: Pipe::of(unit),
                control: inst.control,
                mem: inst.mem,
                latency_cycles: latency_cycles.clamp(1, u32::from(u16::MAX)) as u16,
                initiation_cycles: initiation.clamp(1, u32::from(u16::MAX)) as u16,
                operands,
            }
        });
        let micros = micros.collect();
        Self { program, micros, registers: registers.into() }
    }

    /// The resolved instruction at `pc`.
    #[inline]
    pub fn micro(&self, pc: Pc) -> &Micro {
        &self.micros[pc.index()]
    }

    /// Registers written.
    #[inline]
    pub(crate) fn written(&self, at: Operands) -> &[RegId] {
        let start = at.start as usize;
        &self.registers[start..start + at.dsts as usize]
    }

    /// Registers read.
    #[inline]
    pub(crate) fn read(&self, at: Operands) -> &[RegId] {
        let start = at.start as usize + at.dsts as usize;
        &self.registers[start..start + at.srcs as usize]
    }

    /// Registers read through operand collectors.
    #[inline]
    pub(crate) fn read_from_banks(&self, at: Operands) -> &[RegId] {
        let start = at.start as usize + at.dsts as usize;
        &self.registers[start..start + at.vector_srcs as usize]
    }
}

/// A kernel launch: what runs and in what shape. The whole GPU keeps a table of these, indexed by
/// [`KernelId`](isa::KernelId).
#[derive(Clone, Debug)]
pub struct Kernel {
    /// What runs.
    pub code: Arc<Code>,
    /// Grid, block, registers, shared memory.
    pub shape: LaunchShape,
    /// How many of its CTAs an SM holds, and what limits them.
    pub occupancy: Occupancy,
    /// Where its threads' local memory lies.
    pub local_layout: LocalLayout,
}

impl Kernel {
    /// A launch of `code` in `shape` on SMs like `spec`.
    pub fn new(code: Arc<Code>, shape: LaunchShape, spec: &CoreSpec) -> Self {
        let occupancy = occupancy(&spec.sm, &shape);
        let local_layout = LocalLayout {
            threads_per_cta: shape.warps() * kit::WARP_LANES as u32,
            ctas_per_sm: occupancy.ctas_per_sm.max(1),
            sm_count: spec.sm_count,
        };
        Self { code, shape, occupancy, local_layout }
    }
}
