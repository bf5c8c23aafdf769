//! How instructions of machine code steer the lanes of a warp, and what barriers do.

use crate::lanes::{Pred, Reg};
use crate::operand::Destination;
use isa::Control;

/// What a barrier instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BarrierOp {
    /// Arrives and waits.
    Sync,
    /// Arrives.
    Arrive,
    /// Arrives, waits, and counts the threads whose predicate holds.
    RedPopc,
    /// Arrives, waits, and tells whether all predicates hold.
    RedAnd,
    /// Arrives, waits, and tells whether a predicate holds.
    RedOr,
}

/// What an instruction does to the groups of lanes of its warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steer {
    /// `BSSY`: the executing lanes will meet at convergence barrier number and register, and go on from
    /// an instruction.
    Gather(u8, Reg, u32),
    /// `BSYNC`: waits for the lanes of convergence barrier number and register.
    Meet(u8, Reg),
    /// `BREAK`: the lanes where the guard and the predicate hold will not come to convergence barrier
    /// number and register.
    Leave(u8, Reg, Pred),
    /// `WARPSYNC`: waits for the lanes in a register; true: lanes that name others go on apart
    /// (`.EXCLUSIVE`).
    WarpSync(Reg, bool),
    /// `WARPSYNC.COLLECTIVE`: the lanes in a register run the next instructions as one group, up to
    /// `ENDCOLLECTIVE`, which sends each to the byte address that a second register now takes.
    Collective(Reg, Reg, u32),
    /// `YIELD`.
    Yield,
    /// `BRA`, `CALL`: to an instruction, where the guard and the predicate hold.
    Branch(u32, Pred),
    /// `BRA.U.ANY`: all active lanes go, if the guard and the predicate hold in one of them.
    BranchIfAny(u32, Pred),
    /// `BRA.DIV` (true) and `BRA.CONV` (false): if the lanes in the register do not all execute it, or do.
    BranchIfDiverged(u32, Reg, bool),
    /// `BRX`, `BRXU`, `RET`: to the byte address in a register plus a number, where the guard and the
    /// predicate hold.
    BranchIndirect(Reg, i64, Pred),
    /// `EXIT`, where the guard and the predicate hold.
    Exit(Pred),
    /// `BAR`.
    CtaBarrier {
        /// What it does.
        op: BarrierOp,
        /// Barrier number.
        id: Reg,
        /// Threads, if not all.
        threads: Option<Reg>,
        /// Takes the count of a reduction.
        d: Option<Destination>,
        /// Operand of a reduction.
        p: Pred,
    },
}

impl BarrierOp {
    /// Effect on control flow.
    pub const fn control(self) -> Control {
        match self {
            BarrierOp::Arrive => Control::BarrierArrive,
            BarrierOp::Sync | BarrierOp::RedPopc | BarrierOp::RedAnd | BarrierOp::RedOr => Control::BarrierSync,
        }
    }
}
