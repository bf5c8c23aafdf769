//! Resident warps and CTAs: their state between instructions.

use crate::convergence::Convergence;
use crate::kernel::{Kernel, Place, RegisterPlace};
use crate::lanes::{Column, Pred, Reg};
use crate::memory::LocalMemory;
use crate::operand::Destination;
use crate::simt::SimtStack;
use crate::steer::BarrierOp;
use isa::{Dim3, KernelId, Pc};
use kit::{LaneMask, WARP_LANES};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Data that a call stores on the stack.
#[derive(Clone, Debug, Hash)]
pub(crate) struct CallData {
    /// Index of the call site in the kernel.
    pub site: u32,
    /// Offset in local memory of the caller's frame.
    pub caller_frame: u32,
    /// Offset in local memory of the function's frame.
    pub frame: u32,
    /// Registers of the caller that recursion would overwrite.
    pub saved: Vec<Column>,
    /// Its predicates.
    pub saved_preds: Vec<LaneMask>,
}

/// The result of a barrier reduction that lanes of the warp wait for.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct PendingReduction {
    pub barrier: u8,
    pub op: BarrierOp,
    pub d: Destination,
    pub mask: LaneMask,
}

/// The rest of an instruction that waits for the exchange.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rest {
    /// Operations before it in the instruction of machine code.
    pub first: u16,
    /// Lanes that execute it.
    pub mask: LaneMask,
}

/// How the instructions of a warp are executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Way {
    #[default]
    Ptx,
    MachineCode,
    /// As one of these, under checks.
    Watched,
}

/// A resident warp. A slot keeps its storage for the next warp.
#[derive(Debug, Default)]
pub(crate) struct Warp {
    pub launch: KernelId,
    pub kernel: Option<Arc<Kernel>>,
    /// Whether that is machine code. A copy, since every step reads it.
    pub is_machine_code: bool,
    pub way: Way,
    /// Slot of its CTA.
    pub cta: u16,
    /// Index in its CTA.
    pub index: u32,
    /// Program counters and active lanes in PTX.
    pub stack: SimtStack<CallData>,
    /// Program counters and active lanes in machine code.
    pub groups: Convergence,
    pub regs: Vec<Column>,
    pub preds: Vec<LaneMask>,
    pub local: LocalMemory,
    /// `%tid`: positions of the threads in the CTA.
    pub tid: [Column; 3],
    pub pending: Vec<PendingReduction>,
    /// The rest of the last instruction, if it waits for the exchange.
    pub rest: Rest,
    /// Lanes that have arrived at the cluster's barrier, whose phase is not complete.
    pub at_cluster: LaneMask,
}

impl Warp {
    /// Starts warp number `index` of a CTA at the kernel's first instruction.
    pub fn start(
        &mut self,
        (launch, kernel): (KernelId, &Arc<Kernel>),
        block: Dim3,
        (cta, index): (u16, u32),
        is_watched: bool,
    ) {
        let first = u64::from(index) * WARP_LANES as u64;
        self.place_threads(block, first);
        let threads = block.volume().saturating_sub(first).min(WARP_LANES as u64) as u32;
        let mask = if threads == 0 { 0 } else { LaneMask::MAX >> (WARP_LANES as u32 - threads) };
        let (columns, predicates) = kernel.files();
        self.regs.clear();
        self.regs.resize(columns, [0; WARP_LANES]);
        self.preds.clear();
        self.preds.resize(predicates, 0);
        self.local.reset(kernel.local_bytes);
        self.is_machine_code = kernel.is_machine_code();
        self.way = match (is_watched, self.is_machine_code) {
            (true, _) => Way::Watched,
            (false, true) => Way::MachineCode,
            (false, false) => Way::Ptx,
        };
        if self.is_machine_code {
            self.groups.start(0, mask);
        } else {
            self.stack.start(0, mask);
        }
        self.pending.clear();
        self.at_cluster = 0;
        self.launch = launch;
        self.kernel = Some(Arc::clone(kernel));
        self.cta = cta;
        self.index = index;
    }

    /// The next instruction; `None` once all lanes have exited.
    #[inline]
    pub fn pc(&self) -> Option<u32> {
        if self.is_machine_code { self.groups.pc() } else { self.stack.pc() }
    }

    /// Lanes that have not exited.
    pub fn live(&self) -> LaneMask {
        if self.is_machine_code { self.groups.live() } else { self.stack.live() }
    }

    /// Lanes that execute the next instruction.
    pub fn active(&self) -> LaneMask {
        if self.is_machine_code { self.groups.active() } else { self.stack.active() }
    }

