//! Instructions of machine code that steer the lanes of a warp, and barrier operations.

use crate::lanes::{Pred, Reg};
use crate::operand::Destination;
use isa::Control;

/// The operation of a barrier instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BarrierOp {
    /// Arrives and waits.
    Sync,
    /// Arrives and does not wait.
    Arrive,
    /// Arrives, waits, and counts the threads whose predicate holds.
    RedPopc,
    /// Arrives, waits, and returns whether all predicates hold.
    RedAnd,
    /// Arrives, waits, and returns whether a predicate holds.
    RedOr,
}

/// The operation of an instruction at the barrier of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClusterBarrier {
    /// The executing lanes arrive.
    Arrive,
    /// The warp waits until the phase at which its executing lanes have arrived is complete.
    Wait,
}

/// Effect of an instruction on the groups of lanes of its warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Steer {
    /// `BSSY`: number and register of a convergence barrier; the executing lanes will meet there and continue
    /// at the instruction.
    Gather(u8, Reg, u32),
    /// `BSYNC`: waits for the lanes of a convergence barrier, given as number and register.
    Meet(u8, Reg),
    /// `BREAK`: the lanes where the guard and the predicate hold leave a convergence barrier, given as number
    /// and register.
    Leave(u8, Reg, Pred),
    /// `BMOV.CLEAR` without a destination: clears a convergence barrier, given as number and register. Lanes
    /// that wait there for the executing ones no longer do.
    Clear(u8, Reg),
    /// `WARPSYNC`: waits for the lanes in a register. If true (`.EXCLUSIVE`), lanes that name different lanes
    /// continue separately.
    WarpSync(Reg, bool),
    /// `WARPSYNC.COLLECTIVE`: the lanes in a register execute the next instructions as one group, up to
    /// `ENDCOLLECTIVE`, which sends each lane to the byte address that the second register holds now.
    Collective(Reg, Reg, u32),
    /// `YIELD`.
    Yield,
    /// `BRA`, `CALL`: to an instruction, in the lanes where the guard and the predicate hold.
    Branch(u32, Pred),
    /// `BRA.U.ANY`: all active lanes branch if the guard and the predicate hold in one of them.
    BranchIfAny(u32, Pred),
    /// `BRA.DIV` (true): branches if some of the lanes in the register do not execute it. `BRA.CONV` (false):
    /// if all do.
    BranchIfDiverged(u32, Reg, bool),
    /// `BRX`, `BRXU`, `RET`: to the byte address in a register plus an offset, in the lanes where the guard
    /// and the predicate hold.
    BranchIndirect(Reg, i64, Pred),
    /// `EXIT`, in the lanes where the guard and the predicate hold.
    Exit(Pred),
    /// `BAR`.
    CtaBarrier {
        op: BarrierOp,
        id: Reg,
        /// Number of threads; `None` for all of the CTA.
        threads: Option<Reg>,
        /// Receives the result of a reduction.
        d: Option<Destination>,
        p: Pred,
    },
}

impl BarrierOp {
    /// Effect on control flow, as the timing model sees it.
    pub const fn control(self) -> Control {
        match self {
            BarrierOp::Arrive => Control::BarrierArrive,
            BarrierOp::Sync | BarrierOp::RedPopc | BarrierOp::RedAnd | BarrierOp::RedOr => Control::BarrierSync,
        }
    }
}
