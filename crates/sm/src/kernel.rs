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
}

/// A program with its [`Micro`]s: made once per program and GPU, shared by launches and SMs.
#[derive(Debug)]
pub struct Code {
    /// The program.
    pub program: Arc<Program>,
    micros: Box<[Micro]>,
}

impl Code {
    /// Resolves `program` against the timing table of `spec`.
    pub fn new(program: Arc<Program>, spec: &CoreSpec) -> Self {
        let micros = program.insts().iter().map(|inst| {
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
            }
        });
        let micros = micros.collect();
        Self { program, micros }
    }

    /// The resolved instruction at `pc`.
    #[inline]
    pub fn micro(&self, pc: Pc) -> &Micro {
        &self.micros[pc.index()]
    }

    /// Registers that the instruction at `pc` writes.
    #[inline]
    pub fn dsts(&self, pc: Pc) -> &[RegId] {
        self.program.dsts(self.program.inst(pc))
    }

    /// Registers that the instruction at `pc` reads.
    #[inline]
    pub fn srcs(&self, pc: Pc) -> &[RegId] {
        self.program.srcs(self.program.inst(pc))
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