    /// Whether other lanes than the active ones could execute now.
    pub fn has_others(&self) -> bool {
        if self.is_machine_code { self.groups.has_others() } else { self.stack.has_others() }
    }

    /// Sets the positions of 32 threads of a CTA, starting with thread number `first`, row by row.
    fn place_threads(&mut self, block: Dim3, first: u64) {
        let [x, y, z] = &mut self.tid;
        let (mut at, mut lane) = (block.position(first), 0);
        while lane < WARP_LANES {
            let end = (lane + (block.x - at.x) as usize).min(WARP_LANES);
            let row = lane..end;
            x[row.clone()].iter_mut().zip(at.x..).for_each(|(x, position)| *x = position);
            y[row.clone()].fill(at.y);
            z[row].fill(at.z);
            lane = end;
            (at.x, at.y) = (0, at.y + 1);
            if at.y == block.y {
                (at.y, at.z) = (0, at.z + 1);
            }
        }
    }

    /// Offset in local memory of the current function's frame.
    #[inline]
    pub fn frame(&self) -> u32 {
        self.stack.frame().map_or(0, |call| call.frame)
    }

    /// A hash of everything that determines what it does next, except state that it shares with other warps.
    pub fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.stack, &self.groups, &self.regs, &self.preds).hash(&mut hasher);
        (&self.local, &self.pending, self.at_cluster).hash(&mut hasher);
        hasher.finish()
    }

    /// Thread position of `lane` in the CTA.
    pub fn thread(&self, lane: usize) -> Dim3 {
        Dim3::new(self.tid[0][lane], self.tid[1][lane], self.tid[2][lane])
    }

    /// Copies the registers that the next instruction reads into `columns`.
    pub fn read_operands(&self, columns: &mut Vec<Column>) {
        let (Some(kernel), Some(pc)) = (&self.kernel, self.pc()) else { return };
        let program = &kernel.program;
        columns.extend(program.srcs(program.inst(Pc(pc))).iter().map(|&reg| match kernel.place_of(reg) {
            RegisterPlace::Column(n) => self.regs[n],
            RegisterPlace::Predicate(n) => std::array::from_fn(|lane| self.preds[n] >> lane & 1),
        }));
    }

    /// Writes the result of the barrier reduction that lanes of the warp waited for.
    pub fn take_reduction(&mut self, p: PendingReduction, value: Reduction) {
        let truth = match p.op {
            BarrierOp::RedAnd => value.all,
            BarrierOp::RedOr => value.any,
            BarrierOp::RedPopc | BarrierOp::Sync | BarrierOp::Arrive => value.count != 0,
        };
        match p.d {
            Destination::Reg(d) => {
                let column = &mut self.regs[d.0 as usize];
                crate::lanes::blend(column, &[value.count; WARP_LANES], p.mask);
            }
            Destination::Pred(d) => {
                if let Some(n) = Pred::number(d) {
                    let pred = &mut self.preds[n as usize];
                    *pred = *pred & !p.mask | if truth { p.mask } else { 0 };
                }
            }
        }
    }
}

/// A barrier reduction in the phase that collects arrivals.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reduction {
    pub count: u32,
    pub all: bool,
    pub any: bool,
}

impl Default for Reduction {
    fn default() -> Self {
        Self { count: 0, all: true, any: false }
    }
}

impl Reduction {
    /// Adds the votes of a warp's lanes.
    pub fn add(&mut self, holds: LaneMask, mask: LaneMask) {
        self.count += (holds & mask).count_ones();
        self.all &= holds & mask == mask;
        self.any |= holds & mask != 0;
    }
}

/// Number of barriers of a CTA.
pub(crate) const BARRIERS: usize = 16;

/// A register or constant of the warp.
pub(crate) fn column(warp: &Warp, kernel: &Kernel, reg: Reg) -> Column {
    if reg.is_constant() { kernel.constants[(reg.0 - Reg::CONSTANTS) as usize] } else { warp.regs[reg.0 as usize] }
}

/// The value of an argument in one lane.
pub(crate) fn argument(warp: &Warp, kernel: &Kernel, place: Place, lane: usize) -> u64 {
    let word = |k: u32| match place {
        Place::Register(reg, columns) if k < u32::from(columns) => column(warp, kernel, Reg(reg.0 + k as u16))[lane],
        Place::Frame { offset, bytes } if 4 * k < bytes => {
            let at = warp.frame() + offset + 4 * k;
            if warp.local.holds(u64::from(at), 4) { warp.local.column((at / 4) as usize)[lane] } else { 0 }
        }
        _ => 0,
    };
    u64::from(word(0)) | u64::from(word(1)) << 32
}
