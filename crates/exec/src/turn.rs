//! How a turn of a warp ends.

use isa::{Control, DynInst, Inst};

/// Why a warp's turn has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It has executed as many instructions as it was allowed.
    Over,
    /// It has arrived at a barrier; whether it waits there.
    Barrier { waits: bool },
    /// It waits at an `mbarrier` or at the barrier of its cluster, until the stream wakes it.
    Held,
    /// All its lanes have exited.
    Done,
    /// Its observer wants no more.
    Stopped,
}

/// How the turn ends after the executed instruction, if its warp has arrived at a barrier.
#[inline]
pub(crate) fn wait(insts: &[Inst], out: &DynInst) -> Option<Turn> {
    match insts[out.pc.index()].traits.control {
        _ if out.held => Some(Turn::Held),
        Control::BarrierSync if out.mask != 0 => Some(Turn::Barrier { waits: true }),
        Control::BarrierArrive if out.mask != 0 => Some(Turn::Barrier { waits: false }),
        _ => None,
    }
}
